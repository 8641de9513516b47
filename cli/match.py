"""`spielleiter match`: two programs play many games, and one answer says which is better."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from spielleiter.cli.match_and_tournament import (
    PROGRAMS_AT_FAULT,
    cluster_of,
    conditions_of,
    exit_code_of_games,
    fault_kinds,
    on_cluster,
    play_and_exit,
    prepare_machine,
    print_package_warnings,
    run_on_end,
    show_unfit,
    usable_journal,
    write_pages,
)
from spielleiter.cli.match_options import FOLDERS, match_options, refuse_changed_options, setup_of
from spielleiter.cli.options import chosen_edition, is_given
from spielleiter.cli.output import print_line
from spielleiter.cli.running import EXIT_FAILURE, Misuse, run_async, starting_pages
from spielleiter.common.text import count_text, escaped, text_width

if TYPE_CHECKING:
    from spielleiter.match.match_server import Watch
    from spielleiter.match.plan import MatchSetup
    from spielleiter.match.runner import Conditions, MatchResult
    from spielleiter.match.summary import Summary

_OPTIONS_OF_COMBINING: Final = frozenset({"out", "fail_on", "faults_of", "require", "on_end"})
"""The options that may be given with --combine."""


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
    from spielleiter.match.preparation import load_match, require_enough_games
    from spielleiter.match.records import save_setup
    from spielleiter.match.runner import Conditions, allocate_cores

    fail_on = fault_kinds(options["fail_on"])
    faults_of = PROGRAMS_AT_FAULT[options["faults_of"]]
    folder = options["out"] or Path(f"match-{datetime.now().astimezone():%Y-%m-%d_%H-%M-%S}")
    if combine:
        given = [name for name in ("resume", *options) if is_given(context, name)]
        result = _combine(context.meta[FOLDERS], folder, given, faults_of)
        code = _exit_code(result, fail_on, options["require"], faults_of)
        run_on_end(options["on_end"], folder / "summary.json", code)
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
    cluster = cluster_of(options)
    if options["no_browser"] and not options["live"]:
        raise click.UsageError("--no-browser has no effect without --live")
    if options["live"] and cluster is not None:
        raise click.UsageError("--live shows games that are played on this machine, expected no --cluster")
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
    if options["live"] and setup.server is not None:
        raise click.UsageError(
            "--live shows the games of the match's own server; the pages of the other one are its own"
        )
    if options["require"] is not None:
        require_enough_games(setup, f"--require {options['require']}")
    if resume is None:
        save_setup(folder, setup.to_json())

    def play() -> int:
        has_concurrency = is_given(context, "concurrency")
        with on_cluster(cluster, setup.cwd, conditions, has_concurrency=has_concurrency) as settled:
            result = _play(setup, folder, settled, options, faults_of)
        return _exit_code(result, fail_on, options["require"], faults_of)

    play_and_exit("match", play, options["on_end"], folder / "summary.json")


def _exit_code(result: MatchResult, fail_on: frozenset[str], require: str | None, faults_of: tuple[int, ...]) -> int:
    """The exit code: that of the games, and otherwise whether the first program is as good as demanded."""
    if code := exit_code_of_games(result.end, result.records, fail_on, faults_of):
        return code
    summary = result.summary
    # with too few pairs no program can be shown to be worse, so that exit code 0 would mean nothing
    is_worse = (require == "better" and summary.better != 0) or (
        require == "not-worse" and (summary.better == 1 or not summary.has_enough_pairs)
    )
    is_refuted = summary.sprt is not None and summary.sprt.decision == "H0"
    return EXIT_FAILURE if is_worse or is_refuted else 0


def _combine(folders: Sequence[Path], out: Path, given: Sequence[str], faults_of: tuple[int, ...]) -> MatchResult:
    """Print the result of all matches together, and write its reports into `out`. `given` are the options' names.

    Raises Misuse if the matches cannot be combined, or if `out` is the folder of one of them.
    """
    from spielleiter.match.combining import combine_matches
    from spielleiter.match.records import SETUP
    from spielleiter.match.runner import EndReason, MatchResult, write_match_reports

    if others := [f"--{name.replace('_', '-')}" for name in given if name not in _OPTIONS_OF_COMBINING]:
        raise Misuse(f"--combine plays no game; leave out {', '.join(others)}")
    if len(folders) < 2:
        raise Misuse("--combine: expected the folders of at least two matches")
    if (out / SETUP).exists():
        raise Misuse(f"--out {out}: holds a match, expected another folder for the result")
    try:
        combined = combine_matches(folders, out)
        out.mkdir(parents=True, exist_ok=True)
        summary = write_match_reports(combined.setup, out, combined.records, faults_of)
    except OSError as error:
        raise Misuse(f"{out}: cannot be written to ({error.strerror or error})") from None
    names = combined.setup.names
    print_line(f"{names[0]} against {names[1]}: {count_text(len(folders), 'match', 'matches')}, into {out}")
    for doubt in combined.doubts:
        print_line(doubt, err=True)
    _show_summary(summary, out)
    return MatchResult(combined.setup, out, EndReason.COMPLETED, combined.records, summary)


def _play(
    setup: MatchSetup,
    folder: Path,
    conditions: Conditions,
    options: Mapping[str, Any],
    faults_of: tuple[int, ...],
) -> MatchResult:
    from spielleiter.cli.progress import showing_progress
    from spielleiter.match.plan import season_text
    from spielleiter.match.runner import EndReason, play_and_report, write_match_reports
    from spielleiter.match.stopping import sprt_of
    from spielleiter.programs.this_platform import PLATFORM

    conditions = prepare_machine(conditions)
    cores = len(PLATFORM.usable_cores())
    if conditions.venue is None and conditions.concurrency > cores:
        print_line(
            f"{conditions.concurrency} games at a time on {cores} processor cores: think times mean little, and "
            "programs may be too slow through no fault of their own",
            err=True,
        )
    games = count_text(setup.games, "game")
    if setup.games % 2:
        print_line(f"{games}: the last one has no counterpart with the sides swapped", err=True)
    season = season_text(setup.game_type, setup.edition)
    print_line(f"{season}: {setup.names[0]} against {setup.names[1]}, {games}, seed {setup.seed}, into {folder}")
    with usable_journal(folder) as journal:
        known = tuple(journal.records.values())
        with (
            showing_progress(setup.games, known, sprt_of(setup), options["report_every"]) as progress,
            ExitStack() as stack,
        ):
            if options["live"]:
                watch = stack.enter_context(_live_pages(folder, progress.tell, is_opened=not options["no_browser"]))
                conditions = dataclasses.replace(conditions, watch=watch)
            result = run_async(
                lambda: play_and_report(setup, folder, journal, progress, conditions, faults_of=faults_of)
            )
        if result.end is not EndReason.INTERRUPTED and write_pages({folder: result.records}, options["pages"]):
            write_match_reports(setup, folder, result.records, faults_of)
    print_line()
    if result.end is EndReason.DECIDED:
        print_line(result.end.value)
    elif result.end is not EndReason.COMPLETED:
        print_line(f"{result.end.value}; --resume {folder} continues")
    _show_summary(result.summary, folder)
    if result.end is EndReason.UNFIT:
        show_unfit(setup, folder, result.records)
    return result


@contextmanager
def _live_pages(folder: Path, tell: Callable[[str], None], *, is_opened: bool) -> Iterator[Watch]:
    """Return what serves the pages of the running games; `tell` prints a line, and the browser opens if wanted."""
    from spielleiter.viewer.web.companion import serve_match

    def announce(url: str, note: str) -> None:
        tell(f"{url} shows the running games" + (f" ({note})" if note else ""))
        if is_opened:
            import webbrowser

            # in a thread, since some browsers let this wait
            threading.Thread(target=webbrowser.open, args=(url,), daemon=True).start()

    def note_end(reason: str, pause: float | None) -> None:
        then = "" if pause is None else f"; they are started again in {pause:g} s"
        tell(f"the pages have ended ({reason}){then}")

    with starting_pages() as start:  # before there are threads
        yield partial(serve_match, folder=folder, on_listening=announce, on_end=note_end, start=start)


def _show_summary(summary: Summary, folder: Path) -> None:
    """Print the result of a match, whose reports are in `folder`."""
    from spielleiter.match.reports.texts import (
        attempt_texts,
        both_elo_text,
        estimate_text,
        games_text,
        headline,
        machine_warnings,
        percent_text,
        seconds_text,
        significance_text,
        sprt_text,
    )

    print_line(headline(summary))
    print_line(games_text(summary))
    for program in summary.programs:
        times, score = program.think_times, f"+{program.wins} ={program.draws} -{program.losses}"
        print_line(
            f"{program.name}: {score}, points {estimate_text(program.points)}; "
            f"thinks {seconds_text(times.median)} (median), {seconds_text(times.p95)} (95 %), "
            f"{seconds_text(times.max)} (longest)"
        )
        overloads = f", too slow on an overloaded machine {count_text(program.overloads, 'time')}"
        print_line(
            f"{' ' * text_width(escaped(program.name))}  {count_text(program.crashes, 'crash', 'crashes')}, "
            f"{count_text(program.timeouts, 'timeout')}, {count_text(program.illegal_moves, 'illegal move')}, "
            f"{count_text(program.bad_messages, 'bad message')}, "
            f"{count_text(program.leftovers, 'time')} left running after the game{overloads * bool(program.overloads)}"
        )
    print_line(
        f"Elo {both_elo_text(summary)}, likelihood of superiority {percent_text(summary.likelihood_of_superiority)}"
    )
    tests = sprt_text(summary), significance_text(summary)
    for text in filter(None, (*tests, *attempt_texts(summary), *machine_warnings(summary))):
        print_line(text)
    if summary.machines:
        print_line(
            "machines: " + ", ".join(f"{each.name} {count_text(each.games, 'game')}" for each in summary.machines)
        )
    print_line(f"report: {folder / 'report.html'}")
