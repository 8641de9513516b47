"""What a room needs from the lobby that owns it.

Invariants: a room reaches the rest of the server only through its peers and its host. It reads no clock: its timers
pass the time to it. It publishes its events through this interface.
"""

from __future__ import annotations

from typing import Protocol

from spielleiter.server import events
from spielleiter.server.core.peer import Peer
from spielleiter.server.core.timer_service import TimerService


class RoomHost(TimerService, Protocol):
    """The owner of rooms. The lobby implements it."""

    @property
    def delivery_timeout(self) -> float:
        """Seconds after which a move request counts as delivered, even if the player has not taken it."""
        ...

    def publish(self, event: events.ServerEvent) -> None:
        """Pass `event` to the subscribers."""
        ...

    def room_closed(self, room_id: str, offender: Peer | None) -> None:
        """Forget the room, which has sent its last packet.

        `offender` is the player whose move ended the game, if it is still to be sent a reply of its own.
        """
        ...
