"""Distributions of maximum likelihood with a given mean."""

from __future__ import annotations

import math

import pytest

from spielleiter.match.statistics import find_multiplier, log_ratio


@pytest.mark.parametrize("weights", [(3, 0, 5, 1, 2), (1, 1, 1, 1, 1), (0.001, 0.001, 7, 0.001, 2)])
@pytest.mark.parametrize("mean", [0.3, 0.5, 0.62])
def test_the_maximum_likelihood_distribution_meets_the_constraint(weights: tuple[float, ...], mean: float) -> None:
    deviations = [kind / 4 - mean for kind in range(5)]
    t = find_multiplier(weights, deviations)
    shares = [weight / sum(weights) / (1 + t * each) for weight, each in zip(weights, deviations, strict=True)]
    assert sum(shares) == pytest.approx(1)
    assert sum(share * each for share, each in zip(shares, deviations, strict=True)) == pytest.approx(0, abs=1e-9)
    assert log_ratio(weights, deviations, t) >= -1e-12


def test_results_that_did_not_occur_get_the_remaining_probability() -> None:
    """Six pairs at 3/4: with a mean of 1/2, the likeliest distribution has two thirds there and the rest at 0."""
    deviations = [kind / 4 - 0.5 for kind in range(5)]
    weights = (0, 0, 0, 6, 0)
    t = find_multiplier(weights, deviations)
    assert log_ratio(weights, deviations, t) == pytest.approx(6 * math.log(3 / 2))
