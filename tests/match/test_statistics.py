"""Counts, estimates with their intervals, and tests: agreement with published values, and properties."""

from __future__ import annotations

import itertools
import math
import random
from dataclasses import astuple
from statistics import NormalDist, fmean, stdev
from typing import TypeVar

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
    estimate_figures,
    estimate_normalized_elo,
    estimate_point_difference,
    estimate_points,
    estimate_score,
    likelihood_of_superiority,
    log_e_value,
    log_e_value_of_score,
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

Value = TypeVar("Value")
NOTHING: PairCounts = (0, 0, 0, 0, 0)
COUNTS = st.tuples(*[st.integers(0, 40)] * 5).filter(any)


def sure(value: Value | None) -> Value:
    assert value is not None
    return value


def counts_of(kinds: list[int]) -> PairCounts:
    return kinds.count(0), kinds.count(1), kinds.count(2), kinds.count(3), kinds.count(4)


def test_results_are_counted_from_program_0() -> None:
    records = [game(1, 0), game(2, 0), game(3, 1), game(4, None), game(5, None, is_counted=False)]
    assert count_results(records) == Tally(wins=2, draws=1, losses=1)
    assert (count_results(records).games, count_results(records).score) == (4, 0.625)
    assert (count_results([]), count_results([]).score) == (Tally(0, 0, 0), None)


@pytest.mark.parametrize(
    ("winners", "index"), [((1, 1), 0), ((None, 1), 1), ((1, 0), 2), ((None, None), 2), ((0, None), 3), ((0, 0), 4)]
)
def test_pairs_are_counted_by_half_points(winners: tuple[int | None, int | None], index: int) -> None:
    assert count_pairs([game(1, winners[0]), game(2, winners[1])]) == counts_of([index])


def test_an_incomplete_pair_is_not_counted() -> None:
    records = [game(4), game(1), game(5), game(6, is_counted=False), game(3), game(2)]
    assert [tuple(sorted(one.game for one in pair)) for pair in complete_pairs(records)] == [(1, 2), (3, 4)]
    assert sum(count_pairs(records)) == 2


@pytest.mark.parametrize(("score", "elo"), [(0.5, 0), (0.75, 190.85), (10 / 11, 400), (1 / 11, -400)])
def test_logistic_elo(score: float, elo: float) -> None:
    assert elo_of_score(score) == pytest.approx(elo, abs=0.01)
    assert score_of_elo(elo) == pytest.approx(score, abs=1e-4)


def test_elo_is_infinite_for_scores_of_0_and_1() -> None:
    assert [elo_of_score(score) for score in (-0.1, 0, 1, 1.1)] == [-math.inf, -math.inf, math.inf, math.inf]


def test_mean_and_variance_agree_with_fishtest() -> None:
    """From the raw statistics of a test with 256 games: expected value 0.43750, variance 0.05762, Elo -43.6578."""
    mean, spread = mean_and_variance((13, 37, 50, 25, 3))
    assert (mean, spread) == pytest.approx((0.4375, 0.05762), abs=5e-6)
    assert elo_of_score(mean) == pytest.approx(-43.6578, abs=5e-5)


def test_points_are_estimated_from_pairs_that_were_played_to_their_end() -> None:
    points = [(80, 60), (70, 72), (90, 50), (61, 61), (75, 70), (66, 68)]
    records = [game(number, points=pair) for number, pair in enumerate(points, 1)]
    of_pairs = [(20 - 2) / 2, (40 + 0) / 2, (5 - 2) / 2]
    others = [
        game(7, points=(90, 0)),
        game(8, verdict=Verdict.TIMEOUT, offender=1, points=(90, 0)),
        game(9, points=(90, 0)),
        game(10, points=(None, None)),
    ]
    estimate = sure(estimate_point_difference(records + others))
    assert estimate.value == pytest.approx(fmean(of_pairs))
    assert estimate.high - estimate.value == pytest.approx(4.302653 * stdev(of_pairs) / math.sqrt(3), rel=1e-6)
    assert estimate.value - estimate.low == pytest.approx(estimate.high - estimate.value)
    for program in (0, 1):
        mean = fmean(pair[program] for pair in points)
        assert sure(estimate_points(records, program)).value == pytest.approx(mean)
    assert estimate_points(records[:2], 0) is None


def test_the_parts_of_scores_are_estimated_by_their_names() -> None:
    records = [game(number, points=(60 + number, 50), figures=figures(60 + number, 50)) for number in range(1, 5)]
    records.append(game(5, points=(None, None)))  # there was no result
    for program in (0, 1):
        estimates = estimate_figures(records, program)
        assert list(estimates) == ["Feldnummer", "Karotten"]
        assert estimates["Feldnummer"] == estimate_points(records, program)
        assert estimates["Karotten"].value == pytest.approx(2 * sure(estimates["Feldnummer"]).value)
    assert estimate_figures(records[:2], 0) == {}


