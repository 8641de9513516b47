"""Which connections are accepted, and what stops the start: one clear line, before anything listens."""

from __future__ import annotations

import errno
import io
import os
import socket
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, NoReturn

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from spielleiter.protocol.defaults import DEFAULT_PASSWORD
from spielleiter.server import app as listener
from spielleiter.server import events
from spielleiter.server.app import Server, serve
from spielleiter.server.config import Config
from spielleiter.server.errors import StartError
from spielleiter.server.net.sockets import ACCEPT_PAUSE
from tests.server.harness import GAME_TYPE, GOODBYE, START, answered, open_harness
from tests.server.serving import files_in, open_descriptors, read_all, serving
from tests.timeouts import HANG_TIMEOUT

# -- accepting --------------------------------------------------------------------------------------------------------


async def test_a_connection_over_the_limit_is_refused_until_another_one_closes() -> None:
    async with serving(connections=1) as harness:
        async with await harness.connect() as first:
            await first.send_all(f'<protocol><join gameType="{GAME_TYPE}"/>'.encode())
            await first.receive_some()
            async with await harness.connect() as second:
                text = "This server serves no more than 1 connection"
                assert await read_all(second) == START + answered(text) + GOODBYE
            await first.send_all(b"<close/>")
            await read_all(first)
        received = b""
        while received != b"<protocol/>":  # as soon as the server has closed the first one as well
            async with await harness.connect() as third:
                await third.send_all(b"<protocol><close/>")
                received = await read_all(third)
                assert received in (b"<protocol/>", START + answered(text) + GOODBYE)
    refused = harness.logged("connection_refused")[0]
    assert (refused["refusal"], refused["reason"]) == ("connections", text)


async def test_accepted_sockets_have_keep_alive() -> None:
    server = Server(Config(default_game=GAME_TYPE), io.StringIO())
    with socket.create_server(("127.0.0.1", 0)) as listening, socket.create_connection(listening.getsockname()):
        accepted, address = listening.accept()
        async with trio.open_nursery() as sessions:
            server.admit(accepted, address, sessions)
            await wait_all_tasks_blocked()
            assert accepted.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
            sessions.cancel_scope.cancel()


class Refusing:
    """A listening socket that raises these errors, the last one for ever."""

    def __init__(self, *errors: OSError) -> None:
        self._errors = list(errors)
        self.tries = 0

    def accept(self) -> NoReturn:
        self.tries += 1
        raise self._errors.pop(0) if len(self._errors) > 1 else self._errors[0]


async def test_accepting_is_retried_when_no_descriptor_is_left(autojump_clock: object) -> None:
    """Errors of connections that are gone are ignored, and a permanent error of the socket is raised."""
    async with open_harness() as harness:
        gone = (OSError(number, "gone") for number in (errno.ECONNABORTED, errno.ETIMEDOUT, errno.EPERM))
        full = (OSError(errno.EMFILE, "Too many open files") for _ in range(10))
        refusing = Refusing(*gone, *full, OSError(errno.EBADF, "Bad file descriptor"))
        before = trio.current_time()
        with pytest.raises(OSError, match="Bad file descriptor"):
            await harness.server.accept_from(refusing, harness.nursery)  # type: ignore[arg-type]
        assert refusing.tries == 14
        assert trio.current_time() - before == pytest.approx(10 * ACCEPT_PAUSE)
        (refused,) = harness.happened(events.ConnectionRefused)  # reported once, not at each attempt
        assert (refused.refusal, refused.reason) == ("cannot_accept", "cannot accept: Too many open files")


async def test_a_flood_of_connections_does_not_keep_others_waiting() -> None:
    server = Server(Config(), io.StringIO())

    class EndlessConnections:
        def accept(self) -> tuple[socket.socket, tuple[str, int]]:
            near, far = socket.socketpair()
            near.close()
            return far, ("127.0.0.1", 1)

    with trio.fail_after(HANG_TIMEOUT):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(server.accept_from, EndlessConnections(), nursery)  # type: ignore[arg-type]
            for _ in range(20):
                await trio.lowlevel.checkpoint()
            nursery.cancel_scope.cancel()
    assert server.stream.counters["ConnectionOpened"] == server.stream.counters["ConnectionClosed"] > 0


