"""The description of a tournament, and the TOML file that it is read from.

Every pairing is a match with its own folder and journal. All matches have the same starts, except repeated pairings and
play-offs, which have their own. A key that has no effect on this kind of tournament is refused, never ignored.
"""

from __future__ import annotations

import enum
import itertools
import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from spielleiter.common.errors import SetupError
from spielleiter.common.files import portable_name
from spielleiter.match.defaults import DEFAULT_MIN_GAMES, ORDERS
from spielleiter.match.game_folder import KeepPolicy
from spielleiter.match.pairings import default_rounds, most_rounds
from spielleiter.match.plan import (
    SEED_BITS,
    Entrant,
    MatchSetup,
    Opening,
    ProgramTimeouts,
    season_text,
)
from spielleiter.match.preparation import openings_of, with_content
from spielleiter.match.statistics import Sprt, SprtError
from spielleiter.match.toml_files import (
    MILLISECONDS,
    read_entrant,
    read_toml,
    require_known,
    resolve_paths,
    take,
    take_choice,
    take_folder,
    take_positive,
    take_texts,
    take_time,
)
from spielleiter.server.setting import MAX_WHOLE_NUMBER, suggestion

SEEDINGS: Final = ("random", "listed")
MAX_PLAY_OFFS: Final = 100
MATCHES: Final = "matches"

_UNSAFE: Final = re.compile(r"[^\w.+-]+")


class TournamentKind(enum.Enum):
    """How opponents are chosen."""

    ROUND_ROBIN = "round-robin"  # every program meets every other one
    GAUNTLET = "gauntlet"  # each tested program meets all programs that are not tested
    KNOCK_OUT = "knock-out"
    SWISS = "swiss"

    @property
    def has_rounds(self) -> bool:
        """Whether later pairings depend on results."""
        return self in {TournamentKind.KNOCK_OUT, TournamentKind.SWISS}


