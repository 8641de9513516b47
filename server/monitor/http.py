"""Serves a few pages over HTTP, for monitoring tools.

Invariants: a connection carries one request, GET or HEAD, which is answered at once. A client that is too slow or sends
too much is disconnected. If there are too many connections, the oldest one is closed, so slow clients cannot block
others. No error here affects the games.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

import h11
import trio

TIMEOUT: Final = 5.0  # seconds for a request and its response
MOST_CONNECTIONS: Final = 32  # at the same time
_REQUEST_BYTES: Final = 16 * 1024
_READ_SIZE: Final = 4096
_PLAIN: Final = "text/plain; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Page:
    """A response: its body, the content type and the status code."""

    body: bytes
    content_type: str = _PLAIN
    status: int = 200


Pages: TypeAlias = Mapping[str, Callable[[], Page]]
"""For each path, a function that makes the page without waiting."""


class PageServer:
    """Serves `pages`, a function for each path. `on_bug` is called with unexpected exceptions."""

    def __init__(self, pages: Pages, on_bug: Callable[[Exception], None]) -> None:
        self._pages = pages
        self._on_bug = on_bug
        self._served: dict[trio.CancelScope, None] = {}
        """The scope of each connection, the oldest first."""

    async def serve(self, stream: trio.abc.HalfCloseableStream) -> None:
        """Answer the request of one connection, and close it."""
        async with stream:
            if len(self._served) >= MOST_CONNECTIONS:
                first = next(iter(self._served))
                del self._served[first]
                first.cancel()
            with trio.move_on_after(TIMEOUT) as scope:
                self._served[scope] = None
                try:
                    await self._answer(stream)
                except (trio.BrokenResourceError, trio.ClosedResourceError):
                    pass  # the client has closed the connection
                except Exception as error:
                    self._on_bug(error)
                finally:
                    self._served.pop(scope, None)

    async def _answer(self, stream: trio.abc.HalfCloseableStream) -> None:
        connection = h11.Connection(h11.SERVER, max_incomplete_event_size=_REQUEST_BYTES)
        try:
            request = await _receive_request(stream, connection)
        except h11.RemoteProtocolError as error:
            page, is_body_sent = Page(f"{error}\n".encode(), status=error.error_status_hint), True
        else:
            if request is None:
                return
            page, is_body_sent = self._page(request), request.method != b"HEAD"
        headers = [
            ("content-type", page.content_type),
            ("content-length", str(len(page.body))),
            ("connection", "close"),
        ]
        if page.status == _NOT_ALLOWED:
            headers.append(("allow", "GET, HEAD"))
        answer = [connection.send(h11.Response(status_code=page.status, headers=headers))]
        if is_body_sent:
            answer.append(connection.send(h11.Data(data=page.body)))
        answer.append(connection.send(h11.EndOfMessage()))
        await stream.send_all(b"".join(part or b"" for part in answer))
        await stream.send_eof()
        while await stream.receive_some(_READ_SIZE):
            pass  # closing a socket with unread input resets the connection, and the client may lose the response

    def _page(self, request: h11.Request) -> Page:
        if request.method not in {b"GET", b"HEAD"}:
            return Page(b"GET or HEAD\n", status=_NOT_ALLOWED)
        make = self._pages.get(request.target.partition(b"?")[0].decode("latin-1"))
        if make is None:
            return Page(f"available pages: {', '.join(self._pages)}\n".encode(), status=404)
        try:
            return make()
        except Exception as error:
            self._on_bug(error)
            return Page(b"the server failed to answer\n", status=500)


_NOT_ALLOWED: Final = 405


async def _receive_request(stream: trio.abc.ReceiveStream, connection: h11.Connection) -> h11.Request | None:
    """Return the request, or None if the client sent nothing. Raises h11.RemoteProtocolError."""
    while True:
        event = connection.next_event()
        if event is h11.NEED_DATA:
            connection.receive_data(bytes(await stream.receive_some(_READ_SIZE)))
        else:
            return event if isinstance(event, h11.Request) else None
