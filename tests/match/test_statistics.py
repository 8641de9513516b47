"""Counts, estimates with their intervals, and tests: agreement with published values, and properties."""

from __future__ import annotations

import itertools
import math
import random
from dataclasses import astuple
from statistics import NormalDist, fmean, stdev

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spielleiter.match.statistics import (
    MIN_PAIRS,
    RISK,
    Decision,
    PairCounts,
    Sprt,
    SprtError,
    Tally,
    better_program,
    better_program_by_e_value,
    complete_pairs,
    count_pairs,
    count_results,
    elo_of_score,
    estimate_elo,
    estimate_normalized_elo,
    estimate_point_difference,
    estimate_points,
    estimate_score,
    find_multiplier,
    likelihood_of_superiority,
    log_e_value,
    log_e_value_of_score,
    log_ratio,
    mean_and_variance,
    mirror,
    one_sided_p_value,
    quantile,
    running_elo,
    score_of_elo,
    student_quantile,
)
from spielleiter.match.verdict import Verdict
from tests.match.sample_records import game


def test_results_are_counted_from_program_0() -> None:
    records = [game(1, 0), game(2, 0), game(3, 1), game(4, None), game(5, None, is_counted=False)]
    assert count_results(records) == Tally(wins=2, draws=1, losses=1)
    assert count_results(records).score == 0.625


def test_without_games_there_is_no_score() -> None:
    assert count_results([]) == Tally(0, 0, 0)
    assert count_results([]).score is None


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


@pytest.mark.parametrize(("score", "elo"), [(0.5, 0), (0.75, 190.85), (0.64, 99.95), (10 / 11, 400), (1 / 11, -400)])
def test_logistic_elo(score: float, elo: float) -> None:
    assert elo_of_score(score) == pytest.approx(elo, abs=0.01)
    assert score_of_elo(elo) == pytest.approx(score, abs=1e-4)


def test_elo_is_infinite_for_scores_of_0_and_1() -> None:
    assert [elo_of_score(score) for score in (-0.1, 0, 1, 1.1)] == [-math.inf, -math.inf, math.inf, math.inf]


def test_mean_and_variance_agree_with_fishtest() -> None:
    """From the raw statistics of a test with 256 games: expected value 0.43750, variance 0.05762, Elo -43.6578."""
    mean, spread = mean_and_variance((13, 37, 50, 25, 3))
    assert mean == 0.4375
    assert spread == pytest.approx(0.05762, abs=5e-6)
    assert elo_of_score(mean) == pytest.approx(-43.6578, abs=5e-5)


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


@pytest.mark.parametrize(
    ("probability", "value"), [(0.0, 1), (0.2, 1), (0.21, 2), (0.5, 3), (0.6, 3), (0.95, 5), (1.0, 5)]
)
def test_quantiles_are_observed_values(probability: float, value: float) -> None:
    assert quantile([5, 3, 1, 4, 2], probability) == value


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


def counts_of(differences: list[int]) -> PairCounts:
    return tuple(differences.count(kind) for kind in range(-2, 3))  # type: ignore[return-value]


@pytest.mark.parametrize("seed", range(20))
def test_the_p_value_agrees_with_its_definition_over_all_signs(seed: int) -> None:
    """Compared with the definition: every combination of signs is enumerated."""
    rng = random.Random(seed)
    differences = [rng.randint(-2, 2) for _ in range(rng.randint(1, 9))]
    sums = [
        sum(sign * difference for sign, difference in zip(signs, differences, strict=True))
        for signs in itertools.product((-1, 1), repeat=len(differences))
    ]
    own = sum(differences)
    counts = counts_of(differences)
    assert one_sided_p_value(counts) == pytest.approx(sum(each >= own for each in sums) / len(sums))
    mid = (sum(each > own for each in sums) + sum(each == own for each in sums) / 2) / len(sums)
    assert likelihood_of_superiority(counts) == pytest.approx(1 - mid)


@pytest.mark.parametrize(("pairs", "superiority"), [(1, 0.75), (2, 0.875), (10, 0.9995)])
def test_few_won_pairs_are_little_evidence(pairs: int, superiority: float) -> None:
    assert likelihood_of_superiority((0, 0, 0, 0, pairs)) == pytest.approx(superiority, abs=5e-5)
    assert likelihood_of_superiority((pairs, 0, 0, 0, 0)) == pytest.approx(1 - superiority, abs=5e-5)


