"""The pages beside the games of a real server, over real sockets, and the page for one replay."""

from __future__ import annotations

import base64
import contextlib
import errno
import io
import json
import os
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import trio

from spielleiter.client.client_errors import AuthenticationError
from spielleiter.server.app import serve
from spielleiter.server.config import Config
from spielleiter.server.errors import StartError
from spielleiter.viewer.web import companion
from spielleiter.viewer.web.companion import (
    FOR_EVERYBODY,
    FOR_PASSWORD_HOLDERS,
    FOR_THIS_MACHINE,
    access_to,
    listen_for_pages,
    network_address,
    open_pages,
    serve_replay,
)
from spielleiter.viewer.web.live_games import MOST_STREAMS
from spielleiter.viewer.web.seats import MOST_SEATS
from tests.documents import ROOT
from tests.server.harness import GAME_TYPE, PASSWORD
from tests.server.serving import Serving, read_all, serving
from tests.timeouts import HANG_TIMEOUT
from tests.viewer.web.test_replay_store import saved_replay

LOOPBACK = ("127.0.0.1", 0)


async def get(address: str, path: str, *, method: str = "GET", head: str = "", body: str = "") -> tuple[int, str]:
    """The status and the body of a page; `address` is a host and a port."""
    host, _, port = address.removeprefix("http://").rstrip("/").rpartition(":")
    async with await trio.open_tcp_stream(host, int(port)) as stream:
        lines = f"{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{head}\r\n"
        await stream.send_all((lines + body).encode())
        answered, _, content = (await read_all(stream)).decode().partition("\r\n\r\n")
    return int(answered.split()[1]), content


def login(password: str, viewer_password: str = "geheim") -> dict[str, str]:
    """Return the arguments of `get` that log in an administrator."""
    body = f'{{"password": "{password}"}}'
    credentials = base64.b64encode(f":{viewer_password}".encode()).decode()
    head = f"Authorization: Basic {credentials}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n"
    return {"method": "POST", "head": head, "body": body}


async def logged(harness: Serving, name: str) -> dict[str, Any]:
    """Wait for the first log line of this kind and return it."""
    while not harness.logged(name):  # noqa: ASYNC110 - the log has no event to wait for
        await trio.sleep(0.01)
    return harness.logged(name)[0]


@pytest.mark.slow
async def test_pages_metrics_and_health_are_served_beside_the_games() -> None:
    async with serving(companion=open_pages, viewer=LOOPBACK, metrics=LOOPBACK) as harness:
        pages = (await logged(harness, "viewer_started"))["url"]
        (monitor,) = (await logged(harness, "monitor_started"))["addresses"]
        async with await harness.connect() as stream:
            await stream.send_all(f'<protocol><join gameType="{GAME_TYPE}"/>'.encode())
            await stream.receive_some()
            for address in (pages, monitor):
                assert await get(address, "/healthz") == (200, "ok\n")
                status, figures = await get(address, "/metrics")
                assert status == 200
                assert 'spielleiter_rooms{phase="open"} 1.0\n' in figures
                assert "spielleiter_connections 1.0\n" in figures
            assert '"state":"waiting"' in (await get(pages, "/api/rooms"))[1]
            assert (await get(monitor, "/api/rooms"))[0] == 404


@pytest.mark.slow
async def test_a_missing_folder_of_matches_is_told(tmp_path: Path) -> None:
    """It may be made later, so this is no reason not to start."""
    (tmp_path / "file").touch()
    for name, why in (("missing", "there is no such folder so far"), ("file", "is a file, expected a folder")):
        async with serving(companion=open_pages, viewer=LOOPBACK, viewer_matches=tmp_path / name) as harness:
            await logged(harness, "viewer_started")
        (ignored,) = harness.logged("setting_ignored")
        assert ignored["setting"] == f"viewerMatches {tmp_path / name} ({why})"
    async with serving(companion=open_pages, viewer=LOOPBACK, viewer_matches=tmp_path) as harness:
        await logged(harness, "viewer_started")
    assert harness.logged("setting_ignored") == []


@pytest.mark.slow
async def test_health_reports_the_stop_during_the_grace_period() -> None:
    async with serving(companion=open_pages, viewer=LOOPBACK, grace=600.0) as harness:
        pages = (await logged(harness, "viewer_started"))["url"]
        one, two = await harness.connect(), await harness.connect()
        for stream in (one, two):
            await stream.send_all(f'<protocol><join gameType="{GAME_TYPE}"/>'.encode())
            await stream.receive_some()
        harness.stop.set()
        assert await get(pages, "/healthz") == (503, "stopping\n")
        await one.aclose()
        await read_all(two)
        await two.aclose()