def figures(first: int, second: int) -> tuple[dict[str, int], dict[str, int]]:
    """Invented parts of scores, of which the last one is twice the points."""
    return {"Feldnummer": first, "Karotten": 2 * first}, {"Feldnummer": second, "Karotten": 2 * second}


# Handbook of Mathematical Functions, table 26.10, and any other table of Student's t
@pytest.mark.parametrize(
    ("freedom", "probability", "value"),
    [
        (1, 0.975, 12.706),
        (2, 0.975, 4.303),
        (9, 0.975, 2.262),
        (120, 0.975, 1.980),
        (7, 0.99, 2.998),
        (10, 0.995, 3.169),
    ],
)
def test_student_quantiles_agree_with_published_tables(freedom: int, probability: float, value: float) -> None:
    assert student_quantile(probability, freedom) == pytest.approx(value, abs=5e-4)


def test_student_quantiles_approach_those_of_the_normal_distribution() -> None:
    # the expansion continues the exact series without a jump
    steps = [student_quantile(0.975, freedom) for freedom in (99, 100, 101, 102)]
    assert steps[1] - steps[2] == pytest.approx(steps[0] - steps[1], rel=0.05)
    assert student_quantile(0.975, 1000) == pytest.approx(1.962339, abs=1e-6)
    assert student_quantile(0.975, 10**9) == pytest.approx(NormalDist().inv_cdf(0.975), abs=1e-8)


@pytest.mark.parametrize(("probability", "value"), [(0.0, 1), (0.2, 1), (0.21, 2), (0.6, 3), (1.0, 5)])
def test_quantiles_are_observed_values(probability: float, value: float) -> None:
    assert quantile([5, 3, 1, 4, 2], probability) == value


# -- the exact test ---------------------------------------------------------------------------------------------------


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
    counts = counts_of([2 + difference for difference in differences])
    assert one_sided_p_value(counts) == pytest.approx(sum(each >= own for each in sums) / len(sums))
    mid = (sum(each > own for each in sums) + sum(each == own for each in sums) / 2) / len(sums)
    assert likelihood_of_superiority(counts) == pytest.approx(1 - mid)


def test_even_pairs_decide_nothing() -> None:
    assert likelihood_of_superiority((0, 0, 7, 0, 0)) == 0.5
    assert likelihood_of_superiority(NOTHING) is None
    assert one_sided_p_value((0, 0, 7, 0, 0)) == 1


@pytest.mark.parametrize(("small", "great"), [(1, 0), (0, 1), (1, 1)])
def test_the_normal_approximation_continues_the_exact_values(small: int, great: int) -> None:
    sides = []
    for pairs in (1990, 2010):
        each, lead = pairs // (small + great), 40
        behind, ahead = (each - lead) // 2, (each + lead) // 2
        counts = great * behind, small * behind, 0, small * ahead, great * ahead
        sides.append((one_sided_p_value(counts), likelihood_of_superiority(counts)))
    assert sides[0] == pytest.approx(sides[1], rel=0.02)


# -- estimates --------------------------------------------------------------------------------------------------------


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
    pairs: tuple[int, ...], elo: float, error: float, nelo: float, nelo_error: float, superiority: float, score: float
) -> None:
    lost, quarter, split, drawn, three, won = pairs
    counts: PairCounts = (lost, quarter, split + drawn, three, won)
    estimate, normalized = sure(estimate_elo(counts)), sure(estimate_normalized_elo(counts))
    assert (estimate.value, normalized.value) == pytest.approx((elo, nelo), abs=0.005)
    assert (estimate.high - estimate.low) / 2 == pytest.approx(error, rel=0.01)
    assert (normalized.high - normalized.low) / 2 == pytest.approx(nelo_error, rel=0.01)
    assert likelihood_of_superiority(counts) == pytest.approx(superiority, abs=0.0002)
    assert sure(estimate_score(counts)).value == pytest.approx(score, abs=0.0005)


def test_few_pairs_give_no_estimate_or_one_without_limits() -> None:
    for estimate in (estimate_score, estimate_elo, estimate_normalized_elo, better_program, running_elo):
        assert estimate(NOTHING) is None
    alone = (0, 0, 0, 1, 0)
    for estimated, limits in ((estimate_score(alone), (0.0, 1.0)), (estimate_elo(alone), (-math.inf, math.inf))):
        assert (sure(estimated).low, sure(estimated).high) == limits


