"""Wires for tests: one on memory streams, and one whose peer takes as much as the test says."""

from __future__ import annotations

import math

import trio

from spielleiter.server.core.clock import Arrival
from spielleiter.server.net.wire import RECEIVE_BYTES


class StreamWire:
    """A wire on a trio stream. It never takes bytes without waiting, and does not see unread input."""

    def __init__(self, stream: trio.abc.HalfCloseableStream) -> None:
        self._stream = stream

    async def receive(self) -> tuple[bytes, Arrival]:
        data = await self._stream.receive_some(RECEIVE_BYTES)
        return bytes(data), Arrival(trio.current_time())

    def try_send(self, _data: bytes | memoryview) -> int:
        return 0

    async def send_some(self, data: memoryview) -> int:
        await self._stream.send_all(data)
        return len(data)

    async def send_eof(self) -> None:
        await self._stream.send_eof()

    def has_unread_input(self) -> bool:
        return False

    def is_peer_stalled(self) -> bool:
        return False

    def has_left(self) -> bool:
        return False

    async def aclose(self) -> None:
        await self._stream.aclose()


class ThrottledWire:
    """A wire that takes `capacity` bytes at once, and more when `take` makes room; `feed` sends what the peer sends."""

    def __init__(self, capacity: float = math.inf) -> None:
        self.capacity = capacity
        self.taken = bytearray()
        self.writes: list[bytes] = []
        self.is_eof_sent = False
        self._is_closed = False
        self.is_broken = False
        self.is_stalled = False
        """Whether the peer's window is closed, as far as the wire can tell."""
        self.unread = 0
        self.feed, self._incoming = trio.testing.memory_stream_one_way_pair()
        self._has_room = trio.Event()

    def take(self, size: float) -> None:
        self.capacity += size
        self._has_room.set()

    def break_off(self) -> None:
        self.is_broken = True
        self._has_room.set()

    async def receive(self) -> tuple[bytes, Arrival]:
        data = await self._incoming.receive_some()
        return bytes(data), Arrival(trio.current_time())

    def try_send(self, data: bytes | memoryview) -> int:
        if self.is_broken:
            raise trio.BrokenResourceError("broken off")
        size = int(min(len(data), self.capacity))
        self.capacity -= size
        if size:
            self.writes.append(bytes(data[:size]))
        self.taken += data[:size]
        return size

    async def send_some(self, data: memoryview) -> int:
        while not (sent := self.try_send(data)):
            self._has_room = trio.Event()
            await self._has_room.wait()
        return sent

    async def send_eof(self) -> None:
        self.is_eof_sent = True

    def has_unread_input(self) -> bool:
        return self.unread > 0

    def is_peer_stalled(self) -> bool:
        return self.is_stalled

    def has_left(self) -> bool:
        return self.is_broken

    async def aclose(self) -> None:
        self._is_closed = True

    def has_closed(self) -> bool:
        return self._is_closed
