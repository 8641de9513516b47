"""The bytes of a game's connections as a file.

Invariants: pieces are written in the order in which they were received and sent, each behind a line with seconds, who,
direction and length. The file is bounded and says where it was cut. Writing never changes what is received or sent.
"""

from __future__ import annotations

import gzip
from typing import Final

import trio

from server.clock import Arrival
from server.wire import Wire

WIRE_LIMIT: Final = 64 * 1024 * 1024
"""Bytes kept of a game, before they are compressed: some five times what a whole game needs."""


class WireLog:
    """Writes the bytes of all connections of a game to `file`."""

    def __init__(self, file: gzip.GzipFile) -> None:
        self._file = file
        self._started = trio.current_time()
        self._left = WIRE_LIMIT

    def write(self, what: str, data: bytes | memoryview) -> None:
        """`what`: a name, and ``<`` for what the server sent it or ``>`` for what it sent the server."""
        if self._left <= 0:
            return
        self._left -= len(data)
        self._file.write(f"\n--- {trio.current_time() - self._started:.6f} {what} {len(data)}\n".encode())
        self._file.write(data)
        if self._left <= 0:
            self._file.write(b"\n--- the rest was not kept\n")


class LoggedWire:
    """A wire whose bytes are written down."""

    def __init__(self, wire: Wire, log: WireLog, name: str) -> None:
        self._wire = wire
        self._log = log
        self._name = name

    async def receive(self) -> tuple[bytes, Arrival]:
        data, arrival = await self._wire.receive()
        self._log.write(f"{self._name} >", data)
        return data, arrival

    def try_send(self, data: bytes | memoryview) -> int:
        count = self._wire.try_send(data)
        if count:
            self._log.write(f"{self._name} <", memoryview(data)[:count])
        return count

    async def send_some(self, data: memoryview) -> int:
        count = await self._wire.send_some(data)
        self._log.write(f"{self._name} <", data[:count])
        return count

    async def send_eof(self) -> None:
        await self._wire.send_eof()

    def has_unread_input(self) -> bool:
        return self._wire.has_unread_input()

    async def aclose(self) -> None:
        await self._wire.aclose()
