"""Constrained maximum likelihood for distributions of pairs, used by the sequential test and the intervals.

The constraint has the form "the mean of the deviations d_i is 0". The distribution with the maximum likelihood for the
counts n_i under this constraint is q_i = n_i / (N (1 + t d_i)), with the Lagrange multiplier t that satisfies it.

Source: A. B. Owen (1988), Empirical Likelihood.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

_LEAST: Final = 1e-300


def find_multiplier(weights: Sequence[float], deviations: Sequence[float]) -> float:
    """The multiplier t that solves sum w d / (1 + t d) = 0.

    `weights` are the counts w, and `deviations` the values d, which must have both signs. The sum decreases strictly
    between the two poles where all 1 + t d are positive. If the outermost results did not occur (weight 0), there may
    be no root between the poles. The nearer pole is then returned, and the remaining probability belongs to results
    that did not occur.
    """
    low, high = -1 / max(deviations), -1 / min(deviations)
    terms = [(weight, deviation) for weight, deviation in zip(weights, deviations, strict=True) if weight]
    t = following = 0.0
    for _ in range(200):
        t = following
        value = slope = 0.0
        for weight, deviation in terms:  # a single plain loop, since this runs after every pair of a match
            ratio = deviation / (1 + t * deviation)
            weighted = weight * ratio
            value += weighted
            slope += weighted * ratio
        if value > 0:
            low = t
        else:
            high = t
        # Newton's step, or bisection if that would leave the bracket
        following = t + value / slope if slope else (low + high) / 2
        if not low < following < high:
            following = (low + high) / 2
        if abs(following - t) <= 1e-12 * (1 + abs(t)) or not low < following < high:
            break
    return following


def log_ratio(weights: Sequence[float], deviations: Sequence[float], multiplier: float) -> float:
    """The loss of log-likelihood, 0 or more, caused by the constraint with this multiplier."""
    return sum(
        weight * math.log(max(1 + multiplier * deviation, _LEAST))
        for weight, deviation in zip(weights, deviations, strict=True)
        if weight
    )
