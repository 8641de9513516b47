"""Serves an ASGI application over HTTP/1.1, with h11 on trio.

Invariants: at most `most_connections` connections are open. If there is one more, the oldest of the address that has
most of them is closed, so neither idle clients nor a client that opens very many can keep others out. A client that
does not read what it is sent is disconnected after `SEND_TIMEOUT` seconds, and only its own task waits for it. When a
connection is closed, by either side, the request that came over it is cancelled; when `serve` is cancelled, that is so
for all at once. An exception of the application is reported as a bug, and ends its connection only.
"""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable, Iterable, MutableMapping
from email.utils import formatdate
from typing import Any, Final
from urllib.parse import unquote

import h11
import trio

from spielleiter.server.net.sockets import accept
from spielleiter.viewer.web.answers import Application

SEND_TIMEOUT: Final = 10.0
"""Seconds within which a client must take what it was sent, or each `_SEND_SIZE` bytes of it."""
_SEND_SIZE: Final = 64 * 1024
IDLE_TIMEOUT: Final = 10.0
"""Seconds for the head of a request, the first one and any further one on the same connection."""
_LINGER: Final = 1.0
"""Seconds for a client to close its side, since one that is still sending would lose the answer otherwise."""
_HEAD_BYTES: Final = 16 * 1024
"""The maximum size of a head, and of what a client may send before its last request is answered."""
_READ_SIZE: Final = 16 * 1024
BODY_RATE: Final = 16 * 1024 * 1024
"""Bytes a second that are read of all bodies together. A flood of bodies would slow the games otherwise."""
_PARTS_AHEAD: Final = 1
"""The number of parts of a body that are read before the application asks for them."""
_SEND_BUFFER: Final = 128 * 1024
"""Bytes that the kernel may keep for a client that does not read: few, so that it gets new data when it reads again."""
_WITHOUT_BODY: Final = frozenset({204, 304})
_NOT_IMPLEMENTED: Final = 501
_VERSION_NOT_SUPPORTED: Final = 505

BugReporter = Callable[[BaseException], None]


class HttpServer:
    """Serves `app`; `report_bug` is called with unexpected exceptions."""

    def __init__(self, app: Application, report_bug: BugReporter, most_connections: int) -> None:
        self._app = app
        self._report_bug = report_bug
        self._most_connections = most_connections
        self._connections: dict[str, dict[trio.CancelScope, None]] = {}
        """The scopes of the open connections by the address of the client, the oldest first."""
        self._reading = trio.Lock()

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
                nursery.cancel_scope.cancel()

    async def _accept(self, listening: socket.socket, nursery: trio.Nursery) -> None:
        while True:
            accepted = await accept(listening)
            address = accepted.address[0]
            if self.connection_count >= self._most_connections:
                # that of the address that has most, with the one that is about to come
                most = max(self._connections, key=lambda each: len(self._connections[each]) + (each == address))
                oldest = next(iter(self._connections[most]))
                self._forget(oldest, most)
                oldest.cancel()
            scope = trio.CancelScope()
            self._connections.setdefault(address, {})[scope] = None
            nursery.start_soon(self._serve_connection, accepted.socket, address, scope)
            if not accepted.has_waited:
                await trio.lowlevel.checkpoint()  # a flood of connections must not keep the others waiting

    def _forget(self, scope: trio.CancelScope, address: str) -> None:
        scopes = self._connections.get(address, {})
        scopes.pop(scope, None)
        if not scopes:
            self._connections.pop(address, None)

    async def _serve_connection(self, sock: socket.socket, address: str, scope: trio.CancelScope) -> None:
        try:
            with scope:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BUFFER)
                stream = trio.SocketStream(trio.socket.from_stdlib_socket(sock))
                await _HttpConnection(self._app, self._report_bug, stream, scope, self._reading).run()
        except OSError:  # the client has left already
            pass
        except Exception as error:
            self._report_bug(error)
        finally:
            self._forget(scope, address)
            sock.close()


