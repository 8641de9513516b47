"""The match's own server: its ports, events, logs and replays."""

from __future__ import annotations

import dataclasses
import gzip
import os
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path

import pytest
import trio
import trio.testing
from hypothesis import given, settings
from hypothesis import strategies as st

from spielleiter.client.client_errors import ClientError
from spielleiter.client.player import Player
from spielleiter.client.responders import make_responder
from spielleiter.match.game_folder import SERVER_LOG, GameLogs
from spielleiter.match.match_server import (
    MAX_ASKED_ABOUT,
    MAX_CONNECTIONS,
    MAX_CONNECTIONS_PER_GAME,
    InternalRoom,
    ReplayRecorder,
    match_server_config,
    open_match_server,
)
from spielleiter.match.plan import Entrant, MatchSetup, Opening, PlannedGame
from spielleiter.protocol.current_season import DEFAULT_GAME_TYPE
from spielleiter.protocol.dialect import PACKET_INDENT
from spielleiter.protocol.messages import MoveData, RoomMessage, Slot
from spielleiter.server import events
from spielleiter.server.core.clock import Arrival
from spielleiter.server.core.room import Peer, Phase, SentCallback
from spielleiter.server.editions import EDITIONS
from spielleiter.server.replay import replay_pieces
from tests.server.room_harness import RoomHarness, first_move
from tests.timeouts import HANG_TIMEOUT

SETUP = MatchSetup(
    entrants=(Entrant("new", "new"), Entrant("old", "old")), game_type=DEFAULT_GAME_TYPE, games=2, seed=1, run_id="run"
)
GAME = PlannedGame(1, 1, 7, (1, 0))


class RecordingListener:
    """A listener that records events; tests can wait for them."""

    def __init__(self) -> None:
        self.all: list[tuple[events.ServerEvent, int | None]] = []
        self._more = trio.Event()

    def __call__(self, event: events.ServerEvent, program: int | None) -> None:
        self.all.append((event, program))
        self._more.set()
        self._more = trio.Event()

    def programs_of(self, kind: type[events.ServerEvent]) -> list[int | None]:
        """Return the programs on whose connections such events have happened."""
        return [program for event, program in self.all if isinstance(event, kind)]

    async def wait_for(self, kind: type[events.ServerEvent], count: int = 1) -> None:
        with trio.fail_after(HANG_TIMEOUT):
            while len(self.programs_of(kind)) < count:
                await self._more.wait()


class Processes:
    """The processes of a program."""

    def __init__(self, *pids: int) -> None:
        self.pids = pids
        self.searches = 0

    def find_all(self) -> tuple[int, ...]:
        self.searches += 1
        return self.pids


NO_PROCESS = Processes()


def play_from_here(room: InternalRoom) -> None:
    """Let both programs be this process."""
    for program in (0, 1):
        room.set_processes(program, Processes(os.getpid()))


@asynccontextmanager
async def open_room(
    folder: Path, planned: PlannedGame = GAME, setup: MatchSetup = SETUP
) -> AsyncIterator[tuple[InternalRoom, RecordingListener]]:
    listener = RecordingListener()
    traces = GameLogs(folder)
    async with open_match_server(setup) as match_server, match_server.open_room(planned, traces, listener) as room:
        play_from_here(room)
        yield room, listener
    traces.save()


async def play(
    room: InternalRoom, listener: RecordingListener, strategies: tuple[str, str] = ("illegal", "first")
) -> events.GameEnded:
    """Play a game in which program 1 sits on seat 0; return the event of its end."""

    async def take_part(program: int) -> None:
        async with Player.connect(*room.addresses[program], dialect=room.dialect) as player:
            await player.join_prepared(room.reservations[program])
            await player.play_with(make_responder(strategies[program], seed=1))

    with trio.fail_after(HANG_TIMEOUT):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(take_part, 0)
            nursery.start_soon(take_part, 1)
    (ended,) = (event for event, _ in listener.all if isinstance(event, events.GameEnded))
    return ended


