"""Options that several commands share, and the types of their values: numbers, addresses, text.

An option has the same name and the same meaning in every command. An error repeats the text as the user wrote it, and
says what is expected.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click
from click.core import ParameterSource

from spielleiter.cli.completion import completing, editions, game_option_values, game_types
from spielleiter.protocol.defaults import DEFAULT_HOST, DEFAULT_PASSWORD, DEFAULT_PORT
from spielleiter.server.setting import MAX_SECONDS, MAX_WHOLE_NUMBER, address, suggestion

if TYPE_CHECKING:
    from spielleiter.protocol.edition_recognition import Recogniser
    from spielleiter.server.core.policy import Edition

Decorated = TypeVar("Decorated", bound=Callable[..., Any])
"""A command's function, which a decorator of options gets and returns."""


def together(*options: Callable[[Any], Any]) -> Callable[[Decorated], Decorated]:
    """The decorator that adds all these options, in the order of `--help`."""

    def decorate(command: Decorated) -> Decorated:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def is_given(context: click.Context, name: str) -> bool:
    """Whether the value of this option was given, on the command line, in the environment or in a file."""
    asked = {ParameterSource.COMMANDLINE, ParameterSource.ENVIRONMENT, ParameterSource.DEFAULT_MAP}
    return context.get_parameter_source(name) in asked


# -- numbers ----------------------------------------------------------------------------------------------------------
# Only ASCII digits are accepted, without separators; nan and infinity are not.

_WHOLE: Final = re.compile(r"[+-]?[0-9]{1,4000}", re.ASCII)  # Python reads no more than 4300 digits
_PORT: Final = re.compile("[0-9]{1,5}", re.ASCII)
_GREATEST_PORT: Final = 65535
_LARGEST_SHOWN: Final = 10_000_000
"""Bounds above this are technical limits, which the help does not show."""


def port_number(text: str) -> int | None:
    """The port number in `text`; None if it is not a port that a client can connect to."""
    return int(text) if _PORT.fullmatch(text) and 0 < int(text) <= _GREATEST_PORT else None


def whole_number(text: str) -> int | None:
    """The whole number in `text`; None if it is not a number, or has more digits than Python reads."""
    return int(text) if _WHOLE.fullmatch(text) else None


def _bounds(kind: click.IntRange | click.FloatRange) -> str:
    """The bounds for an error message, with a leading space; empty if there are none."""
    low, high = kind.min, kind.max
    if low is not None and high is not None and not kind.min_open and not kind.max_open:
        return f" from {low} to {high}"
    words = []
    if low is not None:
        words.append(f"above {low}" if kind.min_open else f"not below {low}")
    if high is not None:
        words.append(f"below {high}" if kind.max_open else f"up to {high}")
    return f" {' and '.join(words)}" if words else ""


def _shown_range(kind: click.IntRange | click.FloatRange) -> str:
    """The range that the help shows, such as ``0<x<=5``; empty if there is none to show."""
    below, above = ("<" if is_open else "<=" for is_open in (kind.min_open, kind.max_open))
    low = None if kind.min is None else f"{kind.min}{below}x"
    high = None if kind.max is None or kind.max > _LARGEST_SHOWN else f"{above}{kind.max}"
    if high is None:
        return "" if low is None else f"x{'>' if kind.min_open else '>='}{kind.min}"
    return f"{low or 'x'}{high}"


def _checked(
    kind: click.IntRange | click.FloatRange,
    number: float | None,
    value: object,
    param: click.Parameter | None,
    ctx: click.Context | None,
) -> Any:
    """`number`, if it is one that this kind of option takes. Raises BadParameter, which repeats `value`."""
    low = -math.inf if kind.min is None else kind.min
    high = math.inf if kind.max is None else kind.max
    if (
        number is None
        or not (isinstance(number, int) or math.isfinite(number))
        or not (number > low if kind.min_open else number >= low)
        or not (number < high if kind.max_open else number <= high)
    ):
        word = "whole number" if isinstance(kind, click.IntRange) else "number"
        kind.fail(f"'{value}' cannot be used, expected a {word}{_bounds(kind)}", param, ctx)
    return number


