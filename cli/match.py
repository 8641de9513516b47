"""`spielleiter match`: two programs, many games, one answer.

Law: the exit code is the answer for scripts: 0 done (or SPRT accepted H1), 1 player 1 is worse where that was asked,
2 misuse, 3 a program failed where --fail-on says so, 4 server or machine failed or nothing was found out since
a program cannot play, 130 interrupted. Options of the official test client mean here what they mean there.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from spielleiter.cli.commands import Misuse, run_async, tell
from spielleiter.cli.conditions import conditions_of
from spielleiter.cli.exit_codes import EXIT_MACHINE, exit_code, fault_kinds
from spielleiter.cli.match_options import match_options
from spielleiter.cli.match_setup import setup_of
from spielleiter.cli.on_end import run_on_end
from spielleiter.cli.options import chosen_edition, is_given
from spielleiter.server.text.counting import count_text
from spielleiter.server.text.escaping import escaped
from spielleiter.server.text.width import text_width

if TYPE_CHECKING:
    from spielleiter.match.playing import MatchResult
    from spielleiter.match.records.game_record import GameRecord
    from spielleiter.match.records.journal import Journal
    from spielleiter.match.runner import Conditions, EndReason
    from spielleiter.match.setup import MatchSetup
    from spielleiter.match.summary import Summary


@click.command(name="match")
@match_options
@click.pass_context
def match_command(context: click.Context, /, resume: Path | None, **options: Any) -> None:
    """Let two programs play many games against each other and say which one is better.

    CMD is a command line, to which `-h HOST -p PORT -r RESERVATION` is added unless it names {host}, {port} or
    {reservation} itself ({game} is the gameType, {seed} a number that differs from pair to pair); or a .jar file; or
    builtin:NAME for one of the strategies of `spielleiter play`. No shell reads it.

    The folder holds the journal games.jsonl, summary.json, summary.md, games.csv, junit.xml, report.html, and a folder
    for each game with both programs' outputs, the bytes on the wire, the server's log, a replay and the verdict.

    FILE is a TOML file with what the options say, as `tournament` has it (docs/match.md); options go before it.

    Ctrl-C lets the games that are being played finish, a second one cuts them off; --resume goes on.

    The exit code is 0 when all games are played or SPRT accepted H1; 1 when player 1 is worse and --require or --sprt
    asked; 2 for misuse; 3 when a program failed and --fail-on says so; 4 when server or machine failed, when a program
    cannot play at all, or when no game counts; 130 when interrupted.
    """
    from spielleiter.cli.resume import refuse_other_plan
    from spielleiter.match.errors import JournalError, MatchError, SetupError
    from spielleiter.match.preparation import load_match, require_enough_games
    from spielleiter.match.records.journal import save_setup
    from spielleiter.match.runner import Conditions, allocate_cores

    fail_on = fault_kinds(options["fail_on"])
    chosen = chosen_edition(options["game"], options["edition"])
    conditions = Conditions(
        options["concurrency"],
        options["fail_fast"],
        options["pin"],
        options["cores_per_game"],
        **conditions_of(options),
    )
    if resume is not None and context.default_map:
        raise click.UsageError("expected a FILE, or --resume DIR, and not both")
    try:
        allocate_cores(conditions)
        if resume is not None:
            folder = resume
            setup = load_match(folder, options["password"])
            refuse_other_plan(folder, setup, {name: options[name] for name in options if is_given(context, name)})
        else:
            setup = setup_of(context, {**options, "game": chosen.game_type})
            folder = options["out"] or Path(f"match-{datetime.now().astimezone():%Y-%m-%d_%H-%M-%S}")
        if options["require"] is not None:
            require_enough_games(setup, f"--require {options['require']}")
        if resume is None:
            save_setup(folder, setup.to_json())
    except (SetupError, JournalError) as error:
        raise Misuse(str(error)) from None
    try:
        result = _play(setup, folder, conditions, options["report_every"])
    except MatchError as error:
        tell(f"spielleiter match: {error}", err=True)
        run_on_end(options["on_end"], folder, folder / "summary.json", EXIT_MACHINE)
        raise click.exceptions.Exit(EXIT_MACHINE) from None
    code = exit_code(result.end, result.records, result.summary, fail_on, options["require"])
    run_on_end(options["on_end"], folder, folder / "summary.json", code)
    raise click.exceptions.Exit(code)


def _play(setup: MatchSetup, folder: Path, conditions: Conditions, report_every: int | None) -> MatchResult:
    from spielleiter.cli.progress import Interim, showing_progress
    from spielleiter.match.playing import play_and_report
    from spielleiter.match.runner import EndReason, count_cores
    from spielleiter.match.season import season_text
    from spielleiter.match.stopping import sprt_of

    conditions = fair_conditions(conditions)
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
        interim = Interim(sprt_of(setup), report_every)
        with showing_progress(setup.games, tuple(journal.records.values()), interim=interim) as progress:
            result = run_async(lambda: play_and_report(setup, folder, journal, progress, conditions))
    _show(result.summary, folder, result.end)
    if result.end is EndReason.UNFIT:
        show_unfit(setup, folder, result.records)
    return result


def fair_conditions(wanted: Conditions) -> Conditions:
    """With as many games at a time as can be judged fairly; says so if those are fewer than were asked for."""
    from spielleiter.match.runner import fair_concurrency

    concurrency, why = fair_concurrency(wanted.concurrency, wanted.cores_per_game)
    if why is not None:
        tell(why, err=True)
    return dataclasses.replace(wanted, concurrency=concurrency)


def show_unfit(setup: MatchSetup, folder: Path, records: Sequence[GameRecord]) -> None:
    """Say which program cannot play, what was tried, and what it wrote."""
    from spielleiter.match.fitness import unfit_programs, why_unfit

    for program in unfit_programs(records):
        for line in why_unfit(records, program, setup.entrants[program].command, folder):
            tell(line, err=True)


def _show(summary: Summary, folder: Path, end: EndReason) -> None:
    from spielleiter.match.reports.words import (
        both_elo_text,
        estimate_text,
        games_text,
        headline,
        percent_text,
        seconds_text,
        significance_text,
        sprt_text,
    )
    from spielleiter.match.runner import EndReason

    tell()
    if end is EndReason.DECIDED:
        tell(end.value)
    elif end is not EndReason.COMPLETED:
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
            f"{' ' * text_width(escaped(program.name))}  {count_text(program.crashes, 'crash', 'crashes')}, "
            f"{count_text(program.timeouts, 'timeout')}, {count_text(program.illegal_moves, 'illegal move')}, "
            f"{count_text(program.bad_messages, 'bad message')}, "
            f"{count_text(program.leftovers, 'time')} left running after the game"
            + (
                f", too slow on an overloaded machine {count_text(program.overloads, 'time')}"
                if program.overloads
                else ""
            )
        )
    tell(f"Elo {both_elo_text(summary)}, likelihood of superiority {percent_text(summary.likelihood_of_superiority)}")
    for text in filter(None, (sprt_text(summary), significance_text(summary))):
        tell(text)
    tell(f"report: {folder / 'report.html'}")


@contextmanager
def usable_journal(folder: Path) -> Iterator[Journal]:
    """The journal of the match in `folder`, as `open_journal`.

    Raises Misuse if it cannot be opened (it is locked, or may not be written to): nothing has been played then.
    """
    from spielleiter.match.errors import JournalError
    from spielleiter.match.records.journal import open_journal

    with ExitStack() as stack:
        try:
            journal = stack.enter_context(open_journal(folder))
        except JournalError as error:
            raise Misuse(str(error)) from None
        yield journal
