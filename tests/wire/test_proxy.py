"""The proxy over real sockets: every byte, both ends, back pressure, traces, a server that is not there."""

from __future__ import annotations

import socket
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from random import Random

import pytest
import trio
import trio.lowlevel
from trio import SocketStream
from trio.testing import wait_all_tasks_blocked

from spielleiter.server.net.sockets import listen
from spielleiter.wire.conversation import TRACE_LIMITS
from spielleiter.wire.proxy import READ_BYTES, Proxy
from spielleiter.wire.trace_writer import Recorder
from tests.timeouts import HANG_TIMEOUT

LOOPBACK = "127.0.0.1"
MORE_THAN_KERNELS_HOLD = 64 << 20
Serve = Callable[[SocketStream], Awaitable[None]]


class Setup:
    """A proxy in front of a server whose connections run `serve`."""

    def __init__(self, proxy: Proxy, port: int, said: list[str]) -> None:
        self.proxy = proxy
        self.port = port
        self.said = said

    async def connect(self) -> SocketStream:
        return await trio.open_tcp_stream(LOOPBACK, self.port)


@asynccontextmanager
async def proxied(
    serve: Serve | None, recorder: Recorder | None = None, most_connections: int = 10
) -> AsyncIterator[Setup]:
    """Without `serve`, nobody listens where the proxy connects."""
    with trio.fail_after(HANG_TIMEOUT):
        async with trio.open_nursery() as nursery:
            if serve is None:
                (unused,) = listen(LOOPBACK, 0)
                address = unused.getsockname()[:2]
                unused.close()
            else:
                listeners = await nursery.start(partial(trio.serve_tcp, serve, 0, host=LOOPBACK))
                address = listeners[0].socket.getsockname()[:2]
            said: list[str] = []
            proxy = Proxy(address, recorder, said.append, most_connections)
            sockets = listen(LOOPBACK, 0)
            nursery.start_soon(proxy.run, sockets)
            yield Setup(proxy, sockets[0].getsockname()[1], said)
            nursery.cancel_scope.cancel()
        for sock in sockets:
            sock.close()


def text_of(folder: Path) -> str:
    """Return the only trace in `folder`."""
    (path,) = folder.iterdir()
    return path.read_text(encoding="utf-8")


async def read_all(stream: SocketStream) -> bytes:
    return b"".join([data async for data in stream])


async def echo(stream: SocketStream) -> None:
    async for data in stream:
        await stream.send_all(data)


@pytest.mark.parametrize("size", [0, 3_000_000])
async def test_every_byte_is_passed_on_in_both_directions(size: int) -> None:
    content = Random(size).randbytes(size)
    async with proxied(echo) as setup:
        received = b""

        async def receive(stream: SocketStream) -> None:
            nonlocal received
            received = await read_all(stream)

        async with await setup.connect() as stream, trio.open_nursery() as nursery:
            nursery.start_soon(receive, stream)
            await stream.send_all(content)
            await stream.send_eof()
        assert received == content
        while setup.proxy.counts.from_server != size:
            await trio.lowlevel.checkpoint()
        assert str(setup.proxy.counts) == f"1 connection, {size} bytes to the server, {size} bytes from it"


async def test_each_end_is_passed_on_by_itself() -> None:
    async def answer_at_the_end(stream: SocketStream) -> None:
        received = await read_all(stream)
        await stream.send_all(b"after the end: " + received)

    async with proxied(answer_at_the_end) as setup, await setup.connect() as stream:
        await stream.send_all(b"hello")
        await stream.send_eof()
        assert await read_all(stream) == b"after the end: hello"

    async def end_first(stream: SocketStream) -> None:
        await stream.send_eof()
        heard.append(await read_all(stream))
        has_heard.set()

    heard: list[bytes] = []
    has_heard = trio.Event()
    async with proxied(end_first) as setup, await setup.connect() as stream:
        assert await read_all(stream) == b""
        await stream.send_all(b"still here")
        await stream.send_eof()
        await has_heard.wait()
    assert heard == [b"still here"]


def reset(stream: SocketStream) -> None:
    stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


@pytest.mark.parametrize("is_client", [True, False])
async def test_a_broken_connection_is_passed_on(is_client: bool, tmp_path: Path) -> None:
    broken = trio.Event()

    async def serve(stream: SocketStream) -> None:
        await stream.send_all(b"<protocol>")
        if is_client:
            with pytest.raises(trio.BrokenResourceError):
                await stream.receive_some()
            broken.set()
        else:
            await stream.receive_some()
            reset(stream)

    recorder = Recorder(tmp_path, lambda *_: None)
    async with proxied(serve, recorder) as setup:
        stream = await setup.connect()
        await stream.receive_some()
        if is_client:
            reset(stream)
        else:
            await stream.send_all(b"<protocol>")
            with pytest.raises(trio.BrokenResourceError):
                await stream.receive_some()
            broken.set()
        await stream.aclose()
        await broken.wait()
        await wait_all_tasks_blocked()
    recorder.close()
    assert f"{'->' if is_client else '<-'}  (RST)" in text_of(tmp_path)


