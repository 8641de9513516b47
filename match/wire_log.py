"""The bytes of a game's connections as a file.

Invariants: pieces are written in the order in which they were received and sent, each behind a line with seconds, who,
direction and length. The file is bounded and says where it was cut. Writing never changes what is received or sent, and
costs next to nothing while the game is played: pieces are kept as they are and compressed together, when the log is
closed or when there are many of them.
"""

from __future__ import annotations

import gzip
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import trio

from server.clock import Arrival
from server.wire import Wire

WIRE_LOG: Final = "wire.log.gz"

WIRE_LIMIT: Final = 64 * 1024 * 1024
"""Bytes kept of a game, before they are compressed: some fifty times what a whole game needs."""

HELD: Final = 2 * 1024 * 1024
"""Bytes that are held before they are compressed; most games have less."""

LEVEL: Final = 6
"""Of compression: half the time and less than a tenth more bytes than the best."""


class WireLog:
    """Collects the bytes of all connections of a game for the file `path`, which `close` completes."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._started = trio.current_time()
        self._left = WIRE_LIMIT
        self._pieces: list[bytes | memoryview] = []
        self._held = 0
        self._file: gzip.GzipFile | None = None

    def write(self, what: str, data: bytes | memoryview) -> None:
        """Add a piece. Raises OSError.

        `what`: a name, and ``<`` for what the server sent it or ``>`` for what it sent the server. `data` must not
        change afterwards.
        """
        if self._left <= 0:
            return
        self._left -= len(data)
        self._held += len(data)
        self._pieces += (f"\n--- {trio.current_time() - self._started:.6f} {what} {len(data)}\n".encode(), data)
        if self._left <= 0:
            self._pieces.append(b"\n--- the rest was not kept\n")
        if self._held >= HELD:
            self._flush()

    def close(self) -> None:
        """Write what is held, and end the file. Takes some milliseconds, so it may be called in a thread.

        Raises OSError.
        """
        try:
            self._flush()
        finally:
            self.discard()

    def discard(self) -> None:
        """Forget what is held; a file that was begun stays as it is."""
        self._pieces.clear()
        self._left = 0
        if self._file is not None:
            self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self.close()

    def _flush(self) -> None:
        if self._file is None:
            self._file = gzip.open(self._path, "wb", LEVEL)  # noqa: SIM115 - closed by `discard`
        self._file.write(b"".join(self._pieces))
        self._pieces.clear()
        self._held = 0


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
