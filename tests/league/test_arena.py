"""The arena: real processes that play games, and what happens when one is killed."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import pytest
import trio

from spielleiter.client.admin import AdminClient
from spielleiter.league.arena_client import ArenaClient, NotPlayedError
from spielleiter.league.arena_messages import GamePlayed
from spielleiter.match.plan import Entrant, ProgramTimeouts
from spielleiter.match.records import GameRecord
from spielleiter.match.verdict import Verdict
from spielleiter.programs.command import join_command
from spielleiter.protocol.current_season import DEFAULT_GAME_TYPE
from spielleiter.protocol.feed import ServerDescribed
from spielleiter.server.editions import choose_editions
from tests.timeouts import HANG_TIMEOUT

pytestmark = pytest.mark.slow

SEED = 7


def entrant(command: str = "builtin:random", name: str = "") -> Entrant:
    return Entrant(name or command, command, soft_timeout=HANG_TIMEOUT, hard_timeout=HANG_TIMEOUT)


@dataclass
class Played:
    games: list[GamePlayed] = field(default_factory=list)
    first: trio.Event = field(default_factory=trio.Event)

    async def note(self, game: GamePlayed) -> None:
        self.games.append(game)
        self.first.set()

    @property
    def records(self) -> list[GameRecord]:
        return [GameRecord.from_json(each.record) for each in self.games]


@asynccontextmanager
async def open_arena(run_id: str = "test-arena") -> AsyncIterator[tuple[ArenaClient, trio.MemoryReceiveChannel[str]]]:
    changes, said = trio.open_memory_channel[str](100)
    arena = ArenaClient(DEFAULT_GAME_TYPE, None, run_id, changes.send_nowait)
    with trio.fail_after(HANG_TIMEOUT):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(arena.run)
            assert await said.receive() == ""
            yield arena, said
            nursery.cancel_scope.cancel()


async def play(
    arena: ArenaClient, pair: int, first: Entrant, second: Entrant, numbers: tuple[int, ...] = (1, 2)
) -> Played:
    played = Played()
    await arena.play(pair, SEED, numbers, (first, second), ProgramTimeouts(start=HANG_TIMEOUT), played.note)
    return played


def processes_of_the_arena() -> list[psutil.Process]:
    return [each for each in psutil.Process().children() if "spielleiter.league.arena" in each.cmdline()]


async def test_pairs_are_played_at_the_same_time_and_each_game_is_reported() -> None:
    results: dict[int, Played] = {}

    async def play_one(arena: ArenaClient, pair: int) -> None:
        results[pair] = await play(arena, pair, entrant(name=f"a{pair}"), entrant(name=f"b{pair}"))

    async with open_arena() as (arena, _), trio.open_nursery() as nursery:
        for pair in (1, 2, 3):
            nursery.start_soon(play_one, arena, pair)
    for pair, played in results.items():
        assert [each.number for each in played.games] == [1, 2]
        assert [record.seats for record in played.records] == [(0, 1), (1, 0)]
        assert all(record.names == (f"a{pair}", f"b{pair}") for record in played.records)
        assert all(record.verdict == Verdict.REGULAR for record in played.records)
        assert all(each.replay and each.replay.startswith(b"\x1f\x8b") for each in played.games)
        assert played.records[0].seed == SEED


async def test_fault_of_a_program_is_a_result_with_its_standard_error() -> None:
    crash = join_command([sys.executable, "-c", "raise SystemExit('no idea')"])
    async with open_arena() as (arena, _):
        played = await play(arena, 1, entrant(crash, "crash"), entrant(), (2,))
    assert [(record.offender, record.winner) for record in played.records] == [(0, 1)]
    assert played.games[0].number == 2
    first, second = played.games[0].errors
    assert first is not None
    assert b"no idea" in first
    assert second is None


async def test_killed_arena_is_started_again_and_leaves_no_program(tmp_path: Path) -> None:
    mark = tmp_path / "started"
    script = tmp_path / "bot.py"
    script.write_text(f"import pathlib, time\npathlib.Path({str(mark)!r}).touch()\ntime.sleep(1000)\n")
    async with open_arena("test-arena-killed") as (arena, said):

        async def be_cut_off() -> None:
            with pytest.raises(NotPlayedError, match="arena ended"):
                await play(arena, 1, entrant(join_command([sys.executable, str(script)]), "sleeper"), entrant())

        async with trio.open_nursery() as nursery:
            nursery.start_soon(be_cut_off)
            while not mark.exists():  # noqa: ASYNC110 - a file of another process
                await trio.sleep(0.05)
            [process] = processes_of_the_arena()
            process.kill()
        assert "SIGKILL" in await said.receive() or os.name == "nt"
        with pytest.raises(NotPlayedError, match="not running"):
            await play(arena, 1, entrant(), entrant())
        assert await said.receive() == ""
        assert not [each for each in psutil.process_iter() if str(script) in _words(each)]
        assert len((await play(arena, 1, entrant(), entrant())).games) == 2


def _words(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []


async def test_cancelled_pair_ends_its_programs(tmp_path: Path) -> None:
    mark = tmp_path / "started"
    script = tmp_path / "bot.py"
    script.write_text(f"import pathlib, time\npathlib.Path({str(mark)!r}).touch()\ntime.sleep(1000)\n")
    async with open_arena() as (arena, _):
        async with trio.open_nursery() as nursery:
            sleeper = entrant(join_command([sys.executable, str(script)]), "sleeper")
            nursery.start_soon(play, arena, 1, sleeper, entrant())
            while not mark.exists():  # noqa: ASYNC110 - a file of another process
                await trio.sleep(0.05)
            nursery.cancel_scope.cancel()
        while [each for each in psutil.process_iter() if str(script) in _words(each)]:  # noqa: ASYNC110 - processes
            await trio.sleep(0.05)


async def test_pages_see_the_games_and_strangers_see_nothing() -> None:
    async with open_arena() as (arena, _):
        assert arena.ready is not None
        dialect = choose_editions({}, {})[DEFAULT_GAME_TYPE].dialect
        async with AdminClient(await arena.connect_viewer(dialect)).running(arena.viewer_secret) as admin:
            assert isinstance(await anext(aiter(await admin.follow())), ServerDescribed)
        stranger = await trio.open_tcp_stream("127.0.0.1", arena.ready.port)
        async with stranger:
            await stranger.send_all(b"<protocol><join/>" + b"x" * 32)
            with suppress(trio.BrokenResourceError):
                assert await stranger.receive_some() == b""


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
async def test_signal_for_the_whole_terminal_does_not_end_it() -> None:
    async with open_arena() as (arena, _):
        [process] = processes_of_the_arena()
        process.send_signal(signal.SIGINT)
        assert len((await play(arena, 1, entrant(), entrant())).games) == 2
