"""Statistics: published values, tables, and what must hold for any result."""

from __future__ import annotations

import math
import random
from statistics import NormalDist, fmean, stdev

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from match.records import Verdict
from match.statistics import (
    PairCounts,
    Tally,
    complete_pairs,
    count_pairs,
    count_results,
    elo_of_score,
    estimate_elo,
    estimate_point_difference,
    estimate_points,
    estimate_score,
    likelihood_of_superiority,
    mean_and_variance,
    quantile,
    score_of_elo,
    student_quantile,
)
from tests.match.games import fault, game

COUNTS = st.tuples(*[st.integers(0, 40)] * 5).filter(any)

# -- counting ---------------------------------------------------------------------------------------------------


def test_results_are_counted_from_program_0() -> None:
    records = [game(1, 0), game(2, 0), game(3, 1), game(4, None), game(5, None, is_counted=False)]
    assert count_results(records) == Tally(wins=2, draws=1, losses=1)
    assert count_results(records).score == 0.625


def test_no_games_have_no_score() -> None:
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


def test_half_a_pair_is_no_pair() -> None:
    records = [game(4), game(1), game(5), game(6, is_counted=False), game(3), game(2)]
    assert [tuple(sorted(one.game for one in pair)) for pair in complete_pairs(records)] == [(1, 2), (3, 4)]
    assert sum(count_pairs(records)) == 2


# -- Elo --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("score", "elo"), [(0.5, 0), (0.75, 190.85), (0.64, 99.95), (10 / 11, 400), (1 / 11, -400)])
def test_logistic_elo(score: float, elo: float) -> None:
    assert elo_of_score(score) == pytest.approx(elo, abs=0.01)
    assert score_of_elo(elo) == pytest.approx(score, abs=1e-4)


def test_elo_is_infinite_at_the_ends() -> None:
    assert [elo_of_score(score) for score in (-0.1, 0, 1, 1.1)] == [-math.inf, -math.inf, math.inf, math.inf]


# Values of fastchess' own tests of its pentanomial Elo, with the pairs in its order: LL, LD, WL, DD, WD, WW.
@pytest.mark.parametrize(
    ("pairs", "elo", "error", "superiority", "score"),
    [
        ((34, 54, 31, 32, 64, 75), 55.58, 27.65, 1.0, 0.579),
        ((332, 433, 457, 41, 333, 334), -8.64, 10.33, 0.0505, 0.488),
        ((7895, 8757, 5485, 200, 568, 9999), -21.04, 2.95, 0.0, 0.470),
    ],
)
def test_fastchess_publishes_the_same(
    pairs: tuple[int, ...], elo: float, error: float, superiority: float, score: float
) -> None:
    lost, quarter, split, drawn, three, won = pairs
    counts: PairCounts = (lost, quarter, split + drawn, three, won)
    estimate, expected = estimate_elo(counts), estimate_score(counts)
    assert estimate is not None
    assert expected is not None
    assert estimate.value == pytest.approx(elo, abs=0.005)
    assert (estimate.high - estimate.low) / 2 == pytest.approx(error, abs=0.005)
    assert likelihood_of_superiority(counts) == pytest.approx(superiority, abs=0.00005)
    assert expected.value == pytest.approx(score, abs=0.0005)


def test_fishtest_publishes_the_same() -> None:
    """From the raw statistics of a test with 256 games: expected value 0.43750, variance 0.05762, Elo -43.6578."""
    counts = (13, 37, 50, 25, 3)
    mean, spread = mean_and_variance(counts)
    assert mean == 0.4375
    assert spread == pytest.approx(0.05762, abs=5e-6)
    estimate = estimate_elo(counts)
    assert estimate is not None
    assert estimate.value == pytest.approx(-43.6578, abs=5e-5)


def test_nothing_is_said_without_a_pair() -> None:
    nothing = (0, 0, 0, 0, 0)
    assert estimate_score(nothing) is None
    assert estimate_elo(nothing) is None
    assert likelihood_of_superiority(nothing) is None


