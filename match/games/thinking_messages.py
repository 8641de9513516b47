"""The messages between a match and the worker processes that compute the moves of its built-in players.

Invariants: a message is a pickled object, preceded by its length. Both sides belong to the same match, so what they
read is trusted. Bytes that are not a message are an error, and never wait for more bytes. The module does not import
trio, so that a worker starts quickly.
"""

from __future__ import annotations

import pickle
import struct
from collections.abc import Iterator
from typing import Any, BinaryIO, Final

MAX_SIZE: Final = 1 << 24
"""The size of a message in bytes is below this, so text is never taken for its length: the first byte is 0."""
_HEAD: Final = struct.Struct("!I")


class BadMessageError(Exception):
    """What was received is not a message."""


def encode(message: object) -> bytes:
    """Return the bytes of `message`."""
    data = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
    return _HEAD.pack(len(data)) + data


def read_messages(stream: BinaryIO) -> Iterator[Any]:
    """Yield the messages that `stream` contains, each one as soon as it is complete, until the stream ends."""
    while len(head := stream.read(_HEAD.size)) == _HEAD.size:
        data = stream.read(_HEAD.unpack(head)[0])
        yield pickle.loads(data)  # noqa: S301 - from the other side, see the docstring of the module


class Decoder:
    """Takes the bytes of messages in pieces of any size. After an error it must not be used any more."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes | bytearray) -> Iterator[Any]:
        """Add `data`, and yield the messages that are complete. Raises BadMessageError."""
        buffer = self._buffer
        buffer += data
        while len(buffer) >= _HEAD.size:
            size = _HEAD.unpack_from(buffer)[0]
            if size >= MAX_SIZE:
                raise BadMessageError
            end = _HEAD.size + size
            if len(buffer) < end:
                return
            data = bytes(buffer[_HEAD.size : end])
            del buffer[:end]
            try:
                message = pickle.loads(data)  # noqa: S301 - as above
            except Exception as error:  # any bytes, any error
                raise BadMessageError from error
            yield message
