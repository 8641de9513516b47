"""The server that one game is played at: one of our own, or one that runs already.

Law: our own is made for one game and ends with it, so that its seed and opening are those of the plan; each program
has a port of its own there, so that whatever comes from it is known to be its. Of a server that runs already nothing is
known but what an observer sees.
"""

from __future__ import annotations

import dataclasses
import gzip
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final, TypeAlias

import trio

from client.admin import AdminClient
from client.defaults import DEFAULT_PASSWORD
from match.plan import PlannedGame
from match.setup import MatchSetup
from match.wire_log import LoggedWire, WireLog
from protocol.dialect import Dialect
from server import events
from server.config import Config
from server.editions import choose_editions
from server.listener import Server
from server.wire import SocketWire, Wire

WIRE_LOG: Final = "wire.log.gz"
SERVER_LOG: Final = "server.log"

_HOST: Final = "127.0.0.1"
_BACKLOG: Final = 16
_FAST: Final = 1  # the packets are alike, so that even this makes little of them

_STEP: Final = 0.1  # seconds until the next try when nothing can be accepted

Listener: TypeAlias = Callable[[events.Happening, int | None], None]
"""Is told what happened at our own server, and at whose connection: a program's index, or None."""


@dataclass(frozen=True, slots=True)
class House:
    """A server for one game; `addresses` by program, `dialect` what an observer is spoken to in."""

    admin: AdminClient
    addresses: tuple[tuple[str, int], tuple[str, int]]
    dialect: Dialect
    is_own: bool


def open_house(
    setup: MatchSetup, planned: PlannedGame, folder: Path, listener: Listener
) -> AbstractAsyncContextManager[House]:
    """The server for `planned`, as the setup wants it; `listener` hears of our own only.

    Raises OSError, StartError and ClientError, alone or in groups.
    """
    return _running_house(setup, folder) if setup.server else _own_house(setup, planned, folder, listener)


def own_config(setup: MatchSetup, planned: PlannedGame | None = None) -> Config:
    """The configuration of our own server for one game. Raises TypeError for an option that is none."""
    config = Config(port=0, log_format="json", log_level="debug", editions=setup.editions, **setup.server_options)
    if planned is None:
        return config
    config = dataclasses.replace(config, seed=planned.seed)
    opening = planned.opening
    if opening is None:
        return config
    return dataclasses.replace(config, load_game_file=Path(opening.path), turn=opening.turn)


@asynccontextmanager
async def _running_house(setup: MatchSetup, folder: Path) -> AsyncIterator[House]:
    assert setup.server is not None
    host, port = setup.server
    dialect = choose_editions(setup.editions, {})[setup.game_type].dialect
    with gzip.open(folder / WIRE_LOG, "wb", _FAST) as file:
        tap = partial(WireLog(file).write, "observer <")
        async with AdminClient.connect(host, port, setup.password, dialect=dialect, tap=tap) as admin:
            yield House(admin, ((host, port), (host, port)), dialect, is_own=False)


@asynccontextmanager
async def _own_house(setup: MatchSetup, planned: PlannedGame, folder: Path, listener: Listener) -> AsyncIterator[House]:
    with (
        (folder / SERVER_LOG).open("w", encoding="utf-8") as log_file,
        gzip.open(folder / WIRE_LOG, "wb", _FAST) as wire_file,
        _listening() as first,
        _listening() as second,
        _listening() as third,
    ):
        server = Server(own_config(setup, planned), log_file)
        edition = server.editions[setup.game_type]
        desk = _Desk(server, WireLog(wire_file), listener)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(server.run, [], None)
            for sock, program in ((first, 0), (second, 1), (third, None)):
                nursery.start_soon(desk.accept, sock, program, nursery)
            async with AdminClient.connect(
                _HOST, third.getsockname()[1], DEFAULT_PASSWORD, dialect=edition.dialect
            ) as admin:
                addresses = (_HOST, first.getsockname()[1]), (_HOST, second.getsockname()[1])
                yield House(admin, addresses, edition.dialect, is_own=True)
            nursery.cancel_scope.cancel()


@contextmanager
def _listening() -> Iterator[socket.socket]:
    with socket.socket() as sock:
        sock.setblocking(False)
        sock.bind((_HOST, 0))
        sock.listen(_BACKLOG)
        yield sock


class _Desk:
    """Accepts connections and knows whose they are."""

    def __init__(self, server: Server, log: WireLog, listener: Listener) -> None:
        self._server = server
        self._log = log
        self._listener = listener
        self._program_by_address: dict[str, int] = {}
        self._program_by_label: dict[str, int] = {}
        server.stream.subscribe(self._hear)

    async def accept(self, sock: socket.socket, program: int | None, nursery: trio.Nursery) -> None:
        """Serve everybody who comes to this socket."""
        while True:
            try:
                connection, address = sock.accept()
            except BlockingIOError:
                await trio.lowlevel.wait_readable(sock)
                continue
            except ConnectionAbortedError:
                await trio.lowlevel.checkpoint()
                continue
            except OSError:  # no descriptor left, most often
                await trio.sleep(_STEP)
                continue
            shown = f"{address[0]}:{address[1]}"
            wire: Wire = SocketWire(connection)
            if program is not None:
                self._program_by_address[shown] = program
                wire = LoggedWire(wire, self._log, f"program {program + 1}")
            nursery.start_soon(self._server.serve_wire, wire, shown)
            await trio.lowlevel.checkpoint()

    def _hear(self, happening: events.Happening) -> None:
        label = getattr(happening, "connection", None)
        if isinstance(happening, events.ConnectionOpened) and happening.address in self._program_by_address:
            self._program_by_label[happening.connection] = self._program_by_address[happening.address]
        self._listener(happening, None if label is None else self._program_by_label.get(label))
