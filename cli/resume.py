"""`spielleiter match --resume`: comparing the options with those that the match was begun with.

Invariants: a match continues as it was begun. Options that are not given keep their values. An option that is given and
differs from the plan in the folder is refused, never ignored, unless it affects neither the games nor the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from spielleiter.cli import cluster, conditions
from spielleiter.cli.commands import Misuse
from spielleiter.cli.options import TIMEOUTS, requested_server
from spielleiter.cli.program_options import NAMES, planned_value

if TYPE_CHECKING:
    from spielleiter.match.plan import MatchSetup

CHANGEABLE: Final = frozenset(
    {
        "concurrency",
        "pin",
        "cores_per_game",
        "fail_fast",
        "fail_on",
        "faults_of",
        "require",
        "password",
        "report_every",
        "on_end",
        "pages",
        *conditions.NAMES,
        *cluster.NAMES,
    }
)
"""Options that may be different each time a match is resumed."""

_SERVER: Final = ("start_server", "server", "host", "port")


def _limit(name: str) -> Callable[[MatchSetup], object]:
    def planned(setup: MatchSetup) -> object:
        if setup.server is not None:
            return None
        return round(1000 * setup.server_options.get(f"{name}_timeout", TIMEOUTS[name] / 1000))

    return planned


_PLANNED_VALUES: Final[Mapping[str, Callable[[MatchSetup], object]]] = MappingProxyType(
    {
        "player1": lambda setup: setup.entrants[0].command,
        "player2": lambda setup: setup.entrants[1].command,
        "name1": lambda setup: setup.names[0],
        "name2": lambda setup: setup.names[1],
        # "games" may grow: `_is_same`
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
        **{name: planned_value(name, program) for name, program in NAMES},
        "start_timeout": lambda setup: setup.timeouts.start,
        "exit_timeout": lambda setup: setup.timeouts.exit,
        "game_timeout": lambda setup: setup.timeouts.game,
        "sprt": lambda setup: setup.sprt,
        "significance": lambda setup: setup.significance,
        "min_tests": lambda setup: setup.min_games,
    }
)
"""By name of the option: its value in the setup of the match, in the option's own unit; None: it was not given."""

FIXED: Final = frozenset({*_PLANNED_VALUES, *_SERVER, "out"})
"""Options that must not change when a match is resumed."""


def refuse_changed_options(folder: Path, setup: MatchSetup, asked: Mapping[str, Any]) -> None:
    """Raise Misuse if an option in `asked` differs from the match in `folder`, SetupError if it is invalid."""
    differing = [
        _difference(name, asked[name], planned(setup))
        for name, planned in _PLANNED_VALUES.items()
        if name in asked and not _is_same(name, asked[name], setup)
    ]
    given = [name for name in _SERVER if name in asked]
    if given and _asked_server(asked, setup) != setup.server:
        server = "the match's own server" if setup.server is None else "{}:{}".format(*setup.server)
        differing.append(f"{' '.join(_spelled(name, asked[name]) for name in given)} (begun with {server})")
    if "out" in asked and asked["out"].resolve() != folder.resolve():
        differing.append(f"{_spelled('out', asked['out'])} (begun in {folder})")
    if differing:
        one_of_them = "that option" if len(differing) == 1 else "those options"
        raise Misuse(
            f"--resume {folder}: the match was begun with other options: {', '.join(differing)}; "
            f"leave {one_of_them} out to continue it, or begin another match in another folder"
        )


def _is_same(name: str, value: Any, setup: MatchSetup) -> bool:
    planned = _PLANNED_VALUES[name](setup)
    match name:
        case "games":
            return bool(value >= planned)
        case "name1" | "name2":
            # the suffix that distinguishes equal names; earlier versions used a hyphen
            return planned in {value, f"{value} ({name[-1]})", f"{value}-{name[-1]}"}
        case "openings":
            from spielleiter.match.preparation import read_book

            # in any order
            return sorted(opening.path for opening in read_book(value, 0)) == sorted(_paths(planned))
        case "sprt":
            return planned is not None and _is_same_test(value, str(planned))
        case _ if name.startswith("time_factor") and value == 1:
            return planned is None
        case "min_tests":
            return setup.significance is None or bool(value == planned)  # without the test the option has no effect
        case _:
            return bool(value == planned)


def _paths(planned: object) -> list[str]:
    return [str(path) for path in planned] if isinstance(planned, list) else []


def _is_same_test(text: str, planned: str) -> bool:
    from spielleiter.common.errors import SetupError
    from spielleiter.match.statistics import Sprt, SprtError

    try:
        return Sprt.parse(text) == Sprt.parse(planned)
    except SprtError as error:
        raise SetupError(str(error)) from None


def _asked_server(asked: Mapping[str, Any], setup: MatchSetup) -> tuple[str, int] | None:
    """The server that these options ask for; if only host or only port is given, the other one is unchanged."""
    host, port = setup.server or (None, None)
    return requested_server({"start_server": False, "server": None, "host": host, "port": port, **asked})


def _difference(name: str, value: Any, planned: object) -> str:
    if planned is None or isinstance(planned, bool):
        return f"{_spelled(name, value)} (begun without)"
    if isinstance(planned, list):
        openings = planned[0] if len(planned) == 1 else f"{len(planned)} of {Path(planned[0]).parent}"
        return f"{_spelled(name, value)} (begun with {openings})"
    return f"{_spelled(name, value)} (begun with {_written(planned)})"


def _spelled(name: str, value: Any) -> str:
    option = f"--{name.replace('_', '-')}"
    return option if isinstance(value, bool) else f"{option} {_written(value)}"


def _written(value: object) -> str:
    """The value as it is written on the command line."""
    if isinstance(value, tuple):
        return ",".join(value)
    return " ".join(f"{name}={text}" for name, text in value.items()) if isinstance(value, Mapping) else str(value)
