"""`spielleiter match`: two programs, many games, one answer.

Law: the exit code is the answer for scripts: 0 done (or SPRT accepted H1), 1 player 1 is worse where that was asked,
2 misuse, 3 a program failed where --fail-on says so, 4 server or machine failed or nothing was found out since
a program cannot play, 130 interrupted. Options of the official test client mean here what they mean there.
"""

from __future__ import annotations

import dataclasses
import secrets
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from client.defaults import DEFAULT_PASSWORD
from server.counting import count_text
from server.escaping import escaped
from server.setting import MAX_WHOLE_NUMBER
from spielleiter.commands import EXIT_FAILURE, Misuse, run_async, tell
from spielleiter.completion import completing, game_option_values, programs
from spielleiter.conditions import condition_options, conditions_of
from spielleiter.encoding import PASSWORD, TEXT
from spielleiter.exit_codes import EXIT_FAULT, EXIT_MACHINE, FAULTS, exit_code, fault_kinds
from spielleiter.options import (
    MAX_CONCURRENCY,
    chosen_edition,
    edition_options,
    folder_option,
    is_given,
    place_of_server,
    timeout_options,
    why_without_effect,
)

if TYPE_CHECKING:
    from match.journal import Journal
    from match.records import GameRecord
    from match.runner import Conditions, End
    from match.setup import MatchSetup
    from match.summary import Summary

_MIN_TESTS = 20


