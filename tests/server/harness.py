"""A whole server on memory streams: callers send and receive bytes, and everything happens in virtual time.

Invariants: the start is seeded, and the first piece is PENTO_U. `Caller.receive` returns all bytes once, in order.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from html import unescape
from typing import Any, TypeVar
from xml.sax.saxutils import escape

import trio
from trio.testing import memory_stream_pair, wait_all_tasks_blocked

from spielleiter.game.blokus.moves import SkipMove
from spielleiter.game.blokus.pieces import Color
from spielleiter.protocol.dialects.blokus_2021 import BLOKUS_2021_R3
from spielleiter.protocol.messages import Message, MoveData, RoomMessage
from spielleiter.server import events
from spielleiter.server.app import Server
from spielleiter.server.config import Config
from spielleiter.server.core.room import DedicatedPort, Room
from spielleiter.server.editions import EDITIONS, choose_editions
from spielleiter.server.net.fair_queue import WorkMeter
from spielleiter.server.net.wire import Wire
from spielleiter.wire.trace_writer import Recorder
from tests.protocol.streams import LATEST
from tests.server.room_harness import first_move
from tests.server.wires import StreamWire, ThrottledWire

_H = TypeVar("_H", bound=events.ServerEvent)

GAME_TYPE = "swc_2021_blokus"
PASSWORD = "examplepassword"
START = b"<protocol>"
END = b"\n</protocol>"
GOODBYE = LATEST["close"] + END
PATIENT: dict[str, Any] = {"soft_timeout": 1000.0, "hard_timeout": 1000.0}
"""Settings with time limits that no player exceeds."""
NOWHERE = "00000000-0000-0000-0000-000000000000"

FIRST_ROUND = 4  # moves

_UUID = re.compile(rb"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


def sample(name: str, room_id: str) -> bytes:
    """Return the recorded packet with the id of this room."""
    return _UUID.sub(room_id.encode(), LATEST[name])


def packet(message: Message) -> bytes:
    return BLOKUS_2021_R3.encode(message)


def set_move_packet(room_id: str, color: str, kind: str, x: int, y: int, rotation: str = "NONE") -> bytes:
    """Return a player's packet with a move."""
    return (
        f'<room roomId="{room_id}"><data class="sc.plugin2021.SetMove"><piece color="{color}" kind="{kind}" '
        f'rotation="{rotation}" isFlipped="false"><position x="{x}" y="{y}"/></piece></data></room>'
    ).encode()


def legal_move(room: Room) -> bytes:
    """Return a packet with a legal move of the side to move: a piece in the first round, then a pass."""
    move = first_move(room) if room.state.turn < FIRST_ROUND else SkipMove(Color(room.state.turn % len(Color)))
    return room.edition.dialect.encode(RoomMessage(room.id, MoveData(move)))


class Caller:
    """The other end of one connection."""

    def __init__(self, label: str, near: trio.abc.HalfCloseableStream) -> None:
        self.label = label
        """Its name in the server's log."""
        self.near = near
        self.is_ended = False
        """Whether the server has ended its stream."""
        self.reservation = ""
        self._received = bytearray()

    async def listen(self) -> None:
        try:
            async for data in self.near:
                self._received += data
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            return
        self.is_ended = True

    async def send(self, data: bytes | str) -> None:
        await self.near.send_all(data.encode() if isinstance(data, str) else data)
        await wait_all_tasks_blocked()

    async def receive(self) -> bytes:
        """Return everything that was received since the last call."""
        await wait_all_tasks_blocked()
        received = bytes(self._received)
        self._received.clear()
        return received

    async def end_input(self) -> None:
        await self.near.send_eof()
        await wait_all_tasks_blocked()

    async def close(self) -> None:
        await self.near.aclose()
        await wait_all_tasks_blocked()


