"""The queue of packets for one peer, and the only writer of its stream.

Invariants: packets go out whole and in order, each in one system call if the kernel takes it at once. Senders never
wait for a slow receiver: what it has not taken is queued up to a bound. A receiver that exceeds the bound, or that
takes nothing within a time limit, is dropped. After the end of the stream nothing more is queued. A packet counts as
sent when the kernel takes its last byte, or when it is queued, if the kernel does not take it because the receiver does
not read: not reading gains no time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Final

import trio
from msgspec import Struct

from spielleiter.protocol.connection import Connection
from spielleiter.server.core.room import SentCallback
from spielleiter.server.net.wire import Wire

OUTBOX_BYTES: Final = "outbox_bytes"
OUTBOX_TIMEOUT: Final = "outbox_timeout"


class WriteFailure(Struct, frozen=True):
    """The reason why a peer cannot be written to.

    `bound` is the setting whose limit the peer has exceeded; None: the connection is lost.
    """

    why: str
    bound: str | None = None


class Outbox:
    """The queue of one connection (a `Sink`), with the task that empties it (`run`).

    `max_bytes` bounds the queue; `progress_timeout` is the time in seconds within which the peer must take something.
    `on_ended` is called once, when our stream has ended.
    """

    def __init__(
        self,
        wire: Wire,
        connection: Connection,
        *,
        max_bytes: int,
        progress_timeout: float,
        on_ended: Callable[[], None],
    ) -> None:
        self._wire = wire
        self._connection = connection
        self._max_bytes = max_bytes
        self._progress_timeout = progress_timeout
        self._on_ended = on_ended
        self._now = trio.lowlevel.current_clock().current_time  # half the cost of trio.current_time
        self._queue: deque[tuple[bytes, SentCallback | None]] = deque()
        self._wake = trio.Event()
        self._writing = trio.CancelScope()
        self._failure: WriteFailure | None = None
        self.queued_bytes = 0
        self.is_ended = False
        self.holds_input = False
        """Set by the reader while packets that it has read have not been handled."""

    # -- Sink -------------------------------------------------------------------------------------------------------

    def send_nowait(self, packet: bytes, on_sent: SentCallback | None = None) -> None:
        if not self.is_ended:
            self._put(self._connection.send_encoded(packet), on_sent)

    def end_nowait(self, *, with_end_tag: bool = True) -> None:
        if self.is_ended:
            return
        if with_end_tag:
            self._put(self._connection.close(), None)
        self.is_ended = True
        self._wake.set()
        self._on_ended()

    def has_unread_input(self) -> bool:
        return self.holds_input or self._wire.has_unread_input()

    def _put(self, data: bytes, on_sent: SentCallback | None) -> None:
        if self._failure is not None:
            return
        # taken before the call: the peer may have read the packet, and answered it, before the call returns
        now = self._now() if on_sent is not None else 0.0
        if not self._queue:  # the kernel may take it at once, without a turn of the event loop
            try:
                sent = self._wire.try_send(data)
            except trio.BrokenResourceError as error:
                self._fail(f"connection lost: {error}")
                return
            if sent == len(data):
                if on_sent is not None:
                    on_sent(now)
                return
            data = data[sent:]
        if on_sent is not None and self._wire.is_peer_stalled():
            on_sent(now)
            on_sent = None
        self._queue.append((data, on_sent))
        self.queued_bytes += len(data)
        if self.queued_bytes > self._max_bytes:
            self._fail(f"more than {self._max_bytes} bytes not taken", OUTBOX_BYTES)
        self._wake.set()

    def _fail(self, why: str, bound: str | None = None) -> None:
        """Record the failure, which `run` returns, so that no callback interrupts a decision."""
        if self._failure is None:
            self._failure = WriteFailure(why, bound)
        self._writing.cancel()
        self._wake.set()

    # -- the writer's task ------------------------------------------------------------------------------------------

    async def run(self) -> WriteFailure | None:
        """Write until the stream has ended and the queue is empty; return the failure that prevented this, if any."""
        while self._failure is None:
            if self._queue:
                await self._write_one()
            elif self.is_ended:
                await self._wire.send_eof()
                return None
            else:
                self._wake = trio.Event()
                await self._wake.wait()
        return self._failure

    async def _write_one(self) -> None:
        data, on_sent = self._queue[0]
        rest = memoryview(data)
        try:
            with trio.CancelScope() as self._writing:
                while rest:
                    self._writing.deadline = trio.current_time() + self._progress_timeout
                    rest = rest[await self._wire.send_some(rest) :]
        except (trio.BrokenResourceError, trio.ClosedResourceError) as error:
            self._fail(f"connection lost: {error}")
        if rest:
            self._fail(f"nothing taken for {self._progress_timeout:g} s", OUTBOX_TIMEOUT)
        elif self._failure is None:
            self._queue.popleft()
            self.queued_bytes -= len(data)
            if on_sent is not None:
                on_sent(trio.current_time())