class WholeNumber(click.IntRange):
    """A whole number. Both bounds are inclusive; None means that there is no bound."""

    _describe_range = _shown_range

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        is_number = not isinstance(value, str) or _WHOLE.fullmatch(value)
        return int(_checked(self, int(value) if is_number else None, value, param, ctx))


class Number(click.FloatRange):
    """A number, with or without a decimal point. A bound of None means that there is no bound."""

    _describe_range = _shown_range

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        number = None
        if not isinstance(value, str) or (value.isascii() and "_" not in value):
            with suppress(ValueError, OverflowError):
                number = float(value)
        return float(_checked(self, number, value, param, ctx))


# -- text -------------------------------------------------------------------------------------------------------------

_SURROGATE: Final = re.compile("[\ud800-\udfff]")


def recovered(text: str) -> str:
    """The argument as text that can be encoded as UTF-8.

    Python represents bytes of an argument that the locale cannot decode as lone surrogates. This function decodes them
    as UTF-8; bytes that are not UTF-8 either become U+FFFD.
    """
    if not _SURROGATE.search(text):
        return text
    try:
        return os.fsencode(text).decode("utf-8", "replace")
    except UnicodeEncodeError:  # surrogates that do not represent bytes
        return _SURROGATE.sub("\ufffd", text)


def _password(text: str) -> str:
    """A password; refused if it is not UTF-8, since a repaired password would be wrong. No error repeats it."""
    password = recovered(text)
    if "\ufffd" in password and password != text:
        raise click.BadParameter("the password is not UTF-8 and cannot be sent to a server; expected text in UTF-8")
    return password


TEXT: Final = click.types.FuncParamType(recovered)
"""The type of values that appear in packets, JSON or reports."""
PASSWORD: Final = click.types.FuncParamType(_password)


def admin_password_option(meaning: str, *, show_default: bool = True) -> Callable[[Decorated], Decorated]:
    """Return the option --password of a command that becomes an administrator; `meaning` begins its help."""
    return click.option(
        "--password",
        type=PASSWORD,
        envvar="SPIELLEITER_PASSWORD",
        default=DEFAULT_PASSWORD,
        show_default=show_default,
        metavar="PASSWORD",
        help=f"{meaning}; also taken from SPIELLEITER_PASSWORD.",
    )


# -- servers ----------------------------------------------------------------------------------------------------------

server_options: Final = together(
    click.option(
        "-h", "--host", default=DEFAULT_HOST, metavar="HOST", show_default=True, help="Address of the server."
    ),
    click.option(
        "-p",
        "--port",
        type=WholeNumber(1, _GREATEST_PORT),
        default=DEFAULT_PORT,
        metavar="PORT",
        show_default=True,
        help="Port of the server.",
    ),
    click.option(
        "--wait",
        type=Number(0, MAX_SECONDS),
        default=0.0,
        metavar="SECONDS",
        help="How long to wait for a server that is not running yet.",
    ),
)
"""Decorates a command with the address of the server: `host`, `port`, `wait`."""

_ADDRESS: Final = address()


def listening_address(_context: click.Context, _parameter: click.Parameter, value: str) -> tuple[str, int]:
    """Return host and port of the value of an option; the port may be 0. Raises BadParameter."""
    try:
        return _ADDRESS.parse(value)
    except ValueError:
        raise click.BadParameter(f"{value!r} cannot be used, expected [HOST:]PORT") from None


def server_address(context: click.Context, parameter: click.Parameter, value: str) -> tuple[str, int]:
    """Return host and port of a server. Raises BadParameter."""
    found = listening_address(context, parameter, value)
    if not found[1]:
        raise click.BadParameter(f"{value!r} cannot be used: no server listens at port 0")
    return found


def target_option(help_text: str) -> Callable[[Decorated], Decorated]:
    """The decorator that adds the option `--to`, the address of a server, with this help."""
    return click.option(
        "--to",
        callback=server_address,
        default=f"{DEFAULT_HOST}:{DEFAULT_PORT}",
        show_default=True,
        metavar="HOST:PORT",
        help=help_text,
    )


# -- games and editions -----------------------------------------------------------------------------------------------

_WHICH_GAME: Final = "The gameType to play.  [default: that of the current season]"
_WHICH_EDITION: Final = "The edition in which the server plays that game.  [default: its first edition]"


