"""The options of `spielleiter match`: as such, in a TOML file, as the setup of the match, and at --resume.

Options of the official test client have the same meaning here. The keys of the file are the long names of options with
underscores; the two programs are tables ``[[program]]``. Keys that exist in tournament files, too, have the same
meaning there. The file sets options that the command line does not set, and its values are checked like those.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import click

from spielleiter.cli.completion import completing, game_option_values, programs
from spielleiter.cli.match_and_tournament import (
    CLUSTER_NAMES,
    CONDITION_NAMES,
    FAULTS,
    MAX_CONCURRENCY,
    PROGRAMS_AT_FAULT,
    cluster_options,
    condition_options,
    core_options,
    on_end_option,
    pages_option,
)
from spielleiter.cli.options import (
    TEXT,
    TIMEOUTS,
    VARIABLE_OPTIONS,
    Number,
    WholeNumber,
    admin_password_option,
    edition_options,
    folder_option,
    game_end_option,
    is_given,
    port_number,
    timeout_options,
    together,
)
from spielleiter.cli.running import EXIT_FAILURE, EXIT_FAULT, Misuse
from spielleiter.match.defaults import DEFAULT_GAMES, DEFAULT_MIN_GAMES, ORDERS
from spielleiter.protocol.defaults import DEFAULT_HOST, DEFAULT_PORT
from spielleiter.server.setting import MAX_WHOLE_NUMBER

if TYPE_CHECKING:
    from spielleiter.match.plan import Entrant, MatchSetup

_MOST_MEMORY: Final = 1024 * 1024  # mebibytes

_PROGRAM_OPTIONS: Final[Mapping[str, tuple[str, Mapping[str, Any]]]] = MappingProxyType(
    {
        "cwd": ("Working directory of the {}program.", {"metavar": "DIR"}),
        **VARIABLE_OPTIONS,
        "soft-timeout": (
            "Time limit for a move of the {}program.",
            {"metavar": "MS", "type": WholeNumber(1, MAX_WHOLE_NUMBER)},
        ),
        "hard-timeout": (
            "Time without a move of the {}program after which the game ends.",
            {"metavar": "MS", "type": WholeNumber(1, MAX_WHOLE_NUMBER)},
        ),
        "time-factor": (
            "Factor for the time limits of the {}program, if it runs on a slower machine.",
            {"metavar": "X", "type": Number(0, MAX_WHOLE_NUMBER, min_open=True)},
        ),
        "memory": (
            "Memory limit in MiB for each process of the {}program; not on macOS.",
            {"metavar": "MIB", "type": WholeNumber(1, _MOST_MEMORY)},
        ),
        "main": ("Main file of the {}program, if it is a ZIP file with several candidates.", {"metavar": "PATH"}),
    }
)
"""Options that exist for each of the two programs, as ``--cwd1``: their help and the rest. None: not given."""

FOLDERS: Final = "match.folders"
"""The key in the context's `meta` for the folders of --combine."""
_CWD: Final = "match.cwd"
"""The key for the directory that programs are started in, according to the file."""
_NOT_IN_FILES: Final = frozenset({"file", "combine", "resume", "help", "password", "loglevel"})
_ENTRANT_FIELDS: Final = {"env": "environment", "pass_env": "passed_variables"}
"""The field of `Entrant` for an option of a program, where it has another name."""
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
        "live",
        "no_browser",
        "on_end",
        "pages",
        *CONDITION_NAMES,
        *CLUSTER_NAMES,
    }
)
"""Options that may be different each time a match is resumed."""
_SERVER: Final = ("start_server", "server", "host", "port")


def _read_paths(context: click.Context, _parameter: click.Parameter, paths: tuple[Path, ...]) -> None:
    """Keep the folders of --combine, or read the file. Raises SetupError and UsageError."""
    if context.params.get("combine"):
        context.meta[FOLDERS] = paths
    elif len(paths) > 1:
        raise click.UsageError(f"expected one FILE, found {len(paths)}; the folders of matches need --combine")
    elif paths:
        context.default_map = _values_in_file(context, paths[0])