# -- the start --------------------------------------------------------------------------------------------------------


async def start(**settings: Any) -> str:
    """Return the one line with which the start fails."""
    with pytest.raises(StartError) as caught:
        await serve(Config(**{"port": 0, **settings}), log_file=io.StringIO())
    text = str(caught.value)
    assert "\n" not in text
    return text


async def test_a_port_in_use_is_named() -> None:
    async with serving() as harness:
        message = await start(port=harness.port)
        assert message.startswith(
            f"127.0.0.1:{harness.port} is in use already, perhaps by another server; choose another"
        )


async def test_a_server_that_cannot_listen_closes_its_files(tmp_path: Path) -> None:
    async with serving() as harness:
        before = open_descriptors()
        await start(port=harness.port, replay_directory=tmp_path)
        await start(port_file=tmp_path / "missing" / "port", results_file=tmp_path / "elsewhere.jsonl")
        assert open_descriptors() == before
    async with serving(replay_directory=tmp_path):
        pass


def refusing_with(error: Exception) -> Callable[..., NoReturn]:
    def refuse(*_: object, **__: object) -> NoReturn:
        raise error

    return refuse


@pytest.mark.parametrize(
    ("host", "port", "error", "message"),
    [
        ("..", 0, None, "cannot listen on ..:0: this is not a host name"),
        ("192.0.2.1", 0, None, "cannot listen on 192.0.2.1:0: "),
        ("nowhere", 0, socket.gaierror(socket.EAI_NONAME, "not known"), "cannot listen on nowhere:0: not known"),
        ("127.0.0.1", 80, OSError(errno.EACCES, "no"), "127.0.0.1:80 may not be used without privileges"),
        ("127.0.0.1", 1024, OSError(errno.EACCES, "no"), "127.0.0.1:1024 is reserved by the system; choose another"),
    ],
)
async def test_an_address_that_cannot_be_used_is_named(
    host: str, port: int, error: Exception | None, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if error is not None:
        monkeypatch.setattr(socket, "getaddrinfo", refusing_with(error))
    assert (await start(host=host, port=port)).startswith(message)


async def test_a_port_file_that_cannot_be_written_stops_the_start_and_frees_the_port(tmp_path: Path) -> None:
    file = tmp_path / "missing" / "port"
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    assert await start(port=port, port_file=file) == f"portFile {file}: cannot be written (No such file or directory)"
    async with serving(port=port) as harness:
        assert harness.port == port


async def test_other_errors_stop_the_start_before_anything_listens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: object) -> NoReturn:
        raise AssertionError("it listens")

    monkeypatch.setattr(listener, "listen", never)
    missing, file = tmp_path / "missing", tmp_path / "file"
    file.touch()
    assert await start(load_game_file=missing) == f"{missing}: cannot be read (No such file or directory)"
    assert await start(replay_directory=file) == f"saveReplay {file}: cannot be written to (File exists)"
    assert (await start(editions={"chess": "r1"})).startswith("edition chess=r1: there is no such gameType")
    assert (await start(default_game="chess")).startswith("defaultGame chess: there is no such gameType")
    assert "MONO" in await start(start_piece="MONO")


async def test_recent_games_are_kept_for_the_next_start_and_never_needed(tmp_path: Path) -> None:
    folder = tmp_path / "data" / "recent"
    async with serving(recent_directory=folder) as harness:
        assert sys.platform == "win32" or folder.stat().st_mode & 0o777 == 0o700
        assert harness.logged("setting_ignored") == []
        with closing(Server(Config(recent_directory=folder), io.StringIO())) as second:
            assert second.config.replay_folder is None
            (ignored,) = second.config.ignored
            assert ignored.startswith(f"recentGames ({folder}: another server writes to this directory; ")
    (tmp_path / "file").touch()
    async with serving(recent_directory=tmp_path / "file" / "recent") as harness:
        (line,) = harness.logged("setting_ignored")
        assert line["setting"].startswith(f"recentGames ({tmp_path / 'file' / 'recent'}: cannot be used (")
    assert await start(recent_directory=folder, results_file=tmp_path) == (
        f"results {tmp_path}: cannot be written to (Is a directory)"
    )


