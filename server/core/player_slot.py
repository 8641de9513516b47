"""A seat of a room and who sits on it."""

from __future__ import annotations

from dataclasses import dataclass

from spielleiter.game.api import Seat
from spielleiter.server.core.clock import MoveClock
from spielleiter.server.core.peer import Peer


@dataclass(slots=True)
class PlayerSlot:
    """One of two. `reservation` is the code still open, None where anyone may sit down; `clock` this player's."""

    seat: Seat
    name: str
    reservation: str | None
    clock: MoveClock
    peer: Peer | None = None
