"""A seat of a room and who sits on it."""

from __future__ import annotations

from dataclasses import dataclass

from game.api import Seat
from server.clock import MoveClock
from server.peer import Peer


@dataclass(slots=True)
class Chair:
    """One of two. `reservation` is the code still open, None where anyone may sit down; `clock` this player's."""

    seat: Seat
    name: str
    reservation: str | None
    clock: MoveClock
    peer: Peer | None = None
