"""The packets of one room, written by somebody who remembers.

Law: the bytes are those of `Dialect.encode`, whatever was written before. What is the same in every packet of the room
is written once, and a position costs what has changed since the last one. One writer serves one room and one thread.
"""

from __future__ import annotations

from spielleiter.protocol.dialect import PACKET_INDENT, Dialect, RememberingWriter
from spielleiter.protocol.messages import RoomData, RoomMessage
from spielleiter.protocol.writer import Body


class RoomWriter:
    """Encodes what is said in a room, each packet on a line of its own that begins with `indent`."""

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
        """By class of the data: what stands before its children, and what behind them."""

    def encode(self, data: RoomData) -> bytes:
        """One packet. Raises LocalProtocolError for data this dialect has no packet for."""
        writer = self._writers.get(type(data))
        if writer is None:
            return self.dialect.encode(RoomMessage(self._room_id, data), self._indent)
        body = writer(data, self.dialect, self._inner)
        frame = self._frames.get(body.name)
        if frame is None:
            frame = self._frames[body.name] = self._frame(data, body)
        return f"{frame[0]}{body.children}{frame[1]}".encode()

    def _frame(self, data: RoomData, body: Body) -> tuple[str, str]:
        """Taken from the packet as the dialect writes it."""
        packet = self.dialect.encode(RoomMessage(self._room_id, data), self._indent).decode()
        head, _, tail = packet.rpartition(body.children)
        return head, tail
