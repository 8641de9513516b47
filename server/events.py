"""The events of the server as typed values, and the stream that passes them to the log, the archive and others.

Invariants: an event is published after the fact, and subscribers receive events in the order of publication. Nothing
waits for a subscriber: it is a plain function that returns at once. If one raises, the others still receive the event,
and whatever the event reports is not undone. The fields are those that a log line needs; passwords are never among
them. Times are seconds.
"""

from __future__ import annotations

import contextlib
import traceback
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypeVar

from msgspec import Struct

from spielleiter.common.quantile import nearest_rank
from spielleiter.game.api import Move, Seat
from spielleiter.protocol.messages import Result, RoomData
from spielleiter.server.errors import Fault


class ThinkStats(Struct, frozen=True):
    """One player's think times; all values are 0 if no move was requested."""

    count: int = 0
    median: float = 0.0
    p95: float = 0.0
    maximum: float = 0.0

    def as_dict(self) -> dict[str, float]:
        """Return the JSON object that the log and the results contain."""
        return {"count": self.count, "median": self.median, "p95": self.p95, "maximum": self.maximum}

    @classmethod
    def of(cls, think_times: Sequence[float]) -> ThinkStats:
        """Return the summary of `think_times`, which may be in any order."""
        if not think_times:
            return cls()
        ordered = sorted(think_times)
        return cls(len(ordered), nearest_rank(ordered, 0.5), nearest_rank(ordered, 0.95), ordered[-1])


class ServerEvent(Struct, frozen=True):
    """Base of all events."""


class ServerStarted(ServerEvent, frozen=True):
    """The server listens at `addresses`."""

    addresses: tuple[str, ...]


class MonitorStarted(ServerEvent, frozen=True):
    """`/healthz` and `/metrics` are served at `addresses`, and nothing else."""

    addresses: tuple[str, ...]


class ViewerStarted(ServerEvent, frozen=True):
    """The pages are at `url`, for other machines at `elsewhere`; `access` says for whom.

    `note` says why they are not at the configured address, if they are not.
    """

    url: str
    access: str
    note: str = ""
    elsewhere: str = ""


class ViewerEnded(ServerEvent, frozen=True):
    """The process of the pages has ended, which costs no game.

    It is started again in `restarts_in` seconds; None: not before the server is started again.
    """

    reason: str
    restarts_in: float | None


class AdminsExcluded(ServerEvent, frozen=True):
    """No administrators are accepted; `reason` says why, and what to do about it."""

    reason: str


class TimeStampsMissing(ServerEvent, frozen=True):
    """The system does not report when bytes arrived (only Linux does); a think time ends when the server reads them."""


class ConnectionsLimited(ServerEvent, frozen=True):
    """The process may open fewer connections than configured; its limit of open files is too low (ulimit -n)."""

    wanted: int
    possible: int


class ServerStopped(ServerEvent, frozen=True):
    """The server has stopped; `games_cut` games were still running when the grace period ended, and were cancelled."""

    games_cut: int


class ConnectionOpened(ServerEvent, frozen=True):
    """A peer has connected."""

    connection: str
    address: str


class ConnectionClosed(ServerEvent, frozen=True):
    """A connection has ended; `reason` says by whom or why.

    `was_silent`: the peer closed it before it had sent anything, as health checks do; the level is then `debug`.
    """

    connection: str
    reason: str
    was_silent: bool = False


FOREIGN_PORT: Final = "foreign_port"
"""The kind of refusal of a connection that a dedicated port's own program has not made."""


class ConnectionRefused(ServerEvent, frozen=True):
    """A connection was not accepted, most often because there are too many.

    `refusal` is the kind, `reason` the explanation.
    """

    address: str
    refusal: str
    reason: str


class RequestRefused(ServerEvent, frozen=True):
    """A request was understood but could not be granted; `text` is the explanation that its sender received."""

    connection: str
    fault: Fault
    text: str


class ProtocolBroken(ServerEvent, frozen=True):
    """A peer's bytes could not be understood; `refusal` is the kind, `text` says what was wrong and where."""

    connection: str
    refusal: str
    text: str
    position: int | None = None


class AnswerDelayed(ServerEvent, frozen=True):
    """There were many wrong passwords; the answer to this one is delayed by `delay` seconds."""

    connection: str
    delay: float


class ContentIgnored(ServerEvent, frozen=True):
    """A peer sent elements that have no meaning here; published once for each connection and element."""

    connection: str
    ignored: tuple[str, ...]


