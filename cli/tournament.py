"""`spielleiter tournament`: the programs in a file play each other, and a table rates them.

Invariants: the exit codes are those of `spielleiter match`. With n programs, the reports are written after every n
matches and at the end, however the tournament ends.
"""

from __future__ import annotations

import codecs
import json
import secrets
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import click

from spielleiter.cli.cluster import cluster_of, cluster_options, on_cluster
from spielleiter.cli.commands import Misuse, print_line, run_async
from spielleiter.cli.conditions import condition_options, conditions_of
from spielleiter.cli.ctrl_c import EXIT_INTERRUPTED, raise_on_ctrl_c
from spielleiter.cli.exit_codes import EXIT_FAULT, EXIT_MACHINE, EXIT_UNFIT, fault_kinds
from spielleiter.cli.match import usable_journal
from spielleiter.cli.match_pages import pages_option, write_pages
from spielleiter.cli.numbers import Number, WholeNumber
from spielleiter.cli.on_end import described_on_end, on_end_option, run_on_end
from spielleiter.cli.options import (
    MAX_CONCURRENCY,
    chosen_edition,
    core_options,
    edition_options,
    folder_option,
    is_given,
)
from spielleiter.cli.package_warnings import print_package_warnings
from spielleiter.cli.platform_gaps import print_platform_gaps
from spielleiter.common.files import write_whole
from spielleiter.common.process import hide_this_process

if TYPE_CHECKING:
    from spielleiter.match.records import GameRecord
    from spielleiter.match.runner import Conditions, EndReason
    from spielleiter.match.tournament_file import Tournament
    from spielleiter.match.tournament_progress import MatchFolders, ScheduledMatch, TournamentProgress

_COPY = "tournament.toml"


