"""When to stop: the sequential probability ratio test over pairs of games.

Law: a decision is a pure function of the pairs so far, and it may be asked for after each of them: that is what the
error rates hold for. H0 says that program 0 is `elo0` better (or less), H1 that it is `elo1` better (or more).

Sources, by name:

- A. Wald (1945), Sequential Tests of Statistical Hypotheses: the bounds ln(beta / (1 - alpha)) and
  ln((1 - beta) / alpha).
- M. Van den Bergh, A Practical Introduction to the GSPRT, and Fishtest: the generalised likelihood ratio of the five
  kinds of pairs, each hypothesis with its likeliest distribution of the given mean, Elo being logistic; kinds that did
  not occur count as a thousandth of a pair.
- A. B. Owen (1988), Empirical Likelihood: that distribution is q_i = p_i / (1 + t (a_i - mean)), with the t for which
  the mean comes out.
"""

from __future__ import annotations

import enum
import math
import re
from dataclasses import dataclass
from typing import Final

from match.statistics import PAIR_SCORES, PairCounts, score_of_elo

_UNSEEN: Final = 1e-3


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

    def __post_init__(self) -> None:
        if not all(map(math.isfinite, (self.elo0, self.elo1, self.alpha, self.beta))):
            raise SprtError("SPRT: every parameter must be finite")
        if self.elo0 >= self.elo1:
            raise SprtError(f"SPRT: elo0={self.elo0:g} must be below elo1={self.elo1:g}")
        if min(self.alpha, self.beta) <= 0 or self.alpha + self.beta >= 1:
            raise SprtError(f"SPRT: alpha={self.alpha:g} and beta={self.beta:g} must be above 0, and below 1 together")

    @classmethod
    def parse(cls, text: str) -> Sprt:
        """The test written as ``elo0=0 elo1=50 alpha=0.05 beta=0.05``; commas separate as well. Raises SprtError."""
        values: dict[str, float] = {}
        for word in re.split(r"[\s,]+", text.strip()):
            name, _, value = word.partition("=")
            if name not in cls.__slots__ or name in values:
                raise SprtError(f"SPRT: {word!r} where one of elo0=, elo1=, alpha=, beta= was expected, each once")
            try:
                values[name] = float(value)
            except ValueError:
                raise SprtError(f"SPRT: {value!r} is not a number for {name}") from None
        for name in ("elo0", "elo1"):
            if name not in values:
                raise SprtError(f"SPRT: {name}= is missing")
        return cls(**values)

    def __str__(self) -> str:
        return " ".join(f"{name}={getattr(self, name):g}" for name in ("elo0", "elo1", "alpha", "beta"))

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
        tilts: list[list[float]] = []
        for elo in (self.elo0, self.elo1):
            mean = score_of_elo(elo)
            deviations = [score - mean for score in PAIR_SCORES]
            multiplier = _solve(weights, deviations)
            tilts.append([1 + multiplier * deviation for deviation in deviations])
        zeros, ones = tilts
        return sum(weight * math.log(zero / one) for weight, zero, one in zip(weights, zeros, ones, strict=True))

    def decide(self, counts: PairCounts) -> Decision | None:
        """None: play on."""
        ratio = self.log_likelihood_ratio(counts)
        if ratio >= self.upper:
            return Decision.H1
        if ratio <= self.lower:
            return Decision.H0
        return None


def _solve(weights: list[float], deviations: list[float]) -> float:
    """The root t of sum w d / (1 + t d): it falls strictly between the two poles that leave every 1 + t d positive.

    Newton's steps, halved where they would leave the bracket.
    """
    low, high = -1 / max(deviations), -1 / min(deviations)
    t = following = 0.0
    pairs = list(zip(weights, deviations, strict=True))
    for _ in range(200):
        t = following
        value = slope = 0.0
        for weight, deviation in pairs:  # one plain loop: this is asked after every pair of a match
            ratio = deviation / (1 + t * deviation)
            weighted = weight * ratio
            value += weighted
            slope += weighted * ratio
        if value > 0:
            low = t
        else:
            high = t
        following = t + value / slope
        if not low < following < high:
            following = (low + high) / 2
        if abs(following - t) <= 1e-12 * (1 + abs(t)):
            break
    return following