@dataclass
class Game:
    """A running game; everybody has read the packets of its start."""

    id: str
    room: Room
    admin: Caller
    one: Caller
    two: Caller

    @property
    def callers(self) -> tuple[Caller, Caller, Caller]:
        return self.admin, self.one, self.two

    async def play(self, plies: int) -> None:
        """Let the side to move make any legal move, `plies` times."""
        for _ in range(plies):
            await (self.one, self.two)[self.room.state.seat_on_turn].send(legal_move(self.room))


class ServerHarness:
    """A server and its callers."""

    def __init__(self, nursery: trio.Nursery, edition: str | None, settings: dict[str, Any]) -> None:
        """Only `edition` is played; None: all seasons."""
        self.log = io.StringIO()
        self.game_type = GAME_TYPE if edition is None else EDITIONS[edition].game_type
        usual = {"seed": 1, "start_piece": "PENTO_U", "log_level": "debug", "log_format": "json"}
        editions = {} if edition is None else {self.game_type: edition}
        self.config = Config(**{**usual, "editions": editions, **settings})
        played = choose_editions(self.config.editions, self.config.game_options)
        if edition is not None:
            played = {self.game_type: played[self.game_type]}
        self.server = Server(self.config, self.log, played, WorkMeter(lambda: 0.0, lambda: 0.0), Recorder)
        self.server_events: list[events.ServerEvent] = []
        self.server.stream.subscribe(self.server_events.append)
        self.nursery = nursery
        self._count = 0

    async def call(self, host: str = "host", port: DedicatedPort | None = None) -> Caller:
        """Connect a caller from `host` that has sent nothing yet, perhaps to a dedicated port."""
        near, far = memory_stream_pair()
        return await self.call_over(near, StreamWire(far), host, port)

    async def call_over(
        self, near: trio.abc.HalfCloseableStream, wire: Wire, host: str = "host", port: DedicatedPort | None = None
    ) -> Caller:
        self._count += 1
        caller = Caller(f"c{self._count}", near)
        self.nursery.start_soon(caller.listen)
        self.nursery.start_soon(partial(self.server.serve_wire, wire, f"{host}:{self._count}", dedicated_port=port))
        await wait_all_tasks_blocked()
        return caller

    async def call_throttled(self, capacity: float, data: str = "") -> tuple[Caller, ThrottledWire]:
        """Connect a caller that takes `capacity` bytes altogether and sends `data` at once."""
        wire = ThrottledWire(capacity)
        near, _ = memory_stream_pair()
        caller = await self.call_over(near, wire)
        await wire.feed.send_all(f"<protocol>{data}".encode())
        await wait_all_tasks_blocked()
        return caller, wire

    async def admin(self) -> Caller:
        caller = await self.call()
        await caller.send(f'<protocol><authenticate password="{PASSWORD}"/>')
        return caller

    async def prepare(self, admin: Caller, names: Sequence[str] = ("Eins", "Zwei")) -> tuple[str, list[str]]:
        """Prepare a game; return its room id and reservation codes."""
        slots = "".join(f'<slot displayName="{name}" canTimeout="true" reserved="true"/>' for name in names)
        await admin.send(f'<prepare gameType="{self.game_type}">{slots}</prepare>')
        room_id, *codes = (found.decode() for found in _UUID.findall(await admin.receive()))
        return room_id, codes

    async def take_seat(self, code: str) -> Caller:
        """Connect a caller that uses a reservation; it has not read anything yet."""
        caller = await self.call()
        caller.reservation = code
        await caller.send(f'<protocol><joinPrepared reservationCode="{code}"/>')
        return caller

    async def game(self) -> Game:
        """Start a prepared game, observed by an administrator."""
        admin = await self.admin()
        room_id, codes = await self.prepare(admin)
        await admin.send(f'<observe roomId="{room_id}"/>')
        one, two = [await self.take_seat(code) for code in codes]
        for caller in (admin, one, two):
            await caller.receive()
        return Game(room_id, self.server.lobby.rooms[room_id], admin, one, two)

    def happened(self, kind: type[_H], label: str | None = None) -> list[_H]:
        """Return the events of a kind, of one connection if `label` is given."""
        return [
            each
            for each in self.server_events
            if isinstance(each, kind) and label in (None, getattr(each, "connection", None))
        ]

    def logged(self, name: str) -> list[dict[str, Any]]:
        """Return the log lines of this event."""
        lines = [json.loads(line) for line in self.log.getvalue().splitlines()]
        return [line for line in lines if line["event"] == name]