def test_even_pairs_decide_nothing() -> None:
    assert likelihood_of_superiority((0, 0, 7, 0, 0)) == 0.5
    assert likelihood_of_superiority((0, 0, 0, 0, 0)) is None
    assert one_sided_p_value((0, 0, 7, 0, 0)) == 1


def test_fewer_than_the_minimum_of_pairs_are_never_enough() -> None:
    assert one_sided_p_value((0, 0, 0, 0, MIN_PAIRS)) <= RISK < one_sided_p_value((0, 0, 0, 0, MIN_PAIRS - 1))


@pytest.mark.parametrize("shape", [(1, 0), (0, 1), (1, 1)])
def test_the_normal_approximation_continues_the_exact_values(shape: tuple[int, int]) -> None:
    small, great = shape
    sides = []
    for pairs in (1990, 2010):
        each = pairs // (small + great)
        lead = 40
        counts = (great * (each - lead) // 2, small * (each - lead) // 2, 0, small * (each + lead) // 2,
                  great * (each + lead) // 2)  # fmt: skip
        sides.append((one_sided_p_value(counts), likelihood_of_superiority(counts)))
    assert sides[0] == pytest.approx(sides[1], rel=0.02)


def test_evidence_grows_from_1() -> None:
    assert log_e_value((0, 0, 0, 0, 0)) == pytest.approx(0)
    assert log_e_value((0, 0, 9, 0, 0)) == pytest.approx(0)
    # the mean of (1 + x)^9 over x from -1 to 1
    assert math.exp(log_e_value((0, 0, 0, 0, 9))) == pytest.approx(2**9 / 10, rel=1e-3)
    assert log_e_value((9, 0, 0, 0, 0)) == pytest.approx(log_e_value((0, 0, 0, 0, 9)))


def test_no_pair_has_an_expected_gain() -> None:
    """The condition of Ville's inequality: the mean capital after a pair, over both signs, is the capital before."""
    rng = random.Random(5)
    for _ in range(50):
        counts = [rng.randint(0, 9) for _ in range(5)]
        for kind in range(5):
            ways = []
            for side in (kind, 4 - kind):
                more = list(counts)
                more[side] += 1
                ways.append(math.exp(log_e_value((more[0], more[1], more[2], more[3], more[4]))))
            before = math.exp(log_e_value((counts[0], counts[1], counts[2], counts[3], counts[4])))
            assert sum(ways) / 2 == pytest.approx(before)


def test_evidence_decides_for_either_program() -> None:
    assert better_program_by_e_value((0, 0, 0, 0, 7), 0.05) is None
    assert better_program_by_e_value((0, 0, 0, 0, 8), 0.05) == 0
    assert better_program_by_e_value((8, 0, 0, 0, 0), 0.05) == 1
    assert better_program_by_e_value((0, 0, 0, 0, 8), 0.01) is None


PAIRS = st.tuples(*[st.integers(0, 30)] * 5)


@given(PAIRS)
def test_the_other_side_of_the_match_gets_the_mirrored_answers(counts: PairCounts) -> None:
    other = mirror(counts)
    assert log_e_value(counts) == pytest.approx(log_e_value(other))
    superiority = likelihood_of_superiority(counts)
    if superiority is not None:
        assert likelihood_of_superiority(other) == pytest.approx(1 - superiority)
    for risk in (0.01, 0.5, 0.999):
        own, mirrored = better_program_by_e_value(counts, risk), better_program_by_e_value(other, risk)
        if own is None or mirrored is None:
            assert own == mirrored or log_e_value(counts) == pytest.approx(-math.log(risk))
        else:
            assert own == 1 - mirrored


@pytest.mark.parametrize("kind", [3, 4])
def test_the_program_with_the_better_pairs_is_named(kind: int) -> None:
    """Also if all of them are won by half a point."""
    counts = [0, 0, 0, 0, 0]
    counts[kind] = 60
    own: PairCounts = tuple(counts)  # type: ignore[assignment]
    assert better_program_by_e_value(own, 0.05) == 0
    assert better_program_by_e_value(mirror(own), 0.05) == 1
    assert one_sided_p_value(own) < 0.001 < 0.999 < one_sided_p_value(mirror(own))


@pytest.mark.parametrize(
    ("counts", "points"),
    [
        ((0, 300, 0, 0, 200), 50),  # 200 pairs won by a point each, 300 lost by half a point each
        ((0, 300, 0, 0, 100), -50),
        ((100, 0, 0, 300, 0), 50),
        ((200, 0, 0, 300, 0), -50),
        ((0, 100, 0, 200, 0), 50),
        ((100, 0, 0, 0, 150), 50),
    ],
)
def test_the_program_with_more_points_is_named_however_the_pairs_are_won(counts: PairCounts, points: int) -> None:
    """`points` are the points by which program 0 leads over all pairs, computed by hand."""
    better = 0 if points > 0 else 1
    assert better_program_by_e_value(counts, 0.5) == better
    assert better_program_by_e_value(mirror(counts), 0.5) == 1 - better


@given(PAIRS, st.integers(0, 3))
def test_a_better_pair_is_never_worse(counts: PairCounts, kind: int) -> None:
    if not counts[kind]:
        return
    better = list(counts)
    better[kind] -= 1
    better[kind + 1] += 1
    improved: PairCounts = tuple(better)  # type: ignore[assignment]
    own, new = likelihood_of_superiority(counts), likelihood_of_superiority(improved)
    score, new_score = estimate_score(counts), estimate_score(improved)
    assert score is not None
    assert new_score is not None
    assert new_score.value > score.value
    if better_program_by_e_value(counts, 0.05) == 0:
        assert better_program_by_e_value(improved, 0.05) != 1
    if better_program(counts) == 0:
        assert better_program(improved) != 1
    assert own is not None
    assert new is not None


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
        # the first mover wins, and the other pairs say little
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

    A score is outside of the interval if the e-value against it, or against it from the other side, reaches 1 / RISK
    (`test_the_running_interval_ends_where_the_evidence_suffices`).
    """
    rng, shape = random.Random(name), SHAPES[name]
    true, _ = mean_and_variance(shape)
    looks = {round(1.3**step) for step in range(18)}
    matches = 150
    highest = []
    for _ in range(matches):
        counts = [0, 0, 0, 0, 0]
        e_value = 0.0
        for pair, result in enumerate(rng.choices(range(5), shape, k=max(looks)), 1):
            counts[result] += 1
            if pair in looks:
                own: PairCounts = tuple(counts)  # type: ignore[assignment]
                e_value = max(e_value, log_e_value_of_score(own, true), log_e_value_of_score(mirror(own), 1 - true))
        highest.append(e_value)
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


COUNTS_SPRT = st.tuples(*[st.integers(0, 300)] * 5)


@pytest.mark.parametrize(
    ("sprt", "counts", "ratio", "digits"),
    [
        # fastchess' own tests of its logistic pentanomial model
        (Sprt(0.5, 2.5), (223, 9863, 21279, 10037, 246), -3.07, 0.005),
        (Sprt(0, 2), (871, 26175, 55983, 26678, 821), -4.98, 0.005),
        # the raw statistics of a test on Fishtest, "Logistic (exact)"; its Elo bound is printed with three decimals
        (Sprt(0, 2.716), (13, 37, 50, 25, 3), -0.53772, 0.0001),
    ],
)
def test_logistic_ratios_agree_with_published_values(
    sprt: Sprt, counts: PairCounts, ratio: float, digits: float
) -> None:
    assert sprt.log_likelihood_ratio(counts) == pytest.approx(ratio, abs=digits)


# fastchess' own tests of its normalized pentanomial model; it publishes them with a tolerance of 1 %
@pytest.mark.parametrize(
    ("elo0", "elo1", "counts", "ratio"),
    [
        (0, 2, (365, 16618, 36229, 16974, 390), 2.25),
        (-1.75, 0.25, (127, 4883, 10712, 5150, 104), 3.01),
        (0, 5, (0, 0, 0, 0, 5550), 111.82),
    ],
)
def test_normalized_ratios_agree_with_published_values(
    elo0: float, elo1: float, counts: PairCounts, ratio: float
) -> None:
    found = Sprt(elo0, elo1, model="normalized").log_likelihood_ratio(counts)
    assert found == pytest.approx(ratio, rel=2e-3)


@pytest.mark.parametrize("elo", [-700, -231, 0, 10, 300, 2000])
@pytest.mark.parametrize("counts", [(0, 0, 0, 0, 9), (9, 0, 0, 0, 0), (0, 0, 9, 0, 0), (3, 4, 5, 6, 9)])
def test_normalized_ratios_are_finite_for_every_hypothesis(elo: float, counts: PairCounts) -> None:
    mirrored = (counts[4], counts[3], counts[2], counts[1], counts[0])
    ratio = Sprt(elo, elo + 50, model="normalized").log_likelihood_ratio(counts)
    assert math.isfinite(ratio)
    other = Sprt(-elo - 50, -elo, model="normalized").log_likelihood_ratio(mirrored)
    assert ratio == pytest.approx(-other, abs=1e-4, rel=1e-4)


@pytest.mark.parametrize("counts", [(2400, 0, 10000, 0, 2600), (7400, 0, 0, 0, 7580), (0, 4900, 400, 5100, 0)])
def test_the_normalized_ratio_agrees_with_the_formula_for_small_effects(counts: PairCounts) -> None:
    """For small effects it is N (t1 - t0) (t - (t0 + t1) / 2), however many pairs are even."""
    pairs = sum(counts)
    mean = sum(count * kind / 4 for kind, count in enumerate(counts)) / pairs
    effect = (mean - 0.5) / math.sqrt(sum(count * (kind / 4 - mean) ** 2 for kind, count in enumerate(counts)) / pairs)
    bound = math.sqrt(2) * 5 / 347.43559
    expected = pairs * bound * (effect - bound / 2)
    assert Sprt(0, 5, model="normalized").log_likelihood_ratio(counts) == pytest.approx(expected, rel=0.02, abs=0.02)


def test_the_bounds_are_those_of_wald() -> None:
    assert Sprt(0, 5).lower == pytest.approx(-2.9444, abs=5e-5)
    assert Sprt(0, 5).upper == pytest.approx(2.9444, abs=5e-5)
    assert Sprt(0, 5, alpha=0.01, beta=0.2).lower == pytest.approx(math.log(0.2 / 0.99))
    assert Sprt(0, 5, alpha=0.01, beta=0.2).upper == pytest.approx(math.log(80))


def test_nothing_is_decided_without_a_pair() -> None:
    assert Sprt(0, 50).log_likelihood_ratio((0, 0, 0, 0, 0)) == 0
    assert Sprt(0, 50).decide((0, 0, 0, 0, 0)) is None


@pytest.mark.parametrize("pairs", [1, 60])
def test_results_that_did_not_occur_have_almost_no_weight(pairs: int) -> None:
    """If all pairs were won, the maximum-likelihood distribution with mean s wins with probability s."""
    ratio = pairs * math.log(score_of_elo(50) / score_of_elo(0))
    assert Sprt(0, 50).log_likelihood_ratio((0, 0, 0, 0, pairs)) == pytest.approx(ratio, abs=1e-3)


@given(COUNTS_SPRT, st.floats(-200, 200), st.floats(1, 100))
@settings(max_examples=60)
def test_the_other_program_tests_the_mirrored_hypotheses(counts: PairCounts, elo: float, width: float) -> None:
    mirrored = (counts[4], counts[3], counts[2], counts[1], counts[0])
    own = Sprt(elo, elo + width).log_likelihood_ratio(counts)
    assert own == pytest.approx(-Sprt(-elo - width, -elo).log_likelihood_ratio(mirrored), abs=1e-6, rel=1e-6)


@given(COUNTS_SPRT.filter(lambda counts: min(counts) > 0), st.floats(-50, 50))
@settings(max_examples=40)
def test_no_other_distribution_with_that_mean_is_more_likely(counts: PairCounts, elo: float) -> None:
    """The likelihood under H1 is at least that of any other distribution with the mean of H1."""
    pairs, score = sum(counts), score_of_elo(elo)
    own = sum(count * index / 4 for index, count in enumerate(counts)) / pairs
    if abs(own - score) < 1e-3:
        return
    own_elo = 400 * math.log10(own / (1 - own))
    ratio = Sprt(min(elo, own_elo), max(elo, own_elo)).log_likelihood_ratio(counts)
    lost = ratio if elo < own_elo else -ratio
    # another distribution with the wanted mean: the sample mixed with one of the extreme results
    end = 4 if score > own else 0
    share = (score - own) / (end / 4 - own)
    mixed = [count / pairs * (1 - share) + share * (index == end) for index, count in enumerate(counts)]
    assert sum(chance * index / 4 for index, chance in enumerate(mixed)) == pytest.approx(score)
    other = sum(count * math.log(count / pairs / chance) for count, chance in zip(counts, mixed, strict=True))
    assert 0 < lost <= other + 1e-6


@pytest.mark.parametrize(
    ("counts", "decision"),
    [
        ((0, 0, 0, 0, 2), None),
        ((0, 0, 0, 0, 60), Decision.H1),
        ((60, 0, 0, 0, 0), Decision.H0),
        # the first mover wins: neither program is better
        ((0, 0, 10, 0, 0), None),
        ((0, 0, 60, 0, 0), Decision.H0),
        ((5, 5, 30, 5, 5), None),
    ],
)
def test_decisions(counts: PairCounts, decision: Decision | None) -> None:
    assert Sprt(0, 50).decide(counts) is decision


@pytest.mark.no_cover
@pytest.mark.slow
@pytest.mark.parametrize(
    ("truth", "wrong", "risk"), [(0.0, Decision.H1, 0.05), (50.0, Decision.H0, 0.05)], ids=["alpha", "beta"]
)
def test_error_rates_over_simulated_matches(truth: float, wrong: Decision, risk: float) -> None:
    """At the edge of either hypothesis, evaluated after every pair."""
    rng = random.Random(2021)
    sprt = Sprt(0, 50, alpha=0.05, beta=0.05)
    shift = score_of_elo(truth) - 0.5
    chances = (0.25 - shift, 0.1, 0.3, 0.1, 0.25 + shift)
    runs, errors, lengths = 400, 0, []
    for _ in range(runs):
        counts = [0, 0, 0, 0, 0]
        decision = None
        while decision is None:
            counts[rng.choices(range(5), chances)[0]] += 1
            decision = sprt.decide((counts[0], counts[1], counts[2], counts[3], counts[4]))
        errors += decision is wrong
        lengths.append(sum(counts))
    deviation = math.sqrt(risk * (1 - risk) / runs)
    assert errors / runs <= risk + 3 * deviation
    # a test without errors would be too long: the error rates are close to Wald's risks
    assert errors / runs >= risk / 3
    # Wald's expected length, (1 - 2 risk) ln((1 - risk) / risk) / drift, with the drift of the normal approximation
    difference = score_of_elo(50) - 0.5
    spread = sum(chance * (index / 4 - 0.5 - shift) ** 2 for index, chance in enumerate(chances))
    expected = (1 - 2 * risk) * math.log((1 - risk) / risk) / (difference**2 / (2 * spread))
    assert sum(lengths) / runs == pytest.approx(expected, rel=0.2)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("elo0=0 elo1=50 alpha=0.05 beta=0.05", (0, 50, 0.05, 0.05, "logistic")),
        ("elo1=5,elo0=-2.5", (-2.5, 5, 0.05, 0.05, "logistic")),
        (" alpha=0.1, elo0=0\telo1=1 ", (0, 1, 0.1, 0.05, "logistic")),
        ("elo0=0 elo1=5 model=normalized", (0, 5, 0.05, 0.05, "normalized")),
    ],
)
def test_parameters_are_read(text: str, values: tuple[object, ...]) -> None:
    sprt = Sprt.parse(text)
    assert astuple(sprt) == values
    assert Sprt.parse(str(sprt)) == sprt


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "was expected"),
        ("elo0=0", "elo1= is missing"),
        ("elo1=0", "elo0= is missing"),
        ("elo0=0 elo1=x", "not a number"),
        ("elo0=0 elo1=5 gamma=1", "'gamma=1'"),
        ("elo0=0 elo0=1 elo1=5", "each once"),
        ("elo0=5 elo1=5", "below"),
        ("elo0=0 elo1=5 alpha=0", "above 0"),
        ("elo0=0 elo1=5 alpha=0.5 beta=0.5", "below 1 together"),
        ("elo0=0 elo1=inf", "finite"),
        ("elo0=0 elo1=5 model=bayesian", "model=bayesian: expected logistic or normalized"),
        ("elo0=nan elo1=5", "finite"),
    ],
)
def test_invalid_parameters_are_named(text: str, why: str) -> None:
    with pytest.raises(SprtError, match=why):
        Sprt.parse(text)