async def test_events_name_the_program_of_their_connection(tmp_path: Path) -> None:
    async with open_room(tmp_path) as (room, listener):
        await play(room, listener, ("garbage", "first"))
        assert set(listener.programs_of(events.ConnectionOpened)) == {0, 1}
        assert listener.programs_of(events.ProtocolBroken) == [0]
        assert listener.programs_of(events.GameEnded) == [None]


async def test_concurrent_games_receive_only_their_own_events(tmp_path: Path) -> None:
    first, second = RecordingListener(), RecordingListener()
    traces = GameLogs(tmp_path)
    async with (
        open_match_server(SETUP) as match_server,
        match_server.open_room(GAME, traces, first) as one,
        match_server.open_room(dataclasses.replace(GAME, game=2, seats=(0, 1)), GameLogs(tmp_path), second) as two,
    ):
        play_from_here(one)
        assert one.room.state == two.room.state  # both games of a pair have the same starting position
        ended = await play(one, first)
        assert not second.programs_of(events.ConnectionOpened)
        assert ended.room == one.room.id
        assert two.room.players == []
    rooms = {getattr(event, "room", one.room.id) for event, _ in first.all}
    assert rooms == {one.room.id}
    traces.save()
    assert two.room.id.encode() not in gzip.decompress((tmp_path / SERVER_LOG).read_bytes())
    assert two.room.phase is Phase.OVER  # leaving the room ends its game


async def test_a_reservation_code_is_valid_on_its_own_port_only(tmp_path: Path) -> None:
    async with open_room(tmp_path) as (room, listener):
        async with Player.connect(*room.addresses[0], dialect=room.dialect) as foreign:
            with pytest.raises(ClientError):
                with trio.fail_after(HANG_TIMEOUT):
                    await foreign.join_prepared(room.reservations[1])
        await play(room, listener)
        refused = [event for event, program in listener.all if program == 0]
        assert [each.fault.value for each in refused if isinstance(each, events.RequestRefused)][:1] == ["foreign_seat"]


async def test_codes_differ_although_the_plan_is_the_same(tmp_path: Path) -> None:
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


async def test_the_number_of_open_connections_is_limited(tmp_path: Path) -> None:
    async with open_room(tmp_path) as (room, listener):
        streams = [await trio.open_tcp_stream(*room.addresses[0]) for _ in range(MAX_CONNECTIONS + 3)]
        await listener.wait_for(events.ConnectionRefused, 3)
        assert listener.programs_of(events.ConnectionRefused) == [0, 0, 0]
        assert listener.programs_of(events.ConnectionOpened) == [0] * MAX_CONNECTIONS
        for stream in streams:
            await stream.aclose()
        await play(room, listener)  # neither the opponent nor the program itself is affected


async def test_the_number_of_connections_in_a_game_is_limited(tmp_path: Path) -> None:
    async with open_room(tmp_path) as (room, listener):
        for number in range(1, MAX_CONNECTIONS_PER_GAME + 1):
            stream = await trio.open_tcp_stream(*room.addresses[0])
            await listener.wait_for(events.ConnectionOpened, number)
            await stream.aclose()
            await listener.wait_for(events.ConnectionClosed, number)
        await listener.wait_for(events.ConnectionRefused)
        with pytest.raises(OSError, match="all attempts to connect"):
            await trio.open_tcp_stream(*room.addresses[0])


def test_the_server_has_the_options_that_were_given() -> None:
    setup = dataclasses.replace(SETUP, server_options={"soft_timeout": 0.5})
    assert match_server_config(setup).soft_timeout == 0.5
    assert match_server_config(setup).seed is None
    assert match_server_config(setup).password != match_server_config(setup).password
    with pytest.raises(TypeError):
        match_server_config(dataclasses.replace(SETUP, server_options={"unknown": 1}))


async def test_a_connection_whose_program_is_looked_for_is_closed_with_its_room(tmp_path: Path) -> None:
    with trio.fail_after(HANG_TIMEOUT):
        async with open_room(tmp_path) as (room, _):
            room.set_processes(0, NO_PROCESS)
            stream = await trio.open_tcp_stream(*room.addresses[0])
            await trio.testing.wait_all_tasks_blocked()
        async with stream:
            assert await stream.receive_some(1) == b""


