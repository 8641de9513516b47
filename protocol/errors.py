"""The exceptions of the protocol, one for each side that can be at fault.

RemoteProtocolError means that the peer broke the protocol; its text says what was wrong and can be sent back.
LocalProtocolError means that this program used the connection incorrectly, which is a bug.
"""

from __future__ import annotations

import enum

from spielleiter.protocol.messages import Message


class ProtocolError(Exception):
    """Base class of both exceptions; never raised itself."""


class LocalProtocolError(ProtocolError):
    """The local program did something that the protocol does not allow, such as sending after the end of its stream."""


class Refusal(enum.Enum):
    """Why a peer's bytes were refused. The values are the names of counters and log fields."""

    MALFORMED = "malformed"
    DOCTYPE = "doctype"
    ENTITY = "entity"
    REFERENCE = "reference"  # one without a name or number, at which not the official server's parser fails
    ENCODING = "encoding"
    PACKET_SIZE = "packet_size"
    DEPTH = "depth"
    ATTRIBUTES = "attributes"
    CHILDREN = "children"
    NAMES = "names"
    NAME_LENGTH = "name_length"
    UNKNOWN_PACKET = "unknown_packet"
    UNREADABLE_PACKET = "unreadable_packet"
    INCOMPLETE_PACKET = "incomplete_packet"  # each value can be read, but one is missing that is needed to go on
    BUG = "bug"


class RemoteProtocolError(ProtocolError):
    """The peer sent something that the protocol does not allow. The connection reads nothing more from it.

    `refusal` is the kind of fault, and `str(error)` explains what was wrong and where. `original` is the packet as far
    as it was understood, to be repeated in the reply. `data` is set only for BUG, a fault of this program: it holds the
    first bytes of the input that could not be read, and the original exception is the cause. `position` is the number
    of bytes from the end of the previous packet to the fault; None if the fault is not in a single place.
    """

    def __init__(self, refusal: Refusal, explanation: str, original: Message | None = None, data: bytes = b"") -> None:
        super().__init__(explanation)
        self.refusal = refusal
        self.original = original
        self.data = data
        self.position: int | None = None

    def at(self, position: int) -> RemoteProtocolError:
        """Set `position` and return this error, to be raised in the same expression.

        A local variable with an error that is raised keeps the whole frame in memory until the next collection.
        """
        self.position = position
        return self
