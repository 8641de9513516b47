"""Counting and Elo: published values, statistical tables, and properties of all results."""

from __future__ import annotations

import math
from statistics import NormalDist, fmean, stdev

import pytest

from spielleiter.match.statistics import (
    Tally,
    complete_pairs,
    count_pairs,
    count_results,
    elo_of_score,
    estimate_point_difference,
    estimate_points,
    mean_and_variance,
    quantile,
    score_of_elo,
    student_quantile,
)
from spielleiter.match.verdict import Verdict
from tests.match.sample_records import fault, game

# -- counting ---------------------------------------------------------------------------------------------------


def test_results_are_counted_from_program_0() -> None:
    records = [game(1, 0), game(2, 0), game(3, 1), game(4, None), game(5, None, is_counted=False)]
    assert count_results(records) == Tally(wins=2, draws=1, losses=1)
    assert count_results(records).score == 0.625


def test_without_games_there_is_no_score() -> None:
    assert count_results([]) == Tally(0, 0, 0)
    assert count_results([]).score is None


def test_a_lost_program_loses_its_game() -> None:
    assert count_results([fault(1, 0, Verdict.CRASH), fault(2, 1, Verdict.TIMEOUT)]) == Tally(1, 0, 1)


@pytest.mark.parametrize(
    ("winners", "index"),
    [((1, 1), 0), ((None, 1), 1), ((1, 0), 2), ((None, None), 2), ((0, None), 3), ((0, 0), 4)],
)
def test_pairs_are_counted_by_half_points(winners: tuple[int | None, int | None], index: int) -> None:
    counts = count_pairs([game(1, winners[0]), game(2, winners[1])])
    assert counts == tuple(int(kind == index) for kind in range(5))


def test_an_incomplete_pair_is_not_counted() -> None:
    records = [game(4), game(1), game(5), game(6, is_counted=False), game(3), game(2)]
    assert [tuple(sorted(one.game for one in pair)) for pair in complete_pairs(records)] == [(1, 2), (3, 4)]
    assert sum(count_pairs(records)) == 2


# -- Elo --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("score", "elo"), [(0.5, 0), (0.75, 190.85), (0.64, 99.95), (10 / 11, 400), (1 / 11, -400)])
def test_logistic_elo(score: float, elo: float) -> None:
    assert elo_of_score(score) == pytest.approx(elo, abs=0.01)
    assert score_of_elo(elo) == pytest.approx(score, abs=1e-4)


def test_elo_is_infinite_for_scores_of_0_and_1() -> None:
    assert [elo_of_score(score) for score in (-0.1, 0, 1, 1.1)] == [-math.inf, -math.inf, math.inf, math.inf]


def test_the_elo_of_equal_programs_is_not_minus_zero() -> None:
    assert math.copysign(1, elo_of_score(0.5)) == 1


def test_mean_and_variance_agree_with_fishtest() -> None:
    """From the raw statistics of a test with 256 games: expected value 0.43750, variance 0.05762, Elo -43.6578."""
    mean, spread = mean_and_variance((13, 37, 50, 25, 3))
    assert mean == 0.4375
    assert spread == pytest.approx(0.05762, abs=5e-6)
    assert elo_of_score(mean) == pytest.approx(-43.6578, abs=5e-5)


# -- points -----------------------------------------------------------------------------------------------------


def test_points_are_estimated_from_pairs() -> None:
    points = [(80, 60), (70, 72), (90, 50), (61, 61), (75, 70), (66, 68)]
    records = [game(number, points=pair) for number, pair in enumerate(points, 1)]
    of_pairs = [(20 - 2) / 2, (40 + 0) / 2, (5 - 2) / 2]
    estimate = estimate_point_difference(records)
    assert estimate is not None
    assert estimate.value == pytest.approx(fmean(of_pairs))
    assert estimate.high - estimate.value == pytest.approx(4.302653 * stdev(of_pairs) / math.sqrt(3), rel=1e-6)
    assert estimate.value - estimate.low == pytest.approx(estimate.high - estimate.value)
    own, other = estimate_points(records, 0), estimate_points(records, 1)
    assert own is not None
    assert other is not None
    assert own.value == pytest.approx(fmean(pair[0] for pair in points))
    assert other.value == pytest.approx(63.5)


def test_points_of_games_that_were_not_played_to_their_end_are_ignored() -> None:
    records = [
        *[game(number, points=(10, 0)) for number in (1, 2, 3, 4)],
        game(5, points=(90, 0)),
        game(6, verdict=Verdict.TIMEOUT, offender=1, points=(90, 0)),
        game(7, points=(90, 0)),
        game(8, points=(None, None)),
    ]
    estimate = estimate_point_difference(records)
    assert estimate is not None
    assert estimate.value == 10
    assert estimate_points(records[:2], 0) is None


# Handbook of Mathematical Functions, table 26.10, and any other table of Student's t.
@pytest.mark.parametrize(
    ("freedom", "half", "quantile_"),
    [
        (1, 0.975, 12.706),
        (2, 0.975, 4.303),
        (3, 0.975, 3.182),
        (4, 0.975, 2.776),
        (9, 0.975, 2.262),
        (30, 0.975, 2.042),
        (120, 0.975, 1.980),
        (1, 0.95, 6.314),
        (7, 0.99, 2.998),
        (10, 0.995, 3.169),
    ],
)
def test_student_quantiles_agree_with_published_tables(freedom: int, half: float, quantile_: float) -> None:
    assert student_quantile(half, freedom) == pytest.approx(quantile_, abs=5e-4)


def test_student_quantiles_approach_those_of_the_normal_distribution() -> None:
    # the expansion continues the exact series without a jump
    steps = [student_quantile(0.975, freedom) for freedom in (99, 100, 101, 102)]
    assert steps[1] - steps[2] == pytest.approx(steps[0] - steps[1], rel=0.05)
    assert student_quantile(0.975, 1000) == pytest.approx(1.962339, abs=1e-6)
    assert student_quantile(0.975, 10**9) == pytest.approx(NormalDist().inv_cdf(0.975), abs=1e-8)


# -- times ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("probability", "value"), [(0.0, 1), (0.2, 1), (0.21, 2), (0.5, 3), (0.6, 3), (0.95, 5), (1.0, 5)]
)
def test_quantiles_are_observed_values(probability: float, value: float) -> None:
    assert quantile([5, 3, 1, 4, 2], probability) == value
