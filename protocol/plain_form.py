"""Packets in the plain form that nearly all clients write, read without a tree.

Law: what a form reads is what the parser and the tables would have read from the same bytes. Whatever is not exactly of
the form (another quote, a comment, an attribute more) is left to them, and so is everything that is wrong. It stands
here because a move is most of what a server reads: the parser and the tree take several times as long for it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from spielleiter.protocol.limits import Limits
from spielleiter.protocol.messages import Message

PlainReader: TypeAlias = Callable[[re.Match[bytes]], Message | None]
"""The packet's meaning; None if it has none, and the tables shall say what is wrong."""


@dataclass(frozen=True, slots=True)
class PlainForm:
    """`pattern` matches a whole packet, with white space around it; it holds no reference and only ASCII."""

    pattern: re.Pattern[bytes]
    read: PlainReader
    depth: int
    """How deep the packet's elements are nested, the stream's root counted."""
    attributes: int
    """The most attributes that one of its elements has."""
    children: int
    """How many elements there are below the packet."""

    def fits(self, limits: Limits) -> bool:
        """Whether a packet of this form meets no limit but, perhaps, that of its bytes."""
        return self.depth <= limits.depth and self.attributes <= limits.attributes and self.children <= limits.children