@click.command(name="match")
@click.option("--player1", metavar="CMD", shell_complete=completing(programs), help="The first program; see CMD above.")
@click.option("--player2", metavar="CMD", shell_complete=completing(programs), help="The second program.")
@click.option("--name1", type=TEXT, metavar="NAME", help="What the first program is called.  [default: its file]")
@click.option("--name2", type=TEXT, metavar="NAME", help="What the second program is called.  [default: its file]")
@click.option(
    "-n",
    "--games",
    "-t",
    "--tests",
    "games",
    type=click.IntRange(1),
    default=100,
    show_default=True,
    metavar="N",
    help="How many games; they come in pairs with the sides swapped.",
)
@click.option(
    "-j",
    "--concurrency",
    type=click.IntRange(1, MAX_CONCURRENCY),
    default=1,
    show_default=True,
    metavar="N",
    help="How many games are played at a time.",
)
@edition_options
@click.option("--seed", type=click.IntRange(0), metavar="N", help="Makes the plan the same in every run.")
@click.option(
    "--openings",
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="A replay to start from, or a folder with replays: one for each pair.",
)
@click.option(
    "--opening-turn",
    type=click.IntRange(0, MAX_WHOLE_NUMBER),
    default=0,
    metavar="TURN",
    help="The turn of the replays to start from.",
)
@click.option(
    "--start-piece",
    metavar="SHAPE",
    shell_complete=completing(game_option_values("startPiece")),
    help="As of `serve`: the shape every colour begins with.",
)
@click.option(
    "--game-end",
    metavar="WHEN",
    shell_complete=completing(game_option_values("gameEnd")),
    help="As of `serve`: colorFinished or noMovesLeft.",
)
@timeout_options(
    {
        "soft": "Milliseconds for a move.",
        "hard": "Milliseconds until a game ends without a move.",
        "start": "For a program to take its seat.",
        "exit": "For a program to end itself after the game.",
        "game": "For a whole game.",
    },
    has_to_exit=False,
)
@click.option("--no-timeout", is_flag=True, help="Neither program is held to the time limits.")
@click.option("--no-timeout1", is_flag=True, help="The first program is not held to them.")
@click.option("--no-timeout2", is_flag=True, help="The second program is not held to them.")
@click.option("--server", metavar="HOST:PORT", help="Play at this server instead of one of our own.")
@click.option("-h", "--host", metavar="HOST", help="The host of that server; with --port the same as --server.")
@click.option("-p", "--port", type=click.IntRange(0, 65535), metavar="PORT", help="The port of that server.")
@click.option(
    "--password",
    type=PASSWORD,
    envvar="SPIELLEITER_PASSWORD",
    default=DEFAULT_PASSWORD,
    metavar="PASSWORD",
    help="The administrators' password there; also taken from SPIELLEITER_PASSWORD.",
)
@click.option("--start-server", is_flag=True, help="A server of our own, whatever --host, --port and --server say.")
@click.option(
    "--sprt",
    metavar="TEXT",
    help='Stop as soon as the sequential test has decided: "elo0=0 elo1=50 alpha=0.05 beta=0.05"; '
    "model=normalized for normalized Elo.",
)
@click.option(
    "--significance",
    type=click.FloatRange(0, 0.5, min_open=True),
    metavar="P",
    help="Stop as soon as one program is better; equal programs are told apart in at most this share of matches.",
)
@click.option(
    "--min-tests",
    type=click.IntRange(1),
    default=_MIN_TESTS,
    show_default=True,
    metavar="N",
    help="With --significance: play at least so many games.",
)
@click.option("--fail-fast", is_flag=True, help="Stop at the first game in which a program fails.")
@click.option(
    "--fail-on",
    multiple=True,
    metavar="KIND",
    help=f"Exit with {EXIT_FAULT} if this happened to a program: {', '.join(FAULTS)}; several with commas.",
)
@click.option(
    "--require",
    type=click.Choice(["not-worse", "better"]),
    help=f"Exit with {EXIT_FAILURE} if player 1 is worse (or not better), with 95 % confidence.",
)
@click.option(
    "--report-every",
    type=click.IntRange(1),
    metavar="N",
    help="Show results, Elo and the sequential test's state after every N games.",
)
@click.option("--pin", is_flag=True, help="A processor core for each program.")
@condition_options
@folder_option("--out", "The folder for everything; a new one with date and time if not given.")
@folder_option(
    "--resume",
    "Go on with the match in this folder, as it was begun; options that say otherwise are refused.",
)
@click.option(
    "--loglevel",
    metavar="LEVEL",
    hidden=True,
    expose_value=False,
    help="Of the official test client; the logs hold everything.",
)
@click.pass_context
def match_command(context: click.Context, /, resume: Path | None, **options: Any) -> None:
    """Let two programs play many games against each other and say which one is better.

    CMD is a command line, to which `-h HOST -p PORT -r RESERVATION` is added unless it names {host}, {port} or
    {reservation} itself ({game} is the gameType, {seed} a number that differs from pair to pair); or a .jar file; or
    builtin:NAME for one of the strategies of `spielleiter play`. No shell reads it.

    The folder holds the journal games.jsonl, summary.json, summary.md, games.csv, junit.xml, report.html, and a folder
    for each game with both programs' outputs, the bytes on the wire, the server's log, a replay and the verdict.

    Ctrl-C lets the games that are being played finish, a second one cuts them off; --resume goes on.

    The exit code is 0 when all games are played or SPRT accepted H1; 1 when player 1 is worse and --require or --sprt
    asked; 2 for misuse; 3 when a program failed and --fail-on says so; 4 when server or machine failed, when a program
    cannot play at all, or when no game counts; 130 when interrupted.
    """
    from match.errors import JournalError, MatchError, SetupError
    from match.journal import load_setup, save_setup
    from match.runner import Conditions, places
    from match.setup import MatchSetup
    from spielleiter.resume import refuse_other_plan

    fail_on = fault_kinds(options["fail_on"])
    chosen = chosen_edition(options["game"], options["edition"])
    conditions = Conditions(options["concurrency"], options["fail_fast"], options["pin"], **conditions_of(options))
    try:
        places(conditions)
        if resume is not None:
            folder = resume
            setup = MatchSetup.from_json(load_setup(folder), options["password"])
            refuse_other_plan(folder, setup, {name: options[name] for name in options if is_given(context, name)})
        else:
            setup = _setup(context, {**options, "game": chosen.game_type})
            folder = options["out"] or Path(f"match-{datetime.now().astimezone():%Y-%m-%d_%H-%M-%S}")
        check_setup(setup)
        if options["require"] is not None:
            _check_requirement(setup, options["require"])
        if resume is None:
            save_setup(folder, setup.to_json())
    except (SetupError, JournalError) as error:
        raise Misuse(str(error)) from None
    try:
        end, records, summary = _play(setup, folder, conditions, options["report_every"])
    except MatchError as error:
        tell(f"spielleiter match: {error}", err=True)
        raise click.exceptions.Exit(EXIT_MACHINE) from None
    raise click.exceptions.Exit(exit_code(end, records, summary, fail_on, options["require"]))