@click.command()
@click.argument("file", required=False, type=click.Path(path_type=Path))
@click.option(
    "-j",
    "--concurrency",
    type=WholeNumber(1, MAX_CONCURRENCY),
    metavar="N",
    help="Number of games played at the same time.",
)
@edition_options
@core_options[0]
@core_options[1]
@click.option(
    "--significance",
    type=Number(0, 0.5, min_open=True),
    metavar="P",
    help="End each match as soon as one program is better, as `match` does.",
)
@click.option(
    "--min-tests",
    type=WholeNumber(1),
    metavar="N",
    help="With --significance: play at least this many games of each match.  [default: 20]",
)
@click.option(
    "--anchor",
    metavar="NAME",
    help="Show ratings as differences from this program instead of the mean of all.",
)
@click.option("--no-timeout", is_flag=True, help="The time limits apply to no program.")
@click.option("--fail-fast", is_flag=True, help="Stop at the first game in which a program fails; --resume continues.")
@click.option(
    "--fail-on",
    multiple=True,
    metavar="KIND",
    help=f"Exit with {EXIT_FAULT} if a program had this fault, as for `match`.",
)
@click.option(
    "--report-every",
    type=WholeNumber(1),
    metavar="N",
    help="Print results, Elo and the state of the sequential test after every N games of a match.",
)
@on_end_option
@condition_options
@pages_option
@cluster_options
@folder_option("--out", "Folder for all files of the tournament.  [default: a new one, named after date and time]")
@folder_option(
    "--resume",
    "Continue the tournament in this folder; with a FILE, with the programs and the number of games that this one has.",
)
@click.pass_context
def tournament(
    context: click.Context,
    /,
    file: Path | None,
    concurrency: int | None,
    game: str | None,
    edition: str | None,
    pin: bool,
    cores_per_game: int | None,
    significance: float | None,
    min_tests: int | None,
    anchor: str | None,
    no_timeout: bool,
    fail_fast: bool,
    fail_on: tuple[str, ...],
    on_end: list[str] | None,
    report_every: int | None,
    pages: str,
    out: Path | None,
    resume: Path | None,
    **options: Any,
) -> None:
    """Let the programs in a TOML file play a round robin, gauntlet, knock-out or Swiss tournament, and rate them.

    \b
    kind = "round-robin"    # or "gauntlet", "knock-out", "swiss"
    games = 20              # for each pairing, with the sides swapped
    sprt = "elo0=0 elo1=50" # ends a decided pairing, as for `match`
    [[program]]
    name = "new"
    command = "./new"       # as for `match`
    [[program]]
    name = "greedy"
    command = "builtin:greedy"

    The table of a program may contain the same keys as in the file of a match, such as cwd, env and memory
    (docs/match.md).

    The folder contains table.md, report.html, table.json, tournament.json, and a folder for each match as for `match`.
    """  # noqa: D301 - click's mark for text that must not be wrapped
    from spielleiter.common.errors import MatchError, SetupError, os_error_text
    from spielleiter.match.preparation import require_playable
    from spielleiter.match.runner import Conditions, allocate_cores
    from spielleiter.match.tournament_file import read_tournament, with_contents, with_openings

    if file is None and resume is None:
        raise click.UsageError("expected a FILE, or --resume DIR")
    try:
        begun = None if resume is None else read_tournament(resume / _COPY, game or "", is_copy=True)
        described = begun if file is None else read_tournament(file, game or "")
        assert described is not None
        kinds = fault_kinds(fail_on or described.fail_on)
        new = Path(described.out or f"tournament-{datetime.now().astimezone():%Y-%m-%d_%H-%M-%S}")
        folder = resume or out or new
        asked: dict[str, Any] = {
            "game": game,
            "edition": edition,
            "significance": significance,
            "min_tests": min_tests,
            "no_timeout": no_timeout or None,
        }
        if begun is not None:
            _refuse_changed_options(folder, begun, asked)
            asked = _planned(begun)
        if file is not None:
            said = _planned(described)
            described = _with_options(file, described, asked if begun is None else {**asked, **_given(said)})
        edition = described.edition or asked["edition"]
        chosen = chosen_edition(described.game_type or asked["game"], edition)
        cwd = described.cwd or (begun.cwd if begun is not None else "") or str(Path.cwd())
        described = with_openings(replace(described, cwd=cwd, game_type=chosen.game_type, edition=edition))
        described = replace(described, anchor=anchor or described.anchor)
        if begun is not None and file is not None:
            _refuse_changed_plan(folder, with_openings(begun), described)
        conditions = Conditions(
            concurrency or described.concurrency,
            is_fail_fast=fail_fast or described.is_fail_fast,
            is_pinned=pin or described.is_pinned,
            cores_per_game=cores_per_game or described.cores_per_game,
            **conditions_of({name: options[name] if is_given(context, name) else None for name in options}, described),
        )
        described = replace(described, keeps_playing=conditions.keeps_playing)
        cluster = cluster_of(options)
        if cluster is None:
            allocate_cores(conditions)
        at_end = on_end or described_on_end(described.on_end)
        for pairing in described.pairings():
            require_playable(described.match_of(pairing, ""), is_played_elsewhere=cluster is not None)
        if cluster is None:
            print_package_warnings(described.entrants, described.cwd)
            described = with_contents(described)
        if file is not None:
            _keep(file, folder, described, is_begun=begun is not None)
    except SetupError as error:
        raise Misuse(str(error)) from None
    has_concurrency = concurrency is not None or described.concurrency > 1
    raise_on_ctrl_c()
    try:
        chosen_pages = pages if is_given(context, "pages") else described.pages
        with on_cluster(cluster, Path(described.cwd), conditions, has_concurrency=has_concurrency) as conditions:
            end, records = _play(described, folder, conditions, report_every or described.report_every, chosen_pages)
        code = _exit_code(end, records, kinds)
    except (MatchError, OSError) as error:
        text = os_error_text(error) if isinstance(error, OSError) else error
        print_line(f"spielleiter tournament: {text}", err=True)
        code = EXIT_MACHINE
    run_on_end(at_end, folder, folder / "table.json", code)
    raise click.exceptions.Exit(code)


_PLAN: Final[Mapping[str, Callable[[Tournament], object]]] = MappingProxyType(
    {
        "kind": lambda each: each.kind,
        "game": lambda each: each.game_type or None,
        "edition": lambda each: each.edition,
        "seed": lambda each: each.seed,
        "time limits or rules": lambda each: (dict(each.server_options), each.timeouts, each.has_time_limits),
        "sprt": lambda each: each.sprt,
        "significance": lambda each: (each.significance, each.min_games),
        "book": lambda each: each.openings,
        "cwd": lambda each: each.cwd,
    }
)
"""What matches must have in common, by what a file calls it."""


