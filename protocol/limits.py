"""Limits on what a peer may send. The README has a table of them; the values are similar to those of XMPP servers."""

from __future__ import annotations

from typing import Final

from msgspec import Struct


class Limits(Struct, frozen=True):
    """The most that a peer may send. The default values are for a peer that has neither joined nor authenticated."""

    packet_bytes: int = 8 * 1024
    """Bytes from the end of one packet to the end of the next, including white space and comments."""
    depth: int = 32
    """Nesting depth of elements, including the root."""
    attributes: int = 64
    """Attributes of one element, including namespace declarations."""
    children: int = 4096
    """Elements in one packet below its own element, at any depth."""
    names: int = 128
    """Different names of elements and attributes in one stream. The parser keeps each name until the stream ends."""
    name_length: int = 64
    """Characters in one name."""


BEFORE_JOIN: Final = Limits()
"""For a peer that has neither joined nor authenticated."""
AFTER_JOIN: Final = Limits(packet_bytes=64 * 1024)
"""For a peer that has joined or authenticated."""
FROM_SERVER: Final = Limits(packet_bytes=1024 * 1024, names=1024)
"""What a client accepts from a server. A position has at most about 45 KiB; a packet of a replay may be longer."""
REPORT_FROM_SERVER: Final = Limits(packet_bytes=8 * 1024 * 1024, names=1024)
"""For an administrator that requests the status: a report has some hundred bytes for each room and connection."""
