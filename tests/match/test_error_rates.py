"""Error rates and coverage in simulated matches: a small part of the tables of simulate_error_rates.py."""

from __future__ import annotations

import math

import pytest

from spielleiter.match.statistics import Decision, Sprt
from tests.match.simulate_error_rates import (
    EQUAL,
    UNEQUAL,
    share_accepted,
    share_called_better,
    share_covered,
    share_of_ratings_covered,
    share_stopped,
)

pytestmark = pytest.mark.slow


def by_chance(risk: float, runs: int) -> float:
    """The tolerance of a share of `runs`: three standard deviations."""
    return 3 * math.sqrt(risk * (1 - risk) / runs)


@pytest.mark.parametrize("name", EQUAL)
@pytest.mark.parametrize("pairs", [2, 3, 4, 5, 10, 20, 50, 100])
def test_equal_programs_are_called_unequal_in_at_most_5_of_100_matches(name: str, pairs: int) -> None:
    matches = 400 if pairs <= 20 else 100
    assert share_called_better(EQUAL[name], pairs, matches) <= 0.05 + by_chance(0.05, matches)


@pytest.mark.parametrize("name", ["no draws", "correlated pairs", "all results alike"])
def test_repeated_evaluation_keeps_the_error_rate(name: str) -> None:
    assert share_stopped(EQUAL[name], 60, 60) <= 0.05 + by_chance(0.05, 60)


@pytest.mark.parametrize("name", [*UNEQUAL, "no draws", "many draws"])
@pytest.mark.parametrize("pairs", [3, 20])
def test_intervals_contain_the_truth_in_95_of_100_matches(name: str, pairs: int) -> None:
    assert share_covered({**EQUAL, **UNEQUAL}[name], pairs, 200) >= 0.95 - by_chance(0.95, 200)


@pytest.mark.parametrize("model", ["logistic", "normalized"])
def test_the_sequential_test_keeps_its_error_rates(model: str) -> None:
    test = Sprt(0, 100, model=model)
    assert share_accepted(test, Decision.H1, EQUAL["no draws"], 60) <= 0.05 + by_chance(0.05, 60)


@pytest.mark.parametrize("truths", [(0, 100), (-300, -100, 100, 300)])
def test_rating_intervals_contain_the_truth_in_95_of_100_tournaments(truths: tuple[float, ...]) -> None:
    assert share_of_ratings_covered(truths, 10, 60) >= 0.95 - by_chance(0.95, 60)
