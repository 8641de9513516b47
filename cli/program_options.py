"""Options that apply to only one of the two programs of a match: `--cwd1`, `--memory2` and so on.

Invariants: each option exists for both programs. `planned_values` is the inverse of `entrant`, so that options of a
resumed match are compared with the values that it was begun with.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import click

from spielleiter.cli.decorated import Decorated
from spielleiter.cli.numbers import Number, WholeNumber
from spielleiter.server.setting import MAX_WHOLE_NUMBER

if TYPE_CHECKING:
    from spielleiter.match.plan import Entrant, MatchSetup

_MOST_MEMORY: Final = 1024 * 1024  # mebibytes
_WHICH: Final = ("first", "second")


def _read_variables(
    _context: click.Context, parameter: click.Parameter, values: tuple[str, ...]
) -> Mapping[str, str] | None:
    for value in values:
        if not value.partition("=")[0] or "=" not in value:
            raise click.BadParameter(f"{value!r}: expected NAME=VALUE", param=parameter)
    return {name: value for name, _, value in (each.partition("=") for each in values)} or None


def _read_names(_context: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...] | None:
    names = tuple(name.strip() for value in values for name in value.split(","))
    for name in names:
        if not name or "=" in name:
            raise click.BadParameter(f"{name!r}: expected NAME, or NAME,NAME", param=parameter)
    return names or None


_KINDS: Final[Mapping[str, tuple[str, Mapping[str, Any]]]] = MappingProxyType(
    {
        "cwd": ("Directory that the {} program is started in.", {"metavar": "DIR"}),
        "env": (
            "Environment variable for the {} program; can be repeated.",
            {"metavar": "NAME=VALUE", "multiple": True, "callback": _read_variables},
        ),
        "pass-env": (
            "Variables of this environment that the {} program gets beside the few of docs/match.md; can be repeated.",
            {"metavar": "NAME[,NAME...]", "multiple": True, "callback": _read_names},
        ),
        "soft-timeout": (
            "Time limit for a move of the {} program.",
            {"metavar": "MS", "type": WholeNumber(1, MAX_WHOLE_NUMBER)},
        ),
        "hard-timeout": (
            "Time without a move of the {} program after which the game ends.",
            {"metavar": "MS", "type": WholeNumber(1, MAX_WHOLE_NUMBER)},
        ),
        "time-factor": (
            "Factor for the time limits of the {} program, if it runs on a slower machine.",
            {"metavar": "X", "type": Number(0, MAX_WHOLE_NUMBER, min_open=True)},
        ),
        "memory": (
            "Memory limit in MiB for each process of the {} program; not on macOS.",
            {"metavar": "MIB", "type": WholeNumber(1, _MOST_MEMORY)},
        ),
        "main": ("Main file of the {} program, if it is a ZIP file with several candidates.", {"metavar": "PATH"}),
    }
)


def variable_options(command: Decorated) -> Decorated:
    """Decorate a command that starts one program with `env` and `pass_env`; None if not given."""
    for name in ("pass-env", "env"):
        text, how = _KINDS[name]
        command = click.option(f"--{name}", help=text.replace("{} ", ""), **how)(command)
    return command


def program_options(command: Decorated) -> Decorated:
    """Decorate a command with the options of both programs: `cwd1`, `env1` … `main2`; None if not given."""
    for name, (text, how) in reversed(list(_KINDS.items())):
        for number in (2, 1):
            option = click.option(f"--{name}{number}", help=text.format(_WHICH[number - 1]), **how)
            command = option(command)
    return command


def entrant(options: Mapping[str, Any], number: int, name: str, *, can_timeout: bool) -> Entrant:
    """Program `number` (1 or 2) as the options describe it."""
    from spielleiter.match.plan import Entrant

    soft, hard = options[f"soft_timeout{number}"], options[f"hard_timeout{number}"]
    return Entrant(
        name,
        options[f"player{number}"],
        can_timeout,
        cwd=options[f"cwd{number}"] or "",
        environment=options[f"env{number}"] or {},
        passed_variables=options[f"pass_env{number}"] or (),
        soft_timeout=None if soft is None else soft / 1000,
        hard_timeout=None if hard is None else hard / 1000,
        time_factor=1.0 if options[f"time_factor{number}"] is None else options[f"time_factor{number}"],
        memory=options[f"memory{number}"],
        main=options[f"main{number}"] or "",
    )


def file_values(described: Entrant, number: int) -> dict[str, Any]:
    """Values of options by name that describe the same program; settings without a value are left out."""
    values = {
        f"player{number}": described.command,
        f"name{number}": described.name or None,
        f"no_timeout{number}": None if described.can_timeout else True,
        **{name: value for name, value in planned_values(described, number).items() if value is not None},
        f"env{number}": [f"{name}={value}" for name, value in described.environment.items()] or None,
        f"pass_env{number}": list(described.passed_variables) or None,
    }
    return {name: value for name, value in values.items() if value is not None}


def planned_values(entrant: Entrant, number: int) -> dict[str, Any]:
    """The values that a match was begun with, by the names of the options above; None if an option was not given."""
    return {
        f"cwd{number}": entrant.cwd or None,
        f"env{number}": dict(entrant.environment) or None,
        f"pass_env{number}": entrant.passed_variables or None,
        f"soft_timeout{number}": _milliseconds(entrant.soft_timeout),
        f"hard_timeout{number}": _milliseconds(entrant.hard_timeout),
        f"time_factor{number}": None if entrant.time_factor == 1 else entrant.time_factor,
        f"memory{number}": entrant.memory,
        f"main{number}": entrant.main or None,
    }


def _milliseconds(seconds: float | None) -> int | None:
    return None if seconds is None else round(1000 * seconds)


def planned_value(name: str, program: int) -> Callable[[MatchSetup], object]:
    """A function that finds the value of the option `name` in the setup of a match."""
    return lambda setup: planned_values(setup.entrants[program], program + 1)[name]


NAMES: Final = tuple((f"{name.replace('-', '_')}{number}", number - 1) for name in _KINDS for number in (1, 2))
"""The names of the options, each with the index of its program."""
