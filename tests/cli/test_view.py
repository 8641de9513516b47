"""`spielleiter view`: the pages for a server that runs elsewhere, ours or one that has no feed."""

from __future__ import annotations

import json
import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import pytest
import trio

from spielleiter.protocol.messages import Memento, RoomMessage
from spielleiter.server.editions import EDITIONS
from spielleiter.viewer.web.companion import serve_view
from tests.cli.background import misuse, run
from tests.server.harness import GAME_TYPE, PASSWORD
from tests.server.serving import serving
from tests.timeouts import HANG_TIMEOUT
from tests.viewer.web.test_companion import fetch

EDITION = EDITIONS["blokus-2027"]
HERE = ("127.0.0.1", 0)


@asynccontextmanager
async def viewing(port: int, password: str = PASSWORD, **more: Any) -> AsyncIterator[str]:
    """The pages for the server on this port; gives their address."""
    urls: list[str] = []
    with trio.fail_after(HANG_TIMEOUT):
        async with trio.open_nursery() as nursery:
            announce: Callable[[str, str], None] = lambda url, _note: urls.append(url)  # noqa: E731
            nursery.start_soon(partial(serve_view, ("127.0.0.1", port), password, HERE, announce, **more))
            while not urls:
                await trio.lowlevel.checkpoint()
            yield urls[0]
            nursery.cancel_scope.cancel()


async def until(url: str, path: str, is_meant: Callable[[int, str], bool]) -> str:
    """Ask until the answer is the one that is meant, and return it."""
    while True:
        status, body = await fetch(url, path)
        if is_meant(status, body):
            return body
        await trio.sleep(0.02)


@pytest.mark.slow
async def test_a_server_of_ours_is_shown_and_played_at_from_elsewhere() -> None:
    async with serving() as harness, viewing(harness.port) as url:
        await until(url, "/healthz", lambda status, _: status == 200)
        status, answer = await fetch(url, "/api/seat", {"gameType": GAME_TYPE, "opponent": {"strategy": "first"}})
        assert status == 200
        room = json.loads(answer)["room"]
        rooms = json.loads((await fetch(url, "/api/rooms"))[1])["rooms"]
        assert [each["id"] for each in rooms] == [room]
        assert "spielleiter_moves_total" in (await fetch(url, "/metrics"))[1]
        assert (await fetch(url, "/api/admin/login", {"password": "falsch"}))[0] == 403
        assert (await fetch(url, "/api/admin/login", {"password": PASSWORD}))[0] == 200


@pytest.mark.slow
async def test_a_wrong_password_is_said_on_the_page() -> None:
    async with serving() as harness, viewing(harness.port, "falsch") as url:
        await until(url, "/healthz", lambda status, _: status == 503)
        await until(url, "/api/rooms", lambda _status, body: body == '{"rooms":[]}')
        while not harness.logged("request_refused"):  # noqa: ASYNC110 - the log has no event to wait for
            await trio.sleep(0.02)
        async with await trio.open_tcp_stream("127.0.0.1", int(url.rstrip("/").rpartition(":")[2])) as stream:
            await stream.send_all(b"GET /api/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            received = b""
            while b"refuses the password" not in received:
                received += await stream.receive_some()


async def serve_without_feed(stream: trio.SocketStream) -> None:
    """A server that knows an administrator's official requests only, and ends the connection for others."""
    state = EDITION.game.new_state(random.Random(1))
    later = state.play(next(iter(state.generate_legal_moves())))
    dialect = EDITION.dialect
    received = b""
    async for data in stream:
        received += data
        if b"<feed" in received:
            await stream.send_all(b'<protocol><errorpacket message="Unbekannt"/></protocol>')
            return
        if b"<prepare" in received:
            received = received.replace(b"<prepare", b"")
            await stream.send_all(
                b'<protocol><prepared roomId="one"><reservation>a</reservation><reservation>b</reservation></prepared>'
            )
        if b"<observe" in received and b"</protocol>" not in received:
            room = received.partition(b'roomId="')[2].partition(b'"')[0].decode()
            received = b""
            if room != "one":
                await stream.send_all(b'<protocol><errorpacket message="no such room"/></protocol>')
                return
            packets = [dialect.encode(RoomMessage("one", Memento(each))) for each in (state, state, later)]
            await stream.send_all(b'<protocol><observed roomId="one"/>' + b"".join(packets))
        if b"</protocol>" in received:
            await stream.send_all(b"</protocol>")


@pytest.mark.slow
async def test_of_a_server_without_a_feed_only_known_rooms_are_shown_and_the_page_says_so() -> None:
    async with trio.open_nursery() as nursery:
        listeners = await nursery.start(partial(trio.serve_tcp, serve_without_feed, 0, host="127.0.0.1"))
        port = listeners[0].socket.getsockname()[1]
        async with viewing(port, edition=EDITION.name) as url:
            await until(url, "/healthz", lambda status, _: status == 200)
            async with await trio.open_tcp_stream("127.0.0.1", int(url.rstrip("/").rpartition(":")[2])) as stream:
                await stream.send_all(b"GET /api/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
                received = b""
                while b"This server does not tell which games are played" not in received:
                    received += await stream.receive_some()
            assert (await fetch(url, "/api/rooms/two"))[0] == 404
            assert (await fetch(url, "/metrics"))[0] == 503
            await until(url, "/api/rooms/one", lambda _, body: body.count('"ply":1') > 0)
            game = json.loads((await fetch(url, "/api/rooms/one"))[1])
            assert [each["ply"] for each in game["positions"]] == [0, 1]
            assert game["plies"][0]["thinkSeconds"] is None
            start = {"opponent": {"strategy": "first"}, "from": {"room": "one", "ply": 0}}
            status, answer = await fetch(url, "/api/seat", start)
            assert (status, "cannot start a game from a position" in answer) == (409, True)
        nursery.cancel_scope.cancel()


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["nowhere"], "Invalid value for 'HOST:PORT': 'nowhere' cannot be used, expected [HOST:]PORT"),
        (["127.0.0.1:0"], "no server listens at port 0"),
        (["--viewer", "0.0.0.0:1"], "others could watch and play there; choose a --viewer-password"),
        (["--viewer", "203.0.113.7:1", "--viewer-password", "x"], "cannot listen on 203.0.113.7:1"),
        (["--game", "chess"], "is not known here"),
    ],
)
def test_misuse_is_one_line(arguments: list[str], line: str) -> None:
    assert line in misuse("view", *arguments)


def test_the_help_names_where_the_password_comes_from() -> None:
    text = " ".join(run("view", "--help").stdout.split())
    assert "also taken from SPIELLEITER_PASSWORD" in text
