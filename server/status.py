"""The state of a running server and how its last connections ended: for administrators and for the metrics.

Memory is bounded, and a report fits into one packet: texts are shortened and lists have a maximum length, while counts
are always complete.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from itertools import islice
from typing import Any, Final

from msgspec import Struct

from spielleiter.server import events
from spielleiter.server.core.room import Phase, Room
from spielleiter.server.net.session import Session

CLOSED: Final = 1000
"""The number of closed connections that are remembered."""
LISTED: Final = 4096
"""The largest number of rooms, and of connections, that a report lists."""
TEXT: Final = 80
"""The maximum length of a name or a reason, in characters."""


class Snapshot(Struct, frozen=True):
    """The state of the server in numbers."""

    rooms: Mapping[str, int]
    """The number of rooms by phase: `open`, `running`, `paused`."""
    connections: int
    administrators: int
    queued_bytes: int
    """Bytes that wait to be read by all peers together."""
    longest_queue: int
    """Bytes that wait to be read by the slowest peer."""


class StatusBoard:
    """Reports on `rooms` and `connections`, and remembers how connections ended, from the events of `stream`.

    `now` is the wall clock.
    """

    def __init__(
        self,
        rooms: Mapping[str, Room],
        connections: Iterable[Session],
        stream: events.EventStream,
        now: Callable[[], datetime] = lambda: datetime.now().astimezone(),
    ) -> None:
        self._rooms = rooms
        self._connections = connections
        self._refusals = stream.refusals
        self._now = now
        self.started_at = self._instant()
        self.opened: dict[str, tuple[str, str]] = {}
        """The address of each connection, and the instant at which it was opened, by its label."""
        self._closed: deque[dict[str, str]] = deque(maxlen=CLOSED)
        """The last connections that ended, the oldest first."""
        stream.on(events.ConnectionOpened, self._note_opened)
        stream.on(events.ConnectionClosed, self._note_closed)
        stream.on(events.ConnectionRefused, lambda refused: self._remember("", refused.address, "", refused.reason))

    def _instant(self) -> str:
        return self._now().isoformat(timespec="milliseconds")

    def _note_opened(self, opened: events.ConnectionOpened) -> None:
        self.opened[opened.connection] = opened.address, self._instant()

    def _note_closed(self, closed: events.ConnectionClosed) -> None:
        address, opened_at = self.opened.pop(closed.connection, ("", ""))
        self._remember(closed.connection, address, opened_at, closed.reason)

    def _remember(self, connection: str, address: str, opened_at: str, reason: str) -> None:
        closed = {"connection": connection, "address": address, "openedAt": opened_at, "closedAt": self._instant()}
        self._closed.append({**closed, "reason": shortened(reason)})

    def snapshot(self) -> Snapshot:
        """Return the present state in numbers."""
        rooms = {"open": 0, "running": 0, "paused": 0}
        for room in self._rooms.values():
            rooms[_phase(room)] += 1
        queues, administrators = [0], 0
        for connection in self._connections:
            queues.append(connection.queued_bytes)
            administrators += connection.peer.is_admin
        return Snapshot(rooms, len(queues) - 1, administrators, sum(queues), max(queues))

    def report(self) -> dict[str, Any]:
        """Return the answer to an administrator's status request, as a JSON object; the README describes its fields."""
        now = self.snapshot()
        return {
            "startedAt": self.started_at,
            "now": self._instant(),
            "roomCounts": dict(now.rooms),
            "connectionCount": now.connections,
            "queuedBytes": now.queued_bytes,
            "refusals": [[kind, reason, count] for (kind, reason), count in sorted(self._refusals.items())],
            "rooms": [
                {
                    "roomId": room.id,
                    "edition": room.edition.name,
                    "phase": _phase(room),
                    "isPrepared": room.is_prepared,
                    "turn": room.state.turn,
                    "names": [shortened(name) for name in room.names],
                    "players": [None if slot.peer is None else slot.peer.label for slot in room.player_slots],
                    "observers": len(room.observers),
                }
                for room in islice(self._rooms.values(), LISTED)
            ],
            "connections": [
                {
                    "connection": each.label,
                    "address": each.address,
                    "openedAt": self.opened.get(each.label, ("", ""))[1],
                    "edition": each.peer.edition.name if each.peer.is_edition_chosen else None,
                    "isAdmin": each.peer.is_admin,
                    "packets": each.peer.packets_received,
                    "queuedBytes": each.queued_bytes,
                    "seats": len(each.peer.rooms),
                    "observes": len(each.peer.observed),
                }
                for each in islice(self._connections, LISTED)
            ],
            "closed": list(self._closed),
        }


def _phase(room: Room) -> str:
    if room.phase is Phase.OPEN:
        return "open"
    return "paused" if room.is_paused else "running"


def shortened(text: str) -> str:
    """Return `text`, cut to the length in which administrators are told a name or a reason."""
    return text if len(text) <= TEXT else f"{text[: TEXT - 1]}…"
