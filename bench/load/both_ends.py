"""Both ends of many connections through a relay: what each end sends, and what arrives at the other one.

Invariants: every connection carries the bytes of a whole scripted game in both directions at the same time, and each
direction ends with the end of its stream. The bytes are compared, so those that are altered count as lost, and those
beyond the end of what was sent count as added.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import Final

import trio

from spielleiter.bench.load.scripts import Load
from spielleiter.bench.subject import BenchError
from spielleiter.common.errors import first_error

RECEIVE_BYTES: Final = 65536
TIMEOUT: Final = 60.0
"""Seconds within which everything must have arrived."""


@dataclass
class Carried:
    """The bytes that were sent at both ends, those that arrived at the other one as they were sent, and others."""

    sent: int = 0
    arrived: int = 0
    added: int = 0

    @property
    def lost(self) -> int:
        return self.sent - self.arrived


async def carry(listener: trio.SocketListener, port: int, load: Load, connections: int) -> Carried:
    """Send games through the relay at `port`, which passes connections on to `listener`. Raises BenchError."""
    carried = Carried()
    scripts = load.scripts
    try:
        with trio.fail_after(TIMEOUT):
            async with contextlib.AsyncExitStack() as streams, trio.open_nursery() as nursery:
                for number in range(connections):  # one after another, so that the ends of a connection are known
                    client = await trio.open_tcp_stream("127.0.0.1", port)
                    server = await listener.accept()
                    for stream in (client, server):
                        await streams.enter_async_context(stream)
                    script = scripts[number % len(scripts)]
                    for source, target, packets in (
                        (client, server, script.packets),
                        (server, client, script.mementos),
                    ):
                        content = b"%d:" % number + b"".join(packets)
                        nursery.start_soon(_send_and_compare, carried, source, target, content)
    except* (OSError, trio.BrokenResourceError, trio.TooSlowError) as errors:
        raise BenchError(f"the relay does not carry everything ({first_error(errors)!r})") from None
    return carried


async def _send_and_compare(
    carried: Carried, source: trio.SocketStream, target: trio.SocketStream, content: bytes
) -> None:
    """Send `content` from one end and count what arrives at the other one."""

    async def send() -> None:
        await source.send_all(content)
        await source.send_eof()

    carried.sent += len(content)
    position = 0
    async with trio.open_nursery() as nursery:
        nursery.start_soon(send)
        while data := await target.receive_some(RECEIVE_BYTES):
            expected = data[: max(0, len(content) - position)]
            if content.startswith(expected, position):
                carried.arrived += len(expected)
            carried.added += len(data) - len(expected)
            position += len(data)
