"""What there is at the moment, and how the last connections ended: for administrators and for the figures.

Law: looking changes nothing, and what is remembered is bounded: the last `CLOSED` connections, one short line each.
A report fits into one packet: texts are cut, lists have an end, and how many there are in all is always said.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any, Final, Protocol

from spielleiter.server import events
from spielleiter.server.core.member import Member
from spielleiter.server.core.room import Phase, Room

CLOSED: Final = 1000
"""So many connections that are over are remembered."""
LISTED: Final = 4096
"""So many rooms, and so many connections, are listed at most."""
TEXT: Final = 80
"""Characters of a name or a reason."""


class LiveConnection(Protocol):
    """A connection as far as it is shown."""

    @property
    def label(self) -> str: ...

    @property
    def address(self) -> str: ...

    @property
    def member(self) -> Member: ...

    @property
    def queued_bytes(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What there is, in numbers."""

    rooms: Mapping[str, int]
    """By phase: `open`, `running`, `paused`."""
    connections: int
    administrators: int
    queued_bytes: int
    """What all peers together have not taken yet."""
    longest_queue: int
    """Bytes the slowest of them has not taken yet."""


@dataclass(frozen=True, slots=True)
class ClosedConnection:
    """`address` is empty where nobody knows it, `connection` where nobody was served."""

    connection: str
    address: str
    opened_at: str
    closed_at: str
    reason: str


class StatusBoard:
    """Looks at `rooms` and `connections` when it is asked, and listens (`note`) for those that end.

    `now` is the wall clock.
    """

    def __init__(
        self,
        rooms: Mapping[str, Room],
        connections: Iterable[LiveConnection],
        refusals: Mapping[tuple[str, str], int],
        now: Callable[[], datetime] = lambda: datetime.now().astimezone(),
    ) -> None:
        self._rooms = rooms
        self._connections = connections
        self._refusals = refusals
        self._now = now
        self._started_at = self._instant()
        self._open: dict[str, tuple[str, str]] = {}
        self.closed: deque[ClosedConnection] = deque(maxlen=CLOSED)
        """The oldest first."""

    def _instant(self) -> str:
        return self._now().isoformat(timespec="milliseconds")

    noted = (events.ConnectionOpened, events.ConnectionClosed, events.ConnectionRefused)
    """What `note` wants to hear."""

    def note(self, event: events.ServerEvent) -> None:
        """A subscriber."""
        if isinstance(event, events.ConnectionOpened):
            self._open[event.connection] = event.address, self._instant()
        elif isinstance(event, events.ConnectionClosed):
            address, opened_at = self._open.pop(event.connection, ("", ""))
            self._remember(event.connection, address, opened_at, event.reason)
        elif isinstance(event, events.ConnectionRefused):
            self._remember("", event.address, "", event.reason)

    def _remember(self, connection: str, address: str, opened_at: str, reason: str) -> None:
        self.closed.append(ClosedConnection(connection, address, opened_at, self._instant(), _cut(reason)))

    def snapshot(self) -> Snapshot:
        rooms = {"open": 0, "running": 0, "paused": 0}
        for room in self._rooms.values():
            rooms[_phase(room)] += 1
        queues, administrators = [0], 0
        for connection in self._connections:
            queues.append(connection.queued_bytes)
            administrators += connection.member.is_admin
        return Snapshot(rooms, len(queues) - 1, administrators, sum(queues), max(queues))

    def report(self) -> dict[str, Any]:
        """What an administrator is told: texts, numbers and lists of them. The README says what the fields are."""
        now = self.snapshot()
        return {
            "startedAt": self._started_at,
            "now": self._instant(),
            "roomCounts": dict(now.rooms),
            "connectionCount": now.connections,
            "queuedBytes": now.queued_bytes,
            "refusals": [[kind, reason, count] for (kind, reason), count in sorted(self._refusals.items())],
            "rooms": [_room(room) for room in islice(self._rooms.values(), LISTED)],
            "connections": [self._connection(each) for each in islice(self._connections, LISTED)],
            "closed": [
                {
                    "connection": each.connection,
                    "address": each.address,
                    "openedAt": each.opened_at,
                    "closedAt": each.closed_at,
                    "reason": each.reason,
                }
                for each in self.closed
            ],
        }

    def _connection(self, connection: LiveConnection) -> dict[str, Any]:
        member = connection.member
        return {
            "connection": connection.label,
            "address": connection.address,
            "openedAt": self._open.get(connection.label, ("", ""))[1],
            "edition": member.peer.edition.name if member.is_edition_chosen else None,
            "isAdmin": member.is_admin,
            "packets": member.packets_received,
            "queuedBytes": connection.queued_bytes,
            "seats": len(member.rooms),
            "observes": len(member.observed),
        }


def _room(room: Room) -> dict[str, Any]:
    return {
        "roomId": room.id,
        "edition": room.edition.name,
        "phase": _phase(room),
        "isPrepared": room.is_prepared,
        "turn": room.state.turn,
        "names": [_cut(name) for name in room.names],
        "players": [None if player_slot.peer is None else player_slot.peer.label for player_slot in room.player_slots],
        "observers": len(room.observers),
    }


def _phase(room: Room) -> str:
    if room.phase is Phase.OPEN:
        return "open"
    return "paused" if room.is_paused else "running"


def _cut(text: str) -> str:
    return text if len(text) <= TEXT else f"{text[: TEXT - 1]}…"
