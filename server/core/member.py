"""What the lobby knows about one connected peer: its rights, its rooms and the number of its packets.

Invariants: the lobby creates a member when a peer connects and forgets it when the peer has left. Only the lobby and
its request handlers change a member. A room is in `rooms` exactly as long as the peer occupies a player slot there, and
in `observed` exactly as long as the peer observes it.
"""

from __future__ import annotations

from spielleiter.server.core.dedicated_port import DedicatedPort
from spielleiter.server.core.peer import Peer
from spielleiter.server.core.room import Room


class Member:
    """A peer in the lobby. Members are compared by identity."""

    __slots__ = (
        "dedicated_port",
        "has_idle_timeout",
        "is_admin",
        "is_edition_chosen",
        "observed",
        "packets_received",
        "peer",
        "rooms",
    )

    def __init__(
        self, peer: Peer, dedicated_port: DedicatedPort | None = None, *, has_idle_timeout: bool = True
    ) -> None:
        self.peer = peer
        self.dedicated_port = dedicated_port
        """The port it connected to, if that port serves a single seat; None: it may make any request."""
        self.has_idle_timeout = has_idle_timeout
        """Whether it may be disconnected because it sends nothing after its last game."""
        self.is_admin = False
        self.is_edition_chosen = False
        """Whether a join, joinPrepared or prepare has fixed the peer's edition."""
        self.packets_received = 0
        self.rooms: dict[str, Room] = {}
        """The rooms in which it occupies a player slot, by id."""
        self.observed: dict[str, Room] = {}
        """The rooms that it observes, by id."""

    def __repr__(self) -> str:
        return f"<Member {self.peer.label}>"
