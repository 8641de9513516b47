"""The pages beside the games of a real server, over real sockets, and the page for one replay."""

from __future__ import annotations

import base64
import errno
import io
import json
import os
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psutil
import pytest
import trio

from spielleiter.client.client_errors import AuthenticationError
from spielleiter.client.player import GameEnd, Player
from spielleiter.game.api import State
from spielleiter.protocol.messages import Slot
from spielleiter.protocol.thinking import Thinking
from spielleiter.server.app import Server, serve
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
    serve_match,
    serve_replay,
)
from spielleiter.viewer.web.page_process import NICENESS
from tests.documents import ROOT
from tests.server.harness import GAME_TYPE, PASSWORD
from tests.server.serving import Serving, read_all, serving
from tests.timeouts import HANG_TIMEOUT
from tests.viewer.web.test_replay_store import saved_replay

LOOPBACK = ("127.0.0.1", 0)


async def fetch(address: str, path: str, body: dict[str, object] | None = None, password: str = "") -> tuple[int, str]:
    """The status and the body of a page, with a GET or, if there is a body, a POST; `address` is a host and a port."""
    host, _, port = address.removeprefix("http://").rstrip("/").rpartition(":")
    data = "" if body is None else json.dumps(body)
    credentials = base64.b64encode(f":{password}".encode()).decode()
    head = f"{'GET' if body is None else 'POST'} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n"
    head += (
        f"Authorization: Basic {credentials}\r\nContent-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n"
    )
    async with await trio.open_tcp_stream(host, int(port)) as stream:
        await stream.send_all((head + data).encode())
        answered, _, content = (await read_all(stream)).decode().partition("\r\n\r\n")
    return int(answered.split()[1]), content


async def logged(harness: Serving, name: str) -> dict[str, Any]:
    """Wait for the first log line of this kind and return it."""
    while not harness.logged(name):  # noqa: ASYNC110 - the log has no event to wait for
        await trio.sleep(0.01)
    return harness.logged(name)[0]


@pytest.mark.slow
async def test_pages_metrics_and_health_are_served_beside_the_games_until_they_are_over() -> None:
    async with serving(companion=open_pages, viewer=LOOPBACK, metrics=LOOPBACK, grace=600.0) as harness:
        pages = (await logged(harness, "viewer_started"))["url"]
        (monitor,) = (await logged(harness, "monitor_started"))["addresses"]
        one, two = await harness.connect(), await harness.connect()
        await one.send_all(f'<protocol><join gameType="{GAME_TYPE}"/>'.encode())
        await one.receive_some()
        for address in (pages, monitor):
            assert await fetch(address, "/healthz") == (200, "ok\n")
            status, figures = await fetch(address, "/metrics")
            assert status == 200
            assert 'spielleiter_rooms{phase="open"} 1.0\n' in figures
        while '"state":"waiting"' not in (await fetch(pages, "/api/rooms"))[1]:  # noqa: ASYNC110
            await trio.sleep(0.01)  # the pages are told soon
        assert (await fetch(monitor, "/api/rooms"))[0] == 404
        await two.send_all(f'<protocol><join gameType="{GAME_TYPE}"/>'.encode())
        await two.receive_some()
        harness.stop.set()
        for address in (pages, monitor):
            while (health := await fetch(address, "/healthz")) == (200, "ok\n"):  # noqa: ASYNC110
                await trio.sleep(0.01)  # the pages are told soon
            assert health == (503, "stopping\n")
        await one.aclose()
        await read_all(two)
        await two.aclose()


@pytest.mark.slow
async def test_a_missing_folder_of_matches_is_told(tmp_path: Path) -> None:
    """It may be made later, so this is no reason not to start."""
    (tmp_path / "file").touch()
    for name, why in (("missing", "there is no such folder so far"), ("file", "is a file, expected a folder")):
        async with serving(companion=open_pages, viewer=LOOPBACK, viewer_matches=tmp_path / name) as harness:
            ignored = await logged(harness, "setting_ignored")
        assert ignored["setting"] == f"viewerMatches {tmp_path / name} ({why})"
    async with serving(companion=open_pages, viewer=LOOPBACK, viewer_matches=tmp_path) as harness:
        await logged(harness, "viewer_started")
    assert harness.logged("setting_ignored") == []


