"""When a match is decided before its last game."""

from __future__ import annotations

import dataclasses
import random

import pytest

from spielleiter.common.errors import SetupError
from spielleiter.match.plan import MatchSetup
from spielleiter.match.records import GameRecord
from spielleiter.match.statistics import count_pairs, count_results
from spielleiter.match.stopping import _RunningCounts, sprt_of, stop_rule
from tests.match.sample_records import game, whole_match
from tests.match.test_setup import SETUP

PLAIN = dataclasses.replace(SETUP, sprt=None, significance=None, min_games=0)


def won_by(winner: int | None, games: int) -> list[GameRecord]:
    return [game(number, winner) for number in range(1, games + 1)]


def first_stop(setup: MatchSetup, winner: int | None) -> int | None:
    """The number of games, all won by one program, after which the match is decided; None: not after 200."""
    is_decided = stop_rule(setup)
    games = won_by(winner, 200)
    return next((count for count in range(201) if is_decided(games[:count])), None)


def test_a_match_without_a_test_is_never_decided() -> None:
    assert first_stop(PLAIN, 0) is None


@pytest.mark.parametrize("winner", [0, 1])
def test_the_sequential_test_stops_after_a_pair(winner: int) -> None:
    stop = first_stop(dataclasses.replace(PLAIN, sprt="elo0=0 elo1=50 alpha=0.05 beta=0.05"), winner)
    assert stop is not None
    assert 0 < stop < 100
    assert stop % 2 == 0


def test_draws_are_evidence_against_the_larger_difference_only() -> None:
    assert first_stop(dataclasses.replace(PLAIN, sprt="elo0=0 elo1=200"), None) is not None
    assert first_stop(dataclasses.replace(PLAIN, significance=0.05), None) is None


@pytest.mark.parametrize("winner", [0, 1])
def test_significance_stops_for_either_program_after_enough_games(winner: int) -> None:
    early = first_stop(dataclasses.replace(PLAIN, significance=0.05), winner)
    assert early is not None
    assert early < 20
    assert first_stop(dataclasses.replace(PLAIN, significance=0.05, min_games=20), winner) == 20


def test_an_invalid_test_is_refused() -> None:
    with pytest.raises(SetupError, match="SPRT"):
        sprt_of(dataclasses.replace(PLAIN, sprt="elo0=5"))


@pytest.mark.parametrize("seed", range(5))
def test_games_counted_one_by_one_give_the_same_result_as_all_at_once(seed: int) -> None:
    rng = random.Random(seed)
    records = whole_match(40, seed)
    rng.shuffle(records)  # concurrent games end in any order
    records = [
        dataclasses.replace(record, is_counted=False, winner=None) if rng.random() < 0.1 else record
        for record in records
    ]
    so_far = _RunningCounts()
    for count in range(len(records) + 1):
        so_far.update(records[:count])
        assert so_far.pairs == count_pairs(records[:count])
        assert so_far.games == count_results(records[:count]).games


def test_each_record_is_counted_only_once() -> None:
    looks = 0

    class Looked(GameRecord):
        @property
        def is_counted(self) -> bool:
            nonlocal looks
            looks += 1
            return False

    is_decided = stop_rule(dataclasses.replace(PLAIN, significance=0.05))
    record = Looked.__new__(Looked)
    for count in range(50):
        assert not is_decided([record] * count)
    assert looks == 49
