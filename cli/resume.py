"""`spielleiter match --resume`: what is asked for beside the match that was begun.

Law: a match goes on as it was begun. An option that was not given asks for nothing; one that was given and says
something else than the plan in the folder is refused, never ignored. What changes no game and no answer is free.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from spielleiter.cli import conditions
from spielleiter.cli.commands import Misuse
from spielleiter.cli.options import TIMEOUTS, place_of_server
from spielleiter.cli.program_options import NAMES, kept

if TYPE_CHECKING:
    from spielleiter.match.setup import MatchSetup

FREE: Final = frozenset(
    {
        "concurrency",
        "pin",
        "cores_per_game",
        "fail_fast",
        "fail_on",
        "require",
        "password",
        "report_every",
        "on_end",
        *conditions.NAMES,
    }
)
"""Options that may be others each time."""

_SERVER: Final = ("start_server", "server", "host", "port")


def _limit(name: str) -> Callable[[MatchSetup], object]:
    def kept(setup: MatchSetup) -> object:
        if setup.server is not None:
            return None
        return round(1000 * setup.server_options.get(f"{name}_timeout", TIMEOUTS[name] / 1000))

    return kept


_KEPT: Final[Mapping[str, Callable[[MatchSetup], object]]] = MappingProxyType(
    {
        "player1": lambda setup: setup.entrants[0].command,
        "player2": lambda setup: setup.entrants[1].command,
        "name1": lambda setup: setup.names[0],
        "name2": lambda setup: setup.names[1],
        "games": lambda setup: setup.games,
        "game": lambda setup: setup.game_type,
        "edition": lambda setup: setup.edition,
        "seed": lambda setup: setup.seed,
        "openings": lambda setup: [opening.path for opening in setup.openings] or None,
        "order": lambda setup: setup.opening_order,
        "opening_turn": lambda setup: setup.openings[0].turn if setup.openings else 0,
        "start_piece": lambda setup: setup.server_options.get("start_piece"),
        "game_end": lambda setup: setup.server_options.get("game_end"),
        "soft_timeout": _limit("soft"),
        "hard_timeout": _limit("hard"),
        "no_timeout": lambda setup: not any(entrant.can_timeout for entrant in setup.entrants),
        "no_timeout1": lambda setup: not setup.entrants[0].can_timeout,
        "no_timeout2": lambda setup: not setup.entrants[1].can_timeout,
        **{name: kept(name, program) for name, program in NAMES},
        "start_timeout": lambda setup: setup.timeouts.start,
        "exit_timeout": lambda setup: setup.timeouts.exit,
        "game_timeout": lambda setup: setup.timeouts.game,
        "sprt": lambda setup: setup.sprt,
        "significance": lambda setup: setup.significance,
        "min_tests": lambda setup: setup.min_games,
    }
)
"""By the option's name: what the plan holds, as the option writes it; None: nothing."""

PLANNED: Final = frozenset({*_KEPT, *_SERVER, "out"})
"""Options that a resumed match must not be given otherwise than it was begun with."""


def refuse_other_plan(folder: Path, setup: MatchSetup, asked: Mapping[str, Any]) -> None:
    """Compare the options that were given, by name, with the match in `folder`. Raises Misuse and SetupError."""
    differing = [
        _difference(name, asked[name], kept(setup))
        for name, kept in _KEPT.items()
        if name in asked and not _is_same(name, asked[name], setup)
    ]
    given = [name for name in _SERVER if name in asked]
    if given and _asked_server(asked, setup) != setup.server:
        place = "a server of our own" if setup.server is None else "{}:{}".format(*setup.server)
        differing.append(f"{' '.join(_spelled(name, asked[name]) for name in given)} (begun with {place})")
    if "out" in asked and asked["out"].resolve() != folder.resolve():
        differing.append(f"{_spelled('out', asked['out'])} (begun in {folder})")
    if differing:
        one_of_them = "that option" if len(differing) == 1 else "those options"
        raise Misuse(
            f"--resume {folder}: the match was begun otherwise: {', '.join(differing)}; "
            f"leave {one_of_them} out to go on with it, or begin another match in another folder"
        )


def _is_same(name: str, value: Any, setup: MatchSetup) -> bool:
    kept = _KEPT[name](setup)
    match name:
        case "name1" | "name2":
            # names that are alike are told apart so; with a hyphen by earlier versions
            return kept in {value, f"{value} ({name[-1]})", f"{value}-{name[-1]}"}
        case "openings":
            from spielleiter.match.opening_book import read_book

            # whatever order they were put in
            return sorted(opening.path for opening in read_book(value, 0)) == sorted(_paths(kept))
        case "sprt":
            return kept is not None and _is_same_test(value, str(kept))
        case _ if name.startswith("time_factor") and value == 1:
            return kept is None
        case "min_tests":
            return setup.significance is None or bool(value == kept)  # without a test there is nothing to wait for
        case _:
            return bool(value == kept)


def _paths(kept: object) -> list[str]:
    return [str(path) for path in kept] if isinstance(kept, list) else []


def _is_same_test(text: str, kept: str) -> bool:
    from spielleiter.match.errors import SetupError
    from spielleiter.match.stats.sprt import Sprt, SprtError

    try:
        return Sprt.parse(text) == Sprt.parse(kept)
    except SprtError as error:
        raise SetupError(str(error)) from None


def _asked_server(asked: Mapping[str, Any], setup: MatchSetup) -> tuple[str, int] | None:
    """Where these options say the games are played; of host and port, one alone says nothing about the other."""
    host, port = setup.server or (None, None)
    return place_of_server({"start_server": False, "server": None, "host": host, "port": port, **asked})


def _difference(name: str, value: Any, kept: object) -> str:
    if kept is None or isinstance(kept, bool):
        return f"{_spelled(name, value)} (begun without)"
    if isinstance(kept, list):
        place = kept[0] if len(kept) == 1 else f"{len(kept)} of {Path(kept[0]).parent}"
        return f"{_spelled(name, value)} (begun with {place})"
    return f"{_spelled(name, value)} (begun with {_written(kept)})"


def _spelled(name: str, value: Any) -> str:
    option = f"--{name.replace('_', '-')}"
    return option if isinstance(value, bool) else f"{option} {_written(value)}"


def _written(value: object) -> str:
    """As the option's value was written."""
    return " ".join(f"{name}={text}" for name, text in value.items()) if isinstance(value, Mapping) else str(value)
