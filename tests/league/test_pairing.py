"""The next pairing, and a whole evening in which planted strengths have to be found again."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from benchmarks.league_ratings import figures, planted, play_evening
from spielleiter.league.pairing import Candidate, next_pairing, round_robin


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


def test_planted_strengths_are_found_while_the_league_chooses_the_pairings() -> None:
    """The teams of small classes upload within ten minutes; about 95 % of the intervals hold after half an hour."""
    inside = wrong = clear = 0.0
    for seed in range(15):
        chance = random.Random(seed)
        evening = play_evening(next_pairing, planted(10, chance), chance, seconds=1800, table_seconds=60)
        found = figures(evening)
        inside += found.inside / 15
        wrong += found.wrong
        clear += found.clear
    assert 0.91 <= inside <= 0.99
    assert wrong < 0.01 * clear


def test_nobody_is_left_out_in_an_evening() -> None:
    chance = random.Random(1)
    evening = play_evening(next_pairing, planted(20, chance), chance, seconds=1800, table_seconds=10)
    found = figures(evening)
    assert found.most < 1.6 * found.fewest
    assert found.first < 60  # seconds from the upload, of which the check takes 20
    assert found.meetings < 0.2 * found.fewest