async def test_what_a_client_has_sent_before_it_left_arrives() -> None:
    """The server writes to a client that is gone; what that client has sent is passed on all the same."""
    heard: list[bytes] = []
    is_over = trio.Event()

    async def serve(stream: SocketStream) -> None:
        with trio.CancelScope():
            while not heard or len(heard[0]) < 100_000:
                try:
                    await stream.send_all(b"x" * 10_000)
                    data = await stream.receive_some()
                except trio.BrokenResourceError:
                    break
                if not data:
                    break
                heard[:] = [b"".join([*heard, data])]
        is_over.set()

    async with proxied(serve) as setup:
        stream = await setup.connect()
        await stream.send_all(b"y" * 5000)
        await stream.receive_some(1)
        await stream.aclose()  # with unread input: the kernel resets the connection
        await is_over.wait()
    assert heard == [b"y" * 5000]


async def test_a_slow_reader_stops_the_sender() -> None:
    """The proxy holds no more than one read of each direction; later, every byte arrives."""
    may_read = trio.Event()
    received = sent = 0

    async def serve(stream: SocketStream) -> None:
        nonlocal received
        await may_read.wait()
        received = len(await read_all(stream))

    async with proxied(serve) as setup:
        with socket.create_connection((LOOPBACK, setup.port)) as client:
            client.setblocking(False)
            refused = 0
            while refused < 3 and sent < MORE_THAN_KERNELS_HOLD:
                try:
                    sent += client.send(bytes(READ_BYTES))
                    refused = 0
                except BlockingIOError:
                    refused += 1
                    await wait_all_tasks_blocked(0.05)
            assert sent < MORE_THAN_KERNELS_HOLD
            may_read.set()
        while received < sent:
            await trio.lowlevel.checkpoint()
    assert received == sent


async def test_a_server_that_cannot_be_reached_is_one_line(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path, lambda *_: None)
    async with proxied(None, recorder) as setup, await setup.connect() as stream:
        assert await read_all(stream) == b""
        (line,) = setup.said
    recorder.close()
    assert "cannot be reached (nobody listens there); start it, or choose another with --to" in line
    assert "cannot be reached" in text_of(tmp_path)


async def test_a_server_that_does_not_answer(monkeypatch: pytest.MonkeyPatch, autojump_clock: object) -> None:
    async def hang(*_address: object) -> None:
        await trio.sleep_forever()

    async with proxied(echo) as setup:
        monkeypatch.setattr(trio, "open_tcp_stream", hang)
        with socket.create_connection((LOOPBACK, setup.port)):
            await trio.sleep(11)
    assert "cannot be reached (it does not answer within 10 s); start it" in setup.said[0]


async def test_too_many_connections_are_refused() -> None:
    async with proxied(echo, most_connections=1) as setup, await setup.connect() as first:
        await first.send_all(b"a")
        assert await first.receive_some() == b"a"
        async with await setup.connect() as second:
            assert await read_all(second) == b""
        assert [line.partition(": ")[2] for line in setup.said] == ["there are 1 connections already"]
        await first.send_all(b"b")
        assert await first.receive_some() == b"b"


async def test_the_conversation_is_recorded(tmp_path: Path) -> None:
    async def serve(stream: SocketStream) -> None:
        await stream.receive_some()
        await stream.send_all(b'<protocol>\n  <joined roomId="x"/>')
        await read_all(stream)

    recorder = Recorder(tmp_path, lambda *_: None)
    async with proxied(serve, recorder) as setup, await setup.connect() as stream:
        await stream.send_all(b"<protocol><join/>")
        await stream.receive_some()
        await stream.send_all(b'<authenticate password="geheim"/>')
        await stream.send_eof()
        await read_all(stream)
        while not setup.proxy.counts.to_server:
            await trio.lowlevel.checkpoint()
    recorder.close()
    lines = text_of(tmp_path).splitlines()
    assert [line[29:] for line in lines if not line.startswith("#")] == [
        "->  (connects)",
        "->  <protocol>",
        "->  <join/>",
        "<-  <protocol>",
        '<- |  <joined roomId="x"/>',
        '->  <authenticate password="\\*"/>',
        "->  (FIN)",
        "<-  (FIN)",
    ]


async def test_a_trace_that_is_refused_does_not_stop_a_connection(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path, lambda *_: None, replace(TRACE_LIMITS, files=0))
    async with proxied(echo, recorder) as setup, await setup.connect() as stream:
        await stream.send_all(b"a")
        assert await stream.receive_some() == b"a"
    recorder.close()
    with pytest.raises(ValueError, match="not enough values"):
        text_of(tmp_path)