@dataclass(frozen=True, slots=True)
class Tournament:
    """The programs and settings of a tournament; most settings apply to each match and are named as in `MatchSetup`."""

    entrants: tuple[Entrant, ...]
    kind: TournamentKind = TournamentKind.ROUND_ROBIN
    games: int = 100
    game_type: str = ""
    seed: int = 0
    concurrency: int = 1
    server_options: Mapping[str, Any] = field(default_factory=dict)
    timeouts: ProgramTimeouts = field(default_factory=ProgramTimeouts)
    sprt: str | None = None
    """The sequential test that ends each match, in the form of the option `--sprt` of `match`."""
    significance: float | None = None
    """Each match ends once one program is better; this is the highest accepted probability of error."""
    min_games: int | None = None
    """The number of counted games before which `significance` ends no match; None: that of `match`."""
    has_time_limits: bool = True
    """False: the time limits are enforced for no program. True: that depends on each program's `can_timeout`."""
    is_fail_fast: bool = False
    """Whether the tournament is interrupted after the first game in which a program is at fault."""
    keeps_playing: bool = False
    """Whether a match goes on although a program has failed in all of its games so far, or was never there."""
    cwd: str = ""
    """The directory that programs are started in; empty: the current one."""
    edition: str | None = None
    """The edition of the server; None: the default one of that game."""
    is_pinned: bool = False
    cores_per_game: int | None = None
    on_end: str | None = None
    """A command that is run after the tournament."""
    keep: KeepPolicy = KeepPolicy.ALL
    is_restarting: bool = True
    """Whether programs are started anew for each game."""
    fail_on: tuple[str, ...] = ()
    report_every: int | None = None
    pages: str = "auto"
    """Which kept games get a page that shows their replay; one of PAGES."""
    out: str = ""
    """The folder for all files; empty: a new one."""
    anchor: str | None = None
    """The name of the program whose rating is 0; None: the mean of all ratings is 0."""
    tested: int = 1
    """In a gauntlet: the number of tested programs, which are the first ones; each meets all others."""
    rounds: int | None = None
    """In a Swiss tournament: the number of rounds; None: the number that a knock-out would have."""
    seeding: str = SEEDINGS[0]
    """``listed``: the programs are listed by strength, the strongest first; ``random``: the order is drawn."""
    play_offs: int = 3
    """In a knock-out: the highest number of play-offs, each a pair of games, after an even match."""
    third_place: bool = False
    """In a knock-out: whether the losers of the semi-finals play for third place."""
    book: str = ""
    """The path of the opening book; empty: the game's own starting positions."""
    order: str = ORDERS[0]
    """The order that the openings are put into, one of `defaults.ORDERS`."""
    opening_turn: int = 0
    """The turn to begin from if the book does not name one."""
    openings: tuple[Opening, ...] = ()

    def __post_init__(self) -> None:
        names = [entrant.name for entrant in self.entrants]
        if self.anchor is not None and self.anchor not in names:
            raise SetupError(f"anchor {self.anchor!r}: expected the name of a program, {' or '.join(map(repr, names))}")
        if self.min_games is not None and self.significance is None:
            raise SetupError("min_tests: has no effect without significance")
        if len(names) < 2:
            raise SetupError(f"expected at least 2 programs, found {len(names)}")
        if self.kind is TournamentKind.GAUNTLET and not 1 <= self.tested < len(names):
            raise SetupError(f"tested = {self.tested}: expected at least 1, and fewer than the {len(names)} programs")
        if self.kind is TournamentKind.SWISS and not 1 <= self.number_of_rounds <= most_rounds(len(names)):
            raise SetupError(
                f"rounds = {self.rounds}: expected 1 to {most_rounds(len(names))}, "
                f"since {len(names)} programs would have to meet again after that"
            )
        for name in names:
            if names.count(name) > 1:
                raise SetupError(f"two programs are called {name!r}, expected a name of its own for each")
        try:
            if self.sprt is not None:
                Sprt.parse(self.sprt)
        except SprtError as error:
            raise SetupError(str(error)) from None

    @property
    def season(self) -> str:
        """GameType and edition, as all outputs name them."""
        return season_text(self.game_type, self.edition)

    @property
    def number_of_rounds(self) -> int:
        """The number of rounds of a Swiss tournament."""
        return default_rounds(len(self.entrants)) if self.rounds is None else self.rounds

    def seeded(self) -> list[int]:
        """The indices of the programs, the one seeded highest first."""
        programs = list(range(len(self.entrants)))
        if self.seeding == "random":
            random.Random(f"{self.seed} seeding").shuffle(programs)
        return programs

    def pairings(self) -> list[tuple[int, int]]:
        """All possible pairings, as indices of `entrants`; in the order of playing unless that depends on results."""
        indices = range(len(self.entrants))
        if self.kind is TournamentKind.GAUNTLET:
            return [(own, other) for own in indices[: self.tested] for other in indices[self.tested :]]
        return list(itertools.combinations(indices, 2))

    def match_of(self, pairing: tuple[int, int], run_id: str, meeting: int = 0, play_off: int = 0) -> MatchSetup:
        """The setup of the match between two programs, given by their indices. Raises SetupError.

        `run_id` identifies the match in the environment of its processes. `meeting` is the number of times that the two
        have met before, and `play_off` the number of the play-off, 0 for the match itself. Each meeting and each
        play-off has its own starts.
        """
        pairs = (self.games + 1) // 2
        used = meeting * pairs + (pairs + play_off - 1 if play_off else 0)
        seed = self.seed
        if meeting or play_off:
            seed = random.Random(f"{seed} meeting {meeting} play-off {play_off}").getrandbits(SEED_BITS)
        begin = used % len(self.openings) if self.openings else 0
        return MatchSetup(
            entrants=(self.playing[pairing[0]], self.playing[pairing[1]]),
            game_type=self.game_type,
            games=2 if play_off else self.games,
            seed=seed,
            openings=(*self.openings[begin:], *self.openings[:begin]),
            opening_order=self.order,
            run_id=run_id,
            server_options=self.server_options,
            timeouts=self.timeouts,
            sprt=None if play_off else self.sprt,
            significance=None if play_off else self.significance,
            min_games=0 if play_off or self.significance is None else self.min_games or DEFAULT_MIN_GAMES,
            cwd=self.cwd,
            edition=self.edition,
        )

    @property
    def playing(self) -> tuple[Entrant, ...]:
        """The programs with the settings that they have in their matches."""
        return tuple(each if self.has_time_limits else replace(each, can_timeout=False) for each in self.entrants)

    def folder_of(self, number: int, pairing: tuple[int, int], play_off: int = 0) -> str:
        """The folder of the match with this number, relative to that of the tournament."""
        names = "_".join(_UNSAFE.sub("_", self.entrants[index].name)[:40] for index in pairing)
        name = f"{number:03d}_{names}" + (f"_play-off{play_off}" if play_off else "")
        return f"{MATCHES}/{portable_name(name)}"


