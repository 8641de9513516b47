"""Games that are played now or ended a short while ago, as the pages see them.

Invariants: nothing is kept while nobody looks. A running game is read from its room when a page needs it; of the games
that have ended, the last `ENDED_GAMES` are kept, so that a page can still show the end. Looking changes nothing.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from spielleiter.game.api import Seat, State
from spielleiter.protocol.messages import Result, RoomData
from spielleiter.server import events
from spielleiter.server.core.policy import Edition
from spielleiter.server.core.room import Phase, Room
from spielleiter.viewer.positions.describe import view_of
from spielleiter.viewer.replays.ending import result_points, shown_name

ENDED_GAMES: Final = 32
"""The number of ended games that the pages can still show."""
MOST_LISTED: Final = 200
"""The maximum number of rooms in the list."""


class LiveGame(Protocol):
    """A game in a room, running or over."""

    @property
    def id(self) -> str: ...

    @property
    def edition(self) -> Edition: ...

    @property
    def names(self) -> tuple[str, str]: ...

    @property
    def state(self) -> State:
        """The last position."""
        ...

    @property
    def record(self) -> Sequence[RoomData]:
        """The content of the replay so far: every position once, errors, and the result."""
        ...

    @property
    def ply(self) -> int: ...

    @property
    def is_paused(self) -> bool: ...

    @property
    def phase_name(self) -> str:
        """``waiting``, ``running``, ``paused`` or ``over``."""
        ...

    @property
    def free_seats(self) -> int:
        """The number of seats that anyone may take."""
        ...

    @property
    def is_prepared(self) -> bool: ...

    @property
    def soft_limit(self) -> float | None:
        """The lower time limit in seconds of a player that has one; None if nobody has one."""
        ...

    def think_times(self, seat: Seat) -> Sequence[float]:
        """The think time of each answered request of this seat in seconds."""
        ...

    def to_move(self, now: float) -> dict[str, Any] | None:
        """The seat whose move is requested, and for how many seconds; None if none is."""
        ...


class RoomGame:
    """The game of a room that is open."""

    __slots__ = ("_room",)

    def __init__(self, room: Room) -> None:
        self._room = room

    @property
    def id(self) -> str:
        return self._room.id

    @property
    def edition(self) -> Edition:
        return self._room.edition

    @property
    def names(self) -> tuple[str, str]:
        return self._room.names

    @property
    def record(self) -> Sequence[RoomData]:
        return self._room.record

    @property
    def ply(self) -> int:
        return self._room.ply

    @property
    def is_paused(self) -> bool:
        return self._room.is_paused

    @property
    def phase_name(self) -> str:
        if self._room.phase is Phase.OPEN:
            return "waiting"
        return "paused" if self._room.is_paused else "running"

    @property
    def free_seats(self) -> int:
        if self._room.phase is not Phase.OPEN:
            return 0
        return sum(slot.peer is None and slot.reservation is None for slot in self._room.player_slots)

    @property
    def is_prepared(self) -> bool:
        return self._room.is_prepared

    @property
    def soft_limit(self) -> float | None:
        limits = [slot.clock.limits.soft_timeout for slot in self._room.player_slots]
        return min((limit for limit in limits if limit is not None), default=None)

    @property
    def state(self) -> State:
        return self._room.state

    def think_times(self, seat: Seat) -> Sequence[float]:
        return self._room.player_slots[seat].clock.think_times

    def to_move(self, now: float) -> dict[str, Any] | None:
        for slot in self._room.player_slots:
            if slot.clock.is_running:
                return {"player": slot.seat, "since": round(slot.clock.elapsed(now), 3)}
        return None


@dataclass(frozen=True, slots=True)
class EndedGame:
    """A game that is over; its room does not exist any more."""

    id: str
    edition: Edition
    names: tuple[str, str]
    state: State
    record: Sequence[RoomData]
    ply: int
    is_prepared: bool
    soft_limit: float | None
    times: tuple[tuple[float, ...], tuple[float, ...]]
    is_paused: bool = False
    phase_name: str = "over"
    free_seats: int = 0

    def think_times(self, seat: Seat) -> Sequence[float]:
        return self.times[seat]

    def to_move(self, _now: float) -> dict[str, Any] | None:
        return None


class LiveGames:
    """The games in `rooms`, and those that have ended, from the events of `stream`."""

    def __init__(self, rooms: Mapping[str, Room], stream: events.EventStream) -> None:
        self._rooms = rooms
        self._ended: OrderedDict[str, EndedGame] = OrderedDict()
        stream.on(events.GameEnded, self._keep)

    def find(self, room_id: str) -> LiveGame | None:
        """Return the game in the room `room_id`; None if there is none, or it is forgotten."""
        room = self._rooms.get(room_id)
        return self._ended.get(room_id) if room is None else RoomGame(room)

    def room(self, room_id: str) -> Room | None:
        """Return the room itself; None if it does not exist any more."""
        return self._rooms.get(room_id)

    def listed(self) -> list[dict[str, Any]]:
        """Return the list of rooms as JSON objects: those with a game first, and then the games that have ended."""
        listed = [summary(game) for game in self._open_games()]
        for ended in reversed(self._ended.values()):
            if len(listed) >= MOST_LISTED:
                break
            listed.append(summary(ended))
        return listed

    def _open_games(self) -> Iterator[LiveGame]:
        """Yield the games of open rooms: running ones first, then waiting ones."""
        rooms = list(self._rooms.values())
        chosen = [room for room in rooms if room.phase is not Phase.OPEN][:MOST_LISTED]
        chosen += [room for room in rooms if room.phase is Phase.OPEN][: MOST_LISTED - len(chosen)]
        return map(RoomGame, chosen)

    def _keep(self, ended: events.GameEnded) -> None:
        room = self._rooms.get(ended.room)
        if room is None:  # a test that publishes an event by itself
            return
        self._ended[ended.room] = EndedGame(
            ended.room,
            room.edition,
            ended.names,
            room.state,
            ended.record,
            ended.plies,
            room.is_prepared,
            RoomGame(room).soft_limit,
            ended.think_times,
        )
        while len(self._ended) > ENDED_GAMES:
            self._ended.popitem(last=False)


def summary(game: LiveGame) -> dict[str, Any]:
    """Return one line of the list of rooms; the points are those of the result, as soon as there is one."""
    state = game.state
    is_over = game.phase_name == "over"
    result = next((data for data in reversed(game.record) if isinstance(data, Result)), None) if is_over else None
    return {
        "id": game.id,
        "gameType": game.edition.game_type,
        "game": view_of(state).name,
        "players": [shown_name(name) for name in game.names],
        "ply": game.ply,
        "points": [state.points(seat)[0] for seat in (0, 1)] if result is None else result_points(result, state),
        "state": game.phase_name,
        "isPaused": game.is_paused,
        "freeSeats": game.free_seats,
        "isPrepared": game.is_prepared,
    }
