"""Correct requests are answered, and other clients are disconnected."""

from __future__ import annotations

import h11
import pytest
import trio
from trio.testing import memory_stream_pair

from spielleiter.server.monitor import http as pages
from spielleiter.server.monitor.http import MOST_CONNECTIONS, TIMEOUT, Page, PageServer


def broken() -> Page:
    raise ValueError("a bug")


class Site:
    def __init__(self) -> None:
        self.bugs: list[Exception] = []
        unfit = Page(b"", "two\nlines")
        pages = {"/a": lambda: Page(b"the page\n"), "/broken": broken, "/unfit": lambda: unfit}
        self.server = PageServer(pages, self.bugs.append)

    async def answer_to(self, *pieces: bytes, is_left_open: bool = False) -> bytes:
        """All bytes of the response to these pieces of input."""
        near, far = memory_stream_pair()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self.server.serve, far)
            for piece in pieces:
                await near.send_all(piece)
            received = b""
            if not is_left_open:
                await near.send_eof()
            while data := await near.receive_some():
                received += data
            await near.aclose()
        return received


def read(answer: bytes) -> tuple[int, bytes]:
    """Return the status and the body of a response, parsed by an HTTP client."""
    client = h11.Connection(h11.CLIENT)
    client.send(h11.Request(method="GET", target="/", headers=[("host", "x")]))
    client.send(h11.EndOfMessage())
    client.receive_data(answer)
    client.receive_data(b"")
    body, status = b"", 0
    while True:
        event = client.next_event()
        if isinstance(event, h11.Response):
            status = event.status_code
        elif isinstance(event, h11.Data):
            body += bytes(event.data)
        elif isinstance(event, h11.EndOfMessage):
            return status, body


def request(target: str = "/a", method: str = "GET", more: str = "") -> bytes:
    return f"{method} {target} HTTP/1.1\r\nHost: here\r\n{more}\r\n".encode()


@pytest.mark.parametrize("target", ["/a", "/a?x=1"])
async def test_a_page_is_answered(target: str) -> None:
    assert read(await Site().answer_to(request(target))) == (200, b"the page\n")


async def test_a_request_may_come_byte_by_byte() -> None:
    assert read(await Site().answer_to(*(bytes([byte]) for byte in request()))) == (200, b"the page\n")


async def test_a_client_that_keeps_its_side_open_is_answered(autojump_clock: object) -> None:
    assert read(await Site().answer_to(request(), is_left_open=True)) == (200, b"the page\n")


async def test_a_head_request_is_answered_without_a_body() -> None:
    answer = await Site().answer_to(request(method="HEAD"))
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert answer.endswith(b"content-length: 9\r\nconnection: close\r\n\r\n")


@pytest.mark.parametrize(
    ("sent", "status", "message"),
    [
        (request("/b"), 404, b"available pages: /a, /broken, /unfit\n"),
        (request(method="POST", more="Content-Length: 3\r\n") + b"abc", 405, b"GET or HEAD\n"),
        (b"<protocol><join/>\r\n\r\n", 400, b""),
        (request(more="X: " + "x" * 40_000 + "\r\n"), 431, b""),
        (request(more="Content-Length: -1\r\n"), 400, b"Content-Length"),
    ],
)
async def test_a_wrong_request_is_answered_with_an_error(sent: bytes, status: int, message: bytes) -> None:
    code, body = read(await Site().answer_to(sent))
    assert code == status
    assert message in body
    assert body.endswith(b"\n")


async def test_a_bug_is_reported_but_not_shown_to_the_client() -> None:
    site = Site()
    assert read(await site.answer_to(request("/broken"))) == (500, b"the server failed to answer\n")
    assert [str(bug) for bug in site.bugs] == ["a bug"]


async def test_a_page_that_cannot_be_sent_ends_only_its_connection() -> None:
    site = Site()
    assert await site.answer_to(request("/unfit")) == b""
    assert [type(bug) for bug in site.bugs] == [h11.LocalProtocolError]
    assert read(await site.answer_to(request())) == (200, b"the page\n")


async def test_a_client_that_sends_nothing_gets_no_response() -> None:
    assert await Site().answer_to() == b""


async def test_a_slow_client_is_disconnected(autojump_clock: object) -> None:
    before = trio.current_time()
    assert await Site().answer_to(b"GET /a", is_left_open=True) == b""
    assert trio.current_time() - before == TIMEOUT


async def test_a_client_that_has_gone_is_no_error() -> None:
    near, far = memory_stream_pair()
    await near.send_all(request())
    await near.aclose()
    await Site().server.serve(far)


async def test_the_oldest_connection_is_closed_if_there_are_too_many(
    autojump_clock: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "MOST_CONNECTIONS", 2)
    assert MOST_CONNECTIONS > 2
    site = Site()
    async with trio.open_nursery() as nursery:
        slow = [memory_stream_pair() for _ in range(2)]
        for _, far in slow:
            nursery.start_soon(site.server.serve, far)
            await trio.testing.wait_all_tasks_blocked()
        before = trio.current_time()
        assert read(await site.answer_to(request())) == (200, b"the page\n")
        assert trio.current_time() == before
        assert await slow[0][0].receive_some() == b""
        assert trio.current_time() == before
        assert await slow[1][0].receive_some() == b""  # after the timeout
        assert trio.current_time() == before + TIMEOUT
    assert site.bugs == []
    assert not site.server._served