@pytest.mark.slow
@given(COUNTS)
@settings(max_examples=60)
def test_the_other_program_sees_it_mirrored(counts: PairCounts) -> None:
    mirrored = (counts[4], counts[3], counts[2], counts[1], counts[0])
    own, other = estimate_elo(counts), estimate_elo(mirrored)
    assert own is not None
    assert other is not None
    assert own.low <= own.value <= own.high
    assert (own.value, own.low, own.high) == pytest.approx((-other.value, -other.high, -other.low), abs=1e-6)
    above, below = likelihood_of_superiority(counts), likelihood_of_superiority(mirrored)
    assert above is not None
    assert below is not None
    assert above + below == pytest.approx(1)


@pytest.mark.slow
@given(COUNTS)
@settings(max_examples=40)
def test_more_of_the_same_makes_surer(counts: PairCounts) -> None:
    few = estimate_score(counts)
    many = estimate_score((counts[0] * 4, counts[1] * 4, counts[2] * 4, counts[3] * 4, counts[4] * 4))
    assert few is not None
    assert many is not None
    assert many.value == pytest.approx(few.value)
    assert many.high - many.low < few.high - few.low


@pytest.mark.parametrize(("index", "atom"), [(0, 0.0), (1, 0.25), (2, 0.5), (3, 0.75), (4, 1.0)])
@pytest.mark.parametrize("pairs", [1, 5, 100])
def test_pairs_that_all_ended_alike_still_have_an_interval(index: int, atom: float, pairs: int) -> None:
    kinds = [0, 0, 0, 0, 0]
    kinds[index] = pairs
    estimate = estimate_score((kinds[0], kinds[1], kinds[2], kinds[3], kinds[4]))
    assert estimate is not None
    # the likelihood of the bound itself, held against the quantile of chi squared with one degree of freedom
    assert estimate.value == atom
    if atom > 0:
        assert -2 * pairs * math.log(estimate.low / atom) == pytest.approx(3.8415, abs=1e-3)
    if atom < 1:
        assert -2 * pairs * math.log((1 - estimate.high) / (1 - atom)) == pytest.approx(3.8415, abs=1e-3)
    assert 0 <= estimate.low <= atom <= estimate.high <= 1


@pytest.mark.parametrize(("pairs", "superiority"), [(1, 0.8805), (2, 0.9521), (10, 0.9999)])
def test_one_pair_won_proves_little(pairs: int, superiority: float) -> None:
    assert likelihood_of_superiority((0, 0, 0, 0, pairs)) == pytest.approx(superiority, abs=1e-4)
    assert likelihood_of_superiority((pairs, 0, 0, 0, 0)) == pytest.approx(1 - superiority, abs=1e-4)


def test_pairs_that_are_all_split_decide_nothing() -> None:
    assert likelihood_of_superiority((0, 0, 7, 0, 0)) == 0.5


@pytest.mark.slow
def test_the_interval_covers_the_truth_in_95_of_100_matches() -> None:
    rng = random.Random(7)
    chances, truth = (0.1, 0.15, 0.3, 0.15, 0.3), 0.6
    covered = 0
    for _ in range(2000):
        drawn = rng.choices(range(5), chances, k=150)
        estimate = estimate_score((drawn.count(0), drawn.count(1), drawn.count(2), drawn.count(3), drawn.count(4)))
        assert estimate is not None
        covered += estimate.low <= truth <= estimate.high
    # three standard deviations of the share of 2,000
    assert covered / 2000 == pytest.approx(0.95, abs=0.015)


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


def test_games_broken_off_have_no_points() -> None:
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
def test_student_quantiles_are_those_of_the_tables(freedom: int, half: float, quantile_: float) -> None:
    assert student_quantile(half, freedom) == pytest.approx(quantile_, abs=5e-4)


def test_student_becomes_normal() -> None:
    assert student_quantile(0.975, 1000) == pytest.approx(student_quantile(0.975, 1001), abs=3e-3)
    assert student_quantile(0.975, 5000) == pytest.approx(NormalDist().inv_cdf(0.975), abs=1e-9)


# -- times ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("probability", "value"), [(0.0, 1), (0.2, 1), (0.21, 2), (0.5, 3), (0.6, 3), (0.95, 5), (1.0, 5)]
)
def test_quantiles_are_values_that_occurred(probability: float, value: float) -> None:
    assert quantile([5, 3, 1, 4, 2], probability) == value
