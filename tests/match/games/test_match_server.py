"""The match's own server is closed: each program finds its own seat on its own port, and nothing else."""

from __future__ import annotations

import dataclasses
import gzip
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trio

from spielleiter.client.errors import ClientError
from spielleiter.client.player import Player
from spielleiter.client.strategies import make_responder
from spielleiter.match.games.match_server import (
    MOST_CALLS,
    MOST_CONNECTIONS,
    InternalRoom,
    open_match_server,
    own_config,
)
from spielleiter.match.plan import Opening, PlannedGame
from spielleiter.match.records.game_files import GameLogs
from spielleiter.match.records.game_log import SERVER_LOG
from spielleiter.match.records.wire_log import WIRE_LOG
from spielleiter.match.setup import Entrant, MatchSetup
from spielleiter.protocol.current_season import DEFAULT_GAME_TYPE
from spielleiter.server import events
from spielleiter.server.core.room import Phase
from tests.patience import PATIENCE

SETUP = MatchSetup(
    entrants=(Entrant("new", "new"), Entrant("old", "old")), game_type=DEFAULT_GAME_TYPE, games=2, seed=1, run_id="run"
)
GAME = PlannedGame(1, 1, 7, (1, 0))


class Heard:
    """A listener that remembers, and can be waited for."""

    def __init__(self) -> None:
        self.all: list[tuple[events.ServerEvent, int | None]] = []
        self._more = trio.Event()

    def __call__(self, event: events.ServerEvent, program: int | None) -> None:
        self.all.append((event, program))
        self._more.set()
        self._more = trio.Event()

    def told(self, kind: type[events.ServerEvent]) -> list[int | None]:
        """At whose connections it happened."""
        return [program for event, program in self.all if isinstance(event, kind)]

    async def until(self, kind: type[events.ServerEvent], count: int = 1) -> None:
        with trio.fail_after(PATIENCE):
            while len(self.told(kind)) < count:
                await self._more.wait()


def server_log(folder: Path) -> str:
    return gzip.decompress((folder / SERVER_LOG).read_bytes()).decode()


@asynccontextmanager
async def open_room(
    folder: Path, planned: PlannedGame = GAME, setup: MatchSetup = SETUP
) -> AsyncIterator[tuple[InternalRoom, Heard]]:
    heard = Heard()
    traces = GameLogs(folder)
    async with open_match_server(setup) as match_server, match_server.open_room(planned, traces, heard) as room:
        yield room, heard
    traces.save()


async def play(
    room: InternalRoom, heard: Heard, strategies: tuple[str, str] = ("illegal", "first")
) -> events.GameEnded:
    """A game in which program 1 sits on seat 0."""

    async def take_part(program: int) -> None:
        async with Player.connect(*room.addresses[program], dialect=room.dialect) as player:
            await player.join_prepared(room.reservations[program])
            await player.play_with(make_responder(strategies[program], seed=1))

    with trio.fail_after(PATIENCE):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(take_part, 0)
            nursery.start_soon(take_part, 1)
    (ended,) = (event for event, _ in heard.all if isinstance(event, events.GameEnded))
    return ended


async def test_it_is_known_whose_connection_it_is(tmp_path: Path) -> None:
    async with open_room(tmp_path) as (room, heard):
        await play(room, heard, ("garbage", "first"))
        assert set(heard.told(events.ConnectionOpened)) == {0, 1}
        assert heard.told(events.ProtocolBroken) == [0]
        assert heard.told(events.GameEnded) == [None]


async def test_games_at_the_same_time_hear_of_themselves_alone(tmp_path: Path) -> None:
    first, second = Heard(), Heard()
    traces = GameLogs(tmp_path)
    async with (
        open_match_server(SETUP) as match_server,
        match_server.open_room(GAME, traces, first) as one,
        match_server.open_room(dataclasses.replace(GAME, game=2, seats=(0, 1)), GameLogs(tmp_path), second) as two,
    ):
        assert one.room.state == two.room.state  # both games of a pair have the same start
        ended = await play(one, first)
        assert not second.told(events.ConnectionOpened)
        assert ended.room == one.room.id
        assert two.room.player_count == 0
    rooms = {getattr(event, "room", one.room.id) for event, _ in first.all}
    assert rooms == {one.room.id}
    traces.save()
    assert two.room.id not in server_log(tmp_path)
    assert two.room.phase is Phase.OVER  # nothing of a game outlives it


