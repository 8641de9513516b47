"""What memory the server has: idle, for a connection more, and for a running game more.

Law: each quantity has a fresh server. A game's memory is the difference between two servers that run so many games and
so many more, all in the middle; what it is per game does not contain what any server has.
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
from spielleiter.bench.load.drivers import driving
from spielleiter.bench.load.plan import plan_of
from spielleiter.bench.load.scripts import load_of
from spielleiter.bench.options import Options
from spielleiter.bench.subject import serving
from spielleiter.bench.visitors import administrators, strangers

QUIET: Final = 0.3  # seconds after which what has just begun is done
KIB_PER_MIB: Final = 1024
MIDDLE: Final = 30  # the ply at which running games are looked at
THINK_TIME: Final = "600000"  # milliseconds; nobody's clock runs out while others are still on the way there

VISITORS: Final[Mapping[str, Callable[[int, int], AbstractContextManager[None]]]] = MappingProxyType(
    {"connection": strangers, "administrator": administrators}
)


def measure_memory(options: Options, records: Records) -> Iterator[str]:
    """Says beforehand what is measured next."""
    values = {}
    for name, visitors in VISITORS.items():
        yield f"memory, {options.connections} connections ({name})"
        idle, more = _with_visitors(visitors, options.connections)
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


def _with_visitors(visitors: Callable[[int, int], AbstractContextManager[None]], count: int) -> tuple[int, int]:
    """KiB before they come and while they are there."""
    with TemporaryDirectory(prefix="spielleiter-bench-") as name, serving(Path(name)) as server:
        time.sleep(QUIET)
        idle = server.resident_kib
        with visitors(server.port, count):
            time.sleep(QUIET)
            return idle, server.resident_kib


def _with_games(edition: str, games: int) -> int:
    """KiB while so many are at the same ply, all players thinking."""
    with (
        TemporaryDirectory(prefix="spielleiter-bench-") as name,
        serving(Path(name), "--soft-timeout", THINK_TIME, "--hard-timeout", THINK_TIME) as server,
        driving(plan_of(load_of(edition), server.port, games, hold_ply=MIDDLE)),
    ):
        time.sleep(QUIET)
        return server.resident_kib