@pytest.mark.slow
@pytest.mark.parametrize("access", [{"viewer_password": "geheim"}, {"is_viewer_open": True}])
async def test_pages_for_other_machines_exclude_administrators_with_the_known_password(access: dict[str, Any]) -> None:
    async with serving(companion=open_pages, viewer=("0.0.0.0", 0), **access) as harness:
        pages = (await logged(harness, "viewer_started"))["url"]
        status, answer = await get(pages, "/api/admin/login", **login(PASSWORD))
        assert (status, "token" in answer) == (403, False)
        with pytest.raises(AuthenticationError, match="well-known password"):
            async with harness.admin() as admin:
                await admin.status()
    assert len(harness.logged("admins_excluded")) == 1
    assert len(harness.logged("request_refused")) == 2
    assert harness.logged("admin_authenticated") == []


@pytest.mark.slow
async def test_guessers_that_leave_at_once_do_not_keep_out_the_right_password() -> None:
    """Some guess the password of the administrators, others that of the viewer."""
    async with (
        serving(companion=open_pages, viewer=LOOPBACK, viewer_password="geheim") as harness,
        trio.open_nursery() as nursery,
    ):
        pages = (await logged(harness, "viewer_started"))["url"]
        guessed = 0

        async def guess_for_ever(wrong: dict[str, str]) -> None:
            nonlocal guessed
            while True:
                guessed += 1
                with trio.move_on_after(0.02):
                    await get(pages, "/api/admin/login", **wrong)

        for _ in range(20):
            nursery.start_soon(guess_for_ever, login("falsch"))
            nursery.start_soon(guess_for_ever, login(PASSWORD, "falsch"))
        while guessed < 300:  # noqa: ASYNC110 - there is no event to wait for
            await trio.sleep(0.01)
        status, answer = await get(pages, "/api/admin/login", **login(PASSWORD))
        assert (status, "token" in answer) == (200, True)
        nursery.cancel_scope.cancel()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "darwin", reason="macOS has only one address of loopback")
