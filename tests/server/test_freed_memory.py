"""Connections, rooms and positions are freed when they end, without a garbage collection."""

from __future__ import annotations

import gc
import socket
import struct
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from xml.parsers.expat import XMLParserType

import pytest
import trio

from spielleiter.game.blokus.state import BlokusState
from spielleiter.protocol.connection import Connection
from spielleiter.protocol.packet_reader import PacketReader, TreeBuilder
from spielleiter.server.core.room import Peer, PendingRequest, PlayerSlot, Room
from spielleiter.server.net.outbox import Outbox
from spielleiter.server.net.session import Session
from spielleiter.server.net.wire import SocketWire
from tests.server.harness import PASSWORD, ServerHarness, open_all_games, open_harness, playing
from tests.server.serving import serving
from tests.server.wires import StreamWire, ThrottledWire
from tests.timeouts import HANG_TIMEOUT

TRANSIENT = (
    Session,
    Outbox,
    Peer,
    Connection,
    PacketReader,
    TreeBuilder,
    XMLParserType,
    StreamWire,
    SocketWire,
    ThrottledWire,
    Room,
    PlayerSlot,
    PendingRequest,
    BlokusState,
)
"""Classes whose instances live as long as a connection or a game."""

BAD_BYTES = (
    b"GET / HTTP/1.0\r\n\r\n",
    b"<protocol><foo/>",
    b'<protocol><joinPrepared reservationCode="nobody"/>',
    b'<protocol><authenticate password="wrong"/>',
    b"<protocol>" + b"<a>" * 100,
    b"<protocol><join x='" + b"x" * 20000 + b"'/>",
    b"<!DOCTYPE a [<!ENTITY b 'c'>]><protocol>",
    b"<protocol></wrong>",
    b"<protocol><a>&nobody;</a>",
    b"\xff\xfe",
    b"",
)


def alive() -> Counter[str]:
    """Count the objects of each kind, whether they are referred to or not."""
    return Counter(type(each).__name__ for each in gc.get_objects() if isinstance(each, TRANSIENT))


@pytest.fixture(autouse=True)
def _without_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def end_all_sessions(harness: ServerHarness) -> None:
    """This is a function of its own, so that no session is a local variable of a test that waits.

    A task that a deadline wakes up holds the Cancelled exception's traceback until the next task runs. From Python
    3.12 on this keeps the frames of all its callers alive, and with them their local variables.
    """
    for session in list(harness.server.sessions):
        session.end("over")


async def plays_a_whole_game(harness: ServerHarness) -> None:
    party = await harness.game()
    while harness.server.lobby.rooms:
        await party.play(1)
    await party.admin.close()


async def makes_an_illegal_move(harness: ServerHarness) -> None:
    party = await harness.game()
    await party.one.send(f'<room roomId="{party.id}"><data class="sc.plugin2021.SkipMove"/></room>')
    assert not harness.server.lobby.rooms


async def never_answers(harness: ServerHarness) -> None:
    await harness.game()
    await trio.sleep(harness.config.hard_timeout + 0.1)
    assert not harness.server.lobby.rooms


async def leaves_during_a_game(harness: ServerHarness) -> None:
    party = await harness.game()
    await party.play(3)
    await party.one.send(b"<room")
    await party.one.close()
    assert not harness.server.lobby.rooms


async def is_cancelled(harness: ServerHarness) -> None:
    party = await harness.game()
    await party.admin.send(f'<pause roomId="{party.id}" pause="true"/><cancel roomId="{party.id}"/>')
    admin = await harness.admin()
    room_id, codes = await harness.prepare(admin)
    await harness.take_seat(codes[0])
    await admin.send(f'<observe roomId="{room_id}"/><cancel roomId="{room_id}"/>')
    await harness.prepare(admin)
    await trio.sleep(harness.config.reservation_timeout + 1.0)
    assert not harness.server.lobby.rooms


async def takes_nothing(harness: ServerHarness) -> None:
    party = await harness.game()
    await harness.call_throttled(0, f'<authenticate password="{PASSWORD}"/><observe roomId="{party.id}"/>')
    assert len(party.room.observers) == 2
    await trio.sleep(harness.config.outbox_timeout + 1.0)
    assert not harness.server.lobby.rooms  # longer than a side to move has before it loses


async def hits_a_bug(harness: ServerHarness) -> None:
    party = await harness.game()
    party.room.record = None  # type: ignore[assignment]
    await party.play(1)
    assert harness.logged("internal_error")


async def sends_bad_bytes(harness: ServerHarness) -> None:
    for data in BAD_BYTES:
        await (await harness.call()).send(data)


async def ends_while_its_answer_is_delayed(harness: ServerHarness) -> None:
    for _ in range(harness.config.password_attempts):
        await (await harness.call()).send('<protocol><authenticate password="wrong"/>')
    await (await harness.call()).send('<protocol><authenticate password="wrong"/>')
    assert harness.logged("answer_delayed")
    end_all_sessions(harness)


@pytest.mark.parametrize(
    "scenario",
    [
        plays_a_whole_game,
        makes_an_illegal_move,
        never_answers,
        leaves_during_a_game,
        is_cancelled,
        takes_nothing,
        hits_a_bug,
        sends_bad_bytes,
        ends_while_its_answer_is_delayed,
    ],
)
async def test_everything_is_freed_when_everybody_has_left(
    scenario: Callable[[ServerHarness], Awaitable[None]], autojump_clock: object
) -> None:
    before = alive()
    async with open_harness() as harness:
        await scenario(harness)
        assert alive() - before  # there is something to free
        end_all_sessions(harness)
        await trio.sleep(100.0)
        harness.server_events.clear()
        assert alive() - before == Counter()


async def test_players_that_stayed_after_a_game_are_freed_when_they_leave(autojump_clock: object) -> None:
    before = alive()
    async with open_all_games() as harness:
        room_id, one, two = await playing(harness, "swc_2027_blokus")
        await one.send(f'<room roomId="{room_id}"><data class="nonsense"/></room>')
        assert not harness.server.lobby.rooms
        assert (alive() - before)["Peer"] == 2
        await one.close()
        await two.close()
        harness.server_events.clear()
        assert trio.current_time() < 1.0
        assert alive() - before == Counter()


async def test_socket_connections_are_freed() -> None:
    async with serving(close_timeout=0.01) as server:
        await trio.testing.wait_all_tasks_blocked()
        before = alive()
        for data in BAD_BYTES:
            stream = await server.connect()
            await stream.send_all(data)
            stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # a reset
            await stream.aclose()
        opened = 0
        with trio.fail_after(HANG_TIMEOUT):
            while opened < len(BAD_BYTES) or alive() - before:
                await trio.sleep(0.01)
                opened = len(server.logged("connection_closed"))
