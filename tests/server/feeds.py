"""A follower of a lobby, and what it knows of the rooms from the feed alone."""

from __future__ import annotations

from dataclasses import dataclass, field

from spielleiter.game.api import State
from spielleiter.protocol import feed
from spielleiter.protocol.connection import Connection, Role
from spielleiter.protocol.messages import ErrorMessage, FeedUpdate, Memento, MoveData, Result, RoomData
from spielleiter.protocol.positions import read_position
from spielleiter.protocol.thinking import Thinking
from spielleiter.server.core.policy import Edition
from spielleiter.server.core.room import Peer, SentCallback
from spielleiter.server.editions import EDITIONS


@dataclass
class MirroredRoom:
    """A room as a follower knows it; `requested` is the seat whose move is requested."""

    edition: Edition
    names: tuple[str, str]
    is_prepared: bool
    free_seats: int
    soft_timeouts: tuple[float | None, float | None]
    is_paused: bool = False
    record: list[RoomData] = field(default_factory=list)
    think_times: tuple[list[float], list[float]] = field(default_factory=lambda: ([], []))
    requested: int | None = None
    thinking: dict[int, tuple[int, Thinking]] = field(default_factory=dict)

    @property
    def state(self) -> State | None:
        return next((data.state for data in reversed(self.record) if isinstance(data, Memento)), None)


class Mirror:
    """Rebuilds the rooms of a server from the events of its feed, as a program would that shows them."""

    def __init__(self) -> None:
        self.server: feed.ServerDescribed | None = None
        self.rooms: dict[str, MirroredRoom] = {}
        self.closed: dict[str, MirroredRoom] = {}
        self.is_current = False
        self.is_stopping = False

    def apply(self, event: feed.FeedEvent) -> None:
        match event:
            case feed.ServerDescribed():
                assert self.server is None
                self.server = event
            case feed.Current():
                assert not self.is_current
                self.is_current = True
            case feed.Stopping():
                self.is_stopping = True
            case feed.RoomOpened(room, edition, is_prepared, names, free_seats, soft_timeouts):
                assert room not in self.rooms
                assert room not in self.closed
                self.rooms[room] = MirroredRoom(EDITIONS[edition], names, is_prepared, free_seats, soft_timeouts)
            case feed.RoomClosed(room):
                self.closed[room] = self.rooms.pop(room)
            case _:
                self._change(self.rooms[event.room], event)

    def _change(self, room: MirroredRoom, event: feed.FeedEvent) -> None:
        dialect = room.edition.dialect
        match event:
            case feed.SeatsChanged(_, names, free_seats):
                room.names, room.free_seats = names, free_seats
            case feed.PauseChanged(_, is_paused):
                room.is_paused = is_paused
            case feed.LimitsChanged(_, soft_timeouts):
                room.soft_timeouts = soft_timeouts
            case feed.GameStarted(_, names, is_paused, soft_timeouts, position):
                assert not room.record
                room.names, room.is_paused, room.soft_timeouts = names, is_paused, soft_timeouts
                room.free_seats, room.requested = 0, None
                start = read_position(dialect, position)
                room.record.append(Memento(room.edition.game.resume(start.state), names))
            case feed.MovePlayed(_, ply, seat, move, think_time, hints, position):
                data = feed.read_data(dialect, move)
                assert isinstance(data, MoveData)
                assert ply == len(room.record) - 1
                assert room.state is not None
                assert seat == room.state.seat_on_turn
                if position is None:
                    state = room.state.play(data.move)
                else:
                    state = room.edition.game.resume(read_position(dialect, position).state)
                room.record.append(Memento(state, room.names, hints))
                room.think_times[seat].append(think_time)
                room.requested = state.seat_on_turn
            case feed.ThinkingChanged(_, ply, seat, thinking):
                room.thinking[ply] = seat, thinking
            case feed.RequestChanged(_, seat, _):
                room.requested = seat
            case feed.ErrorSent(_, seat, text, original):
                assert room.state is not None
                assert seat == room.state.seat_on_turn
                shown = None if original is None else feed.read_data(dialect, original)
                room.record.append(ErrorMessage(text, shown))
            case feed.GameEnded(_, text, think_times):
                result = feed.read_data(dialect, text)
                assert isinstance(result, Result)
                room.record.append(result)
                room.think_times = [*think_times[0]], [*think_times[1]]
                room.requested = None
            case _:
                assert isinstance(event, feed.GameStepped)


class FollowingPeer:
    """An administrator's connection that follows; `mirror` is what it knows. `queued` are bytes it has not taken."""

    def __init__(self, label: str, edition: Edition) -> None:
        self.peer = Peer(label, self, edition)
        self.peer.is_admin = True
        self.mirror = Mirror()
        self.events: list[feed.FeedEvent] = []
        self.packets: list[bytes] = []
        self.queued = 0
        self.is_ended = False
        self._connection = Connection(Role.CLIENT, edition.dialect)
        self._connection.receive_data(b"<protocol>")

    # -- Sink -------------------------------------------------------------------------------------------------------

    def send_nowait(self, packet: bytes, on_sent: SentCallback | None = None) -> None:
        self.packets.append(packet)
        self._connection.receive_data(packet)
        message = self._connection.next_event()
        assert isinstance(message, FeedUpdate), message
        for event in feed.decode_events(message.text):
            self.events.append(event)
            self.mirror.apply(event)

    def end_nowait(self, *, with_end_tag: bool = True) -> None:
        self.is_ended = True

    def has_unread_input(self) -> bool:
        return False
