"""More than two programs: who plays whom, and the file that describes it; ratings.py rates them.

Invariants: every pairing is a match of its own, with a folder and a journal of its own, and all play the same starts,
but for pairings that are played again and for play-offs, which have starts of their own.
"""

from __future__ import annotations

import enum
import itertools
import random
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from match.book import arrange, load_openings
from match.errors import SetupError
from match.form import KEYS, Form, read_form
from match.plan import SEED_BITS, Opening
from match.season import season_text
from match.setup import Entrant, MatchSetup, Patience
from match.sprt import Sprt, SprtError
from server.setting import MAX_SECONDS, MAX_WHOLE_NUMBER

MATCHES: Final = "matches"

_UNFIT: Final = re.compile(r"[^\w.+-]+")


class Kind(enum.Enum):
    """Who meets whom."""

    ROUND_ROBIN = "round-robin"  # everybody everybody
    GAUNTLET = "gauntlet"  # the tested ones everybody else
    KNOCK_OUT = "knock-out"
    SWISS = "swiss"

    @property
    def has_rounds(self) -> bool:
        """Whether it depends on results who meets whom."""
        return self in {Kind.KNOCK_OUT, Kind.SWISS}


@dataclass(frozen=True, slots=True)
class Tournament:
    """Programs, and how many games each pairing has; other settings as of a match."""

    entrants: tuple[Entrant, ...]
    kind: Kind = Kind.ROUND_ROBIN
    games: int = 100
    game_type: str = ""
    seed: int = 0
    concurrency: int = 1
    server_options: Mapping[str, Any] = field(default_factory=dict)
    patience: Patience = field(default_factory=Patience)
    sprt: str | None = None
    """The sequential test that ends each pairing, written as the option of a match."""
    cwd: str = ""
    """The directory that programs are started in; empty: the current one."""
    form: Form = field(default_factory=Form)
    """What belongs to some kinds only, and the book of openings."""
    openings: tuple[Opening, ...] = ()

    def __post_init__(self) -> None:
        names = [entrant.name for entrant in self.entrants]
        if len(names) < 2:
            raise SetupError(f"expected at least 2 programs, found {len(names)}")
        self.form.check(self.kind.value, len(names))
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
        """Game and edition, as every output names them."""
        return season_text(self.game_type)

    def pairings(self) -> list[tuple[int, int]]:
        """Pairs of indices of `entrants`: all that there can be, in the order they are played if that is known."""
        everybody = range(len(self.entrants))
        if self.kind is Kind.GAUNTLET:
            tested = self.form.tested
            return [(own, other) for own in everybody[:tested] for other in everybody[tested:]]
        return list(itertools.combinations(everybody, 2))

    def match_of(self, pairing: tuple[int, int], run_id: str, meeting: int = 0, play_off: int = 0) -> MatchSetup:
        """The match of two programs. Raises SetupError.

        `meeting` counts how often they have met before, `play_off` is the number of the pair of games that is to
        decide an even match, or 0. Each of these has starts of its own.
        """
        pairs = (self.games + 1) // 2
        passed = meeting * pairs + (pairs + play_off - 1 if play_off else 0)
        seed = self.seed
        if meeting or play_off:
            seed = random.Random(f"{seed} meeting {meeting} play-off {play_off}").getrandbits(SEED_BITS)
        begin = passed % len(self.openings) if self.openings else 0
        return MatchSetup(
            entrants=(self.entrants[pairing[0]], self.entrants[pairing[1]]),
            game_type=self.game_type,
            games=2 if play_off else self.games,
            seed=seed,
            openings=(*self.openings[begin:], *self.openings[:begin]),
            opening_order=self.form.order,
            run_id=run_id,
            server_options=self.server_options,
            patience=self.patience,
            sprt=None if play_off else self.sprt,
            cwd=self.cwd,
        )

    def folder_of(self, number: int, pairing: tuple[int, int], play_off: int = 0) -> str:
        """The folder of the match with this number, relative to the tournament's."""
        names = "_".join(_UNFIT.sub("_", self.entrants[index].name)[:40] for index in pairing)
        return f"{MATCHES}/{number:03d}_{names}" + (f"_play-off{play_off}" if play_off else "")


def with_openings(described: Tournament) -> Tournament:
    """The same with the openings of its book, read and put in their order. Raises SetupError."""
    form = described.form
    if not form.book:
        return described
    names = {"start_piece": "startPiece", "game_end": "gameEnd"}
    options = {names[key]: value for key, value in described.server_options.items() if key in names}
    found = load_openings(Path(described.cwd, form.book), form.opening_turn, described.game_type, options)
    return replace(described, openings=arrange(found, form.order, described.seed))


_SECONDS: Final = {"start_timeout": "start", "exit_timeout": "exit", "game_timeout": "game"}
_MILLISECONDS: Final = ("soft_timeout", "hard_timeout")
_RULES: Final = ("start_piece", "game_end")
_EXPECTED: Final[Mapping[Any, str]] = {
    str: "a text",
    int: "a whole number",
    bool: "true or false",
    list: "tables [[program]]",
    (int, float): "a number",
}


