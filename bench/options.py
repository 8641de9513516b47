"""What a run of the bench is asked for.

Law: plain values; whoever makes them has checked them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from spielleiter.bench.load.drivers import sensible_processes

PARTS: Final = ("floor", "server", "rules", "protocol", "start", "memory", "plies", "match")
EDITIONS: Final = ("2021-r3", "2027")
GAMES: Final = (1, 20, 100, 500)


@dataclass(frozen=True)
class Options:
    """Which parts, on what load, for how long."""

    only: tuple[str, ...] = PARTS
    rounds: int = 3
    seconds: float = 2.0
    """Of each measurement under load."""
    games: tuple[int, ...] = GAMES
    editions: tuple[str, ...] = tuple(f"blokus-{name}" for name in EDITIONS)
    """The editions' whole names."""
    observers: tuple[int, ...] = (0, 1)
    """Of each game."""
    drivers: int = sensible_processes()
    memory_games: tuple[int, int] = (100, 500)
    """Between these two it is measured what one more costs."""
    match_games: tuple[int, ...] = (100, 500)
    """The lengths of matches between built-in players; between programs, the first one."""
    connections: int = 500
    """So many do nothing while memory is measured,"""
    idle_rooms: int = 500
    """and so many rooms while one game is."""

    @classmethod
    def quick(cls, **chosen: Any) -> Options:
        """Few games and one short round, but for what was chosen."""
        return cls(**{**QUICK, **chosen})


QUICK: Final[Mapping[str, Any]] = MappingProxyType(
    {
        "rounds": 1,
        "seconds": 0.5,
        "games": (1, 20),
        "observers": (0,),
        "memory_games": (10, 60),
        "match_games": (10, 20),
        "connections": 100,
        "idle_rooms": 100,
    }
)
