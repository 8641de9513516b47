"""The likeliest distribution of pairs that meets a condition, for the sequential test and for intervals.

A condition has the form "the deviations are 0 in the mean". Of all distributions that meet it, the likeliest one given
the counts n_i is q_i = n_i / (N (1 + t d_i)), with the multiplier t for which the condition holds.

Source: A. B. Owen (1988), Empirical Likelihood.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

_LEAST: Final = 1e-300


def find_multiplier(weights: Sequence[float], deviations: Sequence[float]) -> float:
    """The multiplier t that solves sum w d / (1 + t d) = 0.

    `deviations` must have both signs. The sum falls strictly between the two poles that leave every 1 + t d positive.
    If the outermost results did not occur (weight 0) there may be no root between the poles; the nearer pole is then
    the answer, and results that did not occur take the rest of the distribution.
    """
    low, high = -1 / max(deviations), -1 / min(deviations)
    terms = [(weight, deviation) for weight, deviation in zip(weights, deviations, strict=True) if weight]
    t = following = 0.0
    for _ in range(200):
        t = following
        value = slope = 0.0
        for weight, deviation in terms:  # one plain loop: this is asked after every pair of a match
            ratio = deviation / (1 + t * deviation)
            weighted = weight * ratio
            value += weighted
            slope += weighted * ratio
        if value > 0:
            low = t
        else:
            high = t
        # Newton's steps, halved where they would leave the bracket
        following = t + value / slope if slope else (low + high) / 2
        if not low < following < high:
            following = (low + high) / 2
        if abs(following - t) <= 1e-12 * (1 + abs(t)) or not low < following < high:
            break
    return following


def log_ratio(weights: Sequence[float], deviations: Sequence[float], multiplier: float) -> float:
    """By how much the logarithm of the likelihood falls under the condition whose multiplier this is; 0 or more."""
    return sum(
        weight * math.log(max(1 + multiplier * deviation, _LEAST))
        for weight, deviation in zip(weights, deviations, strict=True)
        if weight
    )
