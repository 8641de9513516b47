"""Reads packets in the plain form that nearly all clients write, without building a tree.

Invariants: a form reads exactly what the parser and the tables of the dialect would read from the same bytes. Anything
that does not match the form exactly (other quotes, a comment, an additional attribute) is left to them, as is every
error. The reason for this module is speed: most packets that a server reads are moves, and the parser and the tree take
several times as long for a move.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from spielleiter.protocol.limits import Limits
from spielleiter.protocol.messages import Message

PlainReader: TypeAlias = Callable[[re.Match[bytes]], Message | None]
"""Returns the message in the packet, or None if the tables have to read it, which also report errors."""


@dataclass(frozen=True, slots=True)
class PlainForm:
    """The plain form of one kind of packet.

    `pattern` matches a whole packet, with the white space around it. A match contains only ASCII, and no references.
    """

    pattern: re.Pattern[bytes]
    read: PlainReader
    depth: int
    """The nesting depth of the packet's elements, including the root of the stream."""
    attributes: int
    """The largest number of attributes of any of its elements."""
    children: int
    """The number of elements below that of the packet."""

    def fits(self, limits: Limits) -> bool:
        """Return whether a packet of this form is within all `limits` but `packet_bytes`, which is not checked here."""
        return self.depth <= limits.depth and self.attributes <= limits.attributes and self.children <= limits.children