@pytest.mark.parametrize(("index", "atom"), [(0, 0.0), (1, 0.25), (2, 0.5), (4, 1.0)])
@pytest.mark.parametrize(("pairs", "quantile"), [(6, 2.5706), (1000, 1.9623)])
def test_pairs_with_equal_results_still_have_an_interval(index: int, atom: float, pairs: int, quantile: float) -> None:
    """The likelihood at an end falls by N ln(1 + t² / (N - 1)), with t from a table."""
    threshold = pairs * math.log(1 + quantile**2 / (pairs - 1))
    counts = counts_of([index] * pairs)
    estimate = sure(estimate_score(counts))
    assert estimate.value == atom
    if atom > 0:
        assert -2 * pairs * math.log(estimate.low / atom) == pytest.approx(threshold, abs=1e-3)
    if atom < 1:
        assert -2 * pairs * math.log((1 - estimate.high) / (1 - atom)) == pytest.approx(threshold, abs=1e-3)
    assert estimate_normalized_elo(counts) is None


@pytest.mark.slow
@given(COUNTS)
@settings(max_examples=60)
def test_the_interval_excludes_0_if_and_only_if_a_program_is_better(counts: PairCounts) -> None:
    own, other = sure(estimate_elo(counts)), sure(estimate_elo(mirror(counts)))
    assert own.low <= own.value <= own.high
    assert (own.value, own.low, own.high) == pytest.approx((-other.value, -other.high, -other.low), abs=1e-6)
    better = better_program(counts)
    assert (own.low > 0, own.high < 0) == (better == 0, better == 1)
    if better is not None:
        assert one_sided_p_value(mirror(counts) if better else counts) <= RISK


