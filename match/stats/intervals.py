"""Estimates of the score and of Elo, with 95 % intervals.

Invariants: the interval excludes Elo 0 if and only if the exact test (significance.py) calls a program better, so the
number and the answer never contradict each other. The bounds of logistic and normalized Elo have the same signs.

The interval of the mean score of a pair is the smallest one that contains all of:

- Student's t, which is exact for normally distributed pairs and good from about 20 pairs on;
- the likelihood-ratio interval over the five possible results of a pair, including those that did not occur: if
  (nearly) all pairs ended alike, their variance is (nearly) 0, and Student's t would be certain after three pairs. The
  threshold N ln(1 + t² / (N - 1)) is the exact one for normally distributed pairs;
- the value 1/2, unless the exact test calls a program better.

Sources: Student (1908), The probable error of a mean; S. S. Wilks (1938), The large-sample distribution of the
likelihood ratio; A. B. Owen (1990), Empirical likelihood ratio confidence regions (the threshold); M. Van den Bergh,
Normalized Elo. The interval of a running match: I. Waudby-Smith and A. Ramdas (2024), Estimating means of bounded
random variables by betting (hedged capital, with equal parts of the capital on fixed shares).
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Final

from spielleiter.match.stats.counts import (
    CONFIDENCE,
    PAIR_SCORES,
    Estimate,
    elo_of_score,
    mean_and_variance,
    student_quantile,
)
from spielleiter.match.stats.likelihood import find_multiplier, log_ratio
from spielleiter.match.stats.significance import RISK, PairCounts, one_sided_p_value

NORMALIZED_UNIT: Final = 800 / math.log(10)
"""The normalized Elo of a score that is one standard deviation of a game above 1/2."""

_PRECISION: Final = 1e-9
_RUNNING_PRECISION: Final = 1e-6
_SHARES: Final = tuple((step - 0.5) / 40 for step in range(1, 41))


@lru_cache(maxsize=64)
def estimate_score(counts: PairCounts) -> Estimate | None:
    """The expected score of program 0 in a game, from 0 to 1; None without a pair."""
    pairs = sum(counts)
    if not pairs:
        return None
    mean, spread = mean_and_variance(counts)
    if pairs == 1:
        return Estimate(mean, 0.0, 1.0)
    quantile = student_quantile((1 + CONFIDENCE) / 2, pairs - 1)
    error = quantile * math.sqrt(spread / (pairs - 1))
    threshold = pairs * math.log1p(quantile**2 / (pairs - 1)) / 2
    low = min(mean - error, _bound(counts, mean, 0.0, threshold))
    high = max(mean + error, _bound(counts, mean, 1.0, threshold))
    if one_sided_p_value(counts) > RISK:
        low = min(low, 0.5)
    if one_sided_p_value(mirror(counts)) > RISK:
        high = max(high, 0.5)
    return Estimate(mean, max(low, 0.0), min(high, 1.0))


def _bound(counts: PairCounts, inside: float, outside: float, threshold: float) -> float:
    """The mean between `inside` and `outside` at which the logarithm of the likelihood has fallen by `threshold`."""
    if inside == outside:
        return outside
    pairs = sum(counts)
    middle = (inside + outside) / 2
    while abs(outside - inside) > _PRECISION:
        deviations = [score - middle for score in PAIR_SCORES]
        multiplier = find_multiplier(counts, deviations)
        surplus = log_ratio(counts, deviations, multiplier) - threshold
        if surplus > 0:
            outside = middle
        else:
            inside = middle
        # Newton's step: the derivative of the logarithm with respect to the mean is -N t
        following = middle + surplus / (pairs * multiplier) if multiplier else inside
        if abs(following - middle) < _PRECISION:
            return following
        middle = following if min(inside, outside) < following < max(inside, outside) else (inside + outside) / 2
    return outside


def estimate_elo(counts: PairCounts) -> Estimate | None:
    """The logistic Elo of program 0, converted from the score; None without a pair, infinite for a score of 0 or 1."""
    score = estimate_score(counts)
    if score is None:
        return None
    return Estimate(elo_of_score(score.value), elo_of_score(score.low), elo_of_score(score.high))


def estimate_normalized_elo(counts: PairCounts) -> Estimate | None:
    """The normalized Elo of program 0: its score minus 1/2 in standard deviations of a game, times 347.4.

    The interval is converted from that of the score, with the observed variance of the pairs. None if that variance is
    0: without a pair, and if all pairs ended alike.
    """
    score = estimate_score(counts)
    if score is None or max(counts) == sum(counts):
        return None
    unit = NORMALIZED_UNIT / math.sqrt(2 * mean_and_variance(counts)[1])
    return Estimate(unit * (score.value - 0.5), unit * (score.low - 0.5), unit * (score.high - 0.5))


def better_program(counts: PairCounts) -> int | None:
    """The program that is better with 95 % confidence; None: not decided."""
    score = estimate_score(counts)
    if score is None or score.low <= 0.5 <= score.high:
        return None
    return 0 if score.low > 0.5 else 1


# -- while the match is running -------------------------------------------------------------------------------------


def running_elo(counts: PairCounts) -> Estimate | None:
    """The logistic Elo of program 0 so far, with an interval that may be looked at after every game.

    The probability that the interval ever excludes the true value is 5 % at most, however often it is looked at and
    whatever the reason to stop is. So it is wider than that of `estimate_elo`, which holds for one look after a number
    of games that was fixed before. None without a pair.
    """
    pairs = sum(counts)
    if not pairs:
        return None
    mean, _ = mean_and_variance(counts)
    low, high = _running_bound(counts), 1 - _running_bound(mirror(counts))
    return Estimate(elo_of_score(mean), elo_of_score(low), elo_of_score(high))


def running_evidence(counts: PairCounts, score: float) -> float:
    """The logarithm of the evidence (e-value) against "the expected score is `score`, or lower"; 0 without a pair.

    A capital of 1 is divided among bets that the score is above `score`, which is between 0 and 1. With each pair of
    result x, a part with the share s is multiplied by 1 + s (x / score - 1), which has the expected value 1 if `score`
    is true. So the probability that the capital ever reaches 1 / P is at most P (Ville's inequality).
    """
    factors = [(count, result / score - 1) for count, result in zip(counts, PAIR_SCORES, strict=True) if count]
    powers = [sum(count * math.log1p(share * factor) for count, factor in factors) for share in _SHARES]
    greatest = max(powers)
    return greatest + math.log(sum(math.exp(power - greatest) for power in powers) / len(powers))


@lru_cache(maxsize=64)
def _running_bound(counts: PairCounts) -> float:
    """The lower bound of the expected score: the greatest one against which the evidence reaches 1 / RISK."""
    low, high = 0.0, mean_and_variance(counts)[0]
    while high - low > _RUNNING_PRECISION:
        middle = (low + high) / 2
        if running_evidence(counts, middle) >= -math.log(RISK):
            low = middle
        else:
            high = middle
    return low


def mirror(counts: PairCounts) -> PairCounts:
    """The same pairs from the point of view of program 1."""
    return counts[4], counts[3], counts[2], counts[1], counts[0]