@pytest.mark.slow
async def test_pages_for_other_machines_exclude_administrators_with_the_known_password() -> None:
    async with serving(companion=open_pages, viewer=("0.0.0.0", 0), is_viewer_open=True) as harness:
        pages = (await logged(harness, "viewer_started"))["url"]
        status, answer = await fetch(pages, "/api/admin/login", {"password": PASSWORD})
        assert (status, "token" in answer) == (403, False)
        with pytest.raises(AuthenticationError, match="well-known password"):
            async with harness.admin() as admin:
                await admin.status()
    assert len(harness.logged("admins_excluded")) == 1
    assert len(harness.logged("request_refused")) == 1
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

        async def guess_for_ever(admin_password: str, viewer_password: str) -> None:
            nonlocal guessed
            while True:
                guessed += 1
                with trio.move_on_after(0.02):
                    await fetch(pages, "/api/admin/login", {"password": admin_password}, viewer_password)

        for _ in range(20):
            nursery.start_soon(guess_for_ever, "falsch", "geheim")
            nursery.start_soon(guess_for_ever, PASSWORD, "falsch")
        while guessed < 300:  # noqa: ASYNC110 - there is no event to wait for
            await trio.sleep(0.01)
        status, answer = await fetch(pages, "/api/admin/login", {"password": PASSWORD}, "geheim")
        assert (status, "token" in answer) == (200, True)
        nursery.cancel_scope.cancel()


async def test_nothing_is_served_if_both_are_switched_off() -> None:
    async with serving(companion=open_pages, viewer=None) as harness:
        await (await harness.connect()).aclose()
    assert harness.logged("monitor_started") + harness.logged("viewer_started") == []


@pytest.mark.slow
async def test_the_metrics_alone_can_be_served() -> None:
    async with serving(companion=open_pages, viewer=None, metrics=LOOPBACK) as harness:
        (monitor,) = (await logged(harness, "monitor_started"))["addresses"]
        assert (await fetch(monitor, "/healthz"))[0] == 200
    assert harness.logged("viewer_started") == []


@pytest.mark.slow
async def test_a_taken_port_of_the_pages_is_told_in_one_line_and_another_one_is_used() -> None:
    async with serving() as first, serving(companion=open_pages, viewer=("127.0.0.1", first.port)) as second:
        started = await logged(second, "viewer_started")
        assert started["note"] == f"127.0.0.1:{first.port} is in use already, perhaps by another server"
        assert await fetch(started["url"], "/healthz") == (200, "ok\n")


