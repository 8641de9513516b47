"""Everything that is decided before a match begins: its setup, and the plan of its games.

Games come in pairs with the sides swapped; both games of a pair differ only in the programs' seats. The same seed and
openings give the same plan. Times are in seconds.
"""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import msgspec

from spielleiter.common.errors import SetupError
from spielleiter.common.text import count_text
from spielleiter.match.defaults import SEQUENTIAL
from spielleiter.programs.command import Command
from spielleiter.programs.sandbox.sandbox import SandboxSettings
from spielleiter.server.editions import choose_editions

SEED_BITS: Final = 32


@dataclass(frozen=True, slots=True)
class Opening:
    """A position to start from: that of the replay `path` at `turn`, or at the next turn that the replay has."""

    name: str
    path: str
    turn: int = 0


@dataclass(frozen=True, slots=True)
class PlannedGame:
    """One game before it is played; its fields mean the same as those of a `GameRecord`."""

    game: int
    pair: int
    seed: int
    seats: tuple[int, int]
    opening: Opening | None = None

    def program_seed(self, program: int) -> int:
        """The seed that a program (0 or 1) may use for its random choices, the same in both games of a pair."""
        return random.Random(f"{self.seed} program {program}").getrandbits(SEED_BITS)


def plan_games(count: int, seed: int, openings: Sequence[Opening] = ()) -> tuple[PlannedGame, ...]:
    """The plan of `count` games. Each pair gets its own seed and the next of `openings`, which are used cyclically."""
    plan = []
    for game in range(1, count + 1):
        pair = (game + 1) // 2
        pair_seed = random.Random(f"{seed} pair {pair}").getrandbits(SEED_BITS)
        opening = openings[(pair - 1) % len(openings)] if openings else None
        plan.append(PlannedGame(game, pair, pair_seed, (0, 1) if game % 2 else (1, 0), opening))
    return tuple(plan)


MAX_GAMES: Final = 1_000_000
"""The most games that a match can have; its plan is kept in memory."""


@dataclass(frozen=True, slots=True)
class Entrant:
    """A program that takes part, and the settings that apply to it alone."""

    name: str
    command: str
    can_timeout: bool = True
    """Whether the time limits are enforced."""
    cwd: str = ""
    """The directory that it is started in, relative to that of the match; empty: that one."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Environment variables, beside the few that every program gets, or instead of them."""
    soft_timeout: float | None = None
    """Its own limit for a move; None: that of the match."""
    hard_timeout: float | None = None
    """Its own limit after which a game ends without its move; None: that of the match."""
    time_factor: float = 1.0
    """A factor for its limits, for a program that runs on a slower machine."""
    memory: int | None = None
    """Mebibytes of data that each of its processes may have; None: unlimited."""
    sandbox: SandboxSettings | None = None
    """How it is confined to the contest's conditions; None: not at all."""
    passed_variables: tuple[str, ...] = ()
    """The names of variables that it gets from the environment of the match; on a cluster, from that of the worker."""
    main: str = ""
    """The main file of a package (a ZIP file), relative to its folder; empty: the one that is found to be it."""
    content: str = ""
    """The SHA-256 of its file when the match was set up (programs/command.py); empty: unknown."""

    @property
    def has_own_limits(self) -> bool:
        """Whether its time limits may differ from those of the match."""
        return self.time_factor != 1 or not self.soft_timeout is self.hard_timeout is None

    def is_same(self, other: Entrant) -> bool:
        """Whether both are the same program, started in the same way; unknown contents are taken to be equal."""
        is_unknown = not self.content or not other.content
        return dataclasses.replace(self, content=other.content) == other and (
            is_unknown or self.content == other.content
        )


@dataclass(frozen=True, slots=True)
class ProgramTimeouts:
    """How long the match waits for programs, in seconds."""

    start: float = 30.0
    """From the start of the process until it has taken its seat."""
    exit: float = 5.0
    """From the end of the game until the process has exited."""
    game: float = 600.0
    """For a whole game; the program whose turn it is then gets the verdict "hangs"."""