@pytest.mark.skipif(sys.platform == "win32", reason="folders have no modes there")
async def test_the_folder_of_recent_games_is_for_nobody_else(tmp_path: Path) -> None:
    folder = tmp_path / "recent"
    folder.mkdir()
    folder.chmod(0o777)
    async with serving(recent_directory=folder):
        assert folder.stat().st_mode & 0o777 == 0o700
    if sys.platform != "win32" and os.geteuid() == 0:
        os.chown(folder, 12345, -1)
        async with serving(recent_directory=folder) as harness:
            (line,) = harness.logged("setting_ignored")
        assert line["setting"] == f"recentGames ({folder}: cannot be used (it belongs to another user))"


@pytest.mark.parametrize("stamps", [True, False])
async def test_the_start_is_reported(stamps: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not stamps:
        monkeypatch.setattr(listener, "stamp_arrivals", lambda _socket: False)
    file = tmp_path / "port"
    async with serving(port_file=file, ignored=("server.properties:3: plugins (built in)",)) as harness:
        assert file.read_text() == f"{harness.port}\n"
        assert files_in(tmp_path) == [file]
        async with await harness.connect() as stream:
            await stream.send_all(b"<protocol><close/>")
            assert await read_all(stream) == b"<protocol/>"
    assert harness.logged("setting_ignored")[0]["setting"] == "server.properties:3: plugins (built in)"
    assert harness.logged("server_started")[0]["addresses"] == [f"127.0.0.1:{harness.port}"]
    assert len(harness.logged("time_stamps_missing")) == (not stamps or sys.platform != "linux")


@pytest.mark.parametrize(
    ("addresses", "password", "makes_admins"),
    [
        ({}, DEFAULT_PASSWORD, True),
        ({"host": "localhost", "viewer": None, "metrics": ("::1", 1)}, DEFAULT_PASSWORD, True),
        ({"host": "0.0.0.0"}, DEFAULT_PASSWORD, False),
        ({"viewer": ("0.0.0.0", 1)}, DEFAULT_PASSWORD, False),
        ({"host": "0.0.0.0"}, f"{DEFAULT_PASSWORD} ", False),
        ({"host": "0.0.0.0"}, DEFAULT_PASSWORD.capitalize(), False),
        ({"host": "0.0.0.0"}, " ", False),
        ({"host": "example.org"}, DEFAULT_PASSWORD, False),
        ({"viewer": ("example.org", 1)}, DEFAULT_PASSWORD, False),
        ({}, " ", True),
        ({"host": "0.0.0.0", "viewer": ("0.0.0.0", 1)}, "another", True),
    ],
)
def test_the_default_password_is_refused_if_any_address_is_public(
    addresses: dict[str, Any], password: str, makes_admins: bool
) -> None:
    lobby = Server(Config(**addresses, password=password), io.StringIO()).lobby
    assert lobby.is_password(password) is makes_admins


@pytest.mark.parametrize(("password", "is_told"), [(DEFAULT_PASSWORD, True), ("another", False)])
async def test_the_operator_is_told_of_a_server_without_administrators(password: str, is_told: bool) -> None:
    server = Server(Config(host="0.0.0.0", password=password), log := io.StringIO())
    stop = trio.Event()
    stop.set()
    await server.run([], stop)
    assert ("admins_excluded" in log.getvalue()) is is_told
    assert server.stream.counters["AdminsExcluded"] == is_told


async def test_a_server_that_is_cancelled_at_its_start_ends() -> None:
    server = Server(Config(port=0), io.StringIO())
    has_ended = trio.Event()

    async def run() -> None:
        with trio.CancelScope() as scope:
            scope.cancel()
            await server.run([], None)
        has_ended.set()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(run)
        with trio.move_on_after(HANG_TIMEOUT):
            await has_ended.wait()
        ended = has_ended.is_set()
        server.archive.finish()  # so that a failure is no deadlock
    assert ended
