"""Clients that ask for another protocol are answered in HTTP/1.1, and have its time limits."""

from __future__ import annotations

import pytest
from trio.testing import MockClock, wait_all_tasks_blocked

from spielleiter.viewer.web.http_server import IDLE_TIMEOUT
from tests.server.serving import read_all
from tests.viewer.web.test_http_server import hello, running

_HEAD = b"GET / HTTP/1.1\r\nHost: x\r\n"
_KEY = b"dGhlIHNhbXBsZSBub25jZQ=="
_UPGRADES = [
    b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQCAAAAAAIAAAAA\r\n\r\n",
    b"Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
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


async def test_http_2_is_refused() -> None:
    async with running(hello) as server, await server.connect() as stream:
        await stream.send_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00")
        assert (await read_all(stream)).startswith(b"HTTP/1.1 505 ")
        assert server.bugs == []
