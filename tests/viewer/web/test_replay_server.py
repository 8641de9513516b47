"""The page for one replay, and the seat in a game that goes on from one of its positions."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import trio

from spielleiter.viewer.web.replay_server import serve_replay
from tests.server.serving import read_all
from tests.timeouts import HANG_TIMEOUT
from tests.viewer.web.test_replay_shelf import saved_replay


async def fetch(port: int, path: str, body: dict[str, object] | None = None) -> tuple[int, bytes]:
    data = b"" if body is None else json.dumps(body).encode()
    head = f"{'GET' if body is None else 'POST'} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n"
    head += f"Content-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n"
    async with await trio.open_tcp_stream("127.0.0.1", port) as stream:
        await stream.send_all(head.encode() + data)
        answer_head, _, answer = (await read_all(stream)).partition(b"\r\n\r\n")
    return int(answer_head.split()[1]), answer


@pytest.mark.slow
async def test_a_replay_is_shown_and_played_on(tmp_path: Path) -> None:
    replay = (await saved_replay(tmp_path)).rename(tmp_path / "mein Spiel.replay")
    addresses: list[str] = []
    with trio.fail_after(HANG_TIMEOUT):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(serve_replay, replay, addresses.append)
            while not addresses:
                await trio.lowlevel.checkpoint()
            address = urlsplit(addresses[0])
            assert address.fragment == "/replay/mein%20Spiel.replay/0"
            port = address.port or 0
            status, page = await fetch(port, "/")
            assert (status, b"<html" in page) == (200, True)
            status, game = await fetch(port, "/api/replays/mein%20Spiel.replay")
            assert (status, json.loads(game)["source"]) == (200, "mein Spiel.replay")
            wish = {"opponent": {"strategy": "first"}, "from": {"replay": replay.name, "ply": 4}}
            assert (await fetch(port, "/api/seat", wish))[0] == 200
            status, info = await fetch(port, "/api/info")
            assert json.loads(info)["hasAdmin"] is False
            nursery.cancel_scope.cancel()
