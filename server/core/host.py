"""What a room needs of the lobby that keeps it.

Invariants: a room knows nothing but its peers and its host; it is told the time, and publishes events, only here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from spielleiter.server import events
from spielleiter.server.core.peer import Peer

if TYPE_CHECKING:
    from spielleiter.server.core.room import Room


class Timer(Protocol):
    """Something that will be done at an instant."""

    def cancel(self) -> None: ...


class RoomHost(Protocol):
    """Whoever keeps rooms; the lobby is one."""

    @property
    def delivery_timeout(self) -> float:
        """Seconds after which a request for a move counts as delivered, whatever its player takes."""
        ...

    def call_at(self, deadline: float, callback: Callable[[float], None]) -> Timer:
        """Call `callback(now)` once `deadline` has passed, unless cancelled."""
        ...

    def call_after(self, delay: float, callback: Callable[[float], None]) -> Timer:
        """Call `callback(now)` in `delay` seconds, unless cancelled."""
        ...

    def publish(self, event: events.ServerEvent) -> None: ...

    def room_over(self, room: Room, offender: Peer | None) -> None:
        """The room has said its last word; `offender` still awaits a reply of its own."""
        ...