def _values_in_file(context: click.Context, file: Path) -> dict[str, Any]:
    """The values in the file, by the names of the options. Raises SetupError."""
    from spielleiter.common.errors import SetupError
    from spielleiter.match.toml_files import read_entrant, read_toml, require_known, resolve_paths, take, take_folder

    value = read_toml(file)
    names = [str(each.name) for each in context.command.params]
    of_programs = {name for name in names if name[-1:] in {"1", "2"}}
    try:
        resolve_paths(value, file.parent)
        require_known(value, ("program", "cwd", *(each for each in names if each not in of_programs | _NOT_IN_FILES)))
        entrants = [read_entrant(program, has_name=False) for program in take(value, "program", list, [])]
        context.meta[_CWD] = take_folder(value, "cwd")
        for each in context.command.params:
            if isinstance(each.type, click.types.IntParamType):
                take(value, str(each.name), int, None)
            elif isinstance(each.type, click.types.FloatParamType):
                take(value, str(each.name), (int, float), None)
    except SetupError as error:
        raise SetupError(f"{file}: {error}") from None
    if len(entrants) != 2:
        raise SetupError(f"{file}: expected 2 programs, found {len(entrants)}; for more, use `spielleiter tournament`")
    values = {name: given for name, given in value.items() if name not in {"program", "cwd"}}
    if "openings" in values:  # the option can be repeated, so that a second value can be refused
        values["openings"] = [values["openings"]]
    for number, entrant in enumerate(entrants, 1):
        of_entrant = {
            f"player{number}": entrant.command,
            f"name{number}": entrant.name or None,
            f"no_timeout{number}": None if entrant.can_timeout else True,
            **_program_values(entrant, number),
            # in the form in which the command line has them
            f"env{number}": [f"{name}={text}" for name, text in entrant.environment.items()] or None,
            f"pass_env{number}": list(entrant.passed_variables) or None,
        }
        values |= {name: given for name, given in of_entrant.items() if given is not None}
    return values


def _only_book(_context: click.Context, _parameter: click.Parameter, values: tuple[Path, ...]) -> Path | None:
    if len(values) > 1:
        given = ", ".join(map(str, values))
        raise click.UsageError(f"--book and --openings are names of the same option, expected one value, not {given}")
    return values[0] if values else None


