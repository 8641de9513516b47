"""A wire that records what goes over it.

Invariants: the session sees no difference. Bytes are recorded with the instant at which they arrived at this machine,
or were handed to the kernel.
"""

from __future__ import annotations

import trio

from spielleiter.server.core.clock import Arrival
from spielleiter.server.net.wire import Wire
from spielleiter.server.trace.form import FROM_SERVER, TO_SERVER
from spielleiter.server.trace.recorder import Trace


class TracedWire:
    """A `Wire` that passes everything on to `wire` and records it in `trace`."""

    def __init__(self, wire: Wire, trace: Trace) -> None:
        self._wire = wire
        self._trace = trace

    async def receive(self) -> tuple[bytes, Arrival]:
        try:
            data, arrival = await self._wire.receive()
        except trio.BrokenResourceError:
            self._trace.reset(TO_SERVER, trio.current_time())
            raise
        self._trace.add(TO_SERVER, arrival.instant, data)
        return data, arrival

    def try_send(self, data: bytes | memoryview) -> int:
        return self._sent(data, self._wire.try_send(data))

    async def send_some(self, data: memoryview) -> int:
        return self._sent(data, await self._wire.send_some(data))

    def _sent(self, data: bytes | memoryview, size: int) -> int:
        if size:
            self._trace.add(FROM_SERVER, trio.current_time(), bytes(data[:size]))
        return size

    async def send_eof(self) -> None:
        await self._wire.send_eof()
        self._trace.add(FROM_SERVER, trio.current_time(), b"")

    def has_unread_input(self) -> bool:
        return self._wire.has_unread_input()

    def is_peer_stalled(self) -> bool:
        return self._wire.is_peer_stalled()

    def has_left(self) -> bool:
        return self._wire.has_left()

    async def aclose(self) -> None:
        self._trace.close(trio.current_time())
        await self._wire.aclose()
