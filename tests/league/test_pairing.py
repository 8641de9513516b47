"""The next pairing, and a whole evening in which planted strengths have to be found again."""

from __future__ import annotations

import random
import statistics
from collections import Counter

import pytest

from spielleiter.league.pairing import Candidate, next_pairing, round_robin
from spielleiter.league.ratings import Pairing, estimate_ratings, expected_score


def chosen(candidates: list[Candidate], meetings: dict[tuple[int, int], int] | None = None) -> set[int]:
    found = next_pairing(candidates, meetings or {}, random.Random(1))
    assert found is not None
    return set(found)


def test_uncertain_version_is_preferred() -> None:
    known = [Candidate(version, version, 0.0, 30.0) for version in (1, 2, 3)]
    assert 4 in chosen([*known, Candidate(4, 4, 0.0, 200.0)])


def test_opponent_of_similar_strength_is_preferred() -> None:
    candidates = [
        Candidate(version, version, rating, 60.0) for version, rating in ((1, 0), (2, 900), (3, 20), (4, 450))
    ]
    assert chosen(candidates) == {1, 3}


def test_two_that_have_met_often_wait_for_others() -> None:
    candidates = [Candidate(version, version, rating, 60.0) for version, rating in ((1, 0), (2, 0), (3, 100))]
    assert chosen(candidates, {(1, 2): 5}) != {1, 2}
    assert chosen(candidates[:2], {(1, 2): 500}) == {1, 2}  # there is nobody else


def test_version_that_is_playing_waits() -> None:
    candidates = [Candidate(version, version, playing=version == 1) for version in (1, 2, 3)]
    assert chosen(candidates) == {2, 3}


def test_anchors_and_versions_of_one_team_do_not_meet() -> None:
    anchors = [Candidate(version, None, 0.0, 0.0) for version in (1, 2)]
    assert next_pairing(anchors, {}, random.Random(1)) is None
    assert next_pairing([Candidate(1, 1), Candidate(2, 1)], {}, random.Random(1)) is None
    assert next_pairing([], {}, random.Random(1)) is None
    assert 3 in chosen([*anchors, Candidate(3, 1)])


def test_colours_of_the_first_game_are_drawn() -> None:
    candidates, chance = [Candidate(1, 1), Candidate(2, 2)], random.Random(1)
    assert {next_pairing(candidates, {}, chance) for _ in range(20)} == {(1, 2), (2, 1)}


@pytest.mark.parametrize("count", [2, 5, 6])
def test_round_robin_is_completed(count: int) -> None:
    pairings = round_robin(range(count), {}, 2)
    assert len(pairings) == count * (count - 1)
    assert set(Counter(pairings).values()) == {2}
    half = dict(Counter(pairings[: count // 2]))
    rest = round_robin(range(count), half, 2)
    assert Counter(rest) + Counter(half) == Counter(pairings)


def test_round_robin_gives_everybody_a_game_first() -> None:
    first = round_robin(range(8), {}, 1)[:4]
    assert len({version for pairing in first for version in pairing}) == 8


def simulate(strengths: dict[int, float], anchors: dict[int, float], pairs: int, at_once: int) -> dict[int, float]:
    """Play an evening and return the estimated ratings; whoever wins a game is drawn from the planted strengths."""
    chance = random.Random(5)
    played: dict[tuple[int, int], list[int]] = {}
    true = strengths | anchors
    ratings = estimate_ratings([], strengths, anchors)
    for begin in range(0, pairs, at_once):
        meetings = {key: sum(counts) for key, counts in played.items()}
        playing: Counter[int] = Counter()
        for _ in range(min(at_once, pairs - begin)):
            candidates = [
                Candidate(
                    version,
                    None if version in anchors else version,
                    ratings[version].value,
                    (ratings[version].high - ratings[version].low) / 4,
                    playing[version],
                )
                for version in true
            ]
            found = next_pairing(candidates, meetings, chance)
            assert found is not None
            playing.update(found)
            first, second = key = min(found), max(found)
            meetings[key] = meetings.get(key, 0) + 1
            probability = expected_score(true[first] - true[second])
            points = (chance.random() < probability) + (chance.random() < probability)
            played.setdefault(key, [0] * 5)[2 * points] += 1
        results = [Pairing(*key, (low, 0, even, 0, high)) for key, (low, _, even, _, high) in played.items()]
        start = {version: estimate.value for version, estimate in ratings.items()}
        ratings = estimate_ratings(results, strengths, anchors, start)
    return {version: ratings[version].value for version in strengths}


@pytest.mark.slow
def test_planted_strengths_are_found_in_an_evening() -> None:
    strengths = {version: -600.0 + 30 * version for version in range(1, 41)}
    anchors = {100: -500.0, 101: -100.0, 102: 300.0}
    found = simulate(strengths, anchors, 3_000, 50)
    errors = [found[version] - strengths[version] for version in strengths]
    assert statistics.fmean(map(abs, errors)) < 25
    wrong = [
        (one, other)
        for one in strengths
        for other in strengths
        if strengths[one] > strengths[other] + 90 and found[one] < found[other]
    ]
    assert not wrong
