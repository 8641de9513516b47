"""`RoomWriter`: encodes the packets of one room faster, by reusing what was written before.

Invariants: the bytes are always those of `Dialect.encode`, regardless of what was written before. The parts that are
the same in every packet of the room are written once, and the cost of a position depends on what has changed since the
last one. A writer is used for one room and in one thread.
"""

from __future__ import annotations

from spielleiter.protocol.dialect import PACKET_INDENT, Dialect, RememberingWriter
from spielleiter.protocol.messages import RoomData, RoomMessage
from spielleiter.protocol.writer import Body


class RoomWriter:
    """Encodes the packets of the room `room_id` in `dialect`. Each packet begins with `indent`, a line feed and blanks.

    >>> from spielleiter.protocol.dialects.blokus_2021 import BLOKUS_2021_R3
    >>> from spielleiter.protocol.messages import Paused
    >>> print(RoomWriter(BLOKUS_2021_R3, "a4b1").encode(Paused(True)).decode())
    <BLANKLINE>
      <room roomId="a4b1">
        <data class="paused" paused="true"/>
      </room>
    """

    __slots__ = ("_frames", "_indent", "_inner", "_room_id", "_writers", "dialect")

    def __init__(self, dialect: Dialect, room_id: str, indent: str = PACKET_INDENT) -> None:
        self.dialect = dialect
        self._room_id = room_id
        self._indent = indent
        self._inner = indent + "    "
        self._writers = {
            kind: writer.for_room()
            for kind, writer in dialect.data_writers.items()
            if isinstance(writer, RememberingWriter)
        }
        self._frames: dict[str, tuple[str, str]] = {}
        """For each class of data the text before its children, and the text after them."""

    def encode(self, data: RoomData) -> bytes:
        """Return one packet in UTF-8. Raises LocalProtocolError for data that this dialect cannot write."""
        writer = self._writers.get(type(data))
        if writer is None:
            return self.dialect.encode(RoomMessage(self._room_id, data), self._indent)
        body = writer(data, self.dialect, self._inner)
        frame = self._frames.get(body.name)
        if frame is None:
            frame = self._frames[body.name] = self._frame(data, body)
        return f"{frame[0]}{body.children}{frame[1]}".encode()

    def _frame(self, data: RoomData, body: Body) -> tuple[str, str]:
        """Return the text before and after the children of `body`, taken from the packet as the dialect writes it."""
        packet = self.dialect.encode(RoomMessage(self._room_id, data), self._indent).decode()
        head, _, tail = packet.rpartition(body.children)
        return head, tail
