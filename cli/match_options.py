"""The options of `spielleiter match`, in the order in which `--help` shows them.

Invariants: options of the official test client mean here what they mean there. A test of resume.py holds that every
option is sorted into those that a resumed match may be given otherwise, and those that it may not.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

from spielleiter.cli.commands import EXIT_FAILURE
from spielleiter.cli.completion import completing, game_option_values, programs
from spielleiter.cli.conditions import condition_options
from spielleiter.cli.encoding import PASSWORD, TEXT
from spielleiter.cli.exit_codes import EXIT_FAULT, FAULTS
from spielleiter.cli.match_file import file_argument
from spielleiter.cli.numbers import Number, WholeNumber
from spielleiter.cli.on_end import on_end_option
from spielleiter.cli.options import (
    MAX_CONCURRENCY,
    Decorated,
    core_options,
    edition_options,
    folder_option,
    timeout_options,
)
from spielleiter.cli.program_options import program_options
from spielleiter.match.plan import DEFAULT_GAMES, DEFAULT_MIN_GAMES, ORDERS
from spielleiter.protocol.defaults import DEFAULT_PASSWORD
from spielleiter.server.config.setting import MAX_WHOLE_NUMBER


def match_options(command: Decorated) -> Decorated:
    """Everything that a match can be told on the command line, by the option's name."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def _only_book(_context: click.Context, _parameter: click.Parameter, values: tuple[Path, ...]) -> Path | None:
    if len(values) > 1:
        given = ", ".join(map(str, values))
        raise click.UsageError(
            f"--book and --openings are two names of the same option, expected one value, not {given}"
        )
    return values[0] if values else None


_OPTIONS: Final = (
    file_argument,
    click.option(
        "--player1", metavar="CMD", shell_complete=completing(programs), help="The first program; see CMD above."
    ),
    click.option("--player2", metavar="CMD", shell_complete=completing(programs), help="The second program."),
    click.option("--name1", type=TEXT, metavar="NAME", help="What the first program is called.  [default: its file]"),
    click.option("--name2", type=TEXT, metavar="NAME", help="What the second program is called.  [default: its file]"),
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
        help="How many games; they come in pairs with the sides swapped.",
    ),
    click.option(
        "-j",
        "--concurrency",
        type=WholeNumber(1, MAX_CONCURRENCY),
        default=1,
        show_default=True,
        metavar="N",
        help="How many games are played at a time.",
    ),
    edition_options,
    click.option("--seed", type=WholeNumber(0), metavar="N", help="Makes the plan the same in every run."),
    click.option(
        "--book",
        "--openings",
        "openings",
        type=click.Path(path_type=Path),
        multiple=True,
        callback=_only_book,
        metavar="PATH",
        help="Positions to start from, one for each pair: a replay, a folder of replays, or a text file with a replay, "
        "and the turn if need be, in each line.",
    ),
    click.option(
        "--order",
        type=click.Choice(ORDERS),
        default=ORDERS[0],
        show_default=True,
        help="The order of the positions; random: drawn from --seed.",
    ),
    click.option(
        "--opening-turn",
        type=WholeNumber(0, MAX_WHOLE_NUMBER),
        default=0,
        metavar="TURN",
        help="The turn of the replays to start from, where the book names none.",
    ),
    click.option(
        "--start-piece",
        metavar="SHAPE",
        shell_complete=completing(game_option_values("startPiece")),
        help="As of `serve`: the shape every colour begins with.",
    ),
    click.option(
        "--game-end",
        metavar="WHEN",
        shell_complete=completing(game_option_values("gameEnd")),
        help="As of `serve`: colorFinished or noMovesLeft.",
    ),
    timeout_options(
        {
            "soft": "Milliseconds for a move.",
            "hard": "Milliseconds until a game ends without a move.",
            "start": "For a program to take its seat.",
            "exit": "For a program to end itself after the game.",
            "game": "For a whole game.",
        },
        has_to_exit=False,
    ),
    click.option("--no-timeout", is_flag=True, help="Neither program is held to the time limits."),
    click.option("--no-timeout1", is_flag=True, help="The first program is not held to them."),
    click.option("--no-timeout2", is_flag=True, help="The second program is not held to them."),
    program_options,
    click.option("--server", metavar="HOST:PORT", help="Play at this server instead of one of our own."),
    click.option("-h", "--host", metavar="HOST", help="The host of that server; with --port the same as --server."),
    click.option("-p", "--port", type=WholeNumber(0, 65535), metavar="PORT", help="The port of that server."),
    click.option(
        "--password",
        type=PASSWORD,
        envvar="SPIELLEITER_PASSWORD",
        default=DEFAULT_PASSWORD,
        metavar="PASSWORD",
        help="The administrators' password there; also taken from SPIELLEITER_PASSWORD.",
    ),
    click.option("--start-server", is_flag=True, help="A server of our own, whatever --host, --port and --server say."),
    click.option(
        "--sprt",
        metavar="TEXT",
        help='Stop as soon as the sequential test has decided: "elo0=0 elo1=50 alpha=0.05 beta=0.05"; '
        "model=normalized for normalized Elo.",
    ),
    click.option(
        "--significance",
        type=Number(0, 0.5, min_open=True),
        metavar="P",
        help="Stop as soon as one program is better; equal programs are told apart in at most this share of matches.",
    ),
    click.option(
        "--min-tests",
        type=WholeNumber(1),
        default=DEFAULT_MIN_GAMES,
        show_default=True,
        metavar="N",
        help="With --significance: play at least so many games.",
    ),
    click.option("--fail-fast", is_flag=True, help="Stop at the first game in which a program fails."),
    click.option(
        "--fail-on",
        multiple=True,
        metavar="KIND",
        help=f"Exit with {EXIT_FAULT} if this happened to a program: {', '.join(FAULTS)}; several with commas.",
    ),
    click.option(
        "--require",
        type=click.Choice(["not-worse", "better"]),
        help=f"Exit with {EXIT_FAILURE} if player 1 is worse (or not better), with 95 % confidence.",
    ),
    click.option(
        "--report-every",
        type=WholeNumber(1),
        metavar="N",
        help="Show results, Elo and the sequential test's state after every N games.",
    ),
    *core_options,
    condition_options,
    on_end_option,
    folder_option("--out", "The folder for everything; a new one with date and time if not given."),
    folder_option(
        "--resume",
        "Go on with the match in this folder, as it was begun; options that say otherwise are refused.",
    ),
    click.option(
        "--loglevel",
        metavar="LEVEL",
        hidden=True,
        expose_value=False,
        help="Of the official test client; the logs hold everything.",
    ),
)
