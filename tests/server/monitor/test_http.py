"""Pages are answered to whoever asks properly, and whoever does not is cut off."""

from __future__ import annotations

import h11
import pytest
import trio
from trio.testing import memory_stream_pair

from spielleiter.server.monitor import http as pages
from spielleiter.server.monitor.http import AT_ONCE, TIMEOUT, Page, PageServer


def broken() -> Page:
    raise ValueError("a bug")


class Site:
    def __init__(self) -> None:
        self.bugs: list[Exception] = []
        unfit = Page(b"", "two\nlines")
        pages = {"/a": lambda: Page(b"the page\n"), "/broken": broken, "/unfit": lambda: unfit}
        self.server = PageServer(pages, self.bugs.append)

    async def hears(self, *pieces: bytes, is_left_open: bool = False) -> bytes:
        """Everything that is answered to these pieces of input."""
        near, far = memory_stream_pair()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self.server.serve, far)
            for piece in pieces:
                await near.send_all(piece)
            heard = b""
            if not is_left_open:
                await near.send_eof()
            while data := await near.receive_some():
                heard += data
            await near.aclose()
        return heard


def read(answer: bytes) -> tuple[int, bytes]:
    """Status and body, as a client of HTTP sees them."""
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
    assert read(await Site().hears(request(target))) == (200, b"the page\n")


async def test_a_request_may_come_byte_by_byte() -> None:
    assert read(await Site().hears(*(bytes([byte]) for byte in request()))) == (200, b"the page\n")


async def test_a_client_that_waits_for_our_end_hears_it(autojump_clock: object) -> None:
    assert read(await Site().hears(request(), is_left_open=True)) == (200, b"the page\n")


async def test_the_head_alone_has_the_length_and_no_body() -> None:
    answer = await Site().hears(request(method="HEAD"))
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert answer.endswith(b"content-length: 9\r\nconnection: close\r\n\r\n")


@pytest.mark.parametrize(
    ("asked", "status", "said"),
    [
        (request("/b"), 404, b"there are /a and /broken and /unfit\n"),
        (request(method="POST", more="Content-Length: 3\r\n") + b"abc", 405, b"GET or HEAD\n"),
        (b"<protocol><join/>\r\n\r\n", 400, b""),
        (request(more="X: " + "x" * 40_000 + "\r\n"), 431, b""),
        (request(more="Content-Length: -1\r\n"), 400, b"Content-Length"),
    ],
)
async def test_what_cannot_be_answered_is_told(asked: bytes, status: int, said: bytes) -> None:
    told, body = read(await Site().hears(asked))
    assert told == status
    assert said in body
    assert body.endswith(b"\n")


async def test_a_bug_is_told_to_us_and_not_to_the_world() -> None:
    site = Site()
    assert read(await site.hears(request("/broken"))) == (500, b"the server failed to answer\n")
    assert [str(bug) for bug in site.bugs] == ["a bug"]


async def test_a_page_that_cannot_be_sent_ends_one_connection() -> None:
    site = Site()
    assert await site.hears(request("/unfit")) == b""
    assert [type(bug) for bug in site.bugs] == [h11.LocalProtocolError]
    assert read(await site.hears(request())) == (200, b"the page\n")


async def test_who_says_nothing_is_answered_nothing() -> None:
    assert await Site().hears() == b""


async def test_who_is_slow_is_cut_off(autojump_clock: object) -> None:
    before = trio.current_time()
    assert await Site().hears(b"GET /a", is_left_open=True) == b""
    assert trio.current_time() - before == TIMEOUT


async def test_who_is_gone_hurts_nobody() -> None:
    near, far = memory_stream_pair()
    await near.send_all(request())
    await near.aclose()
    await Site().server.serve(far)


async def test_slow_clients_keep_nobody_from_an_answer_and_the_first_of_them_is_cut_off(
    autojump_clock: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "AT_ONCE", 2)
    assert AT_ONCE > 2
    site = Site()
    async with trio.open_nursery() as nursery:
        slow = [memory_stream_pair() for _ in range(2)]
        for _, far in slow:
            nursery.start_soon(site.server.serve, far)
            await trio.testing.wait_all_tasks_blocked()
        before = trio.current_time()
        assert read(await site.hears(request())) == (200, b"the page\n")
        assert trio.current_time() == before
        assert await slow[0][0].receive_some() == b""
        assert trio.current_time() == before
        assert await slow[1][0].receive_some() == b""  # when its time was up
        assert trio.current_time() == before + TIMEOUT
    assert site.bugs == []
    assert not site.server._served
