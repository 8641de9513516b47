"""Reading the outputs of a process in an event loop. Windows cannot wait for pipes there, so threads read them."""

from __future__ import annotations

import os
from typing import IO, Final

import trio

READ_SIZE: Final = 64 * 1024
"""The most bytes that are read at once."""


class _ThreadedPipe(trio.abc.ReceiveStream):
    """A pipe that is read in threads, for systems where an event loop cannot wait for pipes.

    A cancelled read continues in its thread, which keeps the pipe open until the other end is closed.
    """

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._is_reading = False
        self._is_closed = False

    async def receive_some(self, max_bytes: int | None = None) -> bytes:
        self._is_reading = True
        return await trio.to_thread.run_sync(self._read, max_bytes or READ_SIZE, abandon_on_cancel=True)

    async def aclose(self) -> None:
        self._is_closed = True
        if not self._is_reading:
            self._stream.close()
        await trio.lowlevel.checkpoint()

    def _read(self, max_bytes: int) -> bytes:
        try:
            return self._stream.read(max_bytes)
        finally:
            self._is_reading = False
            if self._is_closed:
                self._stream.close()


def open_pipe(stream: IO[bytes]) -> trio.abc.ReceiveStream:
    """Make an output of a process readable in an event loop; takes ownership of `stream`."""
    if not hasattr(trio.lowlevel, "FdStream"):  # Windows
        return _ThreadedPipe(stream)
    with stream:
        return trio.lowlevel.FdStream(os.dup(stream.fileno()))
