"""The director with a real arena and real checks."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import psutil
import pytest
import trio

from spielleiter.league import games, versions
from spielleiter.league.arena_client import ArenaClient
from spielleiter.league.director import Director, open_arena_client
from spielleiter.league.model import Version
from spielleiter.league.settings import Anchor, change_settings, load_settings
from tests.contest.packages import make_package, write_package
from tests.league.leagues import League

LONG = 300.0
"""Seconds for some games and checks on a busy machine."""

pytestmark = pytest.mark.extended


@asynccontextmanager
async def directed(league: League, folder: Path) -> AsyncIterator[Director]:
    bugs: list[BaseException] = []
    arena: ArenaClient = open_arena_client(
        league(load_settings),
        folder,
        lambda reason: director.note_arena(reason),  # noqa: PLW0108 - defined below
    )
    director = Director(league.database, arena, folder, chance=random.Random(3), report_bug=bugs.append)
    with trio.fail_after(LONG):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(director.run)
            yield director
            nursery.cancel_scope.cancel()
    assert not bugs


async def wait_for_games(league: League, director: Director, count: int) -> None:
    while len(await league.database.read(games.list_games)) < count:
        seen = director.changed.newest
        with trio.move_on_after(1):
            await director.changed.newer_than(seen, _ignore)


async def _ignore(_frame: bytes) -> None: ...


def state_of(league: League, version: Version) -> str:
    return league(versions.get_version, version.id).state


@pytest.fixture
def two_uploads(league: League, tmp_path: Path) -> list[Version]:
    league(change_settings, most_games_at_once=2)
    league(versions.set_anchors, [Anchor("builtin:random", -200.0)], 1.0)
    sound = make_package(tmp_path / "player.zip").read_bytes()
    return [league.upload(league.add_team(name), content=sound + bytes(number)) for number, name in enumerate("AB")]


async def test_uploads_are_checked_and_play(league: League, tmp_path: Path, two_uploads: list[Version]) -> None:
    broken = write_package(tmp_path / "broken.zip", {"start.sh": "#!/bin/sh\nexit 1\n"}).read_bytes()
    refused = league.upload(league.add_team("broken"), content=broken)
    async with directed(league, tmp_path / "league") as director:
        await wait_for_games(league, director, 6)
        while state_of(league, refused) != "refused":  # noqa: ASYNC110 - as above
            await trio.sleep(0.2)
        await director.refresh_table()
    assert all(state_of(league, version) == "accepted" for version in two_uploads)
    assert "beendet mit Exitcode 1" in league(versions.get_version, refused.id).fault_de
    found = league(games.list_games)
    assert {game.verdict for game in found} == {"regular"}
    recording = league(games.get_recording, found[0].id)
    assert recording is not None
    assert recording.replay
    assert sum(row.games for row in director.standings.rows) >= 12
    assert [row.rank for row in director.standings.rows if row.team_id is not None] == [1, 2]


async def test_killed_arena_loses_and_doubles_no_game(
    league: League, tmp_path: Path, two_uploads: list[Version]
) -> None:
    async with directed(league, tmp_path / "league") as director:
        for count in (2, 4, 6):
            await wait_for_games(league, director, count)
            for process in psutil.Process().children():
                if "spielleiter.league.arena" in process.cmdline():
                    process.kill()
        await wait_for_games(league, director, 8)
    found = league(games.list_games)
    assert len({(game.pair_id, game.number) for game in found}) == len(found)
    done = league(games.list_pairs, state="done")
    assert {pair.id for pair in done} >= {game.pair_id for game in found if game.number == 2}
    assert all(version.team_id for version in two_uploads)