class _HttpConnection:
    """One connection; to cancel `scope` ends it, with what was asked for over it.

    All connections of a server have one lock `reading`, under which each waits for its share of `BODY_RATE`.
    """

    def __init__(
        self,
        app: Application,
        report_bug: BugReporter,
        stream: trio.SocketStream,
        scope: trio.CancelScope,
        reading: trio.Lock,
    ) -> None:
        self._app = app
        self._report_bug = report_bug
        self._stream = stream
        self._scope = scope
        self._reading = reading
        self._wire = h11.Connection(h11.SERVER, max_incomplete_event_size=_HEAD_BYTES)
        self._client: tuple[str, int] = stream.socket.getpeername()[:2]
        self._server: tuple[str, int] = stream.socket.getsockname()[:2]

    async def run(self) -> None:
        """Answer all requests. Raises OSError if the client has left."""
        while await self._serve_request():
            self._wire.start_next_cycle()
        with trio.move_on_after(_LINGER), contextlib.suppress(trio.BrokenResourceError):
            await self._stream.send_eof()
            while data := await self._receive():
                await self._wait_for_share(len(data))

    async def _serve_request(self) -> bool:
        """Answer one request; return whether another one may follow."""
        request: object = None
        with trio.move_on_after(IDLE_TIMEOUT):
            try:
                request = await self._next_event()
            except h11.RemoteProtocolError as error:
                await self._refuse(error.error_status_hint)
        if not isinstance(request, h11.Request):
            return False
        if not request.http_version.startswith(b"1."):
            await self._refuse(_VERSION_NOT_SUPPORTED)
            return False
        if request.method != request.method.upper():  # methods are case-sensitive; h11 knows no `head`
            await self._refuse(_NOT_IMPLEMENTED)
            return False
        wire = self._wire
        if wire.they_are_waiting_for_100_continue:
            await self._write(wire.send(h11.InformationalResponse(status_code=100, headers=[])))
        async with trio.open_nursery() as nursery:
            send_part, receive_part = trio.open_memory_channel[bytes](_PARTS_AHEAD)
            nursery.start_soon(self._read_body, send_part)
            await self._answer(request, receive_part)
            nursery.cancel_scope.cancel()
        with contextlib.suppress(h11.RemoteProtocolError):  # the state says so
            while wire.their_state is h11.SEND_BODY and wire.next_event() is not h11.NEED_DATA:
                pass  # a body that nobody asked for, as far as it has come
        return wire.our_state is h11.DONE and wire.their_state is h11.DONE

    async def _read_body(self, send_part: trio.MemorySendChannel[bytes]) -> None:
        """Pass on the body of a request, and end the connection when the client leaves."""
        try:
            share = 0
            while isinstance(event := await self._next_event(), h11.Data):
                await self._wait_for_share(share)
                share = len(event.data)
                await send_part.send(bytes(event.data))
            if isinstance(event, h11.EndOfMessage):
                send_part.close()
                ahead = 0
                while ahead <= _HEAD_BYTES and (data := await self._receive()):
                    self._wire.receive_data(data)  # the beginning of the next request
                    ahead += len(data)
        except h11.RemoteProtocolError as error:
            if self._wire.our_state is h11.SEND_RESPONSE:
                await self._refuse(error.error_status_hint)
        self._scope.cancel()

    async def _answer(self, request: h11.Request, receive_part: trio.MemoryReceiveChannel[bytes]) -> None:
        path, _, query = request.target.partition(b"?")
        method = request.method.decode()
        scope: dict[str, Any] = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": request.http_version.decode(),
            "method": method,
            "scheme": "http",
            "path": unquote(path.decode("latin-1")),
            "raw_path": path,
            "query_string": query,
            "root_path": "",
            "headers": list(request.headers),
            "client": self._client,
            "server": self._server,
        }
        has_body = method != "HEAD"
        is_complete = False

        async def receive() -> MutableMapping[str, Any]:
            nonlocal is_complete
            if is_complete:
                await trio.sleep_forever()  # the request is cancelled when the client leaves
            try:
                return {"type": "http.request", "body": await receive_part.receive(), "more_body": True}
            except trio.EndOfChannel:
                is_complete = True
                return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message: MutableMapping[str, Any]) -> None:
            nonlocal has_body
            if message["type"] == "http.response.start":
                has_body = has_body and message["status"] not in _WITHOUT_BODY
                headers = [*message["headers"], (b"date", formatdate(usegmt=True).encode())]
                await self._write(self._wire.send(h11.Response(status_code=message["status"], headers=headers)))
                return
            if (body := message.get("body", b"")) and has_body:
                await self._write(self._wire.send(h11.Data(data=body)))
            if not message.get("more_body", False):
                await self._write(self._wire.send(h11.EndOfMessage()))

        try:
            await self._app(scope, receive, send)
        except Exception as error:
            self._report_bug(error)
        if self._wire.our_state is h11.SEND_RESPONSE:
            await self._refuse(500)

    async def _refuse(self, status: int) -> None:
        headers = [(b"content-length", b"0"), (b"connection", b"close")]
        await self._write(self._wire.send(h11.Response(status_code=status, headers=headers)))
        await self._write(self._wire.send(h11.EndOfMessage()))

    async def _next_event(self) -> object:
        while (event := self._wire.next_event()) is h11.NEED_DATA:
            self._wire.receive_data(await self._receive())
        return event

    async def _receive(self) -> bytes:
        """Return what the client sends; nothing if it has left."""
        try:
            return bytes(await self._stream.receive_some(_READ_SIZE))
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            return b""

    async def _wait_for_share(self, size: int) -> None:
        """Wait until `size` bytes more may have been read."""
        if size:
            async with self._reading:
                await trio.sleep(size / BODY_RATE)

    async def _write(self, data: bytes | None) -> None:
        """Send bytes; if the client has left or does not read, the connection is cancelled."""
        if not data:
            return
        try:
            for start in range(0, len(data), _SEND_SIZE):
                with trio.fail_after(SEND_TIMEOUT):
                    await self._stream.send_all(memoryview(data)[start : start + _SEND_SIZE])
        except (trio.TooSlowError, trio.BrokenResourceError, trio.ClosedResourceError):
            self._scope.cancel()
            await trio.sleep_forever()
