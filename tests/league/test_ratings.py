"""Ratings from counted results, with fixed anchors."""

from __future__ import annotations

import math
import random

import pytest

from spielleiter.league.ratings import PRIOR_DEVIATION, Pairing, estimate_ratings, expected_score
from spielleiter.match import ratings as match_ratings


def test_counts() -> None:
    pairing = Pairing(1, 2, (1, 2, 3, 4, 5), (6, 7, 8))
    assert (pairing.played, pairing.games) == (36, 51)
    assert pairing.points == 0.5 * 2 + 3 + 1.5 * 4 + 2 * 5 + 0.5 * 7 + 8


def test_expected_score() -> None:
    assert expected_score(0) == 0.5
    assert math.isclose(expected_score(400), 10 / 11)
    assert expected_score(-1e9) == 0


def test_without_games_the_rating_is_that_of_the_mean_anchor_and_uncertain() -> None:
    ratings = estimate_ratings([], [7], {1: 100.0, 2: 300.0})
    assert ratings[7].value == pytest.approx(200, abs=0.01)
    assert ratings[7].high - ratings[7].low == pytest.approx(2 * 1.96 * PRIOR_DEVIATION, rel=0.01)
    assert ratings[1].low == ratings[1].value == ratings[1].high == 100


def test_anchor_moves_its_opponents_and_not_itself() -> None:
    even = Pairing(1, 7, (0, 0, 50, 0, 0))
    for rating in (-500.0, 250.0):
        assert estimate_ratings([even], [7], {1: rating})[7].value == pytest.approx(rating, abs=1)


def test_equals_the_ratings_of_a_tournament_with_many_games() -> None:
    """The models differ in what they assume before the first game, whose influence vanishes."""
    chance = random.Random(3)
    strengths = [0.0, 120.0, -80.0, 300.0]
    scores: dict[tuple[int, int], list[tuple[float, int]]] = {}
    pairings = []
    for first in range(4):
        for second in range(first + 1, 4):
            counts = [0] * 5
            probability = expected_score(strengths[first] - strengths[second])
            for _ in range(4_000):
                points = (chance.random() < probability) + (chance.random() < probability)
                counts[2 * points] += 1
                scores.setdefault((first, second), []).append((points, 2))
            pairings.append(Pairing(first, second, (counts[0], counts[1], counts[2], counts[3], counts[4])))
    expected = match_ratings.estimate_ratings(4, scores, 0)
    found = estimate_ratings(pairings, [], {0: 0.0})
    for program in range(1, 4):
        assert found[program].value == pytest.approx(expected[program].value, abs=0.2)
        assert found[program].high == pytest.approx(expected[program].high, abs=1)


def test_order_of_the_ids_and_the_start_do_not_matter() -> None:
    chance = random.Random(2)
    pairings = [
        Pairing(one, other, tuple(chance.randrange(4) for _ in range(5)), tuple(chance.randrange(3) for _ in range(3)))  # type: ignore[arg-type]
        for one in range(12)
        for other in range(one)
        if chance.random() < 0.6
    ]
    anchors = {3: 50.0, 8: -40.0}
    found = estimate_ratings(pairings, range(12), anchors)
    far = estimate_ratings(pairings, range(12), anchors, {version: 3000.0 - 500 * version for version in range(12)})
    turned = [Pairing(100 - each.first, 100 - each.second, each.pairs, each.singles) for each in reversed(pairings)]
    mirrored = estimate_ratings(turned, [100 - each for each in range(12)], {97: 50.0, 92: -40.0})
    for version in range(12):
        for other in (far[version], mirrored[100 - version]):
            assert found[version].value == pytest.approx(other.value, abs=0.02)
            assert found[version].low == pytest.approx(other.low, abs=0.1)


def test_version_that_won_everything_is_certainly_stronger() -> None:
    ratings = estimate_ratings([Pairing(1, 2, (0, 0, 0, 0, 10))], [], {2: 0.0})
    assert 300 < ratings[1].value < 1500
    assert ratings[1].low > 0


