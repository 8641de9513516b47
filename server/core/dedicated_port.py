"""A port that serves a single seat of a room, with its rate limits.

Invariants: a peer that connects to such a port can take its seat and play, and nothing else (`AT_DEDICATED_PORT` in
`spielleiter.server.core.dispatch`). All connections to one port share its rate limits. A sender that exceeds them is
delayed, not refused.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from spielleiter.game.api import Seat
from spielleiter.server.core.room import Room
from spielleiter.server.core.token_bucket import TokenBucket


@dataclass(frozen=True, slots=True)
class DedicatedPort:
    """The port of one seat. Contest programs send a few hundred bytes in one packet for each move."""

    room: Room
    seat: Seat
    packets: TokenBucket = field(default_factory=lambda: TokenBucket(500, 500))
    """The packet rate limit, in packets."""
    received: TokenBucket = field(default_factory=lambda: TokenBucket(256 * 1024, 512 * 1024))
    """The data rate limit, in bytes."""
    code: str | None = field(init=False)
    """The reservation code of the seat. The seat itself forgets its code when it is taken."""

    def __post_init__(self) -> None:
        """Remember the code."""
        object.__setattr__(self, "code", self.room.player_slots[self.seat].reservation)
