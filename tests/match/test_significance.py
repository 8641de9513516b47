"""The tests of significance: values computed by hand and by another method, and general properties."""

from __future__ import annotations

import itertools
import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spielleiter.match.statistics import (
    MIN_PAIRS,
    RISK,
    PairCounts,
    better_program,
    better_program_by_e_value,
    estimate_score,
    likelihood_of_superiority,
    log_e_value,
    mirror,
    one_sided_p_value,
)


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


# -- after every game -----------------------------------------------------------------------------------------------


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
