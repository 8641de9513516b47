"""The sequential probability ratio test (SPRT) over pairs of games.

Invariants: a decision is a pure function of the pairs so far. The test may be evaluated after each pair without
exceeding its error rates. H0 says that program 0 is at most `elo0` stronger, H1 that it is at least `elo1` stronger.

The model defines the unit of `elo0` and `elo1`. *logistic*: the mean score of a pair is 1 / (1 + 10^(-Elo / 400)).
*normalized*: the mean score is √2 Elo ln(10) / 800 standard deviations of a pair above 1/2, so the same bounds need
about the same number of games, however many games are drawn.

Sources:

- A. Wald (1945), Sequential Tests of Statistical Hypotheses: the bounds ln(beta / (1 - alpha)) and
  ln((1 - beta) / alpha).
- M. Van den Bergh, A Practical Introduction to the GSPRT; Normalized Elo; and Fishtest: the generalised likelihood
  ratio over the five results of a pair, with the maximum-likelihood distribution of each hypothesis; results that did
  not occur count as a thousandth of a pair.
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
"""The units of Elo that a test can use; the first one is the default."""

_UNSEEN: Final = 1e-3
_MAX_ITERATIONS: Final = 60
_PRECISION: Final = 1e-11


class SprtError(Exception):
    """The parameters do not define a test; the text says why."""


class Decision(enum.Enum):
    """The hypothesis that the test accepted."""

    H0 = "H0"
    H1 = "H1"


@dataclass(frozen=True, slots=True)
class Sprt:
    """A test of `elo0` against the higher `elo1`. Raises SprtError for invalid parameters.

    `alpha` is the probability of accepting H1 if H0 is true, `beta` that of accepting H0 if H1 is true.
    """

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
        """Parse a text such as ``elo0=0 elo1=50 alpha=0.05 beta=0.05 model=normalized``. Raises SprtError.

        Values are separated by blanks or commas. `alpha` and `beta` default to 0.05, and `model` to logistic.
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
        """H0 is accepted if the log-likelihood ratio is at or below this bound."""
        return math.log(self.beta / (1 - self.alpha))

    @property
    def upper(self) -> float:
        """H1 is accepted if the log-likelihood ratio is at or above this bound."""
        return math.log((1 - self.beta) / self.alpha)

    def log_likelihood_ratio(self, counts: PairCounts) -> float:
        """The logarithm of the likelihood of the pairs under H1, divided by that under H0; 0 without a pair."""
        if not any(counts):
            return 0.0
        weights = [float(count) or _UNSEEN for count in counts]
        tilt = _normalized_tilt if self.model == "normalized" else _logistic_tilt
        under_h0, under_h1 = tilt(weights, self.elo0), tilt(weights, self.elo1)
        return sum(weight * math.log(h0 / h1) for weight, h0, h1 in zip(weights, under_h0, under_h1, strict=True))

    def decide(self, counts: PairCounts) -> Decision | None:
        """The accepted hypothesis; None: undecided, more games are needed."""
        ratio = self.log_likelihood_ratio(counts)
        if ratio >= self.upper:
            return Decision.H1
        if ratio <= self.lower:
            return Decision.H0
        return None


def _logistic_tilt(weights: list[float], elo: float) -> list[float]:
    """The factors by which the maximum-likelihood distribution with this mean divides the share of each result."""
    mean = score_of_elo(elo)
    deviations = [score - mean for score in PAIR_SCORES]
    multiplier = find_multiplier(weights, deviations)
    return [1 + multiplier * deviation for deviation in deviations]


def _normalized_tilt(weights: list[float], elo: float) -> list[float]:
    """The same for the distribution whose mean is a number of standard deviations above 1/2, given by `elo`.

    That constraint is not linear in the distribution. It is linearised at the previous distribution, and this is
    repeated until nothing changes. The first distribution, of won and lost pairs only, satisfies the constraint
    exactly; since the standard deviation is concave, the deviations of every later linearisation have both signs.
    """
    ratio = math.sqrt(2) * elo / NORMALIZED_UNIT
    won = 0.5 + 0.5 * ratio / math.sqrt(1 + ratio**2)
    shares = [1 - won, 0.0, 0.0, 0.0, won]
    total = sum(weights)
    tilt = [1.0] * len(weights)
    for _ in range(_MAX_ITERATIONS):
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
