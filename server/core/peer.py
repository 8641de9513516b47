"""The sending side of a connection, as lobby and rooms see it.

Invariants: sending never waits. Packets are queued and go out in order; after the end of the stream nothing more is
queued. The lobby keeps the rights and the rooms of a peer (`spielleiter.server.core.member`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeAlias

from spielleiter.server.core.policy import Edition

SentCallback: TypeAlias = Callable[[float], None]
"""Called with the instant at which a packet was handed to the kernel, in seconds."""


class Sink(Protocol):
    """The destination of a peer's packets; for a network connection this is its outbox."""

    def send_nowait(self, packet: bytes, on_sent: SentCallback | None = None) -> None:
        """Queue one encoded packet; it is dropped silently if the stream has ended."""
        ...

    def end_nowait(self, *, with_end_tag: bool = True) -> None:
        """End the stream after everything that is queued; further calls do nothing."""
        ...

    def has_unread_input(self) -> bool:
        """Return whether bytes of the peer have arrived that have not been read or not been answered yet."""
        ...


class Peer:
    """A connection's label, sink and edition. Peers are compared by identity."""

    __slots__ = ("edition", "has_delivery_timeout", "label", "reads_packets", "sink")

    def __init__(self, label: str, sink: Sink, edition: Edition) -> None:
        self.label = label
        """Its name in the log."""
        self.sink = sink
        self.edition = edition
        """The edition in whose wire form it is answered."""
        self.reads_packets = True
        """False: its sink ignores the bytes, so an empty packet may be sent instead of a position."""
        self.has_delivery_timeout = True
        """False: its clock starts only when its sink reports a request as sent, however late that is."""

    def __repr__(self) -> str:
        return f"<Peer {self.label}>"

    def send(self, packet: bytes, on_sent: SentCallback | None = None) -> None:
        """Queue one encoded packet."""
        self.sink.send_nowait(packet, on_sent)

    def end(self, *, with_end_tag: bool = True) -> None:
        """End the stream after everything that is queued."""
        self.sink.end_nowait(with_end_tag=with_end_tag)
