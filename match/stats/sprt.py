"""When to stop: the sequential probability ratio test over pairs of games.

Invariants: a decision is a pure function of the pairs so far. It may be asked for after each of them; that is what the
error rates hold for. H0 says that program 0 is `elo0` better (or less), H1 that it is `elo1` better (or more).

The model says which Elo these are. *logistic*: the mean score of a pair is 1 / (1 + 10^(-Elo / 400)). *normalized*: the
mean score is so many standard deviations of a pair above 1/2, √2 Elo ln(10) / 800; so the bounds mean the same number
of games whether a game is drawn often or never.

Sources:

- A. Wald (1945), Sequential Tests of Statistical Hypotheses: the bounds ln(beta / (1 - alpha)) and
  ln((1 - beta) / alpha).
- M. Van den Bergh, A Practical Introduction to the GSPRT; Normalized Elo; and Fishtest: the generalised likelihood
  ratio of the five kinds of pairs, each hypothesis with its likeliest distribution; kinds that did not occur count as
  a thousandth of a pair.
"""

from __future__ import annotations

import enum
import math
import re
from dataclasses import dataclass
from typing import Any, Final

from spielleiter.match.stats.counts import PAIR_SCORES, score_of_elo
from spielleiter.match.stats.intervals import NORMALIZED_UNIT
from spielleiter.match.stats.likelihood import find_multiplier
from spielleiter.match.stats.significance import PairCounts

MODELS: Final = ("logistic", "normalized")
"""The Elo that a test may be about; the first one unless another is named."""

_UNSEEN: Final = 1e-3
_ROUNDS: Final = 60
_PRECISION: Final = 1e-11


class SprtError(Exception):
    """The parameters make no test; the text says why."""


class Decision(enum.Enum):
    """What the test accepted."""

    H0 = "H0"
    H1 = "H1"


@dataclass(frozen=True, slots=True)
class Sprt:
    """One test: `elo0` < `elo1`, alpha the risk of H1 where H0 is true, beta the other one. Raises SprtError."""

    elo0: float
    elo1: float
    alpha: float = 0.05
    beta: float = 0.05
    model: str = MODELS[0]

    def __post_init__(self) -> None:
        if self.model not in MODELS:
            raise SprtError(f"SPRT: model={self.model}: expected {' or '.join(MODELS)}")
        if not all(map(math.isfinite, (self.elo0, self.elo1, self.alpha, self.beta))):
            raise SprtError("SPRT: every parameter must be finite")
        if self.elo0 >= self.elo1:
            raise SprtError(f"SPRT: elo0={self.elo0:g} must be below elo1={self.elo1:g}")
        if min(self.alpha, self.beta) <= 0 or self.alpha + self.beta >= 1:
            raise SprtError(f"SPRT: alpha={self.alpha:g} and beta={self.beta:g} must be above 0, and below 1 together")

    @classmethod
    def parse(cls, text: str) -> Sprt:
        """The test written as ``elo0=0 elo1=50 alpha=0.05 beta=0.05 model=normalized``. Raises SprtError.

        Commas separate as well as blanks. `alpha` and `beta` are 0.05 and `model` is logistic unless given.
        """
        values: dict[str, Any] = {}
        for word in re.split(r"[\s,]+", text.strip()):
            name, _, value = word.partition("=")
            if name not in cls.__slots__ or name in values:
                raise SprtError(
                    f"SPRT: {word!r} where one of elo0=, elo1=, alpha=, beta=, model= was expected, each once"
                )
            if name == "model":
                values[name] = value
                continue
            try:
                values[name] = float(value)
            except ValueError:
                raise SprtError(f"SPRT: {value!r} is not a number for {name}") from None
        for name in ("elo0", "elo1"):
            if name not in values:
                raise SprtError(f"SPRT: {name}= is missing")
        return cls(**values)

    def __str__(self) -> str:
        return f"elo0={self.elo0:g} elo1={self.elo1:g} alpha={self.alpha:g} beta={self.beta:g} model={self.model}"

    @property
    def lower(self) -> float:
        """At or below this logarithm of the ratio H0 is accepted."""
        return math.log(self.beta / (1 - self.alpha))

    @property
    def upper(self) -> float:
        """At or above this logarithm of the ratio H1 is accepted."""
        return math.log((1 - self.beta) / self.alpha)

    def log_likelihood_ratio(self, counts: PairCounts) -> float:
        """How much better H1 explains the pairs; 0 without any."""
        if not any(counts):
            return 0.0
        weights = [float(count) or _UNSEEN for count in counts]
        tilt = _normalized_tilt if self.model == "normalized" else _logistic_tilt
        zeros, ones = tilt(weights, self.elo0), tilt(weights, self.elo1)
        return sum(weight * math.log(zero / one) for weight, zero, one in zip(weights, zeros, ones, strict=True))

    def decide(self, counts: PairCounts) -> Decision | None:
        """None: play on."""
        ratio = self.log_likelihood_ratio(counts)
        if ratio >= self.upper:
            return Decision.H1
        if ratio <= self.lower:
            return Decision.H0
        return None


def _logistic_tilt(weights: list[float], elo: float) -> list[float]:
    """By what each result's share is divided in the likeliest distribution with this mean."""
    mean = score_of_elo(elo)
    deviations = [score - mean for score in PAIR_SCORES]
    multiplier = find_multiplier(weights, deviations)
    return [1 + multiplier * deviation for deviation in deviations]


def _normalized_tilt(weights: list[float], elo: float) -> list[float]:
    """The same for the likeliest distribution whose mean is `ratio` standard deviations above 1/2.

    That condition is not linear in the distribution. It is replaced by its tangent at the distribution found before,
    again and again until nothing changes. The first one, of pairs won and lost only, meets the condition exactly; as
    the standard deviation is concave, every later tangent has deviations of both signs.
    """
    ratio = math.sqrt(2) * elo / NORMALIZED_UNIT
    won = 0.5 + 0.5 * ratio / math.sqrt(1 + ratio**2)
    shares = [1 - won, 0.0, 0.0, 0.0, won]
    total = sum(weights)
    tilt = [1.0] * len(weights)
    for _ in range(_ROUNDS):
        mean = sum(share * score for share, score in zip(shares, PAIR_SCORES, strict=True))
        spread = math.sqrt(sum(share * (score - mean) ** 2 for share, score in zip(shares, PAIR_SCORES, strict=True)))
        deviations = [score - 0.5 - ratio * spread / 2 * (1 + ((score - mean) / spread) ** 2) for score in PAIR_SCORES]
        multiplier = find_multiplier(weights, deviations)
        tilt = [1 + multiplier * deviation for deviation in deviations]
        following = [weight / total / each for weight, each in zip(weights, tilt, strict=True)]
        change = max(abs(new - old) for new, old in zip(following, shares, strict=True))
        shares = following
        if change < _PRECISION:
            break
    return tilt
