"""The messages between a match and the worker processes that compute the moves of its built-in players.

Invariants: a message is a pickled object, preceded by its length. Both sides belong to the same match, so what they
read is trusted. The module does not import trio, so that a worker starts quickly.
"""

from __future__ import annotations

import pickle
import struct
from collections.abc import Iterator
from typing import Any, BinaryIO, Final

_HEAD: Final = struct.Struct("!I")


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
    """Takes the bytes of messages in pieces of any size."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes | bytearray) -> Iterator[Any]:
        """Add `data`, and yield the messages that are complete."""
        buffer = self._buffer
        buffer += data
        while len(buffer) >= _HEAD.size:
            end = _HEAD.size + _HEAD.unpack_from(buffer)[0]
            if len(buffer) < end:
                return
            message = bytes(buffer[_HEAD.size : end])
            del buffer[:end]
            yield pickle.loads(message)  # noqa: S301 - as above