def _game_type_problem(value: str, instead: str) -> str | None:
    """Why `value` is not a gameType; None if it is one.

    `instead`: what to use if `value` is an edition; {} stands for its gameType.
    """
    from spielleiter.server.editions import EDITIONS, choose_editions, editions_meant

    known = choose_editions({}, {})
    if value in known:
        return None
    if value in EDITIONS:
        game_type = EDITIONS[value].game_type
        return f"{value!r} is an edition of {game_type}, expected a gameType; use {instead.format(game_type)}"
    meant = dict.fromkeys(each.game_type for each in editions_meant(value))
    hint = f" (did you mean {' or '.join(map(repr, meant))}?)" if meant else suggestion(value, known)
    return f"{value!r} is not known here, expected {' or '.join(known)}{hint}"


def _edition_problem(value: str) -> str | None:
    """Why `value` is not an edition; None if it is one."""
    from spielleiter.server.editions import EDITIONS, editions_meant

    if value in EDITIONS:
        return None
    if meant := [each.name for each in editions_meant(value)]:
        return f"{value!r} names a game, expected one of its editions: {' or '.join(meant)}"
    return f"{value!r} is not known here, expected {' or '.join(EDITIONS)}{suggestion(value, EDITIONS)}"


def _known_game_type(context: click.Context, _parameter: click.Parameter, value: str | None) -> str | None:
    has_editions = any("--edition" in each.opts for each in context.command.params)
    instead = f"--edition {value}" if has_editions else "--game {}"
    if value is not None and (problem := _game_type_problem(value, instead)):
        raise click.BadParameter(problem)
    return value


def _known_edition(_context: click.Context, _parameter: click.Parameter, value: str | None) -> str | None:
    if value is not None and (problem := _edition_problem(value)):
        raise click.BadParameter(problem)
    return value


def game_option(help_text: str = _WHICH_GAME) -> Callable[[Decorated], Decorated]:
    """The decorator that adds `game`, a known gameType or None."""
    return click.option(
        "--game",
        metavar="GAMETYPE",
        callback=_known_game_type,
        shell_complete=completing(game_types),
        help=help_text,
    )


def _edition_options(game_help: str, edition_help: str) -> Callable[[Decorated], Decorated]:
    return together(
        game_option(game_help),
        click.option(
            "--edition",
            metavar="EDITION",
            callback=_known_edition,
            shell_complete=completing(editions),
            help=edition_help,
        ),
    )


edition_options: Final = _edition_options(_WHICH_GAME, _WHICH_EDITION)
"""Decorates a command with `game` and `edition`, the arguments of `chosen_edition`."""

edition_options_of_server: Final = _edition_options(
    "The gameType, for a server that knows only one season; spielleiter knows all seasons and does not need it.",
    "The edition of such a server.  [default: the first edition of that game]",
)
"""Decorates a command about a game that already exists on the server with `game` and `edition`.

spielleiter recognises the season of a packet; a server that knows only one season does not.
"""

game_end_option: Final = click.option(
    "--game-end",
    metavar="WHEN",
    shell_complete=completing(game_option_values("gameEnd")),
    help="As for `serve`: colorFinished (as in the published rules) or noMovesLeft (as in the release).",
)
"""Decorates a command with `game_end`, an option of the rules."""


def chosen_edition(
    game: str | None, edition: str | None, is_playable: Callable[[Edition], bool] = lambda _: True
) -> Edition:
    """The edition that these options, or the same keys of a file, name.

    `game` alone means the default edition of that game. If both are None, it is the first default edition for which
    `is_playable` returns True. Raises UsageError if a name is unknown, or if the game and the edition contradict each
    other.
    """
    from spielleiter.server.editions import EDITIONS, choose_editions

    if game is not None and (problem := _game_type_problem(game, f"edition {game}")):
        raise click.UsageError(f"game {problem}")
    if edition is not None and (problem := _edition_problem(edition)):
        raise click.UsageError(f"edition {problem}")
    if edition is None:
        usual = choose_editions({}, {})
        return usual[game] if game is not None else next(filter(is_playable, usual.values()))
    chosen = EDITIONS[edition]
    if game not in {None, chosen.game_type}:
        raise click.UsageError(f"--game {game} --edition {edition}: that edition is of {chosen.game_type}")
    return chosen


