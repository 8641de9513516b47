"""The options of `spielleiter match`, in the order of `--help`.

Invariants: options of the official test client have the same meaning here. The tests of `cli.resume` check that every
option is either one that may change when a match is resumed or one that may not.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

from spielleiter.cli.cluster import cluster_options
from spielleiter.cli.commands import EXIT_FAILURE
from spielleiter.cli.completion import completing, game_option_values, programs
from spielleiter.cli.conditions import condition_options
from spielleiter.cli.decorated import Decorated
from spielleiter.cli.encoding import PASSWORD, TEXT
from spielleiter.cli.exit_codes import EXIT_FAULT, FAULTS, PROGRAMS_AT_FAULT
from spielleiter.cli.match_file import file_argument
from spielleiter.cli.match_pages import pages_option
from spielleiter.cli.numbers import Number, WholeNumber
from spielleiter.cli.on_end import on_end_option
from spielleiter.cli.options import (
    MAX_CONCURRENCY,
    core_options,
    edition_options,
    folder_option,
    game_end_option,
    timeout_options,
)
from spielleiter.cli.program_options import program_options
from spielleiter.match.plan import DEFAULT_GAMES, DEFAULT_MIN_GAMES, ORDERS
from spielleiter.protocol.defaults import DEFAULT_PASSWORD
from spielleiter.server.setting import MAX_WHOLE_NUMBER


def match_options(command: Decorated) -> Decorated:
    """Decorate a command with all options of a match."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def _only_book(_context: click.Context, _parameter: click.Parameter, values: tuple[Path, ...]) -> Path | None:
    if len(values) > 1:
        given = ", ".join(map(str, values))
        raise click.UsageError(f"--book and --openings are names of the same option, expected one value, not {given}")
    return values[0] if values else None


_OPTIONS: Final = (
    file_argument,
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
        help="Order of these positions; random: drawn with --seed.",
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
    program_options,
    pages_option,
    click.option("--server", metavar="HOST:PORT", help="Play on this server instead of the match's own."),
    click.option(
        "-h",
        "--host",
        metavar="HOST",
        help="Host of that server; --host and --port together mean the same as --server.",
    ),
    click.option("-p", "--port", type=WholeNumber(0, 65535), metavar="PORT", help="Port of that server."),
    click.option(
        "--password",
        type=PASSWORD,
        envvar="SPIELLEITER_PASSWORD",
        default=DEFAULT_PASSWORD,
        metavar="PASSWORD",
        help="Password for administrators there; also taken from SPIELLEITER_PASSWORD.",
    ),
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
        help="Stop as soon as one program is better at significance level P: this happens in at most this share of "
        "matches between equal programs.",
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
        help="Whose faults --fail-on and junit.xml report: those of both programs, or of the one under test.",
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
    *core_options,
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