def _planned(described: Tournament) -> dict[str, Any]:
    """The tournament's values for the options that belong to its plan; None if it does not set them."""
    return {
        "game": described.game_type or None,
        "edition": described.edition,
        "significance": described.significance,
        "min_tests": described.min_games,
        "no_timeout": None if described.has_time_limits else True,
    }


def _refuse_changed_options(folder: Path, begun: Tournament, asked: Mapping[str, Any]) -> None:
    """Raise Misuse if an option contradicts the tournament in `folder`; a value of None means it was not given."""
    for name, kept in _planned(begun).items():
        value = asked[name]
        if value not in {None, kept}:
            raise Misuse(
                f"--resume {folder}: the tournament was begun with other options: {_spelled(name, value)} "
                f"({f'begun with {kept}' if kept else 'begun without'}); "
                "leave that option out to continue it, or begin another tournament in another folder"
            )


def _given(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _refuse_changed_plan(folder: Path, begun: Tournament, described: Tournament) -> None:
    """Raise Misuse if two tournaments differ in anything but their programs, how they are paired, and more games."""
    different = [key for key, of in _PLAN.items() if of(begun) != of(described)]
    if described.games < begun.games:
        different.append("games")
    if different:
        raise Misuse(
            f"--resume {folder}: the tournament was begun with other values of {', '.join(different)}, and its matches "
            "could not be compared; between two resumes, programs may come and go and the games may become more"
        )


def _with_options(file: Path | None, described: Tournament, asked: Mapping[str, Any]) -> Tournament:
    """The tournament with the tests and limits of the options. Raises Misuse if its file contradicts one of them."""
    for name, said in _planned(described).items():
        value = asked[name]
        if name not in {"game", "edition"} and None not in {value, said} and value != said:
            raise Misuse(f"{_spelled(name, value)}: {file} says {name} = {said}; leave one of them out")
    significance = asked["significance"] or described.significance
    return replace(
        described,
        significance=significance,
        min_games=asked["min_tests"] or described.min_games,
        has_time_limits=described.has_time_limits and not asked["no_timeout"],
    )


def _spelled(name: str, value: object) -> str:
    option = f"--{name.replace('_', '-')}"
    return option if value is True else f"{option} {value}"


def _keep(file: Path, folder: Path, described: Tournament, *, is_begun: bool) -> None:
    """Write a copy of the file for --resume, with the values of options and the directory to start programs in.

    With `is_begun`, it replaces the copy of a tournament that was begun before.
    """
    from spielleiter.common.errors import SetupError
    from spielleiter.match.tournament_file import BASE

    try:
        folder.mkdir(parents=True, exist_ok=True)
        if (folder / _COPY).exists() and not is_begun:
            raise SetupError(f"{folder}: holds a tournament already; continue it (--resume) or choose another folder")
        content = file.read_bytes().removeprefix(codecs.BOM_UTF8)  # it must not follow the added lines
        named = tomllib.loads(content.decode())
        kept = {
            **_planned(described),
            "anchor": described.anchor,
            "cwd": described.cwd,
            BASE: str(file.absolute().parent),
        }
        for key, value in kept.items():
            if key not in named and value is not None:
                # TOML has no surrogate pairs, and requires DEL to be escaped
                text = json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
                content = f"{key} = {text}\n".encode() + content
        write_whole(folder / _COPY, content)
    except UnicodeEncodeError:
        raise SetupError(
            f"{str(file)!r}: the path of its folder is not valid text; move the file to another folder"
        ) from None
    except OSError as error:
        raise SetupError(f"{folder}: cannot be written to ({error.strerror or error})") from None


def _play(
    described: Tournament, folder: Path, conditions: Conditions, report_every: int | None, pages: str
) -> tuple[EndReason, list[GameRecord]]:
    from spielleiter.cli.match import fair_conditions
    from spielleiter.match.reports.tournament_reports import render_table, write_tournament
    from spielleiter.match.runner import EndReason
    from spielleiter.match.tournament_progress import MatchFolders, TournamentProgress

    progress, folders = TournamentProgress(described), MatchFolders(folder)
    end, unfit, played = EndReason.COMPLETED, False, 0
    conditions = fair_conditions(conditions)
    print_platform_gaps()
    hide_this_process()
    try:
        for match in progress.schedule():
            end = _play_match(progress, match, folders, folder, conditions, report_every)
            if end is EndReason.UNFIT:  # the other programs can still play each other
                unfit = True
            elif end not in {EndReason.COMPLETED, EndReason.DECIDED}:
                print_line(f"{end.value}; --resume {folder} continues")
                break
            played += 1
            progress.left_out = folders.left_out(progress, is_over=False)
            if played % len(described.entrants) == 0:
                write_tournament(folder, progress)
        else:
            progress.left_out = folders.left_out(progress, is_over=True)
        if end is not EndReason.INTERRUPTED:
            _write_pages(folder, progress, pages)
    finally:
        if progress.games_by_pairing:
            write_tournament(folder, progress)
    print_line()
    click.echo(render_table(progress), nl=False)
    if unfit and end in {EndReason.COMPLETED, EndReason.DECIDED, EndReason.UNFIT}:
        end = EndReason.UNFIT
    return end, [record for records in progress.games_by_pairing.values() for record in records]


def _write_pages(folder: Path, progress: TournamentProgress, choice: str) -> None:
    """Make the pages of replays, and link them in the reports of their matches."""
    from spielleiter.match.plan import MatchSetup
    from spielleiter.match.records import load_setup, read_journal
    from spielleiter.match.runner import write_match_reports

    matches = {folder / match.folder: records for played in progress.played for match, records in played.matches}
    for place in write_pages(matches, choice, "tournament"):
        write_match_reports(MatchSetup.from_json(load_setup(place)), place, read_journal(place))


def _play_match(
    progress: TournamentProgress,
    match: ScheduledMatch,
    folders: MatchFolders,
    folder: Path,
    conditions: Conditions,
    report_every: int | None,
) -> EndReason:
    """Play the remaining games of a match, and add its records to `progress`."""
    from spielleiter.cli.match import show_unfit
    from spielleiter.cli.progress import Interim, showing_progress
    from spielleiter.match.pairings import absent_programs
    from spielleiter.match.records import save_setup
    from spielleiter.match.runner import EndReason, play_and_report, write_match_reports
    from spielleiter.match.stopping import sprt_of
    from spielleiter.match.tournament_progress import is_over

    found = folders.place_of(progress, match, secrets.token_hex(8))
    match, setup, place = found.match, found.setup, folder / found.match.folder
    if found.is_new:
        save_setup(place, setup.to_json())
    test, end = sprt_of(setup), EndReason.COMPLETED
    with usable_journal(place) as journal:
        known = tuple(journal.records.values())
        try:
            if not is_over(setup, known, keeps_playing=conditions.keeps_playing):
                print_line(progress.title_of(match))
                with showing_progress(setup.games, known, interim=Interim(test, report_every)) as display:
                    end = run_async(partial(play_and_report, setup, place, journal, display, conditions)).end
            else:
                write_match_reports(setup, place, known)
                if not conditions.keeps_playing and absent_programs(known):
                    end = EndReason.UNFIT
        finally:
            records = tuple(journal.records.values())
            progress.finish(match, records)
    if end is EndReason.UNFIT:
        show_unfit(setup, place, records)
    return end


def _exit_code(end: EndReason, records: Sequence[GameRecord], kinds: frozenset[str]) -> int:
    from spielleiter.match.runner import EndReason
    from spielleiter.match.verdict import Verdict

    if end is EndReason.INTERRUPTED:
        return EXIT_INTERRUPTED
    if end is EndReason.UNFIT:
        return EXIT_UNFIT
    if end is EndReason.MACHINE_FAILURE or not any(record.is_counted for record in records):
        return EXIT_MACHINE
    if any(record.verdict == Verdict.SERVER_FAILED for record in records):
        return EXIT_MACHINE
    return EXIT_FAULT if any(record.verdict in kinds for record in records) else 0