match_options: Final = together(
    click.argument(
        "file",
        metavar="[FILE | DIR...]",
        nargs=-1,
        is_eager=True,  # read before all options, whose defaults it sets
        expose_value=False,
        type=click.Path(path_type=Path),
        callback=_read_paths,
    ),
    click.option(
        "--player1", metavar="CMD", shell_complete=completing(programs), help="The first program; see CMD above."
    ),
    click.option("--player2", metavar="CMD", shell_complete=completing(programs), help="The second program."),
    click.option(
        "--name1", type=TEXT, metavar="NAME", help="Name of the first program.  [default: the name of its file]"
    ),
    click.option(
        "--name2", type=TEXT, metavar="NAME", help="Name of the second program.  [default: the name of its file]"
    ),
    click.option(
        "-n",
        "--games",
        "-t",
        "--tests",
        "games",
        type=WholeNumber(1),
        default=DEFAULT_GAMES,
        show_default=True,
        metavar="N",
        help="Number of games, played in pairs with the sides swapped.",
    ),
    click.option(
        "-j",
        "--concurrency",
        type=WholeNumber(1, MAX_CONCURRENCY),
        default=1,
        show_default=True,
        metavar="N",
        help="Number of games played at the same time.",
    ),
    edition_options,
    click.option(
        "--seed", type=WholeNumber(0), metavar="N", help="Use the same start positions and seeds in every run."
    ),
    click.option(
        "--book",
        "--openings",
        "openings",
        type=click.Path(path_type=Path),
        multiple=True,
        callback=_only_book,
        metavar="PATH",
        help="Positions to start from, one for each pair: a replay, a folder of replays or of a match, or a text "
        "file whose lines name a replay and optionally a turn.",
    ),
    click.option(
        "--order",
        type=click.Choice(ORDERS),
        default=ORDERS[0],
        show_default=True,
        help="Order of these positions; random: shuffled by --seed.",
    ),
    click.option(
        "--opening-turn",
        type=WholeNumber(0, MAX_WHOLE_NUMBER),
        default=0,
        metavar="TURN",
        help="The turn of the replays to start from, unless the book names one.",
    ),
    click.option(
        "--start-piece",
        metavar="SHAPE",
        shell_complete=completing(game_option_values("startPiece")),
        help="As for `serve`: the shape that every colour begins with.",
    ),
    game_end_option,
    timeout_options(
        {
            "soft": "Time limit for a move.",
            "hard": "Time without a move after which the game ends.",
            "start": "Time for a program to take its seat.",
            "exit": "Time for a program to end by itself after the game.",
            "game": "Time for a whole game.",
        },
        has_to_exit=False,
    ),
    click.option("--no-timeout", is_flag=True, help="The time limits apply to neither program."),
    click.option("--no-timeout1", is_flag=True, help="The time limits do not apply to the first program."),
    click.option("--no-timeout2", is_flag=True, help="The time limits do not apply to the second program."),
    *(
        click.option(f"--{name}{number}", help=text.format(which), **how)
        for name, (text, how) in _PROGRAM_OPTIONS.items()
        for number, which in ((1, "first "), (2, "second "))
    ),
    pages_option,
    click.option(
        "--live",
        is_flag=True,
        help="Show the running games in the browser, on this machine, with what the programs say about their moves "
        "(docs/thinking.md).",
    ),
    click.option("--no-browser", is_flag=True, help="With --live: print the address instead of opening it."),
    click.option("--server", metavar="HOST:PORT", help="Play on this server instead of the match's own."),
    click.option(
        "-h",
        "--host",
        metavar="HOST",
        help="Host of that server; --host and --port together mean the same as --server.",
    ),
    click.option("-p", "--port", type=WholeNumber(0, 65535), metavar="PORT", help="Port of that server."),
    admin_password_option("Password for administrators there", show_default=False),
    click.option(
        "--start-server", is_flag=True, help="Use the match's own server and ignore --host, --port and --server."
    ),
    click.option(
        "--sprt",
        metavar="TEXT",
        help='Stop as soon as the sequential test has decided: "elo0=0 elo1=50 alpha=0.05 beta=0.05"; '
        "add model=normalized for normalized Elo.",
    ),
    click.option(
        "--significance",
        type=Number(0, 0.5, min_open=True),
        metavar="P",
        help="Stop as soon as one program is better at significance level P: of matches between equal programs, "
        "at most this share ends in that way.",
    ),
    click.option(
        "--min-tests",
        type=WholeNumber(1),
        default=DEFAULT_MIN_GAMES,
        show_default=True,
        metavar="N",
        help="With --significance: play at least N games.",
    ),
    click.option("--fail-fast", is_flag=True, help="Stop at the first game in which a program fails."),
    click.option(
        "--fail-on",
        multiple=True,
        metavar="KIND",
        help=f"Exit with {EXIT_FAULT} if a program had this fault: {', '.join(FAULTS)}; separate several with commas.",
    ),
    click.option(
        "--faults-of",
        type=click.Choice(list(PROGRAMS_AT_FAULT)),
        default="both",
        show_default=True,
        help="Whose faults --fail-on and junit.xml report: those of both programs, or only of player 1.",
    ),
    click.option(
        "--require",
        type=click.Choice(["not-worse", "better"]),
        help=f"Exit with {EXIT_FAILURE} if player 1 is worse, or is not better, with 95 % confidence.",
    ),
    click.option(
        "--report-every",
        type=WholeNumber(1),
        metavar="N",
        help="Print results, Elo and the state of the sequential test after every N games.",
    ),
    core_options,
    condition_options,
    cluster_options,
    on_end_option,
    folder_option("--out", "Folder for all files of the match.  [default: a new one, named after date and time]"),
    folder_option(
        "--resume",
        "Continue the match in this folder as it was begun; options that differ are refused, except for a higher -n.",
    ),
    click.option(
        "--combine",
        is_flag=True,
        is_eager=True,  # before the arguments are read
        help="Put the games of the matches in the folders DIR... together into one result, and play none.",
    ),
    click.option(
        "--loglevel",
        metavar="LEVEL",
        hidden=True,
        expose_value=False,
        help="Option of the official test client, without effect: the logs contain everything.",
    ),
)
"""Decorates a command with all options of a match, in the order of `--help`."""


