"""More than two programs: who plays whom, and the file that describes it; ratings.py rates them.

Invariants: every pairing is a match of its own, with a folder and a journal of its own, and all play the same starts.
"""

from __future__ import annotations

import enum
import itertools
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from match.errors import SetupError
from match.setup import Entrant, MatchSetup, Patience
from match.sprt import Sprt, SprtError
from server.setting import MAX_SECONDS, MAX_WHOLE_NUMBER

MATCHES: Final = "matches"

_UNFIT: Final = re.compile(r"[^\w.+-]+")


class Kind(enum.Enum):
    """Who meets whom."""

    ROUND_ROBIN = "round-robin"  # everybody everybody
    GAUNTLET = "gauntlet"  # the first one everybody else


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

    def __post_init__(self) -> None:
        names = [entrant.name for entrant in self.entrants]
        if len(names) < 2:
            raise SetupError(f"expected at least 2 programs, found {len(names)}")
        for name in names:
            if names.count(name) > 1:
                raise SetupError(f"two programs are called {name!r}, expected a name of its own for each")
        try:
            if self.sprt is not None:
                Sprt.parse(self.sprt)
        except SprtError as error:
            raise SetupError(str(error)) from None

    def pairings(self) -> list[tuple[int, int]]:
        """Pairs of indices of `entrants`, in the order they are played."""
        everybody = range(len(self.entrants))
        if self.kind is Kind.GAUNTLET:
            return [(0, other) for other in everybody[1:]]
        return list(itertools.combinations(everybody, 2))

    def match_of(self, pairing: tuple[int, int], run_id: str) -> MatchSetup:
        """The match of two programs. Raises SetupError."""
        return MatchSetup(
            entrants=(self.entrants[pairing[0]], self.entrants[pairing[1]]),
            game_type=self.game_type,
            games=self.games,
            seed=self.seed,
            run_id=run_id,
            server_options=self.server_options,
            patience=self.patience,
            sprt=self.sprt,
            cwd=self.cwd,
        )

    def folder_of(self, pairing: tuple[int, int]) -> str:
        """The match's folder, relative to the tournament's."""
        names = "_".join(_UNFIT.sub("_", self.entrants[index].name)[:40] for index in pairing)
        return f"{MATCHES}/{self.pairings().index(pairing) + 1:03d}_{names}"


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
    started in); and a table ``[[program]]`` for each program with name, command and timeout (false: not held to the
    limits).
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
    plain = ("kind", "games", "game", "seed", "concurrency", "sprt", "cwd", "program")
    known = (*plain, *_SECONDS, *_MILLISECONDS, *_RULES)
    for key in value:
        if key not in known:
            raise SetupError(f"{key}: there is no such key, expected {', '.join(known)}")
    kinds = [kind.value for kind in Kind]
    if _take(value, "kind", str, "round-robin") not in kinds:
        raise SetupError(f"kind {value['kind']!r}: expected {' or '.join(kinds)}")
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
