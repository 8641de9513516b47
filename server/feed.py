"""The feed: tells administrators that follow the server everything that happens in its rooms.

Invariants: without a follower nothing is noted. A move costs one entry in a list; entries are written and sent at most
20 times a second, once for all followers. A new follower is told the present state first, a few rooms in each turn of
the event loop, and no faster than it reads. What happens meanwhile in a room is told after the state of this room, and
never twice. Nobody waits for a follower: its queue is bounded as that of any other peer.

Everything that was noted is sent before the state of a room is looked at. So at that moment all followers know the same
of it, and what is noted later belongs to all of them. Until then, a new follower is sent nothing about this room.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final, TypeAlias

from spielleiter.protocol import feed
from spielleiter.protocol.messages import ErrorMessage, FeedUpdate, Memento, MoveData
from spielleiter.protocol.positions import write_position
from spielleiter.server import events
from spielleiter.server.core.clock import Timer
from spielleiter.server.core.lobby import Lobby
from spielleiter.server.core.room import Peer, Phase, Room
from spielleiter.server.errors import Fault, RequestError
from spielleiter.server.status import shortened

FLUSH_INTERVAL: Final = 0.05
"""Seconds for which events are collected."""
MOST_FOLLOWERS: Final = 8
"""The maximum number of connections that follow."""
PACKET_BYTES: Final = 64 * 1024
"""A packet is ended when its events have this many bytes."""
MOST_AT_ONCE: Final = 256
"""The maximum number of events that are written in one turn of the event loop."""
MOST_QUEUED: Final = 512 * 1024
"""Bytes that a follower has not taken, from which on it is told no more of the present state until it has."""

_Noted: TypeAlias = feed.FeedEvent | events.GameStarted | events.MovePlayed | events.GameEnded
"""What is sent as it is, or an event of the server that is written only when it is sent."""
_Encoded: TypeAlias = tuple[str | None, bytes]
"""An event as JSON, with its room if it is about one."""


class _Follower:
    """A connection that follows; `queued_bytes` returns how much it has not taken yet."""

    __slots__ = ("peer", "queued_bytes", "untold")

    def __init__(self, peer: Peer, queued_bytes: Callable[[], int], untold: Iterable[str]) -> None:
        self.peer = peer
        self.queued_bytes = queued_bytes
        self.untold: dict[str, None] | None = dict.fromkeys(untold)
        """The rooms whose state it has not been told; None: the present state has been told completely."""


class Feed:
    """Follows the rooms of `lobby` by the events of `stream`, while anybody wants to know.

    `describe_server` returns the first event that a follower is sent, `now` the present instant in seconds.
    """

    def __init__(
        self,
        lobby: Lobby,
        stream: events.EventStream,
        describe_server: Callable[[], feed.ServerDescribed],
        now: Callable[[], float],
    ) -> None:
        self._lobby = lobby
        self._stream = stream
        self._describe_server = describe_server
        self._now = now
        self._followers: dict[Peer, _Follower] = {}
        self._rooms: dict[str, Room] = {}
        """The rooms that followers may know, by id, until they have been told that a room is closed."""
        self._requested: dict[str, bool] = {}
        """Whether followers believe that a move is requested in a room."""
        self._noted: list[_Noted] = []
        self._changed: dict[str, None] = {}
        """The rooms in which a move may have been requested, or not, since followers were told."""
        self._timer: Timer | None = None

    # -- followers --------------------------------------------------------------------------------------------------

    def add(self, peer: Peer, queued_bytes: Callable[[], int]) -> None:
        """Let `peer` follow; `queued_bytes` returns how many bytes it has not taken yet.

        Raises RequestError if it follows already, or if too many do.
        """
        if peer in self._followers:
            raise RequestError(Fault.FOLLOWS_ALREADY, "This connection follows the games already")
        if len(self._followers) >= MOST_FOLLOWERS:
            text = f"{MOST_FOLLOWERS} connections follow the games, as many as this server allows"
            raise RequestError(Fault.FOLLOWERS, text)
        if self._followers:
            self._send_all_noted()
        else:
            self._rooms = dict(self._lobby.rooms)
            self._stream.subscribe(self._notice, _NOTES)
        self._followers[peer] = _Follower(peer, queued_bytes, self._lobby.rooms)
        _send([peer], [_encoded(self._describe_server())])
        self._schedule(0.0)

    def drop(self, peer: Peer) -> None:
        """Tell `peer` nothing more, if it follows."""
        if self._followers.pop(peer, None) is not None and not self._followers:
            self._stream.unsubscribe(self._notice)
            self._rooms.clear()
            self._requested.clear()
            self._noted.clear()
            self._changed.clear()

    def note_stopping(self) -> None:
        """Tell that the server has begun to stop."""
        if self._followers:
            self._note(feed.Stopping())

    def note_thinking(self, room: Room, ply: int) -> None:
        """Tell what was said about a move, as the room knows it."""
        if self._followers:
            self._note(_thinking(room, ply))

    def flush(self) -> None:
        """Send everything that was noted, at once."""
        self._guarded(self._send_all_noted)

    # -- noting -----------------------------------------------------------------------------------------------------

    def _notice(self, event: events.ServerEvent) -> None:
        match event:
            case events.MovePlayed() | events.GameStarted() | events.GameEnded():
                self._note(event)
            case events.RoomOpened(room_id):
                room = self._rooms[room_id] = self._lobby.rooms[room_id]
                for each in _opening(room):
                    self._note(each)
            case events.PlayerJoined(room_id):
                room = self._rooms[room_id]
                self._note(feed.SeatsChanged(room_id, _names(room), _free_seats(room), room.addresses))
            case events.PauseChanged(room_id, is_paused):
                self._note(feed.PauseChanged(room_id, is_paused))
            case events.LimitsChanged(room_id):
                self._note(feed.LimitsChanged(room_id, _soft_timeouts(self._rooms[room_id])))
            case events.GameStepped(room_id):
                self._note(feed.GameStepped(room_id))
            case _:
                assert isinstance(event, events.RoomClosed)
                self._note(feed.RoomClosed(event.room))

    def _note(self, event: _Noted) -> None:
        self._noted.append(event)
        if self._timer is None:
            self._schedule(FLUSH_INTERVAL)

    # -- sending ----------------------------------------------------------------------------------------------------

    def _schedule(self, delay: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._lobby.timers.call_after(delay, self._wake)

    def _wake(self, _now: float) -> None:
        self._timer = None
        self._guarded(self._continue)

    def _guarded(self, act: Callable[[], None]) -> None:
        """Call `act`. After a bug, nobody knows what followers have been told, so they are disconnected."""
        try:
            act()
        except Exception:
            for peer in list(self._followers):
                peer.end()
                self.drop(peer)
            raise

    def _continue(self) -> None:
        """Send some of what was noted or, if that is not much, all of it, and tell more of the present state."""
        if len(self._noted) > MOST_AT_ONCE:
            self._send_noted(MOST_AT_ONCE)
            self._schedule(0.0)
            return
        self._send_all_noted()
        waiting = [each for each in self._followers.values() if each.untold is not None]
        for follower in waiting:
            if follower.queued_bytes() <= MOST_QUEUED:
                self._tell_state(follower)
        left = [each for each in waiting if each.untold is not None]
        if left:
            self._schedule(0.0 if any(each.queued_bytes() <= MOST_QUEUED for each in left) else FLUSH_INTERVAL)

    def _send_all_noted(self) -> None:
        self._send_noted(len(self._noted))
        changed, self._changed = self._changed, {}
        rooms = [self._rooms[room_id] for room_id in changed if room_id in self._lobby.rooms]
        wrong = [room for room in rooms if self._requested.get(room.id, False) != (room.pending is not None)]
        self._send_news([_encoded(self._request(room)) for room in wrong])

    def _send_noted(self, count: int) -> None:
        """Send the first `count` events that were noted."""
        noted, self._noted = self._noted[:count], self._noted[count:]
        newest = {(each.room, each.ply): each for each in noted if isinstance(each, feed.ThinkingChanged)}
        self._send_news(
            [
                _encoded(each)
                for event in noted
                # each of them holds all that the ones before have said
                if not isinstance(event, feed.ThinkingChanged) or event is newest[event.room, event.ply]
                for each in self._written(event)
            ]
        )

    def _send_news(self, news: list[_Encoded]) -> None:
        """Send `news` to all followers, but nothing about rooms that a follower has not been told of."""
        if not news:
            return
        _send([each.peer for each in self._followers.values() if not each.untold], news)
        for follower in self._followers.values():
            if untold := follower.untold:
                _send([follower.peer], [each for each in news if each[0] not in untold])

    def _tell_state(self, follower: _Follower) -> None:
        """Tell a follower the present state of a few rooms."""
        untold = follower.untold
        assert untold is not None
        told: list[_Encoded] = []
        size = 0
        while untold and size < PACKET_BYTES:
            room_id = next(iter(untold))
            del untold[room_id]
            if room_id in self._lobby.rooms:
                state = [_encoded(each) for each in self._state_of(self._rooms[room_id])]
                size += sum(len(text) for _, text in state)
                told += state
        if not untold:
            follower.untold = None
            told.append(_encoded(feed.Current()))
        _send([follower.peer], told)

    # -- what is told -----------------------------------------------------------------------------------------------

    def _written(self, event: _Noted) -> Iterator[feed.FeedEvent]:
        """Yield what is told about an event that was noted."""
        match event:
            case events.MovePlayed(room_id, seat, _, ply, _, move, think_time, hints):
                self._requested[room_id] = True
                self._changed[room_id] = None
                room = self._rooms[room_id]
                text = feed.write_data(room.edition.dialect, MoveData(move))
                yield feed.MovePlayed(room_id, ply, seat, text, think_time, hints, _revealed(room, ply + 1))
            case events.GameStarted(room_id, _, is_paused):
                self._requested[room_id] = False
                self._changed[room_id] = None
                yield _start(self._rooms[room_id], is_paused=is_paused)
            case events.GameEnded():
                self._requested[event.room] = False
                yield from _end(self._rooms[event.room], event)
            case _:
                if isinstance(event, feed.PauseChanged | feed.GameStepped):
                    self._changed[event.room] = None
                elif isinstance(event, feed.RoomClosed):
                    del self._rooms[event.room]
                    self._requested.pop(event.room, None)
                yield event

    def _state_of(self, room: Room) -> Iterator[feed.FeedEvent]:
        """Yield the events that would have led to the present state of `room`."""
        yield from _opening(room)
        for ply in room.thinking:
            yield _thinking(room, ply)
        if room.phase is Phase.OPEN:
            return
        yield _start(room, is_paused=room.is_paused)
        positions = [data for data in room.record if isinstance(data, Memento)]
        answers = iter(room.player_slots[0].think_times), iter(room.player_slots[1].think_times)
        for ply, move in enumerate(room.moves):
            seat, hints = positions[ply].state.seat_on_turn, positions[ply + 1].hints
            text = feed.write_data(room.edition.dialect, MoveData(move))
            revealed = _revealed(room, ply + 1)
            yield feed.MovePlayed(room.id, ply, seat, text, next(answers[seat]), hints, revealed)
        yield self._request(room)

    def _request(self, room: Room) -> feed.RequestChanged:
        """Return whose move is requested; followers know it from now on."""
        pending = room.pending
        self._requested[room.id] = pending is not None
        if pending is None:
            return feed.RequestChanged(room.id, None, None)
        elapsed = pending.elapsed(self._now())
        return feed.RequestChanged(room.id, pending.player_slot.seat, None if elapsed is None else round(elapsed, 4))


_NOTES: Final = (
    events.RoomOpened,
    events.PlayerJoined,
    events.GameStarted,
    events.MovePlayed,
    events.PauseChanged,
    events.LimitsChanged,
    events.GameStepped,
    events.GameEnded,
    events.RoomClosed,
)
"""The events of the server that followers are told of."""


def _opening(room: Room) -> Iterator[feed.FeedEvent]:
    """Yield what is told when `room` is opened, as it is now."""
    yield feed.RoomOpened(
        room.id,
        room.edition.name,
        room.is_prepared,
        _names(room),
        _free_seats(room),
        _soft_timeouts(room),
        room.addresses,
    )
    if room.phase is Phase.OPEN and room.is_paused:
        yield feed.PauseChanged(room.id, is_paused=True)


def _start(room: Room, *, is_paused: bool) -> feed.GameStarted:
    """Return what is told when the game in `room` begins, and also later."""
    position = room.record[0]
    assert isinstance(position, Memento)
    document = write_position(room.edition.dialect, room.id, position)
    return feed.GameStarted(room.id, _names(room), is_paused, _soft_timeouts(room), document, room.addresses)


def _revealed(room: Room, ply: int) -> str | None:
    """Return the position number `ply` of a game that hides a part of its positions; None for other games."""
    position = room.record[ply]  # errors and results come after the last one
    assert isinstance(position, Memento)
    return write_position(room.edition.dialect, room.id, position) if hasattr(position.state, "as_seen") else None


def _end(room: Room, event: events.GameEnded) -> Iterator[feed.FeedEvent]:
    """Yield what is told when the game in `room` has ended, perhaps because a move was refused."""
    dialect = room.edition.dialect
    for data in event.record:
        if isinstance(data, ErrorMessage):
            original = None if data.original is None else feed.write_data(dialect, data.original)
            yield feed.ErrorSent(room.id, room.state.seat_on_turn, data.message, original)
    yield feed.GameEnded(room.id, feed.write_data(dialect, event.result), event.think_times)


def _thinking(room: Room, ply: int) -> feed.ThinkingChanged:
    """Return what is told about the thoughts on a move."""
    seat, thinking = room.thinking[ply]
    return feed.ThinkingChanged(room.id, ply, seat, thinking)


def _names(room: Room) -> tuple[str, str]:
    first, second = room.names
    return shortened(first), shortened(second)


def _free_seats(room: Room) -> int:
    """Return the number of seats that anyone may take."""
    return sum(slot.peer is None and slot.reservation is None for slot in room.player_slots)


def _soft_timeouts(room: Room) -> tuple[float | None, float | None]:
    first, second = room.player_slots
    return first.limits.soft_timeout, second.limits.soft_timeout


def _encoded(event: feed.FeedEvent) -> _Encoded:
    return getattr(event, "room", None), feed.encode_event(event)


def _send(peers: list[Peer], told: list[_Encoded]) -> None:
    """Send the events to each of `peers`, in packets of a bounded length."""
    if not peers or not told:
        return
    parts: list[list[bytes]] = [[]]
    size = 0
    for _, text in told:
        if size >= PACKET_BYTES:
            parts.append([])
            size = 0
        parts[-1].append(text)
        size += len(text)
    for part in parts:
        update = FeedUpdate(f"[{b','.join(part).decode()}]")
        packet = peers[0].edition.dialect.encode(update)  # it is the same in all seasons
        for peer in peers:
            peer.send(packet)
