"""A player's connection that records when requests arrived and when answers were sent, as measured on the wire.

Invariants: the arrival of a request is the instant at which the kernel received its last byte, however late it is read.
An answer is sent between two readings of the clock. Whether it was in time or late is decided only if it is certain.
Instants are seconds since the epoch.
"""

from __future__ import annotations

import contextlib
import enum
import re
import socket
import struct
import sys
import time
from dataclasses import dataclass
from typing import Final

from spielleiter.server.net.wire import SO_TIMESTAMPNS, stamp_arrivals

LIMIT: Final = 2.0
MARGIN: Final = 0.01  # an answer at least this many seconds before (or after) the limit is certainly in time (or late)

_JOINED: Final = re.compile(rb'<joined roomId="([^"]*)"')
_REQUEST: Final = re.compile(rb'class="(?:[\w.]*M|m)oveRequest"/>')
_RESULT: Final = b'class="result"'
_TIMESPEC: Final = struct.Struct("@qq")
_RESET: Final = struct.pack("ii", 1, 0)


class Received(enum.Enum):
    """The meaning of the bytes that were received last."""

    REQUEST = enum.auto()
    RESULT = enum.auto()
    END = enum.auto()
    NOTHING_NEW = enum.auto()


@dataclass(slots=True)
class Answer:
    """An answer to a request for a move."""

    think_time: float
    """The intended time from the request to the answer, in seconds."""
    asked_at: float
    """When the request arrived."""
    sent_from: float = 0.0
    """Just before the answer was sent."""
    sent_until: float = 0.0
    """Just after the answer was sent."""
    followed_at: float = 0.0
    """When the next request, to the opponent, or the result arrived."""

    @property
    def due_at(self) -> float:
        """When the answer should be sent."""
        return self.asked_at + self.think_time

    @property
    def is_in_time(self) -> bool:
        """Whether the answer was certainly sent before the limit."""
        return self.sent_until - self.asked_at <= LIMIT - MARGIN

    @property
    def is_late(self) -> bool:
        """Whether the answer was certainly sent after the limit."""
        return self.sent_from - self.asked_at >= LIMIT + MARGIN


class StampedPlayer:
    """A connection to `address` that sends `opening` at once. `room` is the room id, empty until it has joined."""

    def __init__(self, address: tuple[str, int], opening: bytes) -> None:
        self.sock = socket.create_connection(address)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        stamp_arrivals(self.sock)
        self.room = ""
        self._data = b""
        self.sock.sendall(b"<protocol>\n  " + opening)

    def receive(self) -> tuple[Received, float]:
        """Receive data. Returns what it means, and when its last byte arrived at this machine."""
        if sys.platform != "linux":
            raise NotImplementedError
        try:
            data, ancillary, _, _ = self.sock.recvmsg(1 << 18, socket.CMSG_SPACE(_TIMESPEC.size))
        except OSError:
            data, ancillary = b"", []
        arrived_at = time.time()
        for level, kind, stamp in ancillary:
            if (level, kind) == (socket.SOL_SOCKET, SO_TIMESTAMPNS):
                seconds, nanoseconds = _TIMESPEC.unpack(stamp)
                arrived_at = seconds + nanoseconds * 1e-9
        return self._understand(data), arrived_at

    def _understand(self, data: bytes) -> Received:
        if not data:
            return Received.END
        self._data += data
        if not self.room and (joined := _JOINED.search(self._data)):
            self.room = joined[1].decode()
        if _RESULT in self._data:
            return Received.RESULT
        if _REQUEST.search(self._data):
            self._data = b""
            return Received.REQUEST
        return Received.NOTHING_NEW

    def send(self, packet: bytes, answer: Answer) -> None:
        """Send `packet` in one call, and record the time before and after it. A closed connection is ignored."""
        answer.sent_from = time.time()
        with contextlib.suppress(OSError):
            self.sock.send(packet)
        answer.sent_until = time.time()

    def reset(self) -> None:
        """Close the connection with a reset."""
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        self.sock.close()
