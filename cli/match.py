"""`spielleiter match`: two programs play many games, and one answer says which is better.

Invariants: the exit code is the answer for scripts: 0 for success (all games were played or SPRT accepted H1), 1 if
player 1 is worse than --require or --sprt demands, 2 for misuse, 3 if a program failed and --fail-on names that fault,
4 if the server or the machine failed or no game counts, 5 if a program cannot play, 130 if it was interrupted.
Options of the official test client have the same meaning here.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from spielleiter.cli.cluster import cluster_of, on_cluster
from spielleiter.cli.commands import Misuse, print_line, run_async
from spielleiter.cli.conditions import conditions_of
from spielleiter.cli.ctrl_c import raise_on_ctrl_c
from spielleiter.cli.exit_codes import EXIT_MACHINE, PROGRAMS_AT_FAULT, exit_code, fault_kinds
from spielleiter.cli.match_file import FOLDERS
from spielleiter.cli.match_options import match_options
from spielleiter.cli.match_setup import setup_of
from spielleiter.cli.match_summary import show_summary
from spielleiter.cli.on_end import run_on_end
from spielleiter.cli.options import chosen_edition, is_given
from spielleiter.cli.package_warnings import print_package_warnings
from spielleiter.cli.platform_gaps import print_platform_gaps
from spielleiter.common.process import hide_this_process
from spielleiter.common.text import count_text

if TYPE_CHECKING:
    from spielleiter.match.plan import MatchSetup
    from spielleiter.match.records import GameRecord, Journal
    from spielleiter.match.runner import Conditions, MatchResult


@click.command(name="match")
@match_options
@click.pass_context
def match_command(context: click.Context, /, resume: Path | None, combine: bool, **options: Any) -> None:
    """Let two programs play many games against each other and say which one is better.

    CMD is a command line, a .jar file, a contest package (a .zip file), or builtin:NAME for one of the strategies of
    `spielleiter play`. The options `-h HOST -p PORT -r RESERVATION` are appended to it, unless it contains {host},
    {port} or {reservation}. {game} stands for the gameType, {seed} for a number that differs from pair to pair. No
    shell interprets the command line.

    A package, as in "player.zip --level 3", is inspected and unpacked into a folder of its own, and its main file is
    started there with the further parameters (docs/packages.md).

    The folder contains the journal games.jsonl, summary.json, summary.md, games.csv, junit.xml, report.html, and a
    folder for each game with the outputs of both programs, the bytes on the wire, the log of the server, a replay and
    the verdict.

    FILE is a TOML file that sets the same options, in the format of `tournament` (docs/match.md). Options on the
    command line take precedence over it.

    Ctrl-C lets the running games finish, a second Ctrl-C ends them at once. --resume continues the match, and with a
    higher -n extends it. With --combine, the arguments are the folders of matches between the same two programs, whose
    games are put together into one result; nothing is played.

    The exit code is 0 if all games were played or SPRT accepted H1; 1 if player 1 is worse than --require or --sprt
    demands; 2 for misuse; 3 if a program failed and --fail-on names this fault; 4 if the server or the machine failed,
    or if no game counts; 5 if a program cannot play at all, which ends the match; 130 if it was interrupted.
    """
    from spielleiter.cli.resume import refuse_changed_options
    from spielleiter.common.errors import JournalError, MatchError, SetupError, os_error_text
    from spielleiter.match.preparation import load_match, require_enough_games
    from spielleiter.match.records import save_setup
    from spielleiter.match.runner import Conditions, allocate_cores

    fail_on = fault_kinds(options["fail_on"])
    faults_of = PROGRAMS_AT_FAULT[options["faults_of"]]
    new = options["out"] or Path(f"match-{datetime.now().astimezone():%Y-%m-%d_%H-%M-%S}")
    if combine:
        from spielleiter.cli.combine import combine_matches, refuse_other_options

        refuse_other_options(name for name in ("resume", *options) if is_given(context, name))
        code = combine_matches(context.meta[FOLDERS], new, fail_on, options["require"], faults_of)
        run_on_end(options["on_end"], new, new / "summary.json", code)
        raise click.exceptions.Exit(code)
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
        cluster = cluster_of(options)
        if cluster is None:
            allocate_cores(conditions)
        if resume is not None:
            folder = resume
            begun = load_match(folder, options["password"], is_played_elsewhere=cluster is not None)
            refuse_changed_options(folder, begun, {name: options[name] for name in options if is_given(context, name)})
            setup = dataclasses.replace(begun, games=options["games"]) if is_given(context, "games") else begun
            if setup.games > begun.games:
                print_line(f"extended from {begun.games} to {setup.games} games", err=True)
                if setup.sprt is None and setup.significance is None:
                    print_line(
                        "the interval holds only if the match is not extended because of its result; a match with "
                        "--sprt or --significance may be",
                        err=True,
                    )
        else:
            setup = setup_of(context, {**options, "game": chosen.game_type}, is_played_elsewhere=cluster is not None)
            if cluster is None:
                print_package_warnings(setup.entrants, setup.cwd)
            folder = new
        if options["require"] is not None:
            require_enough_games(setup, f"--require {options['require']}")
        if resume is None:
            save_setup(folder, setup.to_json())
    except (SetupError, JournalError) as error:
        raise Misuse(str(error)) from None
    has_concurrency = is_given(context, "concurrency")
    raise_on_ctrl_c()
    try:
        with on_cluster(cluster, Path(setup.cwd), conditions, has_concurrency=has_concurrency) as conditions:
            result = _play(setup, folder, conditions, options["report_every"], options["pages"], faults_of)
    except (MatchError, OSError) as error:
        text = os_error_text(error) if isinstance(error, OSError) else error
        print_line(f"spielleiter match: {text}", err=True)
        run_on_end(options["on_end"], folder, folder / "summary.json", EXIT_MACHINE)
        raise click.exceptions.Exit(EXIT_MACHINE) from None
    code = exit_code(result.end, result.records, result.summary, fail_on, options["require"], faults_of)
    run_on_end(options["on_end"], folder, folder / "summary.json", code)
    raise click.exceptions.Exit(code)


def _play(
    setup: MatchSetup,
    folder: Path,
    conditions: Conditions,
    report_every: int | None,
    pages: str,
    faults_of: tuple[int, ...],
) -> MatchResult:
    from spielleiter.cli.match_pages import write_pages
    from spielleiter.cli.progress import Interim, showing_progress
    from spielleiter.match.plan import season_text
    from spielleiter.match.runner import EndReason, count_cores, play_and_report, write_match_reports
    from spielleiter.match.stopping import sprt_of

    conditions = fair_conditions(conditions)
    cores = count_cores()
    if conditions.venue is None and conditions.concurrency > cores:
        print_line(
            f"{conditions.concurrency} games at a time on {cores} processor cores: think times mean little, and "
            "programs may be too slow through no fault of their own",
            err=True,
        )
    games = count_text(setup.games, "game")
    if setup.games % 2:
        print_line(f"{games}: the last one has no counterpart with the sides swapped", err=True)
    print_platform_gaps()
    hide_this_process()
    season = season_text(setup.game_type, setup.edition)
    print_line(f"{season}: {setup.names[0]} against {setup.names[1]}, {games}, seed {setup.seed}, into {folder}")
    with usable_journal(folder) as journal:
        interim = Interim(sprt_of(setup), report_every)
        with showing_progress(setup.games, tuple(journal.records.values()), interim=interim) as progress:
            result = run_async(
                lambda: play_and_report(setup, folder, journal, progress, conditions, faults_of=faults_of)
            )
        if result.end is not EndReason.INTERRUPTED and write_pages({folder: result.records}, pages):
            write_match_reports(setup, folder, result.records, faults_of)
    print_line()
    if result.end is EndReason.DECIDED:
        print_line(result.end.value)
    elif result.end is not EndReason.COMPLETED:
        print_line(f"{result.end.value}; --resume {folder} continues")
    show_summary(result.summary, folder)
    if result.end is EndReason.UNFIT:
        show_unfit(setup, folder, result.records)
    return result


def fair_conditions(wanted: Conditions) -> Conditions:
    """`wanted`, with concurrency limited to the number of games that can be judged fairly; prints why it is lowered."""
    from spielleiter.match.runner import fair_concurrency

    if wanted.venue is not None:  # each machine limits its own games
        return wanted
    concurrency, why = fair_concurrency(wanted.concurrency, wanted.cores_per_game)
    if why is not None:
        print_line(why, err=True)
    return dataclasses.replace(wanted, concurrency=concurrency)


def show_unfit(setup: MatchSetup, folder: Path, records: Sequence[GameRecord]) -> None:
    """Print which program cannot play, how it was started, and what it wrote."""
    from spielleiter.match.stopping import unfit_programs, why_unfit

    for program in unfit_programs(records):
        for line in why_unfit(records, program, setup.entrants[program].command, folder):
            print_line(line, err=True)


@contextmanager
def usable_journal(folder: Path) -> Iterator[Journal]:
    """Open the journal of the match in `folder`, like `open_journal`.

    Raises Misuse if it cannot be opened, since it is locked or cannot be written; no game has been played in that case.
    """
    from spielleiter.common.errors import JournalError
    from spielleiter.match.records import JOURNAL, open_journal

    with ExitStack() as stack:
        try:
            journal = stack.enter_context(open_journal(folder))
        except JournalError as error:
            raise Misuse(str(error)) from None
        try:
            yield journal
        finally:
            stack.close()
            if journal.was_restored:
                print_line(
                    f"{folder / JOURNAL} was changed by another program while the match was running; the records of "
                    "all games have been written again",
                    err=True,
                )
