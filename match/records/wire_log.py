"""The bytes of a game's connections as a file.

Invariants: pieces are written in the order in which they were received and sent, each behind a line with seconds, who,
direction and length. A piece that begins with the whole piece above it, as a position for the second player does, is
written without that beginning, and its line says so. The file is bounded and says where it was cut. Writing never
changes what is received or sent, and costs next to nothing while the game is played: pieces are kept as they are and
compressed together, when the log is closed or when there are many of them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import trio

from spielleiter.match.records.buffered_file import BufferedFile
from spielleiter.server.core.clock import Arrival
from spielleiter.server.net.wire import Wire

WIRE_LOG: Final = "wire.log.gz"

WIRE_LIMIT: Final = 64 * 1024 * 1024
"""Bytes kept of a game, before they are compressed: some fifty times what a whole game needs."""

SHARED: Final = 256
"""Bytes from which on a piece is not written again where the next one begins with it."""

HELD: Final = 2 * 1024 * 1024
"""Bytes that are held before they are compressed; most games have less."""


class WireLog(BufferedFile[bytes | memoryview]):
    """Collects the bytes of all connections of a game for the file `path`, which `close` completes."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, WIRE_LIMIT)
        self._started = trio.current_time()
        self._held_bytes = 0
        self._above = b""
        """The last piece, if it is long enough to be referred to."""

    def write(self, what: str, data: bytes | memoryview) -> None:
        """Add a piece. Raises OSError.

        `what`: a name, and ``<`` for what the server sent it or ``>`` for what it sent the server. `data` must not
        change afterwards.
        """
        if self._left <= 0:
            return
        head = f"\n--- {trio.current_time() - self._started:.6f} {what} {len(data)}"
        if isinstance(data, bytes):
            if self._above and data.startswith(self._above):
                head += f", the first {len(self._above)} as above"
                data = data[len(self._above) :]
            else:
                self._above = data if len(data) >= SHARED else b""
        else:  # what did not go at once
            self._above = b""
        self._left -= len(head) + len(data)
        self._held_bytes += len(head) + len(data)
        self._held += (f"{head}\n".encode(), data)
        if self._left <= 0:
            self._held.append(b"\n--- the rest was not kept\n")
        if self._held_bytes >= HELD:
            self._flush()

    def _encode(self) -> bytes:
        return b"".join(self._held)

    def _flush(self) -> None:
        super()._flush()
        self._held_bytes = 0


class LoggedWire:
    """A wire whose bytes are written down."""

    def __init__(self, wire: Wire, log: WireLog, name: str) -> None:
        self._wire = wire
        self._log = log
        self._received = f"{name} >"
        self._sent = f"{name} <"

    async def receive(self) -> tuple[bytes, Arrival]:
        data, arrival = await self._wire.receive()
        self._log.write(self._received, data)
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

    async def aclose(self) -> None:
        await self._wire.aclose()
