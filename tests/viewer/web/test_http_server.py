"""HTTP over real sockets: requests are answered, and clients that do not behave cost only themselves."""

from __future__ import annotations

import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
import trio
from starlette.routing import Route
from trio.testing import MockClock, wait_all_tasks_blocked

from spielleiter.viewer.web.answers import Application, EventStreamResponse, Receive, Scope, Send
from spielleiter.viewer.web.http_server import BODY_RATE, IDLE_TIMEOUT, SEND_TIMEOUT, HttpServer
from spielleiter.viewer.web.site import application
from tests.server.serving import read_all

REQUEST = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
LAST_REQUEST = b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"


async def hello(_scope: Scope, _receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"5")]})
    await send({"type": "http.response.body", "body": b"hello"})


@dataclass
class Running:
    """A server that serves an application on a real port."""

    http: HttpServer
    address: tuple[str, int]
    nursery: trio.Nursery
    bugs: list[BaseException] = field(default_factory=list)

    async def connect(self, *, receives: int | None = None, local: str | None = None) -> trio.SocketStream:
        sock = trio.socket.socket()
        if local is not None:
            await sock.bind((local, 0))
        if receives is not None:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receives)
        await sock.connect(self.address)
        return trio.SocketStream(sock)


@asynccontextmanager
async def running(app: Application, most_connections: int = 10) -> AsyncIterator[Running]:
    bugs: list[BaseException] = []
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.setblocking(False)
        http = HttpServer(app, bugs.append, most_connections)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(http.serve, [listening])
            yield Running(http, listening.getsockname(), nursery, bugs)
            nursery.cancel_scope.cancel()


async def test_several_requests_on_one_connection() -> None:
    async with running(hello) as server, await server.connect() as stream:
        for _ in range(3):
            await stream.send_all(REQUEST)
            answer = b""
            while not answer.endswith(b"hello"):
                answer += await stream.receive_some()
            assert answer.startswith(b"HTTP/1.1 200 ")
        await stream.send_all(LAST_REQUEST)
        assert (await read_all(stream)).endswith(b"hello")


