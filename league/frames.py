"""Messages on a stream of bytes: MessagePack, preceded by its length in four bytes.

The processes of a league talk to each other in this way, on this machine and with helpers' PCs. Reading a message
creates plain values only, and never more of them than its length allows.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, Final, Generic, TypeVar

import msgspec
import trio

HEAD: Final = struct.Struct("!I")
_READ_SIZE: Final = 64 * 1024

_encode: Final[Callable[[Any], bytes]] = msgspec.msgpack.Encoder().encode
_Message = TypeVar("_Message")
_Other = TypeVar("_Other")


class FrameError(Exception):
    """The peer has sent what is no message, or too long a one; the text says which."""


def framed(message: msgspec.Struct) -> bytes:
    """Encode a message, preceded by its length."""
    data = _encode(message)
    return HEAD.pack(len(data)) + data


class FrameBuffer(Generic[_Message]):
    """Cuts bytes into messages of at most `limit` bytes. `decode` reads one, and raises msgspec.DecodeError."""

    def __init__(self, decode: Callable[[bytes], _Message], limit: int) -> None:
        self._limit = limit
        self._decode = decode
        self._buffer = bytearray()

    def add(self, data: bytes | bytearray) -> None:
        """Append what was received."""
        self._buffer += data

    def rest(self) -> bytes:
        """Return the bytes that no message was read from."""
        return bytes(self._buffer)

    def next_message(self) -> _Message | None:
        """Return the next message; None if it is not complete. Raises FrameError."""
        if len(self._buffer) < HEAD.size:
            return None
        end = HEAD.size + HEAD.unpack_from(self._buffer)[0]
        if end > HEAD.size + self._limit:
            raise FrameError(f"a message of {end - HEAD.size} bytes, expected {self._limit} at most")
        if len(self._buffer) < end:
            return None
        data = bytes(self._buffer[HEAD.size : end])
        del self._buffer[:end]
        try:
            return self._decode(data)
        except msgspec.DecodeError as error:
            raise FrameError(f"not a message of this protocol: {error}") from None


class FrameStream(Generic[_Message]):
    """Sends and receives messages on `stream`; one task may receive while several send.

    `decode` reads a message, and `limit` is the most bytes of one that is received.
    """

    def __init__(self, stream: trio.abc.Stream, decode: Callable[[bytes], _Message], limit: int) -> None:
        self.stream = stream
        self.reads = 0
        """How often something was received: a message may come in many pieces."""
        self._frames = FrameBuffer(decode, limit)
        self._sending = trio.Lock()

    def followed_by(self, decode: Callable[[bytes], _Other], limit: int) -> FrameStream[_Other]:
        """Return what takes the place of this object, now that the peer sends messages of another kind."""
        following = FrameStream(self.stream, decode, limit)
        following._frames.add(self._frames.rest())
        following._sending = self._sending
        return following

    async def send(self, message: msgspec.Struct) -> None:
        """Send a message. Raises trio.BrokenResourceError and trio.ClosedResourceError."""
        async with self._sending:
            await self.stream.send_all(framed(message))

    async def receive(self) -> _Message | None:
        """Return the next message; None at the end, however the connection has ended. Raises FrameError."""
        while (message := self._frames.next_message()) is None:
            try:
                data = await self.stream.receive_some(_READ_SIZE)
            except (trio.BrokenResourceError, trio.ClosedResourceError):
                return None
            if not data:
                return None
            self.reads += 1
            self._frames.add(data)
        return message
