"""A lobby with fake peers; time passes only when the test says so.

Invariants: nothing here waits or is random. `FakePeer.receive` returns every packet once, in order, as a short text.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable
from typing import Any

from spielleiter.game.api import Move
from spielleiter.protocol.connection import Connection, ConnectionClosed, Role, StreamEnd
from spielleiter.protocol.messages import (
    ErrorMessage,
    ErrorPacket,
    JoinedGameRoom,
    JoinPreparedRequest,
    JoinRequest,
    Memento,
    Message,
    MoveData,
    MoveRequest,
    ObserveRequest,
    Paused,
    Prepared,
    PrepareRequest,
    Result,
    RoomMessage,
    Slot,
    WelcomeMessage,
)
from spielleiter.server import events
from spielleiter.server.config import Config
from spielleiter.server.core.clock import Arrival, TimeLimits
from spielleiter.server.core.dispatch import dispatch
from spielleiter.server.core.lobby import Lobby
from spielleiter.server.core.policy import Edition
from spielleiter.server.core.room import Peer, Room, SentCallback
from spielleiter.server.editions import EDITIONS
from spielleiter.server.errors import RequestError

LIMITS = TimeLimits(2.0, 10.0)
GAME_TYPE = "swc_2021_blokus"


class FakeTimer:
    def __init__(self, callback: Callable[[float], None]) -> None:
        self.callback: Callable[[float], None] | None = callback

    def cancel(self) -> None:
        self.callback = None


class RoomHarness:
    """A lobby, its timers and its events."""

    def __init__(self, edition: str = "blokus-2021-r3", seed: int = 1, **settings: Any) -> None:
        self.edition: Edition = EDITIONS[edition]
        self.now = 0.0
        self.order: list[tuple[str, bytes]] = []
        """Every packet with the name of its recipient, in the order in which they were sent."""
        self.server_events: list[events.ServerEvent] = []
        self._timers: list[tuple[float, int, FakeTimer]] = []
        self._timer_count = 0
        self._id_count = 0
        self._chance = random.Random(seed)
        stream = events.EventStream()
        stream.subscribe(self.server_events.append)
        self.lobby = Lobby(
            Config(**{"password": "secret", **settings}),
            {self.edition.game_type: self.edition},
            self.edition,
            stream,
            self,
            self._new_id,
            lambda: random.Random(self._chance.random()),
        )

    def _new_id(self) -> str:
        self._id_count += 1
        return f"id-{self._id_count}"

    def call_at(self, deadline: float, callback: Callable[[float], None]) -> FakeTimer:
        timer = FakeTimer(callback)
        self._timer_count += 1
        heapq.heappush(self._timers, (deadline, self._timer_count, timer))
        return timer

    def call_after(self, delay: float, callback: Callable[[float], None]) -> FakeTimer:
        return self.call_at(self.now + delay, callback)

    @property
    def pending_timers(self) -> int:
        return sum(timer.callback is not None for _, _, timer in self._timers)

    def advance(self, seconds: float, *, lag: float = 0.0) -> None:
        """Let time pass; every timer that becomes due is called, `lag` seconds late."""
        end = self.now + seconds
        while self._timers and self._timers[0][0] + lag <= end:
            deadline, _, timer = heapq.heappop(self._timers)
            if timer.callback is not None:
                self.now = max(self.now, deadline + lag)
                timer.callback(self.now)
        self.now = end

    def fake_peer(self, name: str, *, is_admin: bool = False) -> FakePeer:
        fake_peer = FakePeer(self, name)
        if is_admin:
            fake_peer.peer.is_admin = True
            self.lobby.admins[fake_peer.peer] = None
        return fake_peer

    def peers(self) -> tuple[FakePeer, FakePeer, FakePeer]:
        """Connect an administrator and two others."""
        return self.fake_peer("admin", is_admin=True), self.fake_peer("one"), self.fake_peer("two")

    def prepare(self, admin: FakePeer, *slots: Slot, is_paused: bool = False) -> tuple[str, list[str]]:
        """Let `admin` prepare a game; return its room id and reservation codes."""
        chosen = slots or (Slot("Eins"), Slot("Zwei"))
        assert admin.send(PrepareRequest(GAME_TYPE, chosen, is_paused)) is None
        prepared = admin.last_message
        assert isinstance(prepared, Prepared)
        assert prepared.room_id is not None
        admin.receive()
        return prepared.room_id, list(prepared.reservations)

    def game(self, *, is_paused: bool = False) -> tuple[Room, FakePeer, FakePeer, FakePeer]:
        """Start a prepared game, observed by an administrator; everybody has read everything so far."""
        admin, one, two = self.peers()
        room_id, codes = self.prepare(admin, is_paused=is_paused)
        admin.send(ObserveRequest(room_id))
        one.send(JoinPreparedRequest(codes[0]))
        two.send(JoinPreparedRequest(codes[1]))
        for fake_peer in (admin, one, two):
            fake_peer.receive()
        return self.lobby.rooms[room_id], admin, one, two

    def joined_game(self) -> tuple[Room, FakePeer, FakePeer]:
        """Start a game by `join`; both players have read everything so far."""
        one, two = self.fake_peer("one"), self.fake_peer("two")
        one.send(JoinRequest(GAME_TYPE))
        two.send(JoinRequest(GAME_TYPE))
        one.receive()
        two.receive()
        (room,) = one.peer.rooms.values()
        return room, one, two

    def happened(self, kind: type[events.ServerEvent]) -> list[Any]:
        return [event for event in self.server_events if isinstance(event, kind)]


class FakePeer:
    """A peer that records what it is sent. `is_deaf`: it takes nothing, so requests are never delivered."""

    def __init__(self, harness: RoomHarness, name: str) -> None:
        self.harness = harness
        self.is_deaf = False
        self.has_unread = False
        self.is_ended = False
        self.last_message: Message | None = None
        self.peer = Peer(name, self, harness.lobby.default_edition)
        self._writing = Connection(Role.SERVER, harness.edition.dialect)
        self._reading = Connection(Role.CLIENT, harness.edition.dialect)
        self._received: list[str] = []
        self.packets: list[bytes] = []
        self.undelivered: list[SentCallback] = []

    # -- Sink -------------------------------------------------------------------------------------------------------

    def send_nowait(self, packet: bytes, on_sent: SentCallback | None = None) -> None:
        if self.is_ended:
            return
        self.packets.append(packet)
        self.harness.order.append((self.peer.label, packet))
        self._read(self._writing.send_encoded(packet))
        if on_sent is not None:
            if self.is_deaf:
                self.undelivered.append(on_sent)
            else:
                on_sent(self.harness.now)

    def end_nowait(self, *, with_end_tag: bool = True) -> None:
        if not self.is_ended:
            self.is_ended = True
            self._read(self._writing.close() if with_end_tag else b"")
            self._received.append("end of stream" if with_end_tag else "silent end")

    def has_unread_input(self) -> bool:
        return self.has_unread

    def _read(self, data: bytes) -> None:
        if data:
            self._reading.receive_data(data)
        while (event := self._reading.next_event()) is not None:
            assert not isinstance(event, ConnectionClosed)
            if not isinstance(event, StreamEnd):
                self.last_message = event
                self._received.append(in_short(event))

    # -- controls of the test ---------------------------------------------------------------------------------------

    def send(self, message: Message, *, after: float = 0.0) -> RequestError | None:
        """Send it `after` some seconds; return the error, if any, for which the session would end the stream."""
        self.harness.advance(after)
        now = self.harness.now
        try:
            dispatch(self.harness.lobby, self.peer, message, Arrival(now), now)
        except RequestError as error:
            self.end_nowait()
            self.harness.lobby.drop(self.peer)
            return error
        return None

    def moves(self, room: Room, move: Move, *hints: str, after: float = 0.0) -> RequestError | None:
        return self.send(RoomMessage(room.id, MoveData(move, hints)), after=after)

    def leave(self) -> None:
        self.harness.lobby.drop(self.peer)

    def receive(self) -> list[str]:
        """Return everything that was received since the last call."""
        received, self._received = self._received, []
        return received


def in_short(message: Message) -> str:
    """Return a packet as a short text."""
    if isinstance(message, RoomMessage):
        return _data_in_short(message.data)
    if isinstance(message, JoinedGameRoom):
        return f"joinedGameRoom {message.player_count} {message.is_existing}"
    if isinstance(message, ErrorPacket):
        return "errorpacket"
    name = type(message).__name__
    return name[0].lower() + name[1:]


def _data_in_short(data: object) -> str:
    match data:
        case WelcomeMessage(seat):
            return f"welcome {seat}"
        case Memento(state):
            return f"state {state.turn}"
        case MoveRequest():
            return "request"
        case Paused(is_paused):
            return f"paused {is_paused}"
        case ErrorMessage():
            return "error"
        case Result(_, scores, winners):
            causes = " ".join(score.cause.value for score in scores)
            parts = "".join(str(score.parts[0]) for score in scores)
            return f"result {causes} {parts} winners {list(winners)}"
    raise AssertionError(data)


def first_move(room: Room) -> Move:
    """Return any legal move of the side to move."""
    return next(iter(room.state.generate_legal_moves()))
