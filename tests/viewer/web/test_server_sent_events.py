"""Event streams: one frame after the other as the page takes them, comments while idle, and an end in any case."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from spielleiter.viewer.web.server_sent_events import COMMENT_INTERVAL, EventStreamResponse, OneFrame, frame


class Source:
    """Frames that a test puts in; None ends the stream."""

    def __init__(self) -> None:
        self.put, self._frames = trio.open_memory_channel[bytes | None](100)
        self.is_closed = False

    async def next_frame(self) -> bytes | None:
        return await self._frames.receive()

    def close(self) -> None:
        self.is_closed = True


class StreamedPage:
    """A page that takes what it is sent, unless it is told not to."""

    def __init__(self) -> None:
        self.sent: list[MutableMapping[str, Any]] = []
        self.left = trio.Event()
        self.reads = trio.Event()
        self.reads.set()

    async def receive(self) -> MutableMapping[str, Any]:
        await self.left.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: MutableMapping[str, Any]) -> None:
        await self.reads.wait()
        self.sent.append(message)

    @property
    def bodies(self) -> list[bytes]:
        return [message["body"] for message in self.sent[1:]]


def test_the_data_of_an_event_is_one_line() -> None:
    assert frame("rooms", {"a": "x\n\ndata: y\r"}) == b'event: rooms\ndata: {"a":"x\\n\\ndata: y\\r"}\n\n'


async def test_a_single_frame_ends_the_stream() -> None:
    page = StreamedPage()
    await EventStreamResponse(OneFrame(frame("gone", {})))({"method": "GET"}, page.receive, page.send)
    start = page.sent[0]
    assert (start["status"], dict(start["headers"])[b"content-type"]) == (200, b"text/event-stream; charset=utf-8")
    assert dict(start["headers"])[b"cache-control"] == b"no-store"
    assert page.bodies == [b"event: gone\ndata: {}\n\n", b""]
    assert [message["more_body"] for message in page.sent[1:]] == [True, False]


async def test_an_idle_stream_is_kept_open_by_comments(nursery: trio.Nursery, mock_clock: MockClock) -> None:
    page, source = StreamedPage(), Source()
    nursery.start_soon(EventStreamResponse(source), {"method": "GET"}, page.receive, page.send)
    for count in (1, 2):
        await wait_all_tasks_blocked()
        mock_clock.jump(COMMENT_INTERVAL)
        await wait_all_tasks_blocked()
        assert page.bodies == [b": still here\n\n"] * count
    source.put.send_nowait(b"new")
    await wait_all_tasks_blocked()
    assert page.bodies[-1] == b"new"
    source.put.send_nowait(None)
    await wait_all_tasks_blocked()
    assert page.sent[-1] == {"type": "http.response.body", "body": b"", "more_body": False}
    assert source.is_closed


@pytest.mark.parametrize("reads", [True, False])
async def test_a_page_that_leaves_ends_its_stream(reads: bool, nursery: trio.Nursery) -> None:
    page, source = StreamedPage(), Source()
    nursery.start_soon(EventStreamResponse(source), {"method": "GET"}, page.receive, page.send)
    await wait_all_tasks_blocked()
    if not reads:
        page.reads = trio.Event()
        source.put.send_nowait(b"never taken")
        await wait_all_tasks_blocked()
    page.left.set()
    await wait_all_tasks_blocked()
    assert source.is_closed
    assert page.bodies == []