@pytest.mark.parametrize(
    ("request_bytes", "status"),
    [
        (b"\x00\x01\x02\r\n\r\n", b"400"),
        (b"GET / HTTP/1.1\r\n\r\n", b"400"),  # without a host
        (b"x" * 20_000, b"431"),
        (b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", b"400"),  # not a size
        (b"head / HTTP/1.1\r\nHost: x\r\n\r\n", b"501"),  # methods are case-sensitive
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00", b"505"),
    ],
)
async def test_what_is_not_http_is_refused(request_bytes: bytes, status: bytes) -> None:
    async def reads_the_body(_scope: Scope, receive: Receive, _send: Send) -> None:
        while (await receive())["more_body"]:
            pass

    async with running(reads_the_body) as server, await server.connect() as stream:
        await stream.send_all(request_bytes)
        assert (await read_all(stream)).startswith(b"HTTP/1.1 %b " % status)
        assert server.bugs == []


async def test_a_client_that_leaves_in_its_body_ends_its_stream() -> None:
    is_open, is_closed = trio.Event(), trio.Event()

    async def write(send_frame: Callable[[bytes], Awaitable[None]]) -> None:
        await send_frame(b": here\n\n")
        is_open.set()
        await trio.sleep_forever()

    async with running(EventStreamResponse(write, is_closed.set)) as server:
        async with await server.connect() as stream:
            await stream.send_all(b"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n" + b"x" * 70_000)
            await is_open.wait()
        await is_closed.wait()
        assert server.bugs == []


async def broken(*_arguments: object) -> Any:
    raise ValueError("a secret")


@pytest.mark.parametrize("app", [broken, application([Route("/", broken)])], ids=["alone", "with error pages"])
async def test_a_bug_of_the_application_is_reported_and_ends_one_connection(app: Application) -> None:
    async with running(app) as server:
        for _ in range(2):
            async with await server.connect() as stream:
                await stream.send_all(LAST_REQUEST)
                answer = await read_all(stream)
                assert answer.startswith(b"HTTP/1.1 500 ")
                assert b"secret" not in answer
        assert [str(bug) for bug in server.bugs] == ["a secret"] * 2


async def test_the_oldest_connection_is_closed_if_there_are_too_many() -> None:
    async with running(hello, most_connections=2) as server:
        first, second, third = [await server.connect() for _ in range(3)]
        assert await read_all(first) == b""
        for stream in (second, third):
            await stream.send_all(LAST_REQUEST)
            assert (await read_all(stream)).endswith(b"hello")
        assert server.http.connection_count <= 2
        for stream in (first, second, third):
            await stream.aclose()


@pytest.mark.skipif(sys.platform == "darwin", reason="macOS has only one address of loopback")
async def test_a_client_with_very_many_connections_closes_its_own_ones() -> None:
    async with running(hello, most_connections=10) as server:
        honest = [await server.connect() for _ in range(3)]
        flood = [await server.connect(local="127.0.0.2") for _ in range(40)]
        honest += [await server.connect() for _ in range(2)]
        for stream in honest:
            await stream.send_all(LAST_REQUEST)
            assert (await read_all(stream)).endswith(b"hello")
        for stream in flood[:35]:
            assert await read_all(stream) == b""
        for stream in (*honest, *flood):
            await stream.aclose()


async def test_a_client_that_sends_no_request_is_disconnected(mock_clock: MockClock) -> None:
    async with running(hello) as server, await server.connect() as stream:
        await stream.send_all(b"GET / HTTP/1.1\r\n")
        while not server.http.connection_count:
            await trio.lowlevel.checkpoint()
        await wait_all_tasks_blocked(0.01)
        mock_clock.jump(IDLE_TIMEOUT + 1)
        assert await read_all(stream) == b""


async def test_a_client_that_does_not_read_waits_alone_and_is_disconnected(mock_clock: MockClock) -> None:
    ended = 0

    async def endless(_scope: Scope, _receive: Receive, send: Send) -> None:
        nonlocal ended
        try:
            await send({"type": "http.response.start", "status": 200, "headers": []})
            while True:
                await send({"type": "http.response.body", "body": b"x" * 65536, "more_body": True})
        finally:
            ended += 1

    async with running(endless) as server, await server.connect(receives=4096) as stream:
        await stream.send_all(REQUEST)
        while not server.http.connection_count:
            await trio.lowlevel.checkpoint()
        await wait_all_tasks_blocked(0.05)
        assert ended == 0
        mock_clock.jump(SEND_TIMEOUT + 1)
        while not ended:
            await trio.lowlevel.checkpoint()
        assert server.bugs == []
        other = await server.connect(receives=4096)
        await other.send_all(REQUEST)
        await wait_all_tasks_blocked(0.05)
        server.nursery.cancel_scope.cancel()
    # with a clock that stands still, this is reached only if stopping waited for no time limit
    assert ended == 2
    await other.aclose()


@pytest.mark.parametrize("is_refused", [False, True])
async def test_all_bodies_together_are_read_at_a_limited_rate(is_refused: bool, mock_clock: MockClock) -> None:
    """Those of requests that are refused as well, whose rest is read so that the client gets the answer."""
    size, clients, step = 512 * 1024, 4, 0.001

    async def read(scope: Scope, receive: Receive, send: Send) -> None:
        while not is_refused and (await receive())["more_body"]:
            pass
        await hello(scope, receive, send)

    async def post() -> None:
        async with await server.connect() as stream:
            await stream.send_all(b"POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n")
            await stream.send_all(b"Content-Length: %d\r\n\r\n" % size + bytes(size))
            assert (await read_all(stream)).endswith(b"hello")

    async with running(read) as server, trio.open_nursery() as nursery:
        for _ in range(clients):
            nursery.start_soon(post)
        while nursery.child_tasks:
            await wait_all_tasks_blocked()
            mock_clock.jump(step)
    assert trio.current_time() > 0.5 * clients * size / BODY_RATE


async def test_a_client_with_a_slow_line_gets_a_whole_file(mock_clock: MockClock) -> None:
    async def file(_scope: Scope, _receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"x" * 2_000_000})

    async with running(file) as server, await server.connect(receives=4096) as stream:
        await stream.send_all(LAST_REQUEST)
        received = since_pause = 0
        while data := await stream.receive_some():
            received += len(data)
            since_pause += len(data)
            if since_pause > 200_000:
                await wait_all_tasks_blocked(0.01)
                mock_clock.jump(SEND_TIMEOUT / 2)
                since_pause = 0
        assert received > 2_000_000


_HEAD = b"GET / HTTP/1.1\r\nHost: x\r\n"
_KEY = b"dGhlIHNhbXBsZSBub25jZQ=="
_UPGRADES = [
    b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQCAAAAAAIAAAAA\r\n\r\n",
    b"Connection: Upgrade\r\nUpgrade: WebSocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: %b\r\n\r\n" % _KEY,
]


@pytest.mark.parametrize("upgrade", _UPGRADES)
async def test_a_request_for_another_protocol_is_answered_in_this_one(upgrade: bytes, mock_clock: MockClock) -> None:
    async with running(hello) as server, await server.connect() as stream:
        await stream.send_all(_HEAD + upgrade)
        answer = b""
        while not answer.endswith(b"hello"):
            answer += (part := await stream.receive_some())
            assert part, answer
        assert answer.startswith(b"HTTP/1.1 200 ")
        await wait_all_tasks_blocked(0.01)
        mock_clock.jump(IDLE_TIMEOUT + 1)
        assert await read_all(stream) == b""
        assert server.bugs == []
