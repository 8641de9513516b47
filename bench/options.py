"""The options of a benchmark run.

Invariants: they are plain values, which the code that creates them has checked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from spielleiter.bench.load.drivers import default_process_count

PARTS: Final = (
    "floor",
    "server",
    "rules",
    "protocol",
    "start",
    "memory",
    "plies",
    "match",
    "viewer",
    "proxy",
    "cluster",
)
LONG_PARTS: Final = frozenset({"cluster"})
"""Parts that are measured only if they are named: they take long, and need an extra."""
EDITIONS: Final = ("2021-r3", "2027")
GAMES: Final = (1, 20, 100, 500)


@dataclass(frozen=True)
class Options:
    """Which parts are measured, under which load, and for how long."""

    only: tuple[str, ...] = tuple(part for part in PARTS if part not in LONG_PARTS)
    rounds: int = 3
    """The number of rounds, in each of which everything is measured once."""
    seconds: float = 2.0
    """The duration of each measurement under load."""
    games: tuple[int, ...] = GAMES
    """The numbers of games at once."""
    editions: tuple[str, ...] = tuple(f"blokus-{name}" for name in EDITIONS)
    """The full names of the editions."""
    observers: tuple[int, ...] = (0, 1)
    """The numbers of observers of each game."""
    drivers: int = default_process_count()
    """The number of driver processes."""
    memory_games: tuple[int, int] = (100, 500)
    """The two numbers of games whose memory is compared, to find that of one game."""
    match_games: tuple[int, ...] = (100, 500)
    """The numbers of games of the matches between built-in players. Matches of programs have the first number."""
    proxy_games: tuple[int, ...] = (20, 100)
    """The numbers of games at once through the proxy."""
    cluster_machines: tuple[int, ...] = (4, 16)
    """The numbers of simulated machines of a cluster."""
    pair_seconds: float = 120.0
    """The duration of each pair of games on them."""
    connections: int = 500
    """The number of idle connections whose memory is measured."""
    idle_rooms: int = 500
    """The number of idle rooms beside which one game is measured."""

    @classmethod
    def quick(cls, **chosen: Any) -> Options:
        """Return options for few games and one short round, except for the `chosen` ones."""
        return cls(**{**QUICK, **chosen})


QUICK: Final[Mapping[str, Any]] = MappingProxyType(
    {
        "rounds": 1,
        "seconds": 0.5,
        "games": (1, 20),
        "observers": (0,),
        "memory_games": (10, 60),
        "match_games": (10, 20),
        "proxy_games": (20,),
        "cluster_machines": (2,),
        "pair_seconds": 6.0,
        "connections": 100,
        "idle_rooms": 100,
    }
)
