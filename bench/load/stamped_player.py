"""A player's connection that knows when it was asked and when it answered, by the wire.

Law: a request is there when the kernel says that its last byte has come, however late it is read; an answer leaves
between two looks at the clock. Whether it was in time or late is said only where that is certain. Instants are seconds
since the epoch.
"""

from __future__ import annotations

import contextlib
import enum
import re
import socket
import struct
import time
from dataclasses import dataclass
from typing import Final

from spielleiter.server.net.wire import SO_TIMESTAMPNS, stamp_arrivals

LIMIT: Final = 2.0
SURE: Final = 0.01  # seconds from the limit at which an answer was certainly in time, or late

_JOINED: Final = re.compile(rb'<joined roomId="([^"]*)"')
_REQUEST: Final = re.compile(rb'class="(?:[\w.]*M|m)oveRequest"/>')
_RESULT: Final = b'class="result"'
_TIMESPEC: Final = struct.Struct("@qq")
_RESET: Final = struct.pack("ii", 1, 0)


class Heard(enum.Enum):
    """What the last bytes meant."""

    REQUEST = enum.auto()
    RESULT = enum.auto()
    END = enum.auto()
    NOTHING_NEW = enum.auto()


@dataclass(slots=True)
class Answer:
    """One answer to a request."""

    think_time: float
    """What is aimed at."""
    asked_at: float
    """When the request reached the player."""
    sent_from: float = 0.0
    sent_until: float = 0.0
    """The bytes left between these two."""
    followed_at: float = 0.0
    """When the opponent was asked, or the result came."""

    @property
    def due_at(self) -> float:
        return self.asked_at + self.think_time

    @property
    def is_in_time(self) -> bool:
        """Certainly, by the wire."""
        return self.sent_until - self.asked_at <= LIMIT - SURE

    @property
    def is_late(self) -> bool:
        """Certainly, by the wire."""
        return self.sent_from - self.asked_at >= LIMIT + SURE


class StampedPlayer:
    """Sends its `opening` at once; `room` is known once it has joined."""

    def __init__(self, address: tuple[str, int], opening: bytes) -> None:
        self.sock = socket.create_connection(address)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        stamp_arrivals(self.sock)
        self.room = ""
        self._data = b""
        self.sock.sendall(b"<protocol>\n  " + opening)

    def receive(self) -> tuple[Heard, float]:
        """What has come, and when the end of it reached this machine."""
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

    def _understand(self, data: bytes) -> Heard:
        if not data:
            return Heard.END
        self._data += data
        if not self.room and (joined := _JOINED.search(self._data)):
            self.room = joined[1].decode()
        if _RESULT in self._data:
            return Heard.RESULT
        if _REQUEST.search(self._data):
            self._data = b""
            return Heard.REQUEST
        return Heard.NOTHING_NEW

    def send(self, packet: bytes, answer: Answer) -> None:
        """In one call, between two looks at the clock. Who is gone already is no concern of the sender."""
        answer.sent_from = time.time()
        with contextlib.suppress(OSError):
            self.sock.send(packet)
        answer.sent_until = time.time()

    def reset(self) -> None:
        """Be gone without a word."""
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        self.sock.close()
