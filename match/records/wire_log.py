"""A file with the bytes of a game's connections.

Invariants: chunks are written in the order in which they were received and sent, each after a line with the time in
seconds, the name of the program, the direction and the length. A chunk that begins with the whole previous chunk, as
the position for the second player does, is written without that prefix, and its line says so. The size of the file is
bounded, and it says where it was cut. Logging never changes what is received or sent, and costs very little while the
game is played: chunks are buffered unchanged, and compressed together when the log is closed or the buffer is large.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

import trio

from spielleiter.match.records.buffered_file import BufferedFile
from spielleiter.server.core.clock import Arrival
from spielleiter.server.net.wire import Wire

WIRE_LOG: Final = "wire.log.gz"

WIRE_LIMIT: Final = 64 * 1024 * 1024
"""The maximum size of a log in bytes before compression: about fifty times the size of a whole game."""

MIN_SHARED: Final = 256
"""The length in bytes from which a chunk is not repeated if the next chunk begins with it."""

BUFFERED: Final = 2 * 1024 * 1024
"""The number of bytes after which the buffer is compressed; most games have fewer."""


class WireLog(BufferedFile[bytes | memoryview]):
    """Collects the bytes of all connections of a game for the file `path`, which `close` completes."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, WIRE_LIMIT)
        self._started = trio.current_time()
        self._buffered_bytes = 0
        self._previous = b""
        """The previous chunk; empty if it is too short for the next chunk to refer to it."""

    def write(self, what: str, data: bytes | memoryview) -> None:
        """Add a chunk. Raises OSError.

        `what` is the name of a program, followed by ``<`` for bytes from the server or ``>`` for bytes to the server.
        `data` must not change afterwards.
        """
        if self._remaining <= 0:
            return
        head = f"\n--- {trio.current_time() - self._started:.6f} {what} {len(data)}"
        if isinstance(data, bytes):
            if self._previous and data.startswith(self._previous):
                head += f", the first {len(self._previous)} as above"
                data = data[len(self._previous) :]
            else:
                self._previous = data if len(data) >= MIN_SHARED else b""
        else:  # the rest of a chunk that was not sent at once
            self._previous = b""
        self._remaining -= len(head) + len(data)
        self._buffered_bytes += len(head) + len(data)
        self._buffer += (f"{head}\n".encode(), data)
        if self._remaining <= 0:
            self._buffer.append(b"\n--- the rest was not kept\n")
        if self._buffered_bytes >= BUFFERED:
            self._flush()

    def _encode(self) -> bytes:
        return b"".join(self._buffer)

    def _flush(self) -> None:
        super()._flush()
        self._buffered_bytes = 0


class LoggedWire:
    """A wire whose bytes are also written to a log; what is received is also passed to `note_received`."""

    def __init__(self, wire: Wire, log: WireLog, name: str, note_received: Callable[[bytes], None]) -> None:
        self._wire = wire
        self._log = log
        self._received = f"{name} >"
        self._sent = f"{name} <"
        self._note_received = note_received

    async def receive(self) -> tuple[bytes, Arrival]:
        data, arrival = await self._wire.receive()
        self._log.write(self._received, data)
        self._note_received(data)
        return data, arrival

    def try_send(self, data: bytes | memoryview) -> int:
        count = self._wire.try_send(data)
        if count:
            self._log.write(self._sent, data if count == len(data) else memoryview(data)[:count])
        return count

    async def send_some(self, data: memoryview) -> int:
        count = await self._wire.send_some(data)
        self._log.write(self._sent, data[:count])
        return count

    async def send_eof(self) -> None:
        await self._wire.send_eof()

    def has_unread_input(self) -> bool:
        return self._wire.has_unread_input()

    def is_peer_stalled(self) -> bool:
        return self._wire.is_peer_stalled()

    def has_left(self) -> bool:
        return self._wire.has_left()

    async def aclose(self) -> None:
        await self._wire.aclose()