@pytest.mark.parametrize(
    ("counts", "better"),
    [
        ((0, 0, 0, 0, MIN_PAIRS - 1), None),
        ((0, 0, 0, 0, MIN_PAIRS), 0),
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
    assert better_program(mirror(counts)) == (None if better is None else 1 - better)


# -- tests and intervals of a running match ---------------------------------------------------------------------------


def test_evidence_grows_from_1() -> None:
    assert [log_e_value(counts) for counts in (NOTHING, (0, 0, 9, 0, 0))] == pytest.approx([0, 0])
    # the mean of (1 + x)^9 over x from -1 to 1
    assert math.exp(log_e_value((0, 0, 0, 0, 9))) == pytest.approx(2**9 / 10, rel=1e-3)
    assert log_e_value_of_score(NOTHING, 0.5) == pytest.approx(0)
    assert log_e_value_of_score((0, 0, 0, 0, 1), 0.25) == pytest.approx(math.log(2.5))  # the mean of 1 + 3 s


@given(st.lists(st.integers(0, 4), max_size=40), st.integers(0, 4), st.floats(0.05, 0.95))
def test_no_pair_has_an_expected_gain(kinds: list[int], kind: int, score: float) -> None:
    """The condition of Ville's inequality: the mean capital after a pair is the capital before."""
    before = math.exp(log_e_value(counts_of(kinds)))
    ways = [math.exp(log_e_value(counts_of([*kinds, each]))) for each in (kind, 4 - kind)]  # over both signs
    assert sum(ways) / 2 == pytest.approx(before)
    before = math.exp(log_e_value_of_score(counts_of(kinds), score))
    lost, won = (math.exp(log_e_value_of_score(counts_of([*kinds, each]), score)) for each in (0, 4))
    assert (1 - score) * lost + score * won == pytest.approx(before)


@pytest.mark.parametrize(
    ("counts", "risk", "better"),
    [
        ((0, 0, 0, 0, 7), 0.05, None),
        ((0, 0, 0, 0, 8), 0.05, 0),
        ((0, 0, 0, 0, 8), 0.01, None),
        ((0, 0, 0, 60, 0), 0.05, 0),  # all of them won by half a point
        ((0, 300, 0, 0, 200), 0.5, 0),  # 200 pairs won by a point each, 300 lost by half a point each
        ((0, 300, 0, 0, 100), 0.5, 1),
        ((100, 0, 0, 300, 0), 0.5, 0),
        ((0, 100, 0, 200, 0), 0.5, 0),
    ],
)
def test_the_program_with_more_points_is_better_once_the_evidence_suffices(
    counts: PairCounts, risk: float, better: int | None
) -> None:
    assert better_program_by_e_value(counts, risk) == better
    assert better_program_by_e_value(mirror(counts), risk) == (None if better is None else 1 - better)


@pytest.mark.parametrize("counts", [(1, 4, 10, 4, 1), (0, 3, 9, 20, 2), (40, 3, 2, 1, 1), (0, 0, 30, 0, 0)])
def test_the_running_interval_ends_where_the_evidence_suffices(counts: PairCounts) -> None:
    found = sure(running_elo(counts))
    assert found.low <= found.value <= found.high
    for own, elo in ((counts, found.low), (mirror(counts), -found.high)):
        score = score_of_elo(elo)
        assert log_e_value_of_score(own, score - 1e-5) > -math.log(RISK) > log_e_value_of_score(own, score + 1e-5)


# -- SPRT -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sprt", "counts", "ratio"),
    [
        # fastchess' own tests of its logistic pentanomial model
        (Sprt(0.5, 2.5), (223, 9863, 21279, 10037, 246), pytest.approx(-3.07, abs=0.005)),
        (Sprt(0, 2), (871, 26175, 55983, 26678, 821), pytest.approx(-4.98, abs=0.005)),
        # the raw statistics of a test on Fishtest, "Logistic (exact)"; its Elo bound is printed with three decimals
        (Sprt(0, 2.716), (13, 37, 50, 25, 3), pytest.approx(-0.53772, abs=0.0001)),
        # fastchess' own tests of its normalized pentanomial model; it publishes them with a tolerance of 1 %
        (Sprt(0, 2, model="normalized"), (365, 16618, 36229, 16974, 390), pytest.approx(2.25, rel=2e-3)),
        (Sprt(-1.75, 0.25, model="normalized"), (127, 4883, 10712, 5150, 104), pytest.approx(3.01, rel=2e-3)),
        (Sprt(0, 5, model="normalized"), (0, 0, 0, 0, 5550), pytest.approx(111.82, rel=2e-3)),
        # if all pairs were won, the maximum-likelihood distribution with mean s wins with probability s
        (Sprt(0, 50), (0, 0, 0, 0, 60), pytest.approx(60 * math.log(score_of_elo(50) / 0.5), abs=1e-3)),
        (Sprt(0, 50), NOTHING, 0),
    ],
)
def test_ratios_agree_with_published_values(sprt: Sprt, counts: PairCounts, ratio: float) -> None:
    assert sprt.log_likelihood_ratio(counts) == ratio


@pytest.mark.parametrize("model", ["logistic", "normalized"])
@pytest.mark.parametrize("elo", [-700, 10, 2000])
@pytest.mark.parametrize("counts", [(0, 0, 0, 0, 9), (0, 0, 9, 0, 0), (3, 4, 5, 6, 9)])
def test_ratios_are_finite_and_those_of_the_other_program_mirrored(model: str, elo: float, counts: PairCounts) -> None:
    ratio = Sprt(elo, elo + 50, model=model).log_likelihood_ratio(counts)
    assert math.isfinite(ratio)
    other = Sprt(-elo - 50, -elo, model=model).log_likelihood_ratio(mirror(counts))
    assert ratio == pytest.approx(-other, abs=1e-4, rel=1e-4)


def test_the_bounds_are_those_of_wald() -> None:
    assert (Sprt(0, 5).lower, Sprt(0, 5).upper) == pytest.approx((-2.9444, 2.9444), abs=5e-5)
    sprt = Sprt(0, 5, alpha=0.01, beta=0.2)
    assert (sprt.lower, sprt.upper) == pytest.approx((math.log(0.2 / 0.99), math.log(80)))


@pytest.mark.parametrize(
    ("counts", "decision"),
    [
        (NOTHING, None),
        ((0, 0, 0, 0, 2), None),
        ((0, 0, 0, 0, 60), Decision.H1),
        ((60, 0, 0, 0, 0), Decision.H0),
        # the first mover wins: neither program is better
        ((0, 0, 10, 0, 0), None),
        ((0, 0, 60, 0, 0), Decision.H0),
    ],
)
def test_decisions(counts: PairCounts, decision: Decision | None) -> None:
    assert Sprt(0, 50).decide(counts) is decision


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("elo1=5,elo0=-2.5", (-2.5, 5, 0.05, 0.05, "logistic")),
        (" alpha=0.1, elo0=0\telo1=1 ", (0, 1, 0.1, 0.05, "logistic")),
        ("model=normalized elo0=0 elo1=5 beta=0.2", (0, 5, 0.05, 0.2, "normalized")),
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
        ("elo1=0", "elo0= is missing"),
        ("elo0=0 elo1=x", "not a number"),
        ("elo0=0 elo1=5 gamma=1", "'gamma=1'"),
        ("elo0=0 elo0=1 elo1=5", "each once"),
        ("elo0=5 elo1=5", "below"),
        ("elo0=0 elo1=5 alpha=0", "above 0"),
        ("elo0=0 elo1=5 alpha=0.5 beta=0.5", "below 1 together"),
        ("elo0=0 elo1=inf", "finite"),
        ("elo0=0 elo1=5 model=bayesian", "model=bayesian: expected logistic or normalized"),
    ],
)
def test_invalid_parameters_are_named(text: str, why: str) -> None:
    with pytest.raises(SprtError, match=why):
        Sprt.parse(text)