async def test_one_client_cannot_take_all_streams_and_seats() -> None:
    async with serving(companion=open_pages, viewer=LOOPBACK) as harness, contextlib.AsyncExitStack() as stack:
        pages = (await logged(harness, "viewer_started"))["url"].removeprefix("http://").rstrip("/")
        host, _, port = pages.rpartition(":")
        form = json.dumps({"gameType": "swc_2027_blokus", "opponent": {"program": True}})
        head = f"Host: {pages}\r\nContent-Type: application/json\r\nContent-Length: {len(form)}\r\n"

        async def status(request: str, local: str) -> int:
            stream = await trio.open_tcp_stream(host, int(port), local_address=local)
            await stack.enter_async_context(stream)
            await stream.send_all(request.encode())
            return int((await stream.receive_some()).split()[1])

        stream, seat = (
            f"GET /api/events HTTP/1.1\r\nHost: {pages}\r\n\r\n",
            f"POST /api/seat HTTP/1.1\r\n{head}\r\n{form}",
        )
        for request, own_share in ((stream, MOST_STREAMS // 2), (seat, MOST_SEATS // 2)):
            answers = [await status(request, "127.0.0.1") for _ in range(own_share + 1)]
            assert answers == [200] * own_share + [429]
        # this machine can choose among many addresses
        assert [await status(request, "127.0.0.2") for request in (stream, seat)] == [429, 429]


async def test_nothing_is_served_if_both_are_switched_off() -> None:
    async with serving(companion=open_pages, viewer=None) as harness:
        await (await harness.connect()).aclose()
    assert harness.logged("monitor_started") + harness.logged("viewer_started") == []


@pytest.mark.slow
async def test_the_metrics_alone_can_be_served() -> None:
    async with serving(companion=open_pages, viewer=None, metrics=LOOPBACK) as harness:
        (monitor,) = (await logged(harness, "monitor_started"))["addresses"]
        assert (await get(monitor, "/healthz"))[0] == 200
    assert harness.logged("viewer_started") == []


@pytest.mark.slow
async def test_a_taken_port_of_the_pages_is_told_in_one_line_and_another_one_is_used() -> None:
    async with serving() as first, serving(companion=open_pages, viewer=("127.0.0.1", first.port)) as second:
        started = await logged(second, "viewer_started")
        assert started["note"] == f"127.0.0.1:{first.port} is in use already, perhaps by another server"
        assert await get(started["url"], "/healthz") == (200, "ok\n")


async def test_an_address_that_cannot_be_used_costs_the_pages_only() -> None:
    async with serving(companion=open_pages, viewer=("203.0.113.7", 1), viewer_password="x") as harness:
        ignored = await logged(harness, "setting_ignored")
        assert "cannot listen on 203.0.113.7:1" in ignored["setting"]
        await (await harness.connect()).aclose()


async def test_pages_that_fail_cost_the_pages_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "spielleiter.viewer.web.site", None)
    async with serving(companion=open_pages, viewer=LOOPBACK) as harness:
        assert "viewer.web.site" in (await logged(harness, "internal_error"))["error"]
        await (await harness.connect()).aclose()


async def test_a_port_in_use_is_reported_with_the_option_of_the_metrics() -> None:
    async with serving() as harness:
        config = Config(port=0, viewer=None, metrics=("127.0.0.1", harness.port))
        with pytest.raises(StartError, match=f"127.0.0.1:{harness.port} is in use .* another --metrics"):
            await serve(config, log_file=io.StringIO(), companion=open_pages)


@pytest.mark.slow
def test_the_libraries_are_loaded_only_when_pages_are_served() -> None:
    code = (
        "import sys, spielleiter.server.app, spielleiter.viewer.web.companion; "
        "print([m for m in ('h11', 'starlette', 'anyio', 'prometheus_client') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_the_configured_port_is_used() -> None:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    pages = listen_for_pages("127.0.0.1", port)
    assert (pages.port, pages.url, pages.note) == (port, f"http://127.0.0.1:{port}/", "")
    pages.close()
    assert pages.sockets[0].fileno() == -1


def test_another_port_is_used_if_it_is_taken() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        pages = listen_for_pages("127.0.0.1", port)
        assert pages.port not in {0, port}
        assert pages.url == f"http://127.0.0.1:{pages.port}/"
        assert pages.note == f"127.0.0.1:{port} is in use already, perhaps by another server"
        pages.close()


def test_an_address_that_this_machine_does_not_have_gives_no_pages() -> None:
    pages = listen_for_pages("203.0.113.7", 13080)
    assert pages.sockets == ()
    assert pages.note.startswith("cannot listen on 203.0.113.7:13080")


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_every_address_is_shown_as_one_for_this_machine_and_one_for_others(
    host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for outside, shown in (("192.168.1.20", "http://192.168.1.20:{port}/"), (None, "")):
        monkeypatch.setattr(companion, "network_address", lambda outside=outside: outside)
        pages = listen_for_pages(host, 0)
        assert (pages.url, pages.elsewhere) == (f"http://127.0.0.1:{pages.port}/", shown.format(port=pages.port))
        pages.close()


def test_the_address_in_the_network_is_one_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    address = network_address()
    if address is not None:
        socket.create_server((address, 0)).close()

    def refuse(*_: object) -> None:
        raise OSError(errno.ENETUNREACH, "Network is unreachable")

    for method in ("connect", "__init__"):
        with monkeypatch.context() as patch:
            patch.setattr(socket.socket, method, refuse)
            assert network_address() is None


@pytest.mark.parametrize(
    ("settings", "access"),
    [
        ({}, FOR_THIS_MACHINE),
        ({"viewer_password": "geheim"}, FOR_PASSWORD_HOLDERS),
        ({"viewer": ("0.0.0.0", 1), "viewer_password": "geheim"}, FOR_PASSWORD_HOLDERS),
        ({"viewer": ("0.0.0.0", 1), "is_viewer_open": True}, FOR_EVERYBODY),
    ],
)
def test_the_log_says_who_can_look(settings: dict[str, object], access: str) -> None:
    assert access_to(Config(**settings)) == access  # type: ignore[arg-type]


pytestmark = pytest.mark.slow


def test_the_pages_are_served_by_default(tmp_path: Path) -> None:
    environ = {name: value for name, value in os.environ.items() if not name.startswith("SPIELLEITER_")}
    command = [sys.executable, "-P", "-m", "spielleiter", "serve", "--port", "0", "--log-format", "json"]
    with subprocess.Popen(command, cwd=tmp_path, env=environ, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            lines = map(json.loads, process.stderr)
            url = next(line["url"] for line in lines if line["event"] == "viewer_started")
            assert url.startswith("http://127.0.0.1:")  # another port than 13080 if that is taken
            with urllib.request.urlopen(url, timeout=HANG_TIMEOUT) as answer:
                assert b"main.js" in answer.read()
        finally:
            process.terminate()
            process.wait(HANG_TIMEOUT)


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
