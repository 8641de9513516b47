"""A server on a real port of this machine, for the few tests that need sockets."""

from __future__ import annotations

import io
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import trio

from spielleiter.client.admin import AdminClient
from spielleiter.client.player import GameReport, Player, Responder
from spielleiter.client.responders import make_responder
from spielleiter.server.app import Companion, Listening, serve
from spielleiter.server.config import Config
from spielleiter.server.editions import EDITIONS
from spielleiter.wire.trace_writer import Recorder
from tests.server.harness import GAME_TYPE, PASSWORD
from tests.timeouts import HANG_TIMEOUT

DIALECT = EDITIONS["blokus-2021-r3"].dialect
USUAL: dict[str, Any] = {
    "port": 0,
    "log_format": "json",
    "log_level": "debug",
    "default_game": GAME_TYPE,
    "soft_timeout": HANG_TIMEOUT,
    "hard_timeout": HANG_TIMEOUT,
    "grace": 0.0,
}
"""Default settings, with time limits that no player exceeds, however slow this machine is."""


@dataclass
class Serving:
    """A server that listens; `stop.set()` stops it, and `log` holds what it has written."""

    port: int
    stop: trio.Event
    log: io.StringIO

    def admin(self, tap: Any = None) -> Any:
        return AdminClient.connect(port=self.port, password=PASSWORD, dialect=DIALECT, tap=tap)

    async def play(self, code: str, strategy: Responder | str, reports: dict[str, GameReport]) -> None:
        """Use a reservation and play; the report is stored under the code."""
        chosen = make_responder(strategy, seed=1, delay=0.08) if isinstance(strategy, str) else strategy
        async with Player.connect(port=self.port, dialect=DIALECT) as player:
            await player.join_prepared(code)
            reports[code] = await player.play_with(chosen)

    def logged(self, name: str) -> list[dict[str, Any]]:
        """Return the log lines of this kind of event."""
        lines = [json.loads(line) for line in self.log.getvalue().splitlines()]
        return [line for line in lines if line["event"] == name]

    async def connect(self) -> trio.SocketStream:
        return await trio.open_tcp_stream("127.0.0.1", self.port)


@asynccontextmanager
async def serving(companion: Companion | None = None, **settings: Any) -> AsyncIterator[Serving]:
    """Run a server until the context is left, then stop it and wait for its end."""
    config = Config(**{**USUAL, **settings})
    stop, log = trio.Event(), io.StringIO()
    with trio.fail_after(HANG_TIMEOUT):
        async with trio.open_nursery() as nursery:
            listening: Listening = await nursery.start(
                partial(serve, config, stop=stop, log_file=log, companion=companion, recorder=Recorder)
            )
            yield Serving(listening.addresses[0][1], stop, log)
            stop.set()


def files_in(directory: Path) -> list[Path]:
    return sorted(directory.iterdir())


def replays_in(directory: Path) -> list[Path]:
    return sorted(directory.glob("*.xml"))


def open_descriptors() -> int:
    """Return the number of open descriptors of this process; 0 if it is not known."""
    folder = Path("/proc/self/fd")
    return len(list(folder.iterdir())) if folder.is_dir() else 0


async def read_all(stream: trio.abc.ReceiveStream) -> bytes:
    """Return everything up to the end of the stream."""
    return b"".join([bytes(data) async for data in stream])
