"""`Plan`: which games a driver process plays, how many at once, and against which server.

Invariants: a plan is plain data. It is passed to the process as one line of JSON.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from spielleiter.bench.load.scripts import Load

PASSWORD = "examplepassword"


@dataclass(frozen=True)
class PlannedGame:
    """The moves of one game: for each move the seat of its player, and its packet."""

    seats: tuple[int, ...]
    packets: tuple[str, ...]


@dataclass(frozen=True)
class Plan:
    """The load of one driver process."""

    port: int
    game_type: str
    request: str
    """The end of a packet that requests a move."""
    scripts: tuple[PlannedGame, ...]
    games: int
    """The number of games at once."""
    pid: int = 0
    """The process whose processor time is reported; 0 for none."""
    observers: int = 0
    """The number of observers of each game."""
    pace: float | None = None
    """The average think time in seconds. None: the players answer at once."""
    hold_ply: int | None = None
    """The ply at which the games stop. None: they do not."""
    is_spread: bool = True
    """Whether the games are started one after another, so that they are at different plies, as real games are."""
    ends_games: bool = False
    """Whether the games are played to their end when the driver finishes; otherwise they are aborted."""

    def to_json(self) -> str:
        """Return the plan as one line of JSON."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, line: str) -> Plan:
        """Return the plan that `to_json` has written."""
        fields = json.loads(line)
        scripts = tuple(PlannedGame(tuple(each["seats"]), tuple(each["packets"])) for each in fields["scripts"])
        return cls(**{**fields, "scripts": scripts})


def plan_of(load: Load, port: int, games: int, **more: float | None) -> Plan:
    """Return a plan with the games of `load`; `more` are the other fields of `Plan`."""
    scripts = tuple(PlannedGame(each.seats, tuple(map(bytes.decode, each.packets))) for each in load.scripts)
    request = load.request[load.request.index(b"<data") :].decode()
    return Plan(port, load.game_type, request, scripts, games, **more)  # type: ignore[arg-type]


def shares(games: int, processes: int) -> Sequence[int]:
    """Return the number of games for each of at most `processes` processes. Every process plays at least one."""
    processes = max(1, min(games, processes))
    return [games // processes + (number < games % processes) for number in range(processes)]