@pytest.mark.parametrize("is_alike", [False, True], ids=["independent games", "games of a pair are alike"])
def test_intervals_hold_what_they_promise(is_alike: bool) -> None:
    """About 95 % of the intervals contain the planted strength."""
    chance = random.Random(11)
    inside = total = 0
    for _ in range(25):
        true = {version: chance.gauss(0, 200) for version in range(8)}
        anchors = {version: true[version] for version in (0, 1)}
        pairings = []
        for one in range(8):
            for other in range(one):
                counts = [0] * 5
                probability = expected_score(true[one] - true[other])
                for _ in range(8):
                    won = chance.random() < probability
                    counts[2 * (won + (won if is_alike else chance.random() < probability))] += 1
                pairings.append(Pairing(one, other, (counts[0], counts[1], counts[2], counts[3], counts[4])))
        ratings = estimate_ratings(pairings, [], anchors)
        for version in range(2, 8):
            total += 1
            inside += ratings[version].low <= true[version] <= ratings[version].high
    assert 0.91 <= inside / total <= 0.995


def test_intervals_hold_although_programs_play_better_against_some() -> None:
    """However often two programs meet, what one of them is better against the other than its strength says stays."""
    chance = random.Random(4)
    inside = total = 0
    for _ in range(12):
        true = {version: chance.gauss(0, 200) for version in range(12)}
        pairings = []
        for one in range(12):
            for other in range(one):
                counts = [0] * 5
                probability = expected_score(true[one] - true[other] + chance.gauss(0, 60))
                for _ in range(100):
                    counts[2 * ((chance.random() < probability) + (chance.random() < probability))] += 1
                pairings.append(Pairing(one, other, (counts[0], counts[1], counts[2], counts[3], counts[4])))
        ratings = estimate_ratings(pairings, [], {version: true[version] for version in (0, 1)})
        for version in range(2, 12):
            total += 1
            inside += ratings[version].low <= true[version] <= ratings[version].high
    assert 0.9 <= inside / total <= 0.995


def test_weak_program_that_loses_everything_moves_the_others_little() -> None:
    honest = [Pairing(one, other, (2, 0, 4, 0, 2)) for one in range(8) for other in range(one)]  # all are equal
    before = estimate_ratings(honest, [], {7: 0.0})
    lost = [Pairing(version, 20, (0, 0, 0, 0, 3 + 9 * (version == 0))) for version in range(8)]
    after = estimate_ratings([*honest, *lost], [], {7: 0.0})
    assert after[20].value < -350
    assert all(abs(after[version].value - before[version].value) < 10 for version in range(8))


def test_few_games_give_no_interval_of_thousands() -> None:
    for counts in ((1, 0, 0, 0, 0), (0, 0, 0, 0, 3), (0, 0, 0, 0, 30)):
        rating = estimate_ratings([Pairing(1, 2, counts)], [3], {2: 0.0})[1]
        assert rating.high - rating.low < 3.93 * PRIOR_DEVIATION


def test_further_pairing_makes_intervals_no_wider() -> None:
    """So it is, too, when there are hardly more pairings than programs, as at the beginning of an evening."""
    chance = random.Random(6)
    for _ in range(10):
        results = [(1, 0, 0, 0, 0), (0, 0, 1, 0, 0), (0, 0, 0, 0, 1)]
        pairings = [Pairing(number, number + 1, chance.choice(results)) for number in range(20)]  # 20 is the anchor
        widths = []
        for more in (0, 1, 5):
            found = estimate_ratings([*pairings, *(Pairing(n, n + 10, results[1]) for n in range(more))], [], {20: 0.0})
            widths.append(sum(found[version].high - found[version].low for version in range(20)))
        assert widths == sorted(widths, reverse=True)


def test_only_wanted_versions_get_intervals() -> None:
    ratings = estimate_ratings([Pairing(1, 2, (1, 0, 1, 0, 1))], [], {}, wanted=[2])
    assert ratings[1].low == ratings[1].high
    assert ratings[2].low < ratings[2].high
