"""What a room needs of the house it stands in.

Law: a room knows nobody else but its peers; time passes and news spreads through here alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from server import events
from server.peer import Peer

if TYPE_CHECKING:
    from server.room import Room


class Alarm(Protocol):
    """Something that will be done at an instant."""

    def cancel(self) -> None: ...


class RoomHost(Protocol):
    """Whoever keeps rooms; the lobby is one."""

    def call_at(self, deadline: float, callback: Callable[[float], None]) -> Alarm:
        """Call `callback(now)` once `deadline` has passed, unless cancelled."""
        ...

    def publish(self, happening: events.Happening) -> None: ...

    def room_over(self, room: Room, offender: Peer | None) -> None:
        """The room has said its last word; `offender` still awaits a reply of its own."""
        ...