async def test_a_program_that_connects_before_its_process_is_known_is_not_searched_for(tmp_path: Path) -> None:
    listener, own = RecordingListener(), Processes(os.getpid())
    with trio.fail_after(HANG_TIMEOUT):
        async with (
            open_match_server(SETUP) as match_server,
            match_server.open_room(GAME, GameLogs(tmp_path), listener) as room,
            await trio.open_tcp_stream(*room.addresses[0]),
        ):
            await trio.testing.wait_all_tasks_blocked()
            room.set_processes(0, own)
            await listener.wait_for(events.ConnectionOpened)
    assert own.searches == 0


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells apart the processes of one user")
async def test_only_the_ports_own_program_is_served(tmp_path: Path) -> None:
    """The port of program 0 belongs to nobody here, so this process is a stranger there."""
    with trio.fail_after(HANG_TIMEOUT):
        async with open_room(tmp_path) as (room, listener):
            room.set_processes(0, NO_PROCESS)
            room.set_processes(1, NO_PROCESS)
            async with await trio.open_tcp_stream(*room.addresses[0]) as stream:
                await stream.send_all(b"<protocol><join/>")
                with suppress(trio.BrokenResourceError):  # closed before the bytes were read
                    assert await stream.receive_some(1) == b""
            [(refused, program)] = [each for each in listener.all if isinstance(each[0], events.ConnectionRefused)]
            assert isinstance(refused, events.ConnectionRefused)
            assert (refused.refusal, program) == (events.FOREIGN_PORT, None)
            assert f"({os.getpid()})" in refused.reason
            play_from_here(room)
            await play(room, listener)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells apart the processes of one user")
async def test_a_connection_that_no_process_has_open_is_refused(tmp_path: Path) -> None:
    """A descriptor on its way through a Unix socket is open nowhere, whoever sent it."""
    if sys.platform != "linux":
        raise AssertionError  # for mypy
    with trio.fail_after(HANG_TIMEOUT):
        async with open_room(tmp_path) as (room, listener):
            near, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
            with near, far:
                with socket.create_connection(room.addresses[0]) as thief:
                    thief.sendall(b"<protocol><join/>")
                    socket.send_fds(near, [b"x"], [thief.fileno()])
                await listener.wait_for(events.ConnectionRefused)
                _, [descriptor], _, _ = socket.recv_fds(far, 1, 1)
                with socket.socket(fileno=descriptor) as received:
                    received.settimeout(HANG_TIMEOUT)
                    with suppress(ConnectionResetError):
                        assert received.recv(1) == b""
            assert events.PlayerJoined not in {type(event) for event, _ in listener.all}


@pytest.mark.skipif(sys.platform == "win32", reason="Windows does not limit the open files of a process")
async def test_files_are_left_while_connections_to_every_port_wait(tmp_path: Path) -> None:
    """Without any, nobody could look for the owner of a connection, and the game would be void."""
    if sys.platform == "win32":
        raise AssertionError  # for mypy
    import resource

    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (128, before[1]))
    try:
        async with open_room(tmp_path):
            most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        assert most > 2 * 2 * MAX_ASKED_ABOUT
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


async def test_a_program_with_many_open_files_is_served(tmp_path: Path) -> None:
    async with open_room(tmp_path) as (room, listener), AsyncExitStack() as stack:
        for _ in range(600):
            stack.callback(os.close, os.dup(0))
        await play(room, listener)


async def test_refused_connections_use_up_nothing_of_the_ports_own_program(tmp_path: Path) -> None:
    with trio.fail_after(HANG_TIMEOUT):
        async with open_room(tmp_path) as (room, listener):
            room.set_processes(0, NO_PROCESS)
            for _ in range(2 * MAX_CONNECTIONS_PER_GAME):
                await (await trio.open_tcp_stream(*room.addresses[0])).aclose()
            play_from_here(room)
            await play(room, listener)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells apart the processes of one user")
