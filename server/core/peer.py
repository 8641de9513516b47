"""One connection as lobby and rooms see it.

Law: a peer never waits. What it is sent is queued and goes out in order; after the end of its stream nothing is queued
any more. Who it is (administrator, seats, observed rooms) is written here by the lobby and by nobody else.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, TypeAlias

from spielleiter.server.core.policy import Edition

if TYPE_CHECKING:
    from spielleiter.server.core.room import Room
    from spielleiter.server.core.seat_port import SeatPort

SentCallback: TypeAlias = Callable[[float], None]
"""Called with the instant at which a packet had been handed to the kernel."""


class Sink(Protocol):
    """Where a peer's packets go: the outbox of its connection."""

    def send_nowait(self, packet: bytes, on_sent: SentCallback | None = None) -> None:
        """Queue one encoded packet; dropped silently once the stream has ended."""
        ...

    def end_nowait(self, *, with_end_tag: bool = True) -> None:
        """End the stream behind what is queued; the second time does nothing."""
        ...

    def has_unread_input(self) -> bool:
        """Have bytes of the peer arrived that have not been read or not been answered yet?"""
        ...


class Peer:
    """A connection's identity: what it may do and where it sits."""

    __slots__ = (
        "edition",
        "heard",
        "is_admin",
        "is_edition_chosen",
        "label",
        "observed",
        "reads",
        "rooms",
        "seat_port",
        "sink",
    )

    def __init__(self, label: str, sink: Sink, edition: Edition, seat_port: SeatPort | None = None) -> None:
        self.label = label
        """Its name in the log."""
        self.sink = sink
        self.edition = edition
        """Whose wire form it is answered in."""
        self.seat_port = seat_port
        """The port it came through if that is for one seat only; None: it may ask for everything."""
        self.reads = True
        """Whether it reads what it is sent; one that looks at its room instead is sent empty packets."""
        self.is_edition_chosen = False
        """Its first join, joinPrepared or prepare fixes the edition."""
        self.heard = 0
        """How many packets it has sent."""
        self.is_admin = False
        self.rooms: dict[str, Room] = {}
        """The rooms it has a seat in, by id."""
        self.observed: dict[str, Room] = {}
        """The rooms it observes, by id."""

    def __repr__(self) -> str:
        return f"<Peer {self.label}>"

    def send(self, packet: bytes, on_sent: SentCallback | None = None) -> None:
        """Queue one encoded packet."""
        self.sink.send_nowait(packet, on_sent)

    def end(self, *, with_end_tag: bool = True) -> None:
        """End its stream behind what is queued."""
        self.sink.end_nowait(with_end_tag=with_end_tag)