def recogniser(edition: Edition, *, is_sure: bool) -> Recogniser:
    """The dialect for a client: that of `edition` at first, and in each room the one that the server uses there.

    `is_sure`: the user named the edition, so no other one is considered.
    """
    from spielleiter.protocol.edition_recognition import Recogniser
    from spielleiter.server.editions import EDITIONS

    others = () if is_sure else (each for each in EDITIONS.values() if each is not edition)
    return Recogniser(each.dialect for each in (edition, *others))


# -- timeouts ---------------------------------------------------------------------------------------------------------

_MILLISECONDS: Final = WholeNumber(1, MAX_WHOLE_NUMBER)

TIMEOUTS: Final[Mapping[str, float]] = MappingProxyType(
    {"soft": 2000, "hard": 10_000, "start": 30.0, "exit": 5.0, "game": 600.0}
)
"""The defaults: `soft` and `hard` in milliseconds, as in the contest, the others in seconds."""


def timeout_options(helps: Mapping[str, str], *, has_to_exit: bool) -> Callable[[Decorated], Decorated]:
    """A decorator that adds options for timeouts, such as ``soft_timeout`` for the key ``soft``.

    `helps` maps the keys of TIMEOUTS to help texts, in the order of the options. `has_to_exit`: whether a program fails
    if it does not end by itself; in that case the time for it must not be 0.
    """
    options = []
    for name, text in helps.items():
        kind = (
            _MILLISECONDS
            if name in {"soft", "hard"}
            else Number(0, MAX_SECONDS, min_open=name != "exit" or has_to_exit)
        )
        options.append(
            click.option(
                f"--{name}-timeout",
                type=kind,
                default=TIMEOUTS[name],
                show_default=True,
                metavar="MS" if kind is _MILLISECONDS else "SECONDS",
                help=text,
            )
        )
    return together(*options)


# -- programs, folders, and forms of the output -----------------------------------------------------------------------


def _read_variables(
    _context: click.Context, _parameter: click.Parameter, values: tuple[str, ...]
) -> Mapping[str, str] | None:
    for value in values:
        if not value.partition("=")[0] or "=" not in value:
            raise click.BadParameter(f"{value!r}: expected NAME=VALUE")
    return {name: value for name, _, value in (each.partition("=") for each in values)} or None


def _read_names(
    _context: click.Context, _parameter: click.Parameter, values: tuple[str, ...]
) -> tuple[str, ...] | None:
    names = tuple(name.strip() for value in values for name in value.split(","))
    for name in names:
        if not name or "=" in name:
            raise click.BadParameter(f"{name!r}: expected NAME, or NAME,NAME")
    return names or None


VARIABLE_OPTIONS: Final[Mapping[str, tuple[str, Mapping[str, Any]]]] = MappingProxyType(
    {
        "env": (
            "Environment variable for the {}program; can be repeated.",
            {"metavar": "NAME=VALUE", "multiple": True, "callback": _read_variables},
        ),
        "pass-env": (
            "Variables of this environment that the {}program gets beside the few of docs/match.md; can be repeated.",
            {"metavar": "NAME[,NAME...]", "multiple": True, "callback": _read_names},
        ),
    }
)
"""The options for the variables of a program: their help, in which {} stands for which program it is, and the rest."""

variable_options: Final = together(
    *(click.option(f"--{name}", help=text.format(""), **how) for name, (text, how) in VARIABLE_OPTIONS.items())
)
"""Decorates a command that starts one program with `env` and `pass_env`; None if not given."""


def folder_option(name: str, text: str) -> Callable[[Decorated], Decorated]:
    """A decorator that adds an option for a folder, which need not exist."""

    def folder(_context: click.Context, _parameter: click.Parameter, value: Path | None) -> Path | None:
        if value is not None and value.exists() and not value.is_dir():
            raise click.BadParameter(f"{value} is a file, expected a folder")
        return value

    return click.option(name, type=click.Path(path_type=Path), callback=folder, metavar="DIR", help=text)


board_option: Final = click.option(
    "--board/--no-board",
    default=None,
    help="Draw the board during the game.  [default: if the output is a terminal]",
)
"""Decorates a command with `board`: whether to draw the board; None means only if the output is a terminal."""

json_option: Final = click.option("--json", "as_json", is_flag=True, help="Print JSON for scripts, one value per line.")
"""Decorates a command with `as_json`, for scripts."""