@asynccontextmanager
async def open_harness(edition: str | None = "blokus-2021-r3", **settings: Any) -> AsyncIterator[ServerHarness]:
    """Run a server and its timers until the context is left."""
    async with trio.open_nursery() as nursery:
        harness = ServerHarness(nursery, edition, settings)
        nursery.start_soon(harness.server.timers.run)
        yield harness
        nursery.cancel_scope.cancel()


# -- all seasons ------------------------------------------------------------------------------------------------------

GAME_TYPES = tuple(choose_editions({}, {}))
"""The gameTypes of all games."""


open_all_games = partial(open_harness, None)


async def joined(harness: ServerHarness, game_type: str | None) -> Caller:
    """Connect a new caller that joins a game of this type; it has not read anything yet."""
    caller = await harness.call()
    attribute = "" if game_type is None else f' gameType="{game_type}"'
    await caller.send(f"<protocol><join{attribute}/>")
    return caller


async def playing(harness: ServerHarness, game_type: str) -> tuple[str, Caller, Caller]:
    """Start a game of this type; return its id and its players, which have read everything."""
    one, two = await joined(harness, game_type), await joined(harness, game_type)
    await one.receive()
    await two.receive()
    (room,) = (each for each in harness.server.lobby.rooms.values() if each.edition.game_type == game_type)
    return room.id, one, two


# -- answers ----------------------------------------------------------------------------------------------------------


def refusals(harness: ServerHarness, caller: Caller) -> list[tuple[str, str]]:
    """Return kind and text of every refusal to this caller."""
    return [
        (each.fault.value, each.text) if isinstance(each, events.RequestRefused) else (each.refusal, each.text)
        for each in harness.server_events
        if isinstance(each, events.RequestRefused | events.ProtocolBroken) and each.connection == caller.label
    ]


def text_of(packet: bytes) -> str:
    """Return the unescaped message of an error packet."""
    return unescape(packet.split(b'message="', 1)[1].split(b'"', 1)[0].decode())


def left_result(game_id: str, seat: int, points: tuple[int, int] = (0, 0)) -> bytes:
    """Return the result after the player of `seat` has left, derived from the recorded one."""
    recorded = sample("result_left", game_id)
    won, lost = (score + b"\n      </score>" for score in recorded.split(b"\n      </score>")[:2])
    head, won = won[: won.index(b"\n      <score")], won[won.index(b"\n      <score") :]
    tail = recorded[recorded.index(b"\n      <winner") :]
    won, lost = (
        re.sub(rb"\d+</part>\n      </score>", b"%d</part>\n      </score>" % points[side], score)
        for side, score in ((1 - seat, won), (seat, lost))
    )
    if seat == 0:
        return head + lost + won + tail.replace(b"Eins", b"Zwei").replace(b"ONE", b"TWO")
    return head + won + lost + tail


def left(game: Game, seat: int) -> bytes:
    """Return the packets that are sent when the player of `seat` has left before the first move."""
    return left_result(game.id, seat) + sample("left", game.id)


async def expect_unaffected(game: Game) -> None:
    """Check that the faults in a test have not reached this game of other players."""
    for caller in game.callers:
        assert await caller.receive() == b""
    await game.play(1)
    for caller in game.callers:
        assert b'class="memento"' in await caller.receive()
        assert not caller.is_ended


def answered(text: str, original: str | None = None) -> bytes:
    """Return the bytes of an error packet."""
    child = "" if original is None else f"\n    {original}"
    message = escape(text, {"'": "&apos;", '"': "&quot;"})
    return f'\n  <errorpacket message="{message}">{child}\n  </errorpacket>'.encode()
