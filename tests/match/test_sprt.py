"""The sequential test: published values, and its error rates in simulated matches."""

from __future__ import annotations

import math
import random
from dataclasses import astuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spielleiter.match.statistics import Decision, PairCounts, Sprt, SprtError, score_of_elo

COUNTS = st.tuples(*[st.integers(0, 300)] * 5)

# -- published values -------------------------------------------------------------------------------------------


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


# -- properties -------------------------------------------------------------------------------------------------


def test_nothing_is_decided_without_a_pair() -> None:
    assert Sprt(0, 50).log_likelihood_ratio((0, 0, 0, 0, 0)) == 0
    assert Sprt(0, 50).decide((0, 0, 0, 0, 0)) is None


@pytest.mark.parametrize("pairs", [1, 60])
def test_results_that_did_not_occur_have_almost_no_weight(pairs: int) -> None:
    """If all pairs were won, the maximum-likelihood distribution with mean s wins with probability s."""
    ratio = pairs * math.log(score_of_elo(50) / score_of_elo(0))
    assert Sprt(0, 50).log_likelihood_ratio((0, 0, 0, 0, pairs)) == pytest.approx(ratio, abs=1e-3)


@given(COUNTS, st.floats(-200, 200), st.floats(1, 100))
@settings(max_examples=60)
def test_the_other_program_tests_the_mirrored_hypotheses(counts: PairCounts, elo: float, width: float) -> None:
    mirrored = (counts[4], counts[3], counts[2], counts[1], counts[0])
    own = Sprt(elo, elo + width).log_likelihood_ratio(counts)
    assert own == pytest.approx(-Sprt(-elo - width, -elo).log_likelihood_ratio(mirrored), abs=1e-6, rel=1e-6)


@given(COUNTS.filter(lambda counts: min(counts) > 0), st.floats(-50, 50))
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


# -- parameters -------------------------------------------------------------------------------------------------


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
