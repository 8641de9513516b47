"""What happens in the server: one stream of typed values for the log, the replays and whoever else listens.

Law: events are told after the fact, in order, and nobody is waited for: a subscriber is a plain function that returns
at once. One that raises does not keep the others from hearing, nor what was told of from event. Fields are what a
log line needs; passwords are never among them. Times are seconds.
"""

from __future__ import annotations

import contextlib
import traceback
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeAlias

from msgspec import Struct

from spielleiter.game.api import Move, Seat
from spielleiter.protocol.messages import Result, RoomData
from spielleiter.server.errors import Fault
from spielleiter.server.think_stats import ThinkStats


class ServerEvent(Struct, frozen=True):
    """Base of all events."""


class ServerStarted(ServerEvent, frozen=True):
    addresses: tuple[str, ...]


class MonitorStarted(ServerEvent, frozen=True):
    """`/healthz` and `/metrics` can be asked for at `addresses`."""

    addresses: tuple[str, ...]


class AdminsExcluded(ServerEvent, frozen=True):
    """Nobody can become an administrator; `reason` says why, and what to do."""

    reason: str


class ConnectionsLimited(ServerEvent, frozen=True):
    """The process may not have as many connections as configured; raise its limit of open files (ulimit -n)."""

    wanted: int
    possible: int


class ServerStopped(ServerEvent, frozen=True):
    games_cut: int


class ConnectionOpened(ServerEvent, frozen=True):
    connection: str
    address: str


class ConnectionClosed(ServerEvent, frozen=True):
    """`was_silent`: the peer closed the connection without having sent anything, as health checks do."""

    connection: str
    reason: str
    was_silent: bool = False


class ConnectionRefused(ServerEvent, frozen=True):
    """Nobody is served who would be one too many; `refusal` is the kind, `reason` the explanation."""

    address: str
    refusal: str
    reason: str


class RequestRefused(ServerEvent, frozen=True):
    """A request was understood but could not be granted."""

    connection: str
    fault: Fault
    text: str


class ProtocolBroken(ServerEvent, frozen=True):
    """A peer's bytes could not be understood; `refusal` is the kind, `text` the explanation."""

    connection: str
    refusal: str
    text: str


class AnswerDelayed(ServerEvent, frozen=True):
    """Somebody guesses passwords; the answer to this wrong one waits for `delay` seconds."""

    connection: str
    delay: float


class ContentIgnored(ServerEvent, frozen=True):
    """A peer sends elements that mean nothing here; told once a connection and element."""

    connection: str
    ignored: tuple[str, ...]


class AdminAuthenticated(ServerEvent, frozen=True):
    connection: str


class CommandIgnored(ServerEvent, frozen=True):
    """An administrator's command that changes nothing as things stand."""

    connection: str
    room: str
    command: str
    why: str


class RoomOpened(ServerEvent, frozen=True):
    room: str
    edition: str
    is_prepared: bool


class ReservationExpired(ServerEvent, frozen=True):
    """Nobody took the reserved seats of a prepared room in time; the room is closed."""

    room: str


class PlayerJoined(ServerEvent, frozen=True):
    room: str
    connection: str
    seat: Seat
    name: str


class SeatTakenPlainly(ServerEvent, frozen=True):
    """A player was given its reserved seat for a join without the code: its port is for that seat only."""

    room: str
    connection: str


class ObserverJoined(ServerEvent, frozen=True):
    room: str
    connection: str


class GameStarted(ServerEvent, frozen=True):
    room: str
    names: tuple[str, str]
    is_paused: bool
    turn: int


class MovePlayed(ServerEvent, frozen=True):
    """`ply` counts the moves of this room from 0; `think_time` is None where no clock ran."""

    room: str
    seat: Seat
    name: str
    ply: int
    turn: int
    move: Move
    think_time: float
    hints: tuple[str, ...]


class MoveRefused(ServerEvent, frozen=True):
    """`ply` is as in MovePlayed; `turn` is that of the position, from which a replay can be started."""

    room: str
    seat: Seat
    name: str
    ply: int
    turn: int
    fault: Fault
    text: str


class TimeVerdict(ServerEvent, frozen=True):
    """A player was too slow. `ply` and `turn` as in MoveRefused; `loop_lag`: how late the server itself was."""

    room: str
    seat: Seat
    name: str
    ply: int
    turn: int
    think_time: float
    limit: float
    is_hard: bool
    source: str
    loop_lag: float


class PauseChanged(ServerEvent, frozen=True):
    room: str
    is_paused: bool


class GameStepped(ServerEvent, frozen=True):
    room: str


class PlayerLeft(ServerEvent, frozen=True):
    room: str
    seat: Seat
    name: str