class AdminAuthenticated(ServerEvent, frozen=True):
    """A connection sent the correct password."""

    connection: str


class CommandIgnored(ServerEvent, frozen=True):
    """An administrator's command had no effect in the room's present state; `why` explains it."""

    connection: str
    room: str
    command: str
    why: str


class RoomOpened(ServerEvent, frozen=True):
    """A room was opened; its game waits for players."""

    room: str
    edition: str
    is_prepared: bool


class ReservationExpired(ServerEvent, frozen=True):
    """The reserved seats of a prepared room were not taken in time; the room is closed."""

    room: str


class PlayerJoined(ServerEvent, frozen=True):
    """A player has taken a seat."""

    room: str
    connection: str
    seat: Seat
    name: str


class SeatTakenPlainly(ServerEvent, frozen=True):
    """A player took its reserved seat without the reservation code, since its port leads to that seat only."""

    room: str
    connection: str


class ObserverJoined(ServerEvent, frozen=True):
    """An administrator observes a room."""

    room: str
    connection: str


class GameStarted(ServerEvent, frozen=True):
    """Both players have joined. `turn` is not 0 if the game starts from a replay."""

    room: str
    names: tuple[str, str]
    is_paused: bool
    turn: int


class MoveEvent(ServerEvent, frozen=True):
    """Base of the events about a move: its player, and the number of moves that were played in this room before.

    `turn` is that of the position, from which a new game can start (`--turn`).
    """

    room: str
    seat: Seat
    name: str
    ply: int
    turn: int


class MovePlayed(MoveEvent, frozen=True):
    """A move was accepted. `turn` is that of the new position; `hints` are the player's debug texts."""

    move: Move
    think_time: float
    hints: tuple[str, ...]


class MoveRefused(MoveEvent, frozen=True):
    """A move was illegal, unreadable, or not requested; `turn` is that of the position, for `--turn`."""

    fault: Fault
    text: str


class TimeVerdict(MoveEvent, frozen=True):
    """A player exceeded a time limit; `source` is `kernel` or `monotonic`, `loop_lag` how late the server was."""

    think_time: float
    limit: float
    is_hard: bool
    source: str
    loop_lag: float


class PauseChanged(ServerEvent, frozen=True):
    """An administrator paused or resumed a game."""

    room: str
    is_paused: bool


class LimitsChanged(ServerEvent, frozen=True):
    """An administrator switched the time limits of one player on or off, from its next move on; None: no limit."""

    room: str
    seat: Seat
    soft_timeout: float | None
    hard_timeout: float | None


class GameStepped(ServerEvent, frozen=True):
    """An administrator requested one move."""

    room: str


class PlayerLeft(ServerEvent, frozen=True):
    """A player has left its game."""

    room: str
    seat: Seat
    name: str


class GameEnded(ServerEvent, frozen=True):
    """A started game is over; lists are by seat. On a terminal, `result` stands for the winner and the faults.

    `record` is what its replay contains, `think_times` are seconds by seat and answer, `player_addresses` are their
    hosts and ports; the log has none of them.
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
    player_addresses: tuple[str, str] = ("", "")


class RoomClosed(ServerEvent, frozen=True):
    """A room has been closed."""

    room: str


class ReplaySaved(ServerEvent, frozen=True):
    """A replay was saved at `path`."""

    room: str
    path: str


class ReplayFailed(ServerEvent, frozen=True):
    """A replay, or the `.json` file beside it, could not be written at `path`; `error` says why."""

    room: str
    path: str
    error: str


class ResultsWaiting(ServerEvent, frozen=True):
    """The last result could not be written to the results file; `count` results wait in memory."""

    path: str
    count: int
    error: str


class ResultsWritten(ServerEvent, frozen=True):
    """All results that were waiting are in the results file now."""

    path: str


class ResultsLost(ServerEvent, frozen=True):
    """`count` results will never be written: too many were waiting, or the server ended first."""

    path: str
    count: int
    error: str


class PeerTooSlow(ServerEvent, frozen=True):
    """A connection was dropped because it did not read what it was sent; `refusal` is the limit it reached."""

    connection: str
    refusal: str
    queued_bytes: int
    why: str


class TraceFailed(ServerEvent, frozen=True):
    """A trace ends because it cannot be written at `path`, or because there are too many; `error` says why."""

    path: str
    error: str


class SettingIgnored(ServerEvent, frozen=True):
    """A setting has no effect: only the official server has it, or its address or folder cannot be used (yet)."""

    setting: str


class InternalError(ServerEvent, frozen=True):
    """A bug of this server; `error` is the traceback. The affected `connection`, if any, is ended, and no other one."""

    connection: str
    error: str

    @classmethod
    def of(cls, error: BaseException, connection: str = "", data: bytes = b"") -> InternalError:
        """Return the event for a raised `error`; `data` is the input that was being read, if any."""
        reading = f"while reading {data!r}\n" if data else ""
        return cls(connection, "".join(traceback.format_exception(error)) + reading)


KINDS: frozenset[type[ServerEvent]] = frozenset(
    kind for kind in globals().values() if isinstance(kind, type) and issubclass(kind, ServerEvent)
) - {ServerEvent, MoveEvent}
"""All kinds of events."""

_Event = TypeVar("_Event", bound=ServerEvent)


class RefusalKind(NamedTuple):
    """How one kind of refusal event is counted: the metrics' label of what is refused, and the reason, a fixed word."""

    refused: str
    reason_of: Callable[[Any], str]


