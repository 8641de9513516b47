"""Intervals: published values and properties of all results; simulate_error_rates.py measures their coverage."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spielleiter.match.statistics import (
    RISK,
    PairCounts,
    better_program,
    estimate_elo,
    estimate_normalized_elo,
    estimate_score,
    likelihood_of_superiority,
    log_e_value_of_score,
    mean_and_variance,
    mirror,
    one_sided_p_value,
    running_elo,
)

COUNTS = st.tuples(*[st.integers(0, 40)] * 5).filter(any)


# Values of fastchess' own tests of its pentanomial Elo, with the pairs in its order: LL, LD, WL, DD, WD, WW. It takes
# the normal distribution where Student's t belongs, and publishes with a tolerance of 1 %.
@pytest.mark.parametrize(
    ("pairs", "elo", "error", "nelo", "nelo_error", "superiority", "score"),
    [
        ((34, 54, 31, 32, 64, 75), 55.58, 27.65, 57.94, 28.28, 1.0, 0.579),
        ((332, 433, 457, 41, 333, 334), -8.64, 10.33, -9.17, 10.96, 0.0505, 0.488),
        ((7895, 8757, 5485, 200, 568, 9999), -21.04, 2.95, -19.01, 2.65, 0.0, 0.470),
    ],
)
def test_estimates_agree_with_fastchess(
    pairs: tuple[int, ...],
    elo: float,
    error: float,
    nelo: float,
    nelo_error: float,
    superiority: float,
    score: float,
) -> None:
    lost, quarter, split, drawn, three, won = pairs
    counts: PairCounts = (lost, quarter, split + drawn, three, won)
    estimate, expected, normalized = estimate_elo(counts), estimate_score(counts), estimate_normalized_elo(counts)
    assert estimate is not None
    assert expected is not None
    assert normalized is not None
    assert estimate.value == pytest.approx(elo, abs=0.005)
    assert normalized.value == pytest.approx(nelo, abs=0.005)
    assert (estimate.high - estimate.low) / 2 == pytest.approx(error, rel=0.01)
    assert (normalized.high - normalized.low) / 2 == pytest.approx(nelo_error, rel=0.01)
    assert likelihood_of_superiority(counts) == pytest.approx(superiority, abs=0.0002)
    assert expected.value == pytest.approx(score, abs=0.0005)


def test_without_a_pair_there_is_no_estimate() -> None:
    nothing = (0, 0, 0, 0, 0)
    assert estimate_score(nothing) is None
    assert estimate_elo(nothing) is None
    assert estimate_normalized_elo(nothing) is None
    assert better_program(nothing) is None


@pytest.mark.slow
@given(COUNTS)
@settings(max_examples=60)
def test_estimates_are_mirrored_for_the_other_program(counts: PairCounts) -> None:
    mirrored = mirror(counts)
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
def test_intervals_shrink_with_more_pairs_of_the_same_results(counts: PairCounts) -> None:
    few = estimate_score(counts)
    many = estimate_score((counts[0] * 4, counts[1] * 4, counts[2] * 4, counts[3] * 4, counts[4] * 4))
    assert few is not None
    assert many is not None
    assert many.value == pytest.approx(few.value)
    assert many.high - many.low < few.high - few.low


@pytest.mark.parametrize(("index", "atom"), [(0, 0.0), (1, 0.25), (2, 0.5), (3, 0.75), (4, 1.0)])
@pytest.mark.parametrize(("pairs", "quantile"), [(6, 2.5706), (21, 2.0860), (1000, 1.9623)])
def test_pairs_with_equal_results_still_have_an_interval(index: int, atom: float, pairs: int, quantile: float) -> None:
    """The likelihood at an end falls by N ln(1 + t² / (N - 1)), with t from a table."""
    threshold = pairs * math.log(1 + quantile**2 / (pairs - 1))
    kinds = [0, 0, 0, 0, 0]
    kinds[index] = pairs
    counts = (kinds[0], kinds[1], kinds[2], kinds[3], kinds[4])
    estimate = estimate_score(counts)
    assert estimate is not None
    assert estimate.value == atom
    if atom > 0:
        assert -2 * pairs * math.log(estimate.low / atom) == pytest.approx(threshold, abs=1e-3)
    if atom < 1:
        assert -2 * pairs * math.log((1 - estimate.high) / (1 - atom)) == pytest.approx(threshold, abs=1e-3)
    assert estimate_normalized_elo(counts) is None


def test_one_pair_does_not_limit_the_score() -> None:
    estimate = estimate_elo((0, 0, 0, 1, 0))
    assert estimate is not None
    assert (estimate.low, estimate.high) == (-math.inf, math.inf)


@pytest.mark.slow
@given(COUNTS)
@settings(max_examples=60)
def test_the_interval_excludes_0_if_and_only_if_a_program_is_better(counts: PairCounts) -> None:
    estimate = estimate_elo(counts)
    assert estimate is not None
    better = better_program(counts)
    assert (estimate.low > 0, estimate.high < 0) == (better == 0, better == 1)
    if better is not None:
        assert one_sided_p_value(mirror(counts) if better else counts) <= RISK


@pytest.mark.parametrize("pairs", range(1, 6))
def test_five_pairs_are_too_few(pairs: int) -> None:
    assert better_program((0, 0, 0, 0, pairs)) is None
    assert better_program((pairs, 0, 0, 0, 0)) is None


@pytest.mark.parametrize(
    ("counts", "better"),
    [
        ((0, 0, 0, 0, 6), 0),
        ((6, 0, 0, 0, 0), 1),
        # a normal test would call each of these better
        ((0, 0, 1, 1, 1), None),
        ((0, 1, 0, 4, 0), None),
        ((0, 0, 50, 5, 0), None),
        # always one and a half points; with one pair of three lost among them, no program would be better
        ((0, 0, 0, 6, 0), None),
        ((0, 0, 0, 12, 0), 0),
        # the first mover wins, and the other pairs are little evidence
        ((0, 0, 96, 0, 4), None),
    ],
)
def test_the_better_program(counts: PairCounts, better: int | None) -> None:
    assert better_program(counts) == better


SHAPES = {
    "no draws": (1, 0, 2, 0, 1),
    "many draws": (1, 4, 10, 4, 1),
    "strong": (1, 2, 5, 10, 12),
    "even": (1, 1, 1, 1, 1),
}


@pytest.mark.parametrize("name", SHAPES)
def test_the_running_interval_holds_at_every_look(name: str) -> None:
    """Simulated matches with many looks: the interval excludes the true score in at most 5 % of them.

    A score is outside of the interval if the evidence against it, or against it from the other side, reaches 1 / RISK
    (`test_the_running_interval_ends_where_the_evidence_suffices`).
    """
    rng, shape = random.Random(name), SHAPES[name]
    true, _ = mean_and_variance(shape)
    looks = {round(1.3**step) for step in range(18)}
    matches = 150
    highest = []
    for _ in range(matches):
        counts = [0, 0, 0, 0, 0]
        evidence = 0.0
        for pair, result in enumerate(rng.choices(range(5), shape, k=max(looks)), 1):
            counts[result] += 1
            if pair in looks:
                own: PairCounts = tuple(counts)  # type: ignore[assignment]
                evidence = max(evidence, log_e_value_of_score(own, true), log_e_value_of_score(mirror(own), 1 - true))
        highest.append(evidence)
    assert sum(each >= -math.log(RISK) for each in highest) <= 0.05 * matches
    assert sum(each >= -math.log(10 * RISK) for each in highest) > 0.05 * matches  # a limit that does not hold


@pytest.mark.parametrize("counts", [(1, 4, 10, 4, 1), (0, 3, 9, 20, 2), (40, 3, 2, 1, 1), (0, 0, 30, 0, 0)])
def test_the_running_interval_ends_where_the_evidence_suffices(counts: PairCounts) -> None:
    found = running_elo(counts)
    assert found is not None
    for own, elo in ((counts, found.low), (mirror(counts), -found.high)):
        score = 1 / (1 + 10 ** (-elo / 400))
        assert log_e_value_of_score(own, score - 1e-5) > -math.log(RISK) > log_e_value_of_score(own, score + 1e-5)
    assert log_e_value_of_score((0, 0, 0, 0, 0), 0.5) == pytest.approx(0)
    assert log_e_value_of_score((0, 0, 0, 0, 1), 0.25) == pytest.approx(math.log(2.5))  # the mean of 1 + 3 s


@given(COUNTS)
def test_the_running_interval_is_the_same_from_both_sides(counts: PairCounts) -> None:
    own, other = running_elo(counts), running_elo(mirror(counts))
    if own is None or other is None:
        pytest.fail("there is no interval")
    assert own.low <= own.value + 1e-6
    assert own.value <= own.high + 1e-6
    assert (own.low, own.high) == pytest.approx((-other.high, -other.low), abs=1e-4)


def test_the_running_interval_becomes_narrow() -> None:
    widths = []
    for count in (5, 50, 500, 5000):
        found = running_elo((count, count, 2 * count, count, count))
        assert found is not None
        widths.append(found.high - found.low)
    assert widths == sorted(widths, reverse=True)
    assert widths[-1] < 20
    assert running_elo((0, 0, 0, 0, 0)) is None
