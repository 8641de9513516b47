"""Whose fault it is.

Invariant: `Connection` raises nothing but these two. RemoteProtocolError: the peer broke the protocol; it says what was
wrong, in words fit to be sent back. LocalProtocolError: this program used the connection wrongly; a bug here.
"""

from __future__ import annotations

import enum

from spielleiter.protocol.messages import Message


class ProtocolError(Exception):
    """Base of both; never raised itself."""


class LocalProtocolError(ProtocolError):
    """We did something the protocol does not allow, such as sending after the end of our stream."""


class Refusal(enum.Enum):
    """Why a peer's bytes were refused; the values name counters and log fields."""

    MALFORMED = "malformed"
    DOCTYPE = "doctype"
    ENTITY = "entity"
    ENCODING = "encoding"
    PACKET_SIZE = "packet_size"
    DEPTH = "depth"
    ATTRIBUTES = "attributes"
    CHILDREN = "children"
    NAMES = "names"
    NAME_LENGTH = "name_length"
    UNKNOWN_PACKET = "unknown_packet"
    UNREADABLE_PACKET = "unreadable_packet"
    BUG = "bug"


class RemoteProtocolError(ProtocolError):
    """The peer sent what the protocol does not allow. The connection understands nothing more from it.

    `refusal` is the kind, `str(error)` the explanation (what was wrong and where), `original` the packet as far as it
    was understood, to be echoed in the answer. `data` is only given for BUG, where this program is to blame: the first
    bytes of what it failed to read. The exception that it failed with is the cause.
    """

    def __init__(self, refusal: Refusal, explanation: str, original: Message | None = None, data: bytes = b"") -> None:
        super().__init__(explanation)
        self.refusal = refusal
        self.original = original
        self.data = data
