"""A league of an earlier version goes on with the table and the final that it had."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from spielleiter.league import games, stages
from spielleiter.league.database import FILE_NAME
from spielleiter.league.settings import change_settings, load_settings
from tests.league.leagues import NOON, League, league_in, write_old_league

CHALLENGES: Final = (6, 8)
"""The pairs of challenges that are not void."""


@pytest.fixture
def old_league(tmp_path: Path) -> Iterator[League]:
    """The league, opened by this version."""
    write_old_league(tmp_path / FILE_NAME)
    with league_in(tmp_path) as league:
        yield league


@pytest.mark.parametrize("stage", ["over", "final"])
def test_final_keeps_its_games_and_its_champion(old_league: League, stage: str) -> None:
    """The games of the earlier final count no more, and no game is played again that was not before."""
    old_league(change_settings, stage=stage)
    assert not old_league(stages.continue_final, NOON, random.Random(1))
    final = old_league(stages.bracket)
    assert final is not None
    assert final.champion == "T2"
    assert [(row.name, row.games, row.wins) for row in final.table] == [("T2", 3, 3), ("T1", 1, 0), ("T3", 2, 0)]


def test_final_that_knew_its_first_pair_keeps_its_rules(tmp_path: Path) -> None:
    """It began after games that do not count were played again, but before the league noted that."""
    change = "UPDATE settings SET key = 'final_after', value = 12 WHERE key = 'final_begun_at'"
    write_old_league(tmp_path / FILE_NAME, change)
    with league_in(tmp_path) as league:
        settings = league(load_settings)
    assert (settings.final_after, settings.final_fills_gaps) == (12, True)


def test_next_final_plays_again_what_does_not_count(old_league: League) -> None:
    assert not old_league(load_settings).final_fills_gaps
    old_league(stages.begin_final, "knock-out", 1, NOON)
    assert old_league(load_settings).final_fills_gaps
    assert old_league(stages.continue_final, NOON, random.Random(1))


def test_challenges_leave_the_table(old_league: League) -> None:
    before = old_league(games.pairing_results)
    assert [(each.first, each.second, each.wins, each.draws, each.losses) for each in before] == [
        (1, 2, 5, 0, 1),
        (1, 3, 3, 1, 0),
        (2, 3, 6, 0, 0),
    ]
    assert before[0].singles == (1, 0, 1)
    assert (before[2].faults1, before[2].faults2) == (0, 1)
    for pair in CHALLENGES:
        old_league(games.void_pair, pair, NOON)
    assert old_league(games.pairing_results) == before


def test_all_other_pairs_can_be_taken_out_of_the_table(old_league: League) -> None:
    """What the migration has counted is what the games count."""
    old_league(change_settings, stage="final")  # results of one that has ended stay
    for pair in old_league(games.list_pairs):
        old_league(games.void_pair, pair.id, NOON)
    assert old_league(games.pairing_results) == []
