"""What is over is free at once: no connection, room or position waits for the garbage collector."""

from __future__ import annotations

import gc
import socket
import struct
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from xml.parsers.expat import XMLParserType

import pytest
import trio
from trio.testing import memory_stream_pair, wait_all_tasks_blocked

from game.blokus.state import BlokusState
from protocol.connection import Connection
from protocol.reader import PacketReader
from protocol.tree import TreeBuilder
from server.audience import Audience
from server.chair import Chair
from server.clock import MoveClock
from server.outbox import Outbox
from server.peer import Peer
from server.room import Room
from server.session import Session
from server.wire import SocketWire, StreamWire
from tests.patience import PATIENCE
from tests.server.house import PASSWORD, House, open_house
from tests.server.serving import serving
from tests.server.town import open_town, playing
from tests.server.wires import ThrottledWire

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
    Audience,
    Chair,
    MoveClock,
    BlokusState,
)
"""What lives as long as a connection or a game."""

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
    """How many there are of each kind, whether anybody refers to them or not."""
    return Counter(type(each).__name__ for each in gc.get_objects() if isinstance(each, TRANSIENT))


@pytest.fixture(autouse=True)
def _without_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def end_all_sessions(house: House) -> None:
    """A function of its own, so that no session is a local variable of a test that waits.

    A task that a deadline wakes up holds the Cancelled exception's traceback until the next task runs. From Python
    3.12 on this keeps the frames of all its callers alive, and with them their local variables.
    """
    for session in list(house.server._sessions):
        session.end("over")


async def plays_to_the_end(house: House) -> None:
    party = await house.game()
    while house.server.lobby.rooms:
        await party.play(1)
    await party.admin.hangs_up()


async def lays_what_is_not_allowed(house: House) -> None:
    party = await house.game()
    await party.one.says(f'<room roomId="{party.id}"><data class="sc.plugin2021.SkipMove"/></room>')
    assert not house.server.lobby.rooms


async def answers_too_late(house: House) -> None:
    party = await house.game()
    await trio.sleep(house.config.soft_timeout + 0.1)
    await party.play(1)
    assert not house.server.lobby.rooms


async def never_answers(house: House) -> None:
    await house.game()
    await trio.sleep(house.config.hard_timeout + 0.1)
    assert not house.server.lobby.rooms


async def hangs_up_amid_a_game(house: House) -> None:
    party = await house.game()
    await party.play(3)
    await party.one.hangs_up()
    assert not house.server.lobby.rooms


async def is_cut_off_amid_a_packet(house: House) -> None:
    party = await house.game()
    await party.one.says(b"<room")
    await party.one.ends_input()
    assert not house.server.lobby.rooms


async def is_called_off(house: House) -> None:
    party = await house.game()
    await party.admin.says(f'<pause roomId="{party.id}" pause="true"/><cancel roomId="{party.id}"/>')
    admin = await house.admin()
    room_id, codes = await house.prepare(admin)
    await house.sit(codes[0])
    await admin.says(f'<observe roomId="{room_id}"/><cancel roomId="{room_id}"/>')
    await house.prepare(admin)
    await trio.sleep(house.config.reservation_timeout + 1.0)
    assert not house.server.lobby.rooms


async def takes_nothing(house: House) -> None:
    party = await house.game()
    near, _ = memory_stream_pair()
    wire = ThrottledWire(0)
    await house.call_over(near, wire)
    await wire.feed.send_all(f'<protocol><authenticate password="{PASSWORD}"/><observe roomId="{party.id}"/>'.encode())
    await wait_all_tasks_blocked()
    assert len(party.room.observers) == 2
    await trio.sleep(house.config.outbox_timeout + 1.0)
    assert not house.server.lobby.rooms  # nobody was on turn for so long without losing


async def meets_a_bug(house: House) -> None:
    party = await house.game()
    party.room.record = None  # type: ignore[assignment]
    await party.play(1)
    assert house.logged("internal_error")


async def says_what_is_wrong(house: House) -> None:
    for data in BAD_BYTES:
        await (await house.call()).says(data)


async def is_ended_while_its_answer_is_delayed(house: House) -> None:
    for _ in range(house.config.password_attempts):
        await (await house.call()).says('<protocol><authenticate password="wrong"/>')
    await (await house.call()).says('<protocol><authenticate password="wrong"/>')
    assert house.logged("answer_delayed")
    end_all_sessions(house)


async def is_cancelled_with_the_server(house: House) -> None:
    with trio.CancelScope() as scope:
        async with trio.open_nursery() as nursery:
            for _ in range(2):
                _, far = memory_stream_pair()
                nursery.start_soon(house.server.serve_wire, StreamWire(far), "host:1")
            await wait_all_tasks_blocked()
            scope.cancel()
    await house.call()


Scenario = Callable[[House], Awaitable[None]]


async def leave(house: House) -> None:
    """Nobody stays, and nothing that was heard or noted is kept."""
    end_all_sessions(house)
    await trio.sleep(100.0)
    house.happenings.clear()


@pytest.mark.parametrize(
    "scenario",
    [
        plays_to_the_end,
        lays_what_is_not_allowed,
        answers_too_late,
        never_answers,
        hangs_up_amid_a_game,
        is_cut_off_amid_a_packet,
        is_called_off,
        takes_nothing,
        meets_a_bug,
        says_what_is_wrong,
        is_ended_while_its_answer_is_delayed,
        is_cancelled_with_the_server,
    ],
)
async def test_nothing_is_left_when_everybody_is_gone(scenario: Scenario, autojump_clock: object) -> None:
    before = alive()
    async with open_house() as house:
        await scenario(house)
        assert alive() - before  # there is something to let go of
        await leave(house)
        assert alive() - before == Counter()


async def test_players_who_may_stay_after_a_game_are_not_kept_when_they_go(autojump_clock: object) -> None:
    before = alive()
    async with open_town() as town:
        room_id, one, two = await playing(town, "swc_2027_blokus")
        await one.says(f'<room roomId="{room_id}"><data class="nonsense"/></room>')
        assert not town.server.lobby.rooms
        assert (alive() - before)["Peer"] == 2
        await one.hangs_up()
        await two.hangs_up()
        town.happenings.clear()
        assert trio.current_time() < 1.0
        assert alive() - before == Counter()


async def test_nothing_is_left_of_connections_by_sockets() -> None:
    async with serving(close_timeout=0.01) as server:
        await trio.testing.wait_all_tasks_blocked()
        before = alive()
        for data in BAD_BYTES:
            stream = await server.connect()
            await stream.send_all(data)
            stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # a reset
            await stream.aclose()
        opened = 0
        with trio.fail_after(PATIENCE):
            while opened < len(BAD_BYTES) or alive() - before:
                await trio.sleep(0.01)
                opened = len(server.logged("connection_closed"))
