"""One connection, served with Hypercorn's protocol code, which is limited to HTTP/1.1 here.

Hypercorn changes to HTTP/2 or to WebSocket if a client asks for it. No page does; and a connection that has changed has
no limits of time: it stays open without a request, and its streams wait for ever for a client that does not read.

Invariants: requests to change the protocol are ignored, as RFC 9110 allows. The preface of HTTP/2 is refused. When the
connection is closed, by either side, the requests that came over it are cancelled.
"""

from __future__ import annotations

from typing import Final

import h11
import trio
from hypercorn.events import Closed
from hypercorn.protocol.h11 import H11Protocol
from hypercorn.trio.task_group import TaskGroup
from hypercorn.trio.tcp_server import TCPServer
from hypercorn.typing import ConnectionState
from hypercorn.utils import parse_socket_addr

_UPGRADE: Final = b"upgrade"
_MAJOR_VERSION: Final = b"1."
_VERSION_NOT_SUPPORTED: Final = 505


class Http1Connection(TCPServer):
    """Serves HTTP/1.1 on one connection; the arguments are those of Hypercorn's `TCPServer`."""

    async def run(self) -> None:
        """Serve until the connection is closed."""
        sock = self.stream.socket
        try:
            client = parse_socket_addr(sock.family, sock.getpeername())
            server = parse_socket_addr(sock.family, sock.getsockname())
            # for clients that have left, nothing may go on: neither their number nor what they asked for is bounded
            with trio.CancelScope() as scope:
                async with TaskGroup() as self._task_group:
                    self.protocol = _Http1(  # type: ignore[assignment]
                        self.app,
                        self.config,
                        self.context,
                        self._task_group,
                        ConnectionState(self.state),
                        False,
                        client,
                        server,
                        self.protocol_send,
                    )
                    await self.idle_task.restart(self._task_group, self._idle_timeout)
                    await self._read_data()
                    scope.cancel()
        except OSError:  # the client has left already
            pass
        finally:
            await self._close()


class _Http1(H11Protocol):
    async def _check_protocol(self, event: h11.Request) -> None:
        """Do nothing: Hypercorn would change to HTTP/2 here."""

    async def _create_stream(self, request: h11.Request) -> None:
        if not request.http_version.startswith(_MAJOR_VERSION):
            await self._send_error_response(_VERSION_NOT_SUPPORTED)
            await self.send(Closed())
            return
        # Hypercorn recognises a request for WebSocket by this header
        headers = [(name, value) for name, value in request.headers if name != _UPGRADE]
        version = request.http_version
        await super()._create_stream(
            h11.Request(method=request.method, target=request.target, headers=headers, http_version=version)
        )
