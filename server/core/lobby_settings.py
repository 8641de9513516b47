"""The operator's settings for the lobby, its rooms and their clocks.

Invariants: created once, at the start of the server, and never changed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from spielleiter.server.core.clock import TimeLimits

NO_ADMINS: Final = (
    "this server can be reached from elsewhere and has the well-known password: choose another one (--password)"
)
"""Why a server that still has the default password accepts no administrators; part of the reply and of the log."""


@dataclass(frozen=True, slots=True)
class LobbySettings:
    """The settings of `spielleiter.server.core.lobby.Lobby` and its rooms; times are in seconds."""

    password: str | None = field(repr=False)
    """None: nobody can become an administrator."""
    limits: TimeLimits
    starts_paused: bool = False
    """Whether games opened by `join` start paused."""
    rooms_waiting: int = 1024
    seats_per_connection: int = 3
    """Low enough that the connections of one address cannot occupy all rooms that may wait."""
    observers_per_room: int = 64
    reservation_timeout: float = 600.0
    idle_timeout: float = 60.0
    delivery_timeout: float = 1.0
    """Seconds after which a move request counts as delivered, even if the player has not taken it."""