def _check_requirement(setup: MatchSetup, require: str) -> None:
    """Refuse what could not be found out, whatever happens in the games. Raises SetupError."""
    from match.errors import SetupError
    from match.significance import FEWEST_PAIRS

    if setup.games < 2 * FEWEST_PAIRS:
        raise SetupError(
            f"--require {require}: from {setup.games} games it cannot be told which program is better, "
            f"expected at least -n {2 * FEWEST_PAIRS}"
        )


def _play(
    setup: MatchSetup, folder: Path, conditions: Conditions, report_every: int | None
) -> tuple[End, tuple[GameRecord, ...], Summary]:
    from match.reports import write_reports
    from match.runner import End, count_cores, play_match
    from match.season import season_text
    from match.stopping import sprt_of, stop_rule
    from match.summary import summarise
    from spielleiter.progress import Interim, showing_progress

    conditions = dataclasses.replace(conditions, concurrency=lower_concurrency(conditions.concurrency))
    cores = count_cores()
    if conditions.concurrency > cores:
        tell(
            f"{conditions.concurrency} games at a time on {cores} processor cores: thinking times say little, and "
            "programs may be too slow for no fault of theirs",
            err=True,
        )
    games = count_text(setup.games, "game")
    if setup.games % 2:
        tell(f"{games}: the last one has no counterpart with the sides swapped", err=True)
    season = season_text(setup.game_type, setup.edition)
    tell(f"{season}: {setup.names[0]} against {setup.names[1]}, {games}, seed {setup.seed}, into {folder}")
    with usable_journal(folder) as journal:
        try:
            interim = Interim(sprt_of(setup), report_every)
            with showing_progress(setup.games, tuple(journal.records.values()), interim=interim) as progress:
                end = run_async(lambda: play_match(setup, folder, journal, progress, conditions, stop_rule(setup)))
        finally:
            records = tuple(journal.records.values())
            summary = summarise(records, setup.names, setup.games, sprt_of(setup), setup.significance)
            write_reports(folder, summary, records)
    _show(summary, folder, end)
    if end is End.UNFIT:
        show_unfit(setup, folder, records)
    return end, records, summary


def lower_concurrency(wanted: int) -> int:
    """As many games at a time as can be judged fairly; says so if those are fewer than were asked for."""
    from match.runner import fair_concurrency

    concurrency, why = fair_concurrency(wanted)
    if why is not None:
        tell(why, err=True)
    return concurrency


def show_unfit(setup: MatchSetup, folder: Path, records: Sequence[GameRecord]) -> None:
    """Say which program cannot play, what was tried, and what it wrote."""
    from match.fitness import unfit_programs, why_unfit

    for program in unfit_programs(records):
        for line in why_unfit(records, program, setup.entrants[program].command, folder):
            tell(line, err=True)


def _show(summary: Summary, folder: Path, end: End) -> None:
    from match.reports.words import (
        both_elo_text,
        estimate_text,
        games_text,
        headline,
        percent_text,
        seconds_text,
        significance_text,
        sprt_text,
    )
    from match.runner import End

    tell()
    if end is End.DECIDED:
        tell(end.value)
    elif end is not End.DONE:
        tell(f"{end.value}; --resume {folder} goes on")
    tell(headline(summary))
    tell(games_text(summary))
    for program in summary.programs:
        times, score = program.think_times, f"+{program.wins} ={program.draws} -{program.losses}"
        tell(
            f"{program.name}: {score}, points {estimate_text(program.points)}; "
            f"thinks {seconds_text(times.median)} (median), {seconds_text(times.p95)} (95 %), "
            f"{seconds_text(times.max)} (longest)"
        )
        tell(
            f"{' ' * len(escaped(program.name))}  {count_text(program.crashes, 'crash', 'crashes')}, "
            f"{count_text(program.timeouts, 'timeout')}, {count_text(program.illegal_moves, 'illegal move')}, "
            f"{count_text(program.bad_messages, 'bad message')}, "
            f"{count_text(program.leftovers, 'time')} left running after the game"
        )
    tell(f"Elo {both_elo_text(summary)}, likelihood of superiority {percent_text(summary.likelihood_of_superiority)}")
    for text in filter(None, (sprt_text(summary), significance_text(summary))):
        tell(text)
    tell(f"report: {folder / 'report.html'}")