REFUSALS: Mapping[type[ServerEvent], RefusalKind] = MappingProxyType(
    {
        RequestRefused: RefusalKind("request", lambda event: event.fault.value),
        MoveRefused: RefusalKind("move", lambda event: event.fault.value),
        ProtocolBroken: RefusalKind("bytes", lambda event: event.refusal),
        ConnectionRefused: RefusalKind("connection", lambda event: event.refusal),
        PeerTooSlow: RefusalKind("receiver", lambda event: event.refusal),
        AnswerDelayed: RefusalKind("password", lambda _event: "password_guessing"),
        ReservationExpired: RefusalKind("reservation", lambda _event: "reservation_timeout"),
    }
)
"""The kinds of events that report a refusal to a peer."""


class EventStream:
    """Passes events to their subscribers, and counts them by kind; refusals are also counted by reason."""

    __slots__ = ("_subscribers", "_subscriptions", "counters", "refusals")

    def __init__(self) -> None:
        self._subscriptions: list[tuple[Callable[[Any], None], Collection[type[ServerEvent]] | None]] = []
        self._subscribers: dict[type[ServerEvent], tuple[Callable[[Any], None], ...]] = {}
        """A cache by kind, filled at the first event of that kind: an event without subscribers costs one look-up."""
        self.counters: Counter[str] = Counter()
        """The number of events by the name of their class."""
        self.refusals: Counter[tuple[str, str]] = Counter()
        """The number of refusals by the name of the event's class and reason; see `REFUSALS`."""

    def on(self, kind: type[_Event], callback: Callable[[_Event], None]) -> None:
        """Call `callback` with every event of this `kind` from now on. It must not block, and should not raise."""
        self.subscribe(callback, (kind,))

    def subscribe(self, subscriber: Callable[[Any], None], kinds: Collection[type[ServerEvent]] | None = None) -> None:
        """Call `subscriber` as `on` does, with every event of these `kinds` (None: of all kinds) from now on."""
        self._subscriptions.append((subscriber, kinds))
        self._subscribers.clear()

    def unsubscribe(self, subscriber: Callable[[Any], None]) -> None:
        """Call `subscriber` no more."""
        self._subscriptions = [each for each in self._subscriptions if each[0] != subscriber]
        self._subscribers.clear()

    def publish(self, event: ServerEvent) -> None:
        """Count `event` and call its subscribers, in the order in which they subscribed.

        What a subscriber raises is published to the others as an InternalError, and never raised here.
        """
        kind = type(event)
        self.counters[kind.__name__] += 1
        refusal = REFUSALS.get(kind)
        if refusal is not None:
            self.refusals[kind.__name__, refusal.reason_of(event)] += 1
        for subscriber in self._subscribers_of(kind):
            try:
                subscriber(event)
            except Exception as error:  # a full disk behind the log, or a bug
                failure = InternalError.of(error)
                self.counters[InternalError.__name__] += 1
                for other in self._subscribers_of(InternalError):
                    if other is not subscriber:
                        with contextlib.suppress(Exception):
                            other(failure)

    def _subscribers_of(self, kind: type[ServerEvent]) -> tuple[Callable[[Any], None], ...]:
        subscribers = self._subscribers.get(kind)
        if subscribers is None:
            chosen = (subscriber for subscriber, kinds in self._subscriptions if kinds is None or kind in kinds)
            subscribers = self._subscribers[kind] = tuple(chosen)
        return subscribers