class GameEnded(ServerEvent, frozen=True):
    """A game that had begun is over. `record` is what a replay holds: every position once, errors, the result.

    `think_times` by seat, in seconds, one for each answered request.
    """

    room: str
    edition: str
    names: tuple[str, str]
    causes: tuple[str, ...]
    reasons: tuple[str, ...]
    parts: tuple[tuple[int, ...], ...]
    winners: tuple[Seat, ...]
    plies: int
    thinking: tuple[ThinkStats, ThinkStats]
    think_times: tuple[tuple[float, ...], tuple[float, ...]]
    result: Result
    record: Sequence[RoomData]


class RoomClosed(ServerEvent, frozen=True):
    room: str


class ReplaySaved(ServerEvent, frozen=True):
    room: str
    path: str


class ReplayFailed(ServerEvent, frozen=True):
    room: str
    path: str
    error: str


class ResultsWaiting(ServerEvent, frozen=True):
    """The last result could not be written into the file of results; `count` of them wait in memory to be written."""

    path: str
    count: int
    error: str


class ResultsWritten(ServerEvent, frozen=True):
    """All results that waited are in the file now."""

    path: str


class ResultsLost(ServerEvent, frozen=True):
    """`count` results will never be written: too many waited, or the server ended meanwhile."""

    path: str
    count: int
    error: str


class PeerTooSlow(ServerEvent, frozen=True):
    """A connection did not take what it was sent and was dropped; `refusal` says which bound it met."""

    connection: str
    refusal: str
    queued_bytes: int
    why: str


class SettingIgnored(ServerEvent, frozen=True):
    """A property that the official server knows and this one has no use for."""

    setting: str


class InternalError(ServerEvent, frozen=True):
    """A bug of this server (`error` is the traceback); the connection it met is ended, everything else goes on.

    `connection` is empty where the bug met none.
    """

    connection: str
    error: str

    @classmethod
    def of(cls, error: BaseException, connection: str = "", data: bytes = b"") -> InternalError:
        """What was raised, and where; `data` are the bytes that were being read, if any were."""
        reading = f"while reading {data!r}\n" if data else ""
        return cls(connection, "".join(traceback.format_exception(error)) + reading)


KINDS: frozenset[type[ServerEvent]] = frozenset(
    kind for kind in globals().values() if isinstance(kind, type) and issubclass(kind, ServerEvent)
) - {ServerEvent}
"""Everything that can happen."""

Subscriber: TypeAlias = Callable[[ServerEvent], None]


REFUSALS: Mapping[type[ServerEvent], Callable[[Any], str]] = MappingProxyType(
    {
        RequestRefused: lambda event: event.fault.value,
        MoveRefused: lambda event: event.fault.value,
        ProtocolBroken: lambda event: event.refusal,
        ConnectionRefused: lambda event: event.refusal,
        PeerTooSlow: lambda event: event.refusal,
        AnswerDelayed: lambda _happening: "password_guessing",
        ReservationExpired: lambda _happening: "reservation_timeout",
    }
)
"""The events that say no to somebody, and the reason each is counted under; reasons are words from a fixed list."""


class EventStream:
    """Tells every subscriber what it wants to hear, and counts it: by kind, and refusals by reason as well."""

    __slots__ = ("_listeners", "_subscribers", "counters", "refusals")

    def __init__(self) -> None:
        self._subscribers: list[tuple[Subscriber, Collection[type[ServerEvent]] | None]] = []
        self._listeners: dict[type[ServerEvent], tuple[Subscriber, ...]] = {}
        """Who hears of a kind, as far as somebody has asked; most happens every move, and few want to hear that."""
        self.counters: Counter[str] = Counter()
        """How often each kind of event happened, by class name."""
        self.refusals: Counter[tuple[str, str]] = Counter()
        """How often somebody was refused something, by class name of the event and reason; see `REFUSALS`."""

    def subscribe(self, subscriber: Subscriber, kinds: Collection[type[ServerEvent]] | None = None) -> None:
        """Call `subscriber` with every event of these `kinds` (None: of all) from now on.

        It must not block, and should not raise.
        """
        self._subscribers.append((subscriber, kinds))
        self._listeners.clear()

    def publish(self, event: ServerEvent) -> None:
        kind = type(event)
        self.counters[kind.__name__] += 1
        reason_of = REFUSALS.get(kind)
        if reason_of is not None:
            self.refusals[kind.__name__, reason_of(event)] += 1
        for subscriber in self._listening(kind):
            try:
                subscriber(event)
            except Exception as error:  # a full disk behind the log, or a bug
                self._tell_others(subscriber, InternalError.of(error))

    def _listening(self, kind: type[ServerEvent]) -> tuple[Subscriber, ...]:
        listeners = self._listeners.get(kind)
        if listeners is None:
            wanted = (subscriber for subscriber, kinds in self._subscribers if kinds is None or kind in kinds)
            listeners = self._listeners[kind] = tuple(wanted)
        return listeners

    def _tell_others(self, failed: Subscriber, event: ServerEvent) -> None:
        self.counters[type(event).__name__] += 1
        for subscriber in self._listening(type(event)):
            if subscriber is not failed:
                with contextlib.suppress(Exception):
                    subscriber(event)
