"""Serves an ASGI application over HTTP/1.1, with Hypercorn's protocol code on trio.

Hypercorn's own worker has neither a limit of connections nor one for clients that do not read, so this module accepts
the connections and passes each of them to `Http1Connection`.

Invariants: at most `most_connections` connections are open. If there is one more, the oldest of the address that has
most of them is closed, so neither idle clients nor a client that opens very many can keep others out. A client that
does not read what it is sent is disconnected after `SEND_TIMEOUT` seconds, and only its own task waits for it. When
`serve` is cancelled, every connection is closed at once. An exception of the application or of a connection is reported
as a bug, and ends that connection only.
"""

from __future__ import annotations

import contextlib
import logging
import socket
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Final

import trio
from hypercorn.app_wrappers import ASGIWrapper
from hypercorn.config import Config
from hypercorn.trio.worker_context import WorkerContext
from hypercorn.typing import ConnectionState

from spielleiter.server.net.sockets import accept
from spielleiter.viewer.web.http1_connection import Http1Connection

SEND_TIMEOUT: Final = 10.0
"""Seconds within which a client must take what it was sent."""
IDLE_TIMEOUT: Final = 10.0
"""Seconds for the head of a request, the first one and any further one on the same connection."""
_HEAD_BYTES: Final = 16 * 1024
_SEND_BUFFER: Final = 128 * 1024
"""Bytes that the kernel may keep for a client that does not read: few, so that it gets new data when it reads again."""

BugReporter = Callable[[BaseException], None]
Application = Callable[[Any, Any, Any], Awaitable[None]]
"""An ASGI application: it is called with the scope, `receive` and `send`."""


class HttpServer:
    """Serves `app`; `report_bug` is called with unexpected exceptions."""

    def __init__(self, app: Application, report_bug: BugReporter, most_connections: int) -> None:
        self._app = ASGIWrapper(app)
        self._report_bug = report_bug
        self._most_connections = most_connections
        self._config = _hypercorn_config(report_bug)
        self._connections: dict[str, dict[_BoundedStream, None]] = {}
        """The open connections by the address of the client, the oldest first."""

    @property
    def connection_count(self) -> int:
        return sum(map(len, self._connections.values()))

    async def serve(self, sockets: Iterable[socket.socket]) -> None:
        """Serve on the listening `sockets` until cancelled. Raises OSError if a listening socket fails."""
        async with trio.open_nursery() as nursery:
            try:
                async with trio.open_nursery() as acceptors:
                    for sock in sockets:
                        acceptors.start_soon(self._accept, sock, nursery)
            finally:
                for stream in [stream for streams in self._connections.values() for stream in streams]:
                    stream.close_now()  # also ends what Hypercorn shields from cancellation
                nursery.cancel_scope.cancel()

    async def _accept(self, listening: socket.socket, nursery: trio.Nursery) -> None:
        while True:
            accepted = await accept(listening)
            address = accepted.address[0]
            if self.connection_count >= self._most_connections:
                self._close_oldest(address)
            try:
                accepted.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BUFFER)
                stream = _BoundedStream(trio.SocketStream(trio.socket.from_stdlib_socket(accepted.socket)))
            except OSError:  # the client has left already
                accepted.socket.close()
            else:
                self._connections.setdefault(address, {})[stream] = None
                nursery.start_soon(self._serve_connection, stream, address)
            if not accepted.has_waited:
                await trio.lowlevel.checkpoint()  # a flood of connections must not keep the others waiting

    def _close_oldest(self, newcomer: str) -> None:
        """Close the oldest connection of the address that has most, with one more that is about to come."""
        address = max(self._connections, key=lambda each: len(self._connections[each]) + (each == newcomer))
        oldest = next(iter(self._connections[address]))
        self._forget(oldest, address)
        oldest.close_now()

    def _forget(self, stream: _BoundedStream, address: str) -> None:
        streams = self._connections.get(address, {})
        streams.pop(stream, None)
        if not streams:
            self._connections.pop(address, None)

    async def _serve_connection(self, stream: _BoundedStream, address: str) -> None:
        context = WorkerContext(None)
        try:
            with contextlib.suppress(trio.ClosedResourceError, trio.BrokenResourceError):
                await Http1Connection(self._app, self._config, context, ConnectionState({}), stream).run()  # type: ignore[arg-type]
        except Exception as error:
            self._report_bug(error)
        finally:
            self._forget(stream, address)
            stream.close_now()


class _BoundedStream(trio.abc.HalfCloseableStream):
    """A connection on which sending has a time limit. `socket` is what Hypercorn asks for the addresses.

    Closing does not wait, so it cannot be cancelled halfway: Hypercorn closes in the task of the application, which may
    be cancelled at that moment because the request is over.
    """

    def __init__(self, stream: trio.SocketStream) -> None:
        self._stream = stream
        self.socket = stream.socket

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        with trio.move_on_after(SEND_TIMEOUT) as scope:
            await self._stream.send_all(data)
        if scope.cancelled_caught:
            self.close_now()
            raise trio.BrokenResourceError("the client does not read")

    async def wait_send_all_might_not_block(self) -> None:
        await self._stream.wait_send_all_might_not_block()

    async def send_eof(self) -> None:
        try:
            self.socket.shutdown(trio.socket.SHUT_WR)
        except OSError as error:
            raise trio.BrokenResourceError(str(error)) from None

    async def receive_some(self, max_bytes: int | None = None) -> bytes | bytearray:
        return await self._stream.receive_some(max_bytes)

    async def aclose(self) -> None:
        self.close_now()

    def close_now(self) -> None:
        """Close the connection without waiting; tasks that use it get trio.ClosedResourceError."""
        self.socket.close()


class _BugHandler(logging.Handler):
    """Passes what Hypercorn logs about exceptions of the application to `report_bug`."""

    def __init__(self, report_bug: BugReporter) -> None:
        super().__init__(logging.ERROR)
        self._report_bug = report_bug

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info and record.exc_info[1] is not None:
            self._report_bug(record.exc_info[1])


def _hypercorn_config(report_bug: BugReporter) -> Config:
    logger = logging.Logger("hypercorn", logging.ERROR)  # noqa: LOG001 - not shared with other servers in this process
    logger.addHandler(_BugHandler(report_bug))
    config = Config()
    config.errorlog = logger
    config.accesslog = None
    config.include_server_header = False
    config.keep_alive_timeout = IDLE_TIMEOUT
    config.h11_max_incomplete_size = _HEAD_BYTES
    return config