async def test_a_code_is_good_on_its_own_port_only(tmp_path: Path) -> None:
    async with open_room(tmp_path) as (room, heard):
        async with Player.connect(*room.addresses[0], dialect=room.dialect) as thief:
            with pytest.raises(ClientError):
                with trio.fail_after(PATIENCE):
                    await thief.join_prepared(room.reservations[1])
        await play(room, heard)
        refused = [event for event, program in heard.all if program == 0]
        assert [each.fault.value for each in refused if isinstance(each, events.RequestRefused)][:1] == [
            "forbidden_here"
        ]


async def test_codes_differ_though_the_plan_is_the_same(tmp_path: Path) -> None:
    async with open_room(tmp_path) as (first, _):
        pass
    async with open_room(tmp_path) as (second, _):
        pass
    assert first.room.state == second.room.state
    assert not {first.room.id, *first.reservations} & {second.room.id, *second.reservations}


async def test_a_game_begins_as_planned(tmp_path: Path, replay: bytes) -> None:
    (tmp_path / "one.xml").write_bytes(replay)
    opening = dataclasses.replace(GAME, opening=Opening("one.xml", str(tmp_path / "one.xml"), 1))
    async with open_room(tmp_path, opening) as (room, _):
        assert room.room.state.turn == 1


async def test_what_was_said_is_written_down(tmp_path: Path) -> None:
    async with open_room(tmp_path) as (room, heard):
        await play(room, heard)
    log = gzip.decompress((tmp_path / WIRE_LOG).read_bytes())
    for text in (
        b"program 1 > ",
        b"program 2 > ",
        b"program 1 < ",
        b"program 2 < ",
        b"<joinPrepared",
        b'class="result"',
    ):
        assert text in log
    assert log.split(b"\n", 2)[1].startswith(b"--- ")
    assert '"event": "game_ended"' in server_log(tmp_path)


async def test_a_program_has_few_connections_at_a_time(tmp_path: Path) -> None:
    async with open_room(tmp_path) as (room, heard):
        streams = [await trio.open_tcp_stream(*room.addresses[0]) for _ in range(MOST_CONNECTIONS + 3)]
        await heard.until(events.ConnectionRefused, 3)
        assert heard.told(events.ConnectionRefused) == [0, 0, 0]
        assert heard.told(events.ConnectionOpened) == [0] * MOST_CONNECTIONS
        for stream in streams:
            await stream.aclose()
        await play(room, heard)  # the opponent has not noticed, and the program may still play


async def test_a_program_connects_so_often_and_no_more(tmp_path: Path) -> None:
    async with open_room(tmp_path) as (room, heard):
        for number in range(1, MOST_CALLS + 1):
            stream = await trio.open_tcp_stream(*room.addresses[0])
            await heard.until(events.ConnectionOpened, number)
            await stream.aclose()
            await heard.until(events.ConnectionClosed, number)
        await heard.until(events.ConnectionRefused)
        with pytest.raises(OSError, match="all attempts to connect"):
            await trio.open_tcp_stream(*room.addresses[0])


def test_the_server_has_the_options_that_were_given() -> None:
    setup = dataclasses.replace(SETUP, server_options={"soft_timeout": 0.5})
    assert own_config(setup).soft_timeout == 0.5
    assert own_config(setup).seed is None
    assert own_config(setup).password != own_config(setup).password
    with pytest.raises(TypeError):
        own_config(dataclasses.replace(SETUP, server_options={"unknown": 1}))


async def test_a_connection_that_comes_to_nothing_harms_nobody(tmp_path: Path) -> None:
    async with open_room(tmp_path) as (room, heard):
        stream = await trio.open_tcp_stream(*room.addresses[1])
        await heard.until(events.ConnectionOpened)
        assert heard.told(events.ConnectionOpened) == [1]
        await stream.aclose()
        await play(room, heard)