_BACKSLASH: Final = re.compile(r'^\s*command\s*=\s*"[^"\n]*\\', re.MULTILINE)
_BACKSLASH_HINT: Final = r"put a command with a \ in single quotes, as in 'C:\bots\new.exe'"


def read_tournament(file: Path, game_type: str) -> Tournament:
    """The tournament a TOML file describes; `game_type` unless it names one. Raises SetupError.

    Keys: kind, games, game, seed, concurrency, sprt (as of `match`), soft_timeout and hard_timeout (milliseconds),
    start_timeout, exit_timeout and game_timeout (seconds), start_piece, game_end, cwd (the directory that programs are
    started in), those of the form (form.py); and a table ``[[program]]`` for each program with name, command and
    timeout (false: not held to the limits).
    """
    text = ""
    try:
        text = file.read_text(encoding="utf-8-sig")
        value = tomllib.loads(text)
        return _tournament(value, game_type)
    except OSError as error:
        raise SetupError(f"{file}: cannot be read ({error.strerror or error})") from None
    except UnicodeDecodeError:
        raise SetupError(f"{file}: is not in UTF-8; save it in that encoding") from None
    except tomllib.TOMLDecodeError as error:
        hint = f"; {_BACKSLASH_HINT}" if _BACKSLASH.search(text) else ""
        raise SetupError(f"{file}: {error}{hint}") from None
    except SetupError as error:
        raise SetupError(f"{file}: {error}") from None


def _tournament(value: dict[str, Any], game_type: str) -> Tournament:
    plain = ("kind", "games", "game", "seed", "concurrency", "sprt", "cwd", *KEYS, "program")
    known = (*plain, *_SECONDS, *_MILLISECONDS, *_RULES)
    for key in value:
        if key not in known:
            raise SetupError(f"{key}: there is no such key, expected {', '.join(known)}")
    kinds = [kind.value for kind in Kind]
    if _take(value, "kind", str, "round-robin") not in kinds:
        raise SetupError(f"kind {value['kind']!r}: expected {', '.join(kinds[:-1])} or {kinds[-1]}")
    programs = _take(value, "program", list, [])
    limits: dict[str, Any] = {key: _take_time(value, key, int) / 1000 for key in _MILLISECONDS if key in value}
    rules: dict[str, Any] = {key: _take(value, key, str, "") for key in _RULES if key in value}
    times = {field: float(_take_time(value, key, (int, float))) for key, field in _SECONDS.items() if key in value}
    return Tournament(
        entrants=tuple(_entrant(program) for program in programs),
        kind=Kind(_take(value, "kind", str, "round-robin")),
        games=_take(value, "games", int, 100),
        game_type=_take(value, "game", str, game_type),
        seed=_take(value, "seed", int, 0),
        concurrency=max(1, _take(value, "concurrency", int, 1)),
        server_options={**limits, **rules},
        patience=Patience(**times),
        sprt=_take(value, "sprt", str, "") if "sprt" in value else None,
        cwd=_take_cwd(value),
        form=read_form(value, _take(value, "kind", str, "round-robin")),
    )


def _entrant(value: Any) -> Entrant:
    if not isinstance(value, dict):
        raise SetupError("program: expected a table [[program]] for each")
    for key in value:
        if key not in ("name", "command", "timeout"):
            raise SetupError(f"program: {key}: there is no such key, expected name, command, timeout")
    for key in ("name", "command"):
        if key not in value:
            raise SetupError(f"program: {key} is missing")
    command = _take(value, "command", str, "")
    if any(character in command for character in "\b\t\n\f\r"):  # "C:\bots\new.exe" holds two of them
        raise SetupError(f"program: command {command!r}: expected one line without tabs; {_BACKSLASH_HINT}")
    return Entrant(_take(value, "name", str, ""), command, _take(value, "timeout", bool, True))


def _take(value: Mapping[str, Any], key: str, kind: type | tuple[type, ...], default: Any) -> Any:
    taken = value.get(key, default)
    if not isinstance(taken, kind) or (isinstance(taken, bool) and kind is not bool):
        raise SetupError(f"{key} {taken!r}: expected {_EXPECTED[kind]}")
    return taken


def _take_cwd(value: Mapping[str, Any]) -> str:
    taken: str = _take(value, "cwd", str, "")
    if taken and not Path(taken).is_absolute():  # a tournament that is resumed may be read elsewhere
        raise SetupError(f"cwd {taken!r}: expected an absolute path")
    return taken


def _take_time(value: Mapping[str, Any], key: str, kind: type | tuple[type, ...]) -> Any:
    taken = _take(value, key, kind, None)
    unit, most = ("milliseconds", MAX_WHOLE_NUMBER) if key in _MILLISECONDS else ("seconds", MAX_SECONDS)
    if not (0 < taken <= most or (taken == 0 and key == "exit_timeout")):  # in these words, since nan is neither
        raise SetupError(f"{key} {taken!r}: expected {unit}, more than 0 and up to {most}")
    return taken