async def test_every_connection_of_a_visible_flood_is_attributed_to_its_program(tmp_path: Path) -> None:
    """None of them is refused as unknown because there are too many, so none can take the place of an honest one."""
    with trio.fail_after(HANG_TIMEOUT):
        async with open_room(tmp_path) as (room, listener):
            room.set_processes(0, NO_PROCESS)  # program 1 is this process
            streams = [await trio.open_tcp_stream(*room.addresses[0]) for _ in range(2 * MAX_ASKED_ABOUT)]
            await listener.wait_for(events.ConnectionRefused, len(streams))
            assert listener.programs_of(events.ConnectionRefused) == [1] * len(streams)
            assert room.has_turned_away == [False, False]
            for stream in streams:
                await stream.aclose()
            play_from_here(room)
            await play(room, listener)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells apart the processes of one user")
async def test_a_connection_that_is_closed_before_its_owner_is_known_is_reported(tmp_path: Path) -> None:
    with trio.fail_after(HANG_TIMEOUT):
        async with open_room(tmp_path) as (room, listener):
            room.set_processes(0, NO_PROCESS)
            with socket.create_connection(room.addresses[0]) as thief:  # closed before the server accepts it
                thief.sendall(b"<protocol><join/>")
            await listener.wait_for(events.ConnectionRefused)
            assert listener.programs_of(events.ConnectionRefused) == [None]
            assert not listener.programs_of(events.PlayerJoined)


NAMES = st.text("ab <>&\"'\n\t\r\U0001f600", max_size=12)


class Taker:
    """A sink that takes every packet at once."""

    def send_nowait(self, _packet: bytes, on_sent: SentCallback | None = None) -> None:
        if on_sent is not None:
            on_sent(0.0)

    def end_nowait(self, *, with_end_tag: bool = True) -> None: ...

    def has_unread_input(self) -> bool:
        return False


def replays_of(
    edition: str, names: tuple[str, str], plies: int, hints: tuple[str, ...] = (), *, reads_packets: bool = True
) -> tuple[bytes | None, bytes]:
    """Play a game that is cancelled after some plies; return its replay as it was recorded, and as it is encoded."""
    harness = RoomHarness()
    room = harness.lobby.open_prepared(EDITIONS[edition], [Slot(name) for name in names])
    recorder = ReplayRecorder(harness.lobby, room)
    peers = []
    for player_slot in room.player_slots:
        peer = Peer("player", Taker(), EDITIONS[edition])
        peer.reads_packets = reads_packets
        harness.lobby.take_reserved_slot(peer, room, player_slot)
        peers.append(peer)
    for _ in range(plies):
        data = MoveData(first_move(room), hints)
        room.move(peers[room.state.seat_on_turn], RoomMessage(room.id, data), Arrival(0.0), 0.0)
    if room.phase is not Phase.OVER:
        room.cancel()
    recorder.close()
    return recorder.content(room.record), b"".join(replay_pieces(room.edition.dialect, "", room.record, PACKET_INDENT))


@settings(max_examples=5, deadline=None)
@given(names=st.tuples(NAMES, NAMES), plies=st.integers(0, 6))
@pytest.mark.parametrize("edition", EDITIONS)
def test_a_recorded_replay_has_the_bytes_of_an_encoded_one(edition: str, names: tuple[str, str], plies: int) -> None:
    recorded, encoded = replays_of(edition, names, plies)
    assert recorded == encoded


@pytest.mark.parametrize(("reads_packets", "hints"), [(True, ("this one",)), (False, ())])
def test_a_replay_with_hints_or_packets_that_no_player_reads_is_not_recorded(
    *, reads_packets: bool, hints: tuple[str, ...]
) -> None:
    recorded, encoded = replays_of("blokus-2021-r3", ("one", "two"), 1, hints, reads_packets=reads_packets)
    assert recorded is None
    assert all(hint.encode() in encoded for hint in hints)