def with_openings(tournament: Tournament) -> Tournament:
    """The tournament with the openings of its book, which are read and put into their order. Raises SetupError."""
    if not tournament.book:
        return tournament
    openings = openings_of(
        Path(tournament.book),
        tournament.opening_turn,
        tournament.game_type,
        edition=tournament.edition,
        server_options=tournament.server_options,
        order=tournament.order,
        seed=tournament.seed,
    )
    return replace(tournament, openings=openings)


def with_contents(tournament: Tournament) -> Tournament:
    """The tournament with what the files of its programs contain now. Raises SetupError."""
    return replace(tournament, entrants=tuple(with_content(each, tournament.cwd) for each in tournament.entrants))


RESTARTS: Final = ("always", "never")
PAGES: Final = ("auto", "all", "failed", "none")
BASE: Final = "base"
"""The key of the folder that relative paths begin at, if it is not the folder of the file."""

_SECONDS: Final = {"start_timeout": "start", "exit_timeout": "exit", "game_timeout": "game"}
_RULES: Final = ("start_piece", "game_end")
_KINDS_BY_KEY: Final[Mapping[str, Sequence[str]]] = MappingProxyType(
    {
        "tested": ("gauntlet",),
        "rounds": ("swiss",),
        "seeding": ("knock-out", "swiss"),
        "play_offs": ("knock-out",),
        "third_place": ("knock-out",),
    }
)
"""By key: the kinds of tournaments that it applies to."""

_Reader: TypeAlias = Callable[[Mapping[str, Any], str], Any]
"""Returns the value of a key in the content of a file. Raises SetupError."""


def _value(kind: type | tuple[type, ...]) -> _Reader:
    return lambda value, key: take(value, key, kind, None)


def _whole(least: int, most: int = MAX_WHOLE_NUMBER) -> _Reader:
    def read(value: Mapping[str, Any], key: str) -> int:
        taken = value[key]
        if not isinstance(taken, int) or isinstance(taken, bool) or not least <= taken <= most:
            raise SetupError(f"{key} {taken!r}: expected a whole number from {least} to {most}")
        return taken

    return read


def _positive(value: Mapping[str, Any], key: str) -> Any:
    return take_positive(value, key, int, None)


def _choice(choices: Sequence[str]) -> _Reader:
    return lambda value, key: take_choice(value, key, choices, choices[0])


def _kind(value: Mapping[str, Any], key: str) -> TournamentKind:
    kinds = [kind.value for kind in TournamentKind]
    if take(value, key, str, None) not in kinds:
        hint = suggestion(value[key], kinds)
        raise SetupError(f"{key} {value[key]!r}: expected {', '.join(kinds[:-1])} or {kinds[-1]}{hint}")
    return TournamentKind(value[key])


