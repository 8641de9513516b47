"""Measuring the memory of the server: idle, for each additional connection, and for each additional game.

Invariants: each quantity is measured with a new server. The memory of a game is computed from the difference between
two servers with different numbers of games, all of them in the middle of play. Therefore it does not include the memory
that every server needs.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Final

from spielleiter.bench.figures import Records
from spielleiter.bench.idle_clients import authenticated_clients, unauthenticated_clients
from spielleiter.bench.load.drivers import running_drivers
from spielleiter.bench.load.plan import plan_of
from spielleiter.bench.load.scripts import load_of
from spielleiter.bench.options import Options
from spielleiter.bench.subject import running_server

QUIET: Final = 0.3  # seconds that the server is given to finish what has just begun
KIB_PER_MIB: Final = 1024
MIDDLE: Final = 30  # the ply at which the memory of games is measured
THINK_TIME: Final = "600000"  # milliseconds; no clock runs out while other games have not reached that ply

CLIENTS: Final[Mapping[str, Callable[[int, int], AbstractContextManager[None]]]] = MappingProxyType(
    {"connection": unauthenticated_clients, "administrator": authenticated_clients}
)


def measure_memory(options: Options, records: Records) -> Iterator[str]:
    """Measure the memory of the server; for the yielded texts see `spielleiter.bench.run.Part`."""
    values = {}
    for name, clients in CLIENTS.items():
        yield f"memory, {options.connections} connections ({name})"
        idle, more = _with_clients(clients, options.connections)
        values["idle"] = (idle / KIB_PER_MIB, "MiB")
        values[f"each {name} more"] = ((more - idle) / options.connections, "KiB")
    records.add({"part": "memory", "connections": options.connections}, values)
    few, many = options.memory_games
    for edition in options.editions:
        yield f"memory, {edition}, {few} and {many} games"
        less, more = _with_games(edition, few), _with_games(edition, many)
        records.add(
            {"part": "memory", "edition": edition, "from": few, "to": many},
            {"each game more": ((more - less) / (many - few), "KiB")},
        )


def _with_clients(clients: Callable[[int, int], AbstractContextManager[None]], count: int) -> tuple[int, int]:
    """Return the memory in KiB without clients and with `count` of them."""
    with TemporaryDirectory(prefix="spielleiter-bench-") as name, running_server(Path(name)) as server:
        time.sleep(QUIET)
        idle = server.resident_kib
        with clients(server.port, count):
            time.sleep(QUIET)
            return idle, server.resident_kib


def _with_games(edition: str, games: int) -> int:
    """Return the memory in KiB with `games` games at the ply `MIDDLE`, while all players on turn are thinking."""
    with (
        TemporaryDirectory(prefix="spielleiter-bench-") as name,
        running_server(Path(name), "--soft-timeout", THINK_TIME, "--hard-timeout", THINK_TIME) as server,
        running_drivers(plan_of(load_of(edition), server.port, games, hold_ply=MIDDLE)),
    ):
        time.sleep(QUIET)
        return server.resident_kib
