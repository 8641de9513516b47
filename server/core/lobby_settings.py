"""What the operator decides about lobby, rooms and clocks.

Invariants: made once, at the start of the server; nothing here changes while it runs.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from spielleiter.server.core.clock import TimeLimits

NO_ADMINS: Final = (
    "this server can be reached from elsewhere and has the well-known password: choose another one (--password)"
)
"""Why nobody becomes an administrator of a server without a password of its own."""


@dataclass(frozen=True, slots=True)
class LobbySettings:
    """The values that `spielleiter.server.core.lobby.Lobby` and its rooms go by; times in seconds."""

    password: str | None = field(repr=False)
    """None: nobody can become an administrator."""
    limits: TimeLimits
    starts_paused: bool = False
    """Games that come about by `join` wait for an administrator's word."""
    rooms_waiting: int = 1024
    seats_per_connection: int = 3
    """So few that nobody with the connections of one address takes all the rooms that may wait."""
    observers_per_room: int = 64
    reservation_timeout: float = 600.0
    delivery_timeout: float = 1.0
    """After so long a request for a move counts as delivered, whether or not its player has taken it."""