_FIELDS: Final[Mapping[str, tuple[str, _Reader]]] = MappingProxyType(
    {
        "kind": ("kind", _kind),
        "games": ("games", _value(int)),
        "game": ("game_type", _value(str)),
        "edition": ("edition", _value(str)),
        "seed": ("seed", _value(int)),
        "concurrency": ("concurrency", lambda value, key: max(1, take(value, key, int, 1))),
        "anchor": ("anchor", _value(str)),
        "sprt": ("sprt", _value(str)),
        "significance": ("significance", _value((int, float))),
        "min_tests": ("min_games", _positive),
        "no_timeout": ("has_time_limits", lambda value, key: not take(value, key, bool, False)),
        "fail_fast": ("is_fail_fast", _value(bool)),
        "keep_playing": ("keeps_playing", _value(bool)),
        "cwd": ("cwd", take_folder),
        "pin": ("is_pinned", _value(bool)),
        "cores_per_game": ("cores_per_game", _positive),
        "keep": (
            "keep",
            lambda value, key: KeepPolicy(take_choice(value, key, [each.value for each in KeepPolicy], "all")),
        ),
        "restart": ("is_restarting", lambda value, key: _choice(RESTARTS)(value, key) == RESTARTS[0]),
        "on_end": ("on_end", _value(str)),
        "fail_on": ("fail_on", take_texts),
        "report_every": ("report_every", _positive),
        "pages": ("pages", _choice(PAGES)),
        "out": ("out", _value(str)),
        "tested": ("tested", _whole(1)),
        "rounds": ("rounds", _whole(1)),
        "seeding": ("seeding", _choice(SEEDINGS)),
        "play_offs": ("play_offs", _whole(0, MAX_PLAY_OFFS)),
        "third_place": ("third_place", _value(bool)),
        "book": ("book", _value(str)),
        "order": ("order", _choice(ORDERS)),
        "opening_turn": ("opening_turn", _whole(0)),
    }
)
"""By key: the field of `Tournament` that it sets, and what reads its value."""


def read_tournament(file: Path, game_type: str, *, is_copy: bool = False) -> Tournament:
    """The tournament that a TOML file describes. Raises SetupError.

    `game_type` is the game if the file does not name one. `is_copy` says that the file is the copy in a tournament's
    folder. A copy of an earlier version has no base; its relative paths begin at the directory that programs are
    started in.

    Keys: kind, games, game, edition, seed, concurrency, anchor; sprt, significance, min_tests, no_timeout, fail_fast
    and keep_playing, which have the same meaning as the options of `match`; soft_timeout and hard_timeout
    (milliseconds), start_timeout, exit_timeout and game_timeout (seconds), start_piece, game_end, cwd (the directory
    that programs are started in), base (the folder that relative paths begin at), pin, cores_per_game, keep, restart,
    on_end, fail_on, report_every, pages, out; tested, rounds, seeding, play_offs and third_place, which depend on the
    kind; book (or openings), order and opening_turn; and a table ``[[program]]`` for each program
    (match/toml_files.py).
    """
    value = read_toml(file)
    try:
        folder = take_folder(value, BASE) or (is_copy and take_folder(value, "cwd")) or file.absolute().parent
        resolve_paths(value, Path(folder))
        if "openings" in value:
            value["book"] = value.pop("openings")
        return _tournament(value, game_type)
    except SetupError as error:
        raise SetupError(f"{file}: {error}") from None


def _tournament(value: dict[str, Any], game_type: str) -> Tournament:
    require_known(value, (*_FIELDS, BASE, "openings", "program", *_SECONDS, *MILLISECONDS, *_RULES))
    fields = {field: read(value, key) for key, (field, read) in _FIELDS.items() if key in value}
    kind = fields.get("kind", TournamentKind.ROUND_ROBIN).value
    for key, kinds in _KINDS_BY_KEY.items():
        if key in value and kind not in kinds:
            wanted = " or ".join(f'kind = "{each}"' for each in kinds)
            raise SetupError(f'{key}: has no effect with kind = "{kind}", expected {wanted}')
    for key in ("order", "opening_turn"):
        if key in value and "book" not in value:
            raise SetupError(f"{key}: has no effect without a book")
    limits: dict[str, Any] = {key: take_time(value, key, int) / 1000 for key in MILLISECONDS if key in value}
    rules: dict[str, Any] = {key: take(value, key, str, "") for key in _RULES if key in value}
    times = {field: float(take_time(value, key, (int, float))) for key, field in _SECONDS.items() if key in value}
    return Tournament(
        entrants=tuple(read_entrant(program) for program in take(value, "program", list, [])),
        server_options={**limits, **rules},
        timeouts=ProgramTimeouts(**times),
        **{"game_type": game_type, **fields},
    )
