"""Server-sent events: the form of an event, and the answer that sends them to one page.

Invariants: nothing is queued for a page. Its task asks for the next frame only when the page has taken the last one, so
a page that does not read gets the newest data when it reads again, and costs nothing in between. A page that has left
is noticed at the latest with the next comment.
"""

from __future__ import annotations

from typing import Any, Final, Protocol

import msgspec
import trio
from starlette.responses import Response

from spielleiter.viewer.web.guard import Receive, Scope, Send

COMMENT_INTERVAL: Final = 15.0
"""Seconds after which an idle stream sends a comment, which keeps it open and shows whether the page is still there."""
_COMMENT: Final = b": still here\n\n"
HEADERS: Final = ((b"content-type", b"text/event-stream; charset=utf-8"), (b"cache-control", b"no-store"))


def frame(event: str, data: Any) -> bytes:
    """Return an event with `data` as JSON, which contains no line break."""
    return b"event: %b\ndata: %b\n\n" % (event.encode(), msgspec.json.encode(data))


class FrameSource(Protocol):
    """What an event stream sends."""

    async def next_frame(self) -> bytes | None:
        """Wait for something new and return the newest frame; None at the end of the stream."""
        ...

    def close(self) -> None:
        """Forget the page; called once, when the stream has ended in any way."""
        ...


class OneFrame:
    """A source of a single frame, after which the stream ends."""

    def __init__(self, data: bytes) -> None:
        self._data: bytes | None = data

    async def next_frame(self) -> bytes | None:
        data, self._data = self._data, None
        return data

    def close(self) -> None:
        """Do nothing: there is nothing to forget."""


class EventStreamResponse(Response):
    """An answer that consists of the frames of `source`, until the page leaves."""

    def __init__(self, source: FrameSource) -> None:
        super().__init__(media_type="text/event-stream")
        self._source = source

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send all frames to one page."""
        try:
            await send({"type": "http.response.start", "status": 200, "headers": list(HEADERS)})
            if scope["method"] == "HEAD":  # the toolkit answers it wherever it answers GET
                await send({"type": "http.response.body", "body": b"", "more_body": False})
                return
            async with trio.open_nursery() as nursery:
                nursery.start_soon(cancel_when_left, receive, nursery.cancel_scope)
                await self._send_frames(send)
                nursery.cancel_scope.cancel()
        finally:
            self._source.close()

    async def _send_frames(self, send: Send) -> None:
        while True:
            data: bytes | None = _COMMENT
            with trio.move_on_after(COMMENT_INTERVAL):
                data = await self._source.next_frame()
            await send({"type": "http.response.body", "body": data or b"", "more_body": data is not None})
            if data is None:
                return


async def cancel_when_left(receive: Receive, scope: trio.CancelScope) -> None:
    """Cancel `scope` when the page has left."""
    while (await receive())["type"] != "http.disconnect":
        pass
    scope.cancel()