# -- the setup of a new match -----------------------------------------------------------------------------------------


def _entrant(options: Mapping[str, Any], number: int, *, can_timeout: bool) -> Entrant:
    """Program `number` (1 or 2) as the options describe it."""
    from spielleiter.match.plan import Entrant

    fields = {}
    for name in (each.replace("-", "_") for each in _PROGRAM_OPTIONS):
        value = options[f"{name}{number}"]
        if value is not None:
            fields[_ENTRANT_FIELDS.get(name, name)] = value / 1000 if name.endswith("_timeout") else value
    return Entrant(options[f"name{number}"] or "", options[f"player{number}"], can_timeout, **fields)


def _program_values(entrant: Entrant, number: int) -> dict[str, Any]:
    """The values of the options of a program that `_entrant` makes this entrant from; None if one was not given."""
    values = {}
    for name in (each.replace("-", "_") for each in _PROGRAM_OPTIONS):
        value = getattr(entrant, _ENTRANT_FIELDS.get(name, name))
        if value is not None and name.endswith("_timeout"):
            value = round(1000 * value)
        values[f"{name}{number}"] = None if name == "time_factor" and value == 1 else value or None
    return values


def setup_of(context: click.Context, options: dict[str, Any], *, is_played_elsewhere: bool = False) -> MatchSetup:
    """The match that the options of `match`, by their names, describe. Raises SetupError and UsageError.

    Nothing is started and nothing is written. With `is_played_elsewhere`, programs do not have to exist on this
    machine.
    """
    from spielleiter.match.plan import ProgramTimeouts
    from spielleiter.match.preparation import prepare_match

    for name in ("player1", "player2"):
        if options[name] is None:
            raise click.UsageError(f"--{name} is missing, expected a command line or builtin:NAME")
    limited = [not (options["no_timeout"] or options[f"no_timeout{n}"]) for n in (1, 2)]
    chosen = {
        **{name: options[name] / 1000 for name in ("soft_timeout", "hard_timeout") if is_given(context, name)},
        **{name: options[name] for name in ("start_piece", "game_end") if options[name] is not None},
    }
    server = _requested_server(options)
    if not options["openings"] and is_given(context, "order"):
        raise click.UsageError("--order has no effect without --book")
    if server is not None and (chosen or options["openings"]):
        raise click.UsageError(
            "time limits, rules and openings are set by the running server, expected no options for them"
        )
    return prepare_match(
        _entrant(options, 1, can_timeout=limited[0]),
        _entrant(options, 2, can_timeout=limited[1]),
        games=options["games"],
        game_type=options["game"],
        edition=options["edition"],
        seed=options["seed"],
        book=options["openings"] or None,
        order=options["order"],
        opening_turn=options["opening_turn"],
        **chosen,
        timeouts=ProgramTimeouts(options["start_timeout"], options["exit_timeout"], options["game_timeout"]),
        server=server,
        password=options["password"],
        sprt=options["sprt"],
        significance=options["significance"],
        min_games=options["min_tests"],
        cwd=context.meta.get(_CWD) or Path.cwd(),
        is_played_elsewhere=is_played_elsewhere,
    )


def _requested_server(options: Mapping[str, Any]) -> tuple[str, int] | None:
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


# -- a resumed match --------------------------------------------------------------------------------------------------
# It continues as it was begun: options that are not given keep their values. An option that is given and differs from
# the plan in the folder is refused, never ignored, unless it affects neither the games nor the answer.


def _limit(setup: MatchSetup, name: str) -> int | None:
    if setup.server is not None:
        return None
    return round(1000 * float(setup.server_options.get(f"{name}_timeout", TIMEOUTS[name] / 1000)))


