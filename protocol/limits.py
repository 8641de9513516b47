"""How much a peer may send before it is refused.

Invariant: a limit is checked before the memory is spent. Values: see the README's table of limits; they are similar to
the defaults of XMPP servers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Limits:
    """The defaults hold for a peer that has neither joined nor authenticated."""

    packet_bytes: int = 8 * 1024
    """Bytes from the end of one packet to the end of the next, white space and comments included."""
    depth: int = 32
    """Elements inside each other, the root included."""
    attributes: int = 64
    """Attributes of one element, namespace declarations included."""
    children: int = 4096
    """Elements below one packet, at any depth."""
    names: int = 128
    """Different names of elements and attributes in one stream; the parser keeps each until the stream is over."""
    name_length: int = 64
    """Characters of one name."""


BEFORE_JOIN: Final = Limits()
AFTER_JOIN: Final = Limits(packet_bytes=64 * 1024)
FROM_SERVER: Final = Limits(packet_bytes=1024 * 1024, names=1024)
"""What a client accepts of its server: a position is about 45 KiB at most, a replay's packet may be longer."""
REPORT_FROM_SERVER: Final = Limits(packet_bytes=8 * 1024 * 1024, names=1024)
"""... and what an administrator does who has asked for the status: some hundred bytes for each room and connection."""