def _setup(context: click.Context, options: dict[str, Any]) -> MatchSetup:
    """What the options ask for. Raises SetupError."""
    from match.names import names_of
    from match.plan import load_openings
    from match.program import Command
    from match.setup import Entrant, MatchSetup, Patience

    for name in ("player1", "player2"):
        if options[name] is None:
            raise click.UsageError(f"--{name} is missing, expected a command line or builtin:NAME")
    commands = Command.parse(options["player1"]), Command.parse(options["player2"])
    names = names_of(*commands, (options["name1"], options["name2"]))
    limited = [not (options["no_timeout"] or options[f"no_timeout{n}"]) for n in (1, 2)]
    chosen = {
        **{name: options[name] / 1000 for name in ("soft_timeout", "hard_timeout") if is_given(context, name)},
        **{name: options[name] for name in ("start_piece", "game_end") if options[name] is not None},
    }
    server = place_of_server(options)
    if server is not None and (chosen or options["openings"]):
        raise click.UsageError(
            "time limits, openings and rules are that server's own affair, expected no options for them"
        )
    game_options = {"startPiece": options["start_piece"], "gameEnd": options["game_end"]}
    openings = (
        load_openings(
            options["openings"],
            options["opening_turn"],
            options["game"],
            {name: value for name, value in game_options.items() if value is not None},
            {} if options["edition"] is None else {options["game"]: options["edition"]},
        )
        if options["openings"]
        else ()
    )
    return MatchSetup(
        entrants=(
            Entrant(names[0], options["player1"], limited[0]),
            Entrant(names[1], options["player2"], limited[1]),
        ),
        game_type=options["game"],
        games=options["games"],
        seed=secrets.randbits(32) if options["seed"] is None else options["seed"],
        run_id=secrets.token_hex(8),
        openings=openings,
        server=server,
        password=options["password"],
        server_options=chosen,
        patience=Patience(options["start_timeout"], options["exit_timeout"], options["game_timeout"]),
        sprt=options["sprt"],
        significance=options["significance"],
        min_games=options["min_tests"] if options["significance"] is not None else 0,
        edition=options["edition"],
        cwd=str(Path.cwd()),
    )


@contextmanager
def usable_journal(folder: Path) -> Iterator[Journal]:
    """The journal of the match in `folder`, as `open_journal`.

    Raises Misuse if it cannot be opened (it is locked, or may not be written to): nothing has been played then.
    """
    from match.errors import JournalError
    from match.journal import open_journal

    with ExitStack() as stack:
        try:
            journal = stack.enter_context(open_journal(folder))
        except JournalError as error:
            raise Misuse(str(error)) from None
        yield journal


def check_setup(setup: MatchSetup) -> None:
    """Find out before the first game what cannot be. Raises SetupError."""
    from match.arena import own_config
    from match.errors import SetupError
    from match.program import Command
    from match.startable import require_startable
    from match.stopping import sprt_of
    from server.config import limits_problem
    from server.editions import choose_editions

    sprt_of(setup)
    if setup.cwd and not Path(setup.cwd).is_dir():
        raise SetupError(f"{setup.cwd}: the directory that the programs are started in does not exist")
    for entrant in setup.entrants:
        require_startable(Command.parse(entrant.command, setup.cwd), setup.cwd)
    try:
        config = own_config(setup)
    except TypeError as error:
        raise SetupError(str(error)) from None
    problem = limits_problem(config.soft_timeout, config.hard_timeout)
    if problem and any(entrant.can_timeout for entrant in setup.entrants):
        raise SetupError(problem)
    edition = choose_editions(setup.editions, {})[setup.game_type]
    for name, value in config.game_options.items():
        if problem := why_without_effect(edition, name, value):
            raise SetupError(problem)
