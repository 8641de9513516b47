"""What a driver is told: which games it plays, how many at once, against whom; and how that is written down.

Law: a plan is plain data; it crosses from process to process as one line of JSON.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from spielleiter.bench.load.scripts import Load

PASSWORD = "examplepassword"


@dataclass(frozen=True)
class PlannedGame:
    """The moves of one game: whose they are, and their packets."""

    seats: tuple[int, ...]
    packets: tuple[str, ...]


@dataclass(frozen=True)
class Plan:
    """The load of one driver process."""

    port: int
    game_type: str
    request: str
    """The end of a packet that asks for a move."""
    scripts: tuple[PlannedGame, ...]
    games: int
    """So many at once."""
    pid: int = 0
    """The process whose processor time is told, too."""
    observers: int = 0
    """Of each game."""
    pace: float | None = None
    """Seconds players think; None: they answer at once."""
    hold_ply: int | None = None
    """Games stop there; None: they go on."""
    is_spread: bool = True
    """The games begin one after the other, so that they are at different plies, as games in the world are."""
    ends_games: bool = False
    """In the end games are played to their end; else they are cut off."""

    def to_json(self) -> str:
        """One line."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, line: str) -> Plan:
        """What `to_json` has written."""
        told = json.loads(line)
        told["scripts"] = tuple(PlannedGame(tuple(each["seats"]), tuple(each["packets"])) for each in told["scripts"])
        return cls(**told)


def plan_of(load: Load, port: int, games: int, **more: float | None) -> Plan:
    """A plan of an edition's games; `more`: the other fields of `Plan`."""
    scripts = tuple(PlannedGame(each.seats, tuple(map(bytes.decode, each.packets))) for each in load.scripts)
    request = load.request[load.request.index(b"<data") :].decode()
    return Plan(port, load.game_type, request, scripts, games, **more)  # type: ignore[arg-type]


def shares(games: int, processes: int) -> Sequence[int]:
    """How many games each of so many processes plays; none plays none."""
    processes = max(1, min(games, processes))
    return [games // processes + (number < games % processes) for number in range(processes)]