async def test_an_address_that_cannot_be_used_costs_the_pages_only() -> None:
    async with serving(companion=open_pages, viewer=("203.0.113.7", 1), viewer_password="x") as harness:
        ignored = await logged(harness, "setting_ignored")
        assert "cannot listen on 203.0.113.7:1" in ignored["setting"]
        await (await harness.connect()).aclose()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ([sys.executable, "-c", "raise SystemExit(3)"], "the exit code is 3"),
        (
            [sys.executable, "-c", "import sys; print('what?', flush=True); sys.stdin.read()"],
            "something else has written to its standard output",
        ),
        # a path, since a folder on the PATH may be closed to a user, who is then told another reason
        (["/no-such-program"], "it cannot be started: No such file or directory"),
    ],
)
async def test_pages_that_cannot_run_are_told_and_tried_again_later_and_later(
    command: list[str], reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(companion, "COMMAND", command)
    monkeypatch.setattr(companion, "FIRST_PAUSE", 0.01)
    async with serving(companion=open_pages, viewer=LOOPBACK) as harness:
        while len(harness.logged("viewer_ended")) < 3:  # noqa: ASYNC110 - the log has no event to wait for
            await trio.sleep(0.01)
        await (await harness.connect()).aclose()
    ended = harness.logged("viewer_ended")
    assert {each["reason"] for each in ended} == {reason}
    assert [each["restarts_in"] for each in ended[:3]] == [0.01, 0.02, 0.04]
    assert harness.logged("viewer_started") == []


if sys.platform != "win32":

    async def test_a_signal_without_a_name_ends_the_pages_and_not_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
        """Any program of the same user can send one."""
        command = [sys.executable, "-c", "import os; os.kill(os.getpid(), 40)"]
        monkeypatch.setattr(companion, "COMMAND", command)
        async with serving(companion=open_pages, viewer=LOOPBACK) as harness:
            assert (await logged(harness, "viewer_ended"))["reason"] == "the signal 40 ended it"
            await (await harness.connect()).aclose()

    @pytest.mark.skipif(sys.platform != "linux", reason="elsewhere there is no /proc")
    async def test_nobody_can_open_the_standard_input_of_the_pages(monkeypatch: pytest.MonkeyPatch) -> None:
        """Not even while they start: who has opened it then could read it when the pages have hidden themselves."""
        monkeypatch.setattr(companion, "COMMAND", [sys.executable, "-c", "open('/proc/self/fd/0')"])
        async with serving(companion=open_pages, viewer=LOOPBACK) as harness:
            assert (await logged(harness, "viewer_ended"))["reason"] == "the exit code is 1"

    def page_process_of(parent: int) -> int:
        """The id of the process that serves the pages of a server: its youngest descendant."""
        return max(psutil.Process(parent).children(recursive=True), key=psutil.Process.create_time).pid

    async def until_answered(url: str, path: str = "/healthz") -> str:
        """Ask until the answer is 200, and return it."""
        while True:
            with suppress(OSError, IndexError, ValueError):
                status, body = await fetch(url, path)
                if status == 200:
                    return body
            await trio.sleep(0.05)

    @pytest.mark.slow
    async def test_games_go_on_when_the_pages_are_killed_and_the_pages_come_back() -> None:
        goes_on = trio.Event()

        async def play(player: Player, state: State) -> None:
            if player.moves_played >= 2:
                await goes_on.wait()
            await player.send_move(next(iter(state.generate_legal_moves())))

        async with serving(companion=open_pages, viewer=LOOPBACK) as harness, trio.open_nursery() as nursery:
            url = (await logged(harness, "viewer_started"))["url"]
            async with harness.admin() as admin:
                room = await admin.prepare(GAME_TYPE, ["Alice", "Bob"])
                reports: dict[str, Any] = {}
                for code in room.reservations:
                    nursery.start_soon(harness.play, code, play, reports)
                await until_played(harness, 4)
                os.kill(page_process_of(os.getpid()), signal.SIGKILL)
                ended = await logged(harness, "viewer_ended")
                assert (ended["reason"], ended["restarts_in"]) == ("the signal SIGKILL ended it", 0.5)
                await until_answered(url)
                game = json.loads(await until_answered(url, f"/api/rooms/{room.room_id}"))
                assert [position["ply"] for position in game["positions"]] == [0, 1, 2, 3, 4]
                goes_on.set()
        assert [report.end for report in reports.values()] == [GameEnd.RESULT] * 2
        assert len(harness.logged("viewer_ended")) == len(harness.logged("viewer_started")) == 1

    @pytest.mark.slow
    async def test_the_pages_of_a_match_show_its_games_and_nothing_else_and_come_back(tmp_path: Path) -> None:
        server = Server(Config(port=0, log_level="error", log_format="json"), io.StringIO())
        edition = server.editions[GAME_TYPE]
        urls: list[str] = []
        reasons: list[str] = []
        async with trio.open_nursery() as nursery:
            nursery.start_soon(server.run, [], None)
            await nursery.start(
                partial(serve_match, on_end=lambda reason, _: reasons.append(reason)),
                server,
                tmp_path,
                lambda url, _: urls.append(url),
            )
            room = server.lobby.open_prepared(edition, [Slot("Alice"), Slot("Bob")])
            server.tell_thinking(room, 0, 0, Thinking(texts=("first", "\uffff")))

            async def until_shown() -> None:
                while True:
                    game = json.loads(await until_answered(urls[0], f"/api/rooms/{room.id}"))
                    if game["thinking"]:
                        break
                    await trio.sleep(0.05)
                assert game["thinking"] == [{"ply": 1, "player": 0, "texts": ["first", "\ufffd"]}]

            await until_shown()
            assert json.loads(await until_answered(urls[0], "/api/info"))["canPlay"] is False
            assert (await fetch(urls[0], "/api/seat", {}))[0] == 404
            assert (await fetch(urls[0], "/api/admin/login", {"password": PASSWORD}))[0] == 403
            os.kill(page_process_of(os.getpid()), signal.SIGKILL)
            await until_shown()
            assert (len(urls), reasons) == (1, ["the signal SIGKILL ended it"])
            nursery.cancel_scope.cancel()

    async def until_played(harness: Serving, count: int) -> None:
        while len(harness.logged("move_played")) < count:  # noqa: ASYNC110 - the log has no event to wait for
            await trio.sleep(0.01)

    @pytest.mark.slow
    def test_the_pages_end_with_a_server_that_is_killed(tmp_path: Path) -> None:
        with started_server(tmp_path) as (process, _):
            pages = psutil.Process(page_process_of(process.pid))
            process.kill()
            assert psutil.wait_procs([pages], timeout=HANG_TIMEOUT)[1] == []

    @pytest.mark.slow
    def test_nobody_can_read_what_the_pages_were_told(tmp_path: Path) -> None:
        """Neither from what the server was told, nor from what the pages answer."""
        with started_server(tmp_path, "--password", "only for administrators") as (process, url):
            pages = psutil.Process(page_process_of(process.pid))
            if sys.platform == "linux":
                assert pages.cmdline() == psutil.Process(process.pid).cmdline()
            else:
                assert " ".join(pages.cmdline()).endswith("-P -m spielleiter.viewer.web.page_process")
            assert pages.nice() >= NICENESS
            with urllib.request.urlopen(f"{url}api/info", timeout=HANG_TIMEOUT) as answer:
                assert b"only for administrators" not in answer.read()


async def test_a_port_in_use_is_reported_with_the_option_of_the_metrics() -> None:
    async with serving() as harness:
        config = Config(port=0, viewer=None, metrics=("127.0.0.1", harness.port))
        with pytest.raises(StartError, match=f"127.0.0.1:{harness.port} is in use .* another --metrics"):
            await serve(config, log_file=io.StringIO(), companion=open_pages)


_LOADED = """
import io, sys, trio
from spielleiter.server.app import serve
from spielleiter.server.config import Config
from spielleiter.viewer.web.companion import open_pages

class Log(io.StringIO):
    def write(self, line):
        if '"viewer_started"' in line:
            stop.set()
        return len(line)

stop = trio.Event()
config = Config(port=0, viewer=("127.0.0.1", 0), log_format="json")
trio.run(lambda: serve(config, stop=stop, log_file=Log(), companion=open_pages))
heavy = ("h11", "starlette", "anyio", "jinja2", "prometheus_client", "spielleiter.viewer.web.site")
print([name for name in heavy if name in sys.modules])
"""


@pytest.mark.slow
def test_nothing_that_only_pages_need_is_loaded_into_the_server() -> None:
    done = subprocess.run([sys.executable, "-c", _LOADED], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


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


@contextmanager
def started_server(folder: Path, *arguments: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A server process with its pages, and the address of these."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith("SPIELLEITER_")}
    environ["SPIELLEITER_RECENT_GAMES"] = "0"
    command = [sys.executable, "-P", "-m", "spielleiter", "serve", "--port", "0", "--log-format", "json", *arguments]
    with subprocess.Popen(command, cwd=folder, env=environ, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            lines = map(json.loads, process.stderr)
            url = next(line["url"] for line in lines if line["event"] == "viewer_started")
            assert url.startswith("http://127.0.0.1:")  # another port than 13080 if that is taken
            yield process, url
        finally:
            process.terminate()
            process.wait(HANG_TIMEOUT)


@pytest.mark.slow
def test_the_pages_are_served_by_default(tmp_path: Path) -> None:
    with (
        started_server(tmp_path) as (_, url),
        urllib.request.urlopen(url, timeout=HANG_TIMEOUT) as answer,
    ):
        assert b"page.js" in answer.read()


@pytest.mark.slow
async def test_a_replay_is_shown_and_played_on(tmp_path: Path) -> None:
    replay = saved_replay(tmp_path).rename(tmp_path / "mein Spiel.replay")
    addresses: list[str] = []
    with trio.fail_after(HANG_TIMEOUT):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(serve_replay, replay, addresses.append)
            while not addresses:
                await trio.lowlevel.checkpoint()
            address = urlsplit(addresses[0])
            assert address.fragment == "/replay/mein%20Spiel.replay/0"
            status, page = await fetch(address.netloc, "/")
            assert (status, "<html" in page) == (200, True)
            status, game = await fetch(address.netloc, "/api/replays/mein%20Spiel.replay")
            assert (status, json.loads(game)["source"]) == (200, "mein Spiel.replay")
            wish = {"opponent": {"strategy": "first"}, "from": {"replay": replay.name, "ply": 4}}
            assert (await fetch(address.netloc, "/api/seat", wish))[0] == 200
            status, info = await fetch(address.netloc, "/api/info")
            assert json.loads(info)["hasAdmin"] is False
            assert (await fetch(address.netloc, "/api/admin/login", {"password": PASSWORD}))[0] == 403
            nursery.cancel_scope.cancel()