def _planned_values(setup: MatchSetup) -> dict[str, Any]:
    """The values that a match was begun with, by name and in the unit of the option; None: it was not given."""
    return {
        "player1": setup.entrants[0].command,
        "player2": setup.entrants[1].command,
        "name1": setup.names[0],
        "name2": setup.names[1],
        "games": setup.games,
        "game": setup.game_type,
        "edition": setup.edition,
        "seed": setup.seed,
        "openings": [opening.path for opening in setup.openings] or None,
        "order": setup.opening_order,
        "opening_turn": setup.openings[0].turn if setup.openings else 0,
        "start_piece": setup.server_options.get("start_piece"),
        "game_end": setup.server_options.get("game_end"),
        "soft_timeout": _limit(setup, "soft"),
        "hard_timeout": _limit(setup, "hard"),
        "no_timeout": not any(entrant.can_timeout for entrant in setup.entrants),
        "no_timeout1": not setup.entrants[0].can_timeout,
        "no_timeout2": not setup.entrants[1].can_timeout,
        **_program_values(setup.entrants[0], 1),
        **_program_values(setup.entrants[1], 2),
        "start_timeout": setup.timeouts.start,
        "exit_timeout": setup.timeouts.exit,
        "game_timeout": setup.timeouts.game,
        "sprt": setup.sprt,
        "significance": setup.significance,
        "min_tests": setup.min_games,
    }


def refuse_changed_options(folder: Path, setup: MatchSetup, asked: Mapping[str, Any]) -> None:
    """Raise Misuse if an option in `asked` differs from the match in `folder`, SetupError if it is invalid."""
    planned_values = _planned_values(setup)
    unknown = asked.keys() - planned_values.keys() - CHANGEABLE - {*_SERVER, "out"}
    assert not unknown, f"neither fixed nor changeable: {unknown}"
    differing = []
    for name, planned in planned_values.items():
        if name in asked and not _is_same(name, asked[name], planned, setup):
            begun = f"begun with {_written(planned)}"
            if planned is None or isinstance(planned, bool):
                begun = "begun without"
            elif isinstance(planned, list):
                begun = (
                    f"begun with {planned[0] if len(planned) == 1 else f'{len(planned)} of {Path(planned[0]).parent}'}"
                )
            differing.append(f"{spelled(name, asked[name])} ({begun})")
    given = [name for name in _SERVER if name in asked]
    # if only host or only port is given, the other one is unchanged
    host, port = setup.server or (None, None)
    if given and setup.server != _requested_server(
        {"start_server": False, "server": None, "host": host, "port": port, **asked}
    ):
        server = "the match's own server" if setup.server is None else "{}:{}".format(*setup.server)
        differing.append(f"{' '.join(spelled(name, asked[name]) for name in given)} (begun with {server})")
    if "out" in asked and asked["out"].resolve() != folder.resolve():
        differing.append(f"{spelled('out', asked['out'])} (begun in {folder})")
    if differing:
        one_of_them = "that option" if len(differing) == 1 else "those options"
        raise Misuse(
            f"--resume {folder}: the match was begun with other options: {', '.join(differing)}; "
            f"leave {one_of_them} out to continue it, or begin another match in another folder"
        )


def _is_same(name: str, value: Any, planned: Any, setup: MatchSetup) -> bool:
    match name:
        case "games":  # there may be more
            return bool(value >= planned)
        case "name1" | "name2":
            return planned in {value, f"{value} ({name[-1]})"}  # the suffix distinguishes equal names
        case "openings":  # in any order
            from spielleiter.match.preparation import read_book

            return sorted(opening.path for opening in read_book(value, 0)) == sorted(planned or ())
        case "sprt":
            from spielleiter.common.errors import SetupError
            from spielleiter.match.statistics import Sprt, SprtError

            try:
                return planned is not None and Sprt.parse(value) == Sprt.parse(planned)
            except SprtError as error:
                raise SetupError(str(error)) from None
        case "time_factor1" | "time_factor2" if value == 1:
            return planned is None
        case "min_tests":
            return setup.significance is None or bool(value == planned)  # without the test the option has no effect
        case _:
            return bool(value == planned)


def spelled(name: str, value: Any) -> str:
    """An option and its value as they are written on the command line."""
    option = f"--{name.replace('_', '-')}"
    return option if isinstance(value, bool) else f"{option} {_written(value)}"


def _written(value: object) -> str:
    """The value as it is written on the command line."""
    if isinstance(value, tuple):
        return ",".join(value)
    return " ".join(f"{name}={text}" for name, text in value.items()) if isinstance(value, Mapping) else str(value)