@dataclass(frozen=True, slots=True)
class MatchSetup:
    """Two programs, the game they play, and the rules of the match.

    Raises SetupError if the number of games is out of range or a command line cannot be parsed.
    """

    entrants: tuple[Entrant, Entrant]
    game_type: str
    games: int
    seed: int
    run_id: str
    """Identifies this match in the environment of its processes."""
    openings: tuple[Opening, ...] = ()
    """In the order in which pairs of games begin from them."""
    server: tuple[str, int] | None = None
    """Host and port of the server; None: the match starts a server of its own."""
    password: str = field(default="", repr=False)
    """The administrators' password at that server; it is not saved in the folder."""
    server_options: Mapping[str, Any] = field(default_factory=dict)
    """Settings of the match's own server by their field names in the server's `Config`."""
    timeouts: ProgramTimeouts = ProgramTimeouts()
    sprt: str | None = None
    """The sequential test that ends the match, in the form of the option `--sprt`."""
    significance: float | None = None
    """The match ends once one program is better; this is the highest accepted probability of error."""
    min_games: int = 0
    """The number of counted games before which neither test ends the match."""
    edition: str | None = None
    """The edition of the server; None: the default one of that game."""
    cwd: str = ""
    """The directory that the match was started in and its programs are started in; empty: the current one."""
    opening_order: str = SEQUENTIAL
    """The order that the openings were put into, one of `defaults.ORDERS`."""

    def __post_init__(self) -> None:
        if not 1 <= self.games <= MAX_GAMES:
            raise SetupError(f"{count_text(self.games, 'game')} cannot be played, expected 1 to {MAX_GAMES}")
        for program, entrant in enumerate(self.entrants):
            Command.parse(entrant.command, self.cwd_of(program))

    def cwd_of(self, program: int) -> str:
        """The directory that a program (0 or 1) is started in; empty: the current one."""
        own = self.entrants[program].cwd
        return str(Path(self.cwd, own)) if own else self.cwd

    @property
    def names(self) -> tuple[str, str]:
        """The programs' names."""
        return self.entrants[0].name, self.entrants[1].name

    @property
    def editions(self) -> dict[str, str]:
        """The edition by gameType; empty if it is the default one."""
        return {} if self.edition is None else {self.game_type: self.edition}

    def plan(self) -> tuple[PlannedGame, ...]:
        """All games of the match, in the order in which they are started."""
        return plan_games(self.games, self.seed, self.openings)

    def to_json(self) -> dict[str, Any]:
        """The content of `match.json`: everything except the password."""
        value = dataclasses.asdict(self)
        del value["password"]
        value["server_options"] = dict(self.server_options)
        return value

    @classmethod
    def from_json(cls, value: Mapping[str, Any], password: str = "") -> MatchSetup:
        """The setup that `to_json` wrote as `value`, with the administrators' `password`. Raises SetupError."""
        try:
            setup = msgspec.convert({**value, "password": password}, cls)
        except msgspec.ValidationError as error:
            raise SetupError(f"not the setup of a match: {error}") from None
        _require_known(value, setup.to_json())
        return setup


def _require_known(value: Any, known: Any) -> None:
    """Raise SetupError if `value` has a key that `known`, what was read of it, has not."""
    if isinstance(value, Mapping):
        for key, each in value.items():
            if key not in known:
                raise SetupError(f"not the setup of a match: there is no key {key}")
            _require_known(each, known[key])
    elif isinstance(value, list):
        for each, own in zip(value, known, strict=True):
            _require_known(each, own)


def season_text(game_type: str, edition: str | None = None) -> str:
    """The name of the season in all outputs, for example ``swc_2027_blokus (blokus-2027)``. Raises StartError.

    None means the default edition of that game.
    """
    if edition is None:
        edition = choose_editions({}, {})[game_type].name
    return f"{game_type} ({edition})"
