"""A player slot of a room: its seat, its display name, its clock and the peer that occupies it."""

from __future__ import annotations

from dataclasses import dataclass

from spielleiter.game.api import Seat
from spielleiter.server.core.clock import MoveClock
from spielleiter.server.core.peer import Peer


@dataclass(slots=True)
class PlayerSlot:
    """One of the two player slots of a room.

    `reservation` is the code that has not been used yet; None: anyone may take the slot, or it is occupied. `clock`
    measures this player's moves. `peer` is None while nobody occupies the slot. `is_expected` is False until somebody
    takes a slot that was not prepared: it may remain without a player.
    """

    seat: Seat
    name: str
    reservation: str | None
    clock: MoveClock
    peer: Peer | None = None
    is_expected: bool = True
