"""A real server with players, next to the command under test: in another thread, over real sockets."""

from __future__ import annotations

import io
import queue
import socket
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import trio
from click.testing import CliRunner, Result

from spielleiter.cli.cli import cli
from spielleiter.client.admin import AdminClient
from spielleiter.client.player import Player
from spielleiter.client.responders import make_responder
from spielleiter.server.app import Listening, serve
from spielleiter.server.config import Config
from spielleiter.server.editions import EDITIONS
from tests.timeouts import HANG_TIMEOUT

END = "</protocol>"


class _Log(io.StringIO):
    """The log of the server; threads can wait for an event in it."""

    def __init__(self) -> None:
        super().__init__()
        self._changed = threading.Condition()
        self._actions: list[tuple[str, Callable[[], None]]] = []

    def write(self, text: str) -> int:
        written = super().write(text)
        with self._changed:
            self._changed.notify_all()
        for known in [each for each in self._actions if each[0] in text]:
            self._actions.remove(known)
            known[1]()
        return written

    def call_when(self, text: str, action: Callable[[], None]) -> None:
        self._actions.append((text, action))

    def wait_for(self, text: str, times: int = 1) -> None:
        with self._changed:
            is_there = self._changed.wait_for(lambda: self.getvalue().count(text) >= times, timeout=HANG_TIMEOUT)
            assert is_there, f"no {text} was logged"


class BackgroundServer:
    """A running server that listens on `port`. Players and administrators that are started here end with it."""

    def __init__(self, port: int, start: Callable[[Callable[[], Awaitable[None]]], None], log: _Log) -> None:
        self.port = port
        self._start = start
        self._log = log

    @property
    def log(self) -> str:
        return self._log.getvalue()

    def wait_for(self, event: str, *, times: int = 1) -> None:
        """Wait until the server has logged this event so many times."""
        self._log.wait_for(f'"event": "{event}"', times)

    def when(self, event: str, action: Callable[[], None]) -> None:
        """Call `action` once, when the server logs this event."""
        self._log.call_when(f'"event": "{event}"', action)

    def add_player(
        self,
        strategy: str = "first",
        *,
        reservation: str | None = None,
        seed: int = 1,
        edition: str = next(iter(EDITIONS)),
    ) -> None:
        """Start a built-in player, which joins and plays while the test goes on."""
        chosen = EDITIONS[edition]

        async def play() -> None:
            async with Player.connect(port=self.port, dialect=chosen.dialect) as player:
                await (player.join(chosen.game_type) if reservation is None else player.join_prepared(reservation))
                await player.play_with(make_responder(strategy, seed=seed))

        self._start(play)

    def administer(self, act: Callable[[AdminClient], Awaitable[None]]) -> None:
        """Start an administrator, which acts while the test goes on."""

        async def administer() -> None:
            async with AdminClient.connect(port=self.port) as admin:
                await act(admin)

        self._start(administer)

    def run(self, *arguments: str) -> Result:
        """Run `spielleiter ARGUMENTS --port ...` until it ends."""
        return run(*arguments, "--port", str(self.port))


@contextmanager
def scripted_server(*replies: str, after: str = "<protocol>") -> Iterator[int]:
    """The port of a server that sends one reply on each connection in turn, as soon as it has received `after`.

    A reply may contain the end of the stream; otherwise the server ends its stream after the client has.
    """
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        for packets in replies:
            connection, _address = listener.accept()
            with connection:
                received = b""
                while after.encode() not in received:
                    received += connection.recv(4096)
                connection.sendall(f"<protocol>{packets}".encode())
                while END not in packets and END.encode() not in received and (piece := connection.recv(4096)):
                    received += piece
                connection.sendall(b"" if END in packets else END.encode())
                connection.shutdown(socket.SHUT_WR)
                while connection.recv(4096):
                    pass

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    with listener:
        yield listener.getsockname()[1]
        thread.join(timeout=HANG_TIMEOUT)


def run(*arguments: str, **more: Any) -> Result:
    """Run `spielleiter ARGUMENTS` in this process until it ends; unexpected exceptions are raised."""
    return CliRunner(catch_exceptions=False).invoke(cli, arguments, prog_name="spielleiter", **more)


def misuse(*arguments: str, **more: Any) -> str:
    """The line with which `spielleiter ARGUMENTS` refuses what it was asked for."""
    done = run(*arguments, **more)
    assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (2, "", 1), done.output
    return done.stderr


@contextmanager
def background_server(**settings: Any) -> Iterator[BackgroundServer]:
    """A server with these settings on a free port; at the end it is stopped and its thread joined."""
    limits = {"soft_timeout": HANG_TIMEOUT, "hard_timeout": HANG_TIMEOUT}
    config = Config(**{"port": 0, "seed": 1, "grace": 0.0, "log_format": "json", **limits, **settings})
    log = _Log()
    ready: queue.Queue[tuple[int, Callable[..., None], Callable[[], None]]] = queue.Queue()

    async def main() -> None:
        stop = trio.Event()
        token = trio.lowlevel.current_trio_token()
        async with trio.open_nursery() as players:
            async with trio.open_nursery() as serving:
                listening: Listening = await serving.start(partial(_serve, config, stop, log))
                ready.put(
                    (
                        listening.addresses[0][1],
                        lambda play: token.run_sync_soon(players.start_soon, play),
                        lambda: token.run_sync_soon(stop.set),
                    )
                )
            players.cancel_scope.cancel()

    thread = threading.Thread(target=trio.run, args=(main,), daemon=True)
    thread.start()
    port, start, stop = ready.get(timeout=HANG_TIMEOUT)
    try:
        yield BackgroundServer(port, start, log)
    finally:
        stop()
        thread.join(timeout=HANG_TIMEOUT)
        assert not thread.is_alive(), "the server does not stop"


async def _serve(config: Config, stop: trio.Event, log: _Log, *, task_status: trio.TaskStatus[Listening]) -> None:
    await serve(config, stop=stop, log_file=log, task_status=task_status)
