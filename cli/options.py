"""Options that several commands share.

Invariants: an option has the same name and the same meaning in every command.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import click
from click.core import ParameterSource

from spielleiter.cli.completion import completing, editions, game_option_values, game_types
from spielleiter.cli.decorated import Decorated
from spielleiter.cli.numbers import Number, WholeNumber, port_number
from spielleiter.protocol.defaults import DEFAULT_HOST, DEFAULT_PORT
from spielleiter.server.setting import MAX_SECONDS, MAX_WHOLE_NUMBER, suggestion

if TYPE_CHECKING:
    from spielleiter.protocol.dialect import Dialect
    from spielleiter.protocol.recognition import Recogniser
    from spielleiter.server.core.policy import Edition

_WHICH_GAME: Final = "The gameType to play.  [default: that of the current season]"
_WHICH_EDITION: Final = "The edition in which the server plays that game.  [default: its first edition]"


def server_options(command: Decorated) -> Decorated:
    """Decorate a command with the address of the server: `host`, `port`, `wait`."""
    for option in (
        click.option(
            "--wait",
            type=Number(0, MAX_SECONDS),
            default=0.0,
            metavar="SECONDS",
            help="How long to wait for a server that is not running yet.",
        ),
        click.option(
            "-p",
            "--port",
            type=WholeNumber(1, 65535),
            default=DEFAULT_PORT,
            metavar="PORT",
            show_default=True,
            help="Port of the server.",
        ),
        click.option(
            "-h", "--host", default=DEFAULT_HOST, metavar="HOST", show_default=True, help="Address of the server."
        ),
    ):
        command = option(command)
    return command


_MILLISECONDS: Final = WholeNumber(1, MAX_WHOLE_NUMBER)
_SECONDS: Final = Number(0, MAX_SECONDS, min_open=True)
_SECONDS_OR_NONE: Final = Number(0, MAX_SECONDS)

MAX_CONCURRENCY: Final = 1024
"""The largest number of games at a time."""

TIMEOUTS: Final[Mapping[str, float]] = MappingProxyType(
    {"soft": 2000, "hard": 10_000, "start": 30.0, "exit": 5.0, "game": 600.0}
)
"""The defaults: `soft` and `hard` in milliseconds, as in the contest, the others in seconds."""


def timeout_options(helps: Mapping[str, str], *, has_to_exit: bool) -> Callable[[Decorated], Decorated]:
    """A decorator that adds options for timeouts, such as ``soft_timeout`` for the key ``soft``.

    `helps` maps the keys of TIMEOUTS to help texts, in the order of the options. `has_to_exit`: whether a program fails
    if it does not end by itself; in that case the time for it must not be 0.
    """

    def decorate(command: Decorated) -> Decorated:
        for name, text in reversed(list(helps.items())):
            kind: WholeNumber | Number = _MILLISECONDS if name in {"soft", "hard"} else _SECONDS
            if name == "exit" and not has_to_exit:
                kind = _SECONDS_OR_NONE
            command = click.option(
                f"--{name}-timeout",
                type=kind,
                default=TIMEOUTS[name],
                show_default=True,
                metavar="MS" if kind is _MILLISECONDS else "SECONDS",
                help=text,
            )(command)
        return command

    return decorate


def require_sensible_limits(soft_timeout: int, hard_timeout: int) -> None:
    """Raise UsageError if the soft limit is above the hard one; both are in milliseconds."""
    from spielleiter.server.config import limits_problem

    if problem := limits_problem(soft_timeout / 1000, hard_timeout / 1000):
        raise click.UsageError(problem)


core_options: Final = (
    click.option(
        "--pin",
        is_flag=True,
        help="Bind each program to a processor core; with --cores-per-game, to half of the cores of its game.",
    ),
    click.option(
        "--cores-per-game",
        type=WholeNumber(1, MAX_CONCURRENCY),
        metavar="N",
        help="Give each game N processor cores of its own, which limits --concurrency.",
    ),
)
"""The processor cores that programs run on: `pin` and `cores_per_game`."""


def requested_server(options: Mapping[str, Any]) -> tuple[str, int] | None:
    """The server that `start_server`, `server`, `host` and `port` ask for; None: the match's own server.

    These options have the same meaning as in the official test client. Raises UsageError.
    """
    if options["start_server"]:
        return None
    text = options["server"]
    if text is None and options["host"] is None and options["port"] is None:
        return None
    if text is None:
        return options["host"] or DEFAULT_HOST, options["port"] or DEFAULT_PORT
    host, _, port = text.rpartition(":")
    number = port_number(port)
    if not host or number is None:
        raise click.UsageError(
            f"--server {text!r}: expected HOST:PORT (or add --start-server to use the match's own server)"
        )
    return host.strip("[]"), number


def _folder(_context: click.Context, _parameter: click.Parameter, value: Path | None) -> Path | None:
    if value is not None and value.exists() and not value.is_dir():
        raise click.BadParameter(f"{value} is a file, expected a folder")
    return value


def folder_option(name: str, text: str) -> Callable[[Decorated], Decorated]:
    """A decorator that adds an option for a folder, which need not exist."""
    return click.option(name, type=click.Path(path_type=Path), callback=_folder, metavar="DIR", help=text)


def is_given(context: click.Context, name: str) -> bool:
    """Whether the value of this option was given, on the command line, in the environment or in a file."""
    asked = {ParameterSource.COMMANDLINE, ParameterSource.ENVIRONMENT, ParameterSource.DEFAULT_MAP}
    return context.get_parameter_source(name) in asked


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


def _chosen_game_type(context: click.Context, parameter: click.Parameter, value: str | None) -> str:
    from spielleiter.protocol.current_season import DEFAULT_GAME_TYPE

    return _known_game_type(context, parameter, value) or DEFAULT_GAME_TYPE


def game_option(command: Decorated) -> Decorated:
    """Decorate a command with `game`, a known gameType."""
    return click.option(
        "--game",
        metavar="GAMETYPE",
        callback=_chosen_game_type,
        shell_complete=completing(game_types),
        help=_WHICH_GAME,
    )(command)


def _known_edition(_context: click.Context, _parameter: click.Parameter, value: str | None) -> str | None:
    if value is not None and (problem := _edition_problem(value)):
        raise click.BadParameter(problem)
    return value


def _edition_options(game_help: str, edition_help: str) -> Callable[[Decorated], Decorated]:
    def decorate(command: Decorated) -> Decorated:
        for option in (
            click.option(
                "--edition",
                metavar="EDITION",
                callback=_known_edition,
                shell_complete=completing(editions),
                help=edition_help,
            ),
            click.option(
                "--game",
                metavar="GAMETYPE",
                callback=_known_game_type,
                shell_complete=completing(game_types),
                help=game_help,
            ),
        ):
            command = option(command)
        return command

    return decorate


def edition_options(command: Decorated) -> Decorated:
    """Decorate a command with `game` and `edition`, the arguments of `chosen_edition`."""
    return _edition_options(_WHICH_GAME, _WHICH_EDITION)(command)


def edition_options_of_server(command: Decorated) -> Decorated:
    """Decorate a command about a game that already exists on the server with `game` and `edition`.

    spielleiter recognises the season of a packet; a server that knows only one season does not.
    """
    return _edition_options(
        "The gameType, for a server that knows only one season; spielleiter knows all seasons and does not need it.",
        "The edition of such a server.  [default: the first edition of that game]",
    )(command)


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
    from spielleiter.protocol.recognition import Recogniser
    from spielleiter.server.editions import EDITIONS

    others = [] if is_sure else [each.dialect for each in EDITIONS.values() if each is not edition]
    return Recogniser([edition.dialect, *others])


def edition_of(dialect: Dialect) -> Edition:
    """The edition with this dialect, as found by a recogniser."""
    from spielleiter.server.editions import EDITIONS

    return next(edition for edition in EDITIONS.values() if edition.dialect is dialect)


game_end_option = click.option(
    "--game-end",
    metavar="WHEN",
    shell_complete=completing(game_option_values("gameEnd")),
    help="As for `serve`: colorFinished (as in the published rules) or noMovesLeft (as in the release).",
)
"""Decorates a command with `game_end`, an option of the rules."""


def board_option(command: Decorated) -> Decorated:
    """Decorate a command with `board`: whether to draw the board; None means only if the output is a terminal."""
    return click.option(
        "--board/--no-board",
        default=None,
        help="Draw the board during the game.  [default: if the output is a terminal]",
    )(command)


def json_option(command: Decorated) -> Decorated:
    """Decorate a command with `as_json`, for scripts."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON for scripts, one value per line.")(command)
