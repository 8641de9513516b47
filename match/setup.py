"""Everything that is decided before a match begins.

Law: a `MatchSetup` is made once and never changes; `from_json(setup.to_json())` is the setup, so that an interrupted
match goes on as it began, whatever options are given then. Times are seconds.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from spielleiter.match.errors import SetupError
from spielleiter.match.plan import SEQUENTIAL, Opening, PlannedGame, plan_games
from spielleiter.match.programs.program import Command
from spielleiter.server.text.counting import count_text

MAX_GAMES: Final = 1_000_000
"""The most games that a match can have; its plan is kept in memory."""


@dataclass(frozen=True, slots=True)
class Entrant:
    """A program that takes part, and what holds for it alone."""

    name: str
    command: str
    can_timeout: bool = True
    """Whether it is held to the time limits."""
    cwd: str = ""
    """The directory that it is started in, relative to that of the match; empty: that one."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Variables that it has besides those of this process, or instead of them."""
    soft_timeout: float | None = None
    """Its own limit for a move; None: that of the match."""
    hard_timeout: float | None = None
    """Its own limit until a game ends without a move; None: that of the match."""
    time_factor: float = 1.0
    """Its limits are multiplied by this, for a program that runs on something slower."""
    memory: int | None = None
    """Mebibytes of data that each of its processes may have; None: not limited."""

    @property
    def is_unlike(self) -> bool:
        """Whether it is timed otherwise than the match says."""
        return self.time_factor != 1 or not self.soft_timeout is self.hard_timeout is None


@dataclass(frozen=True, slots=True)
class Patience:
    """How long programs are waited for."""

    start: float = 30.0
    """From the start of the process until it has taken its seat."""
    exit: float = 5.0
    """From the end of the game until the process has ended itself."""
    game: float = 600.0
    """For a whole game: whoever is on turn then hangs."""


@dataclass(frozen=True, slots=True)
class MatchSetup:
    """Two programs and what they play."""

    entrants: tuple[Entrant, Entrant]
    game_type: str
    games: int
    seed: int
    run_id: str
    """Names this run in the environment of its processes."""
    openings: tuple[Opening, ...] = ()
    """In the order in which pairs of games begin from them."""
    server: tuple[str, int] | None = None
    """Where the server is; None: one of our own, anew for each game."""
    password: str = field(default="", repr=False)
    """The administrators' password at that server; not kept in the folder."""
    server_options: Mapping[str, Any] = field(default_factory=dict)
    """Settings of our own server by the field's name in its configuration."""
    patience: Patience = Patience()
    sprt: str | None = None
    """The sequential test that ends the match, as its option is written."""
    significance: float | None = None
    """The match ends once one program is better with this probability of error at most."""
    min_games: int = 0
    """But not before so many games."""
    edition: str | None = None
    """The form in which the server speaks; None: the usual one of that game."""
    cwd: str = ""
    """The directory that the match was begun in and its programs are started in; empty: the current one."""
    opening_order: str = SEQUENTIAL
    """How the openings were put in their order."""

    def __post_init__(self) -> None:
        if not 1 <= self.games <= MAX_GAMES:
            raise SetupError(f"{count_text(self.games, 'game')} cannot be played, expected 1 to {MAX_GAMES}")
        for program, entrant in enumerate(self.entrants):
            Command.parse(entrant.command, self.cwd_of(program))

    def cwd_of(self, program: int) -> str:
        """The directory that a program is started in; empty: the current one."""
        own = self.entrants[program].cwd
        return str(Path(self.cwd, own)) if own else self.cwd

    @property
    def names(self) -> tuple[str, str]:
        """By program."""
        return self.entrants[0].name, self.entrants[1].name

    @property
    def editions(self) -> dict[str, str]:
        """The edition by gameType, if it is not the usual one."""
        return {} if self.edition is None else {self.game_type: self.edition}

    def plan(self) -> tuple[PlannedGame, ...]:
        return plan_games(self.games, self.seed, self.openings)

    def to_json(self) -> dict[str, Any]:
        value = dataclasses.asdict(self)
        del value["password"]
        return {**value, "server_options": dict(self.server_options)}

    @classmethod
    def from_json(cls, value: Mapping[str, Any], password: str = "") -> MatchSetup:
        """Raises SetupError."""
        try:
            first, second = (Entrant(**entrant) for entrant in value["entrants"])
            return cls(
                **{
                    **value,
                    "entrants": (first, second),
                    "openings": tuple(Opening(**opening) for opening in value["openings"]),
                    "server": None if value["server"] is None else (value["server"][0], value["server"][1]),
                    "patience": Patience(**value["patience"]),
                    "password": password,
                }
            )
        except (LookupError, TypeError, ValueError) as error:
            raise SetupError(f"not the setup of a match: {error}") from None
