"""`spielleiter tournament`: the programs in a file play each other, and a table rates them."""

from __future__ import annotations

import codecs
import json
import secrets
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from spielleiter.cli.match_and_tournament import (
    MAX_CONCURRENCY,
    cluster_of,
    cluster_options,
    condition_options,
    conditions_of,
    core_options,
    exit_code_of_games,
    fault_kinds,
    on_cluster,
    on_end_option,
    pages_option,
    play_and_exit,
    prepare_machine,
    print_package_warnings,
    read_on_end,
    show_unfit,
    usable_journal,
    write_pages,
)
from spielleiter.cli.match_options import spelled
from spielleiter.cli.options import Number, WholeNumber, chosen_edition, edition_options, folder_option, is_given
from spielleiter.cli.output import print_line
from spielleiter.cli.running import EXIT_FAULT, Misuse, run_async
from spielleiter.common.files import write_whole

if TYPE_CHECKING:
    from spielleiter.match.pairings import ScheduledMatch
    from spielleiter.match.records import GameRecord
    from spielleiter.match.runner import Conditions, EndReason
    from spielleiter.match.tournament import Tournament
    from spielleiter.match.tournament_progress import MatchFolders, TournamentProgress

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
@core_options
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
def tournament(context: click.Context, /, file: Path | None, resume: Path | None, **options: Any) -> None:
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
    from spielleiter.match.preparation import require_playable
    from spielleiter.match.runner import Conditions, allocate_cores
    from spielleiter.match.tournament import read_tournament, with_contents, with_openings

    if file is None and resume is None:
        raise click.UsageError("expected a FILE, or --resume DIR")
    named_game = options["game"] or ""
    begun = None if resume is None else read_tournament(resume / _COPY, named_game, is_copy=True)
    described = begun if file is None else read_tournament(file, named_game)
    assert described is not None
    fail_on = fault_kinds(options["fail_on"] or described.fail_on)
    new = described.out or f"tournament-{datetime.now().astimezone():%Y-%m-%d_%H-%M-%S}"
    folder = resume or options["out"] or Path(new)
    asked = {name: options[name] or None for name in ("game", "edition", "significance", "min_tests", "no_timeout")}
    if begun is not None:
        _refuse_changed_options(folder, begun, asked)
        asked = _planned(begun)
    if file is not None:
        if begun is not None:  # the file takes precedence over what the tournament was begun with
            asked |= {name: said for name, said in _planned(described).items() if said is not None}
        described = _with_options(file, described, asked)
    edition = described.edition or asked["edition"]
    chosen = chosen_edition(described.game_type or asked["game"], edition)
    cwd = described.cwd or (begun.cwd if begun is not None else "") or str(Path.cwd())
    anchor = options["anchor"] or described.anchor
    described = with_openings(replace(described, cwd=cwd, game_type=chosen.game_type, edition=edition, anchor=anchor))
    if begun is not None and file is not None:
        _refuse_changed_plan(folder, with_openings(begun), described)
    conditions = Conditions(
        options["concurrency"] or described.concurrency,
        is_fail_fast=options["fail_fast"] or described.is_fail_fast,
        is_pinned=options["pin"] or described.is_pinned,
        cores_per_game=options["cores_per_game"] or described.cores_per_game,
        **conditions_of({name: options[name] if is_given(context, name) else None for name in options}, described),
    )
    described = replace(described, keeps_playing=conditions.keeps_playing)
    cluster = cluster_of(options)
    if cluster is None:
        allocate_cores(conditions)
    at_end = options["on_end"]
    if at_end is None and described.on_end is not None:
        try:
            at_end = read_on_end(described.on_end)
        except ValueError as error:
            raise Misuse(f"on_end {described.on_end!r}: {error}") from None
    for pairing in described.pairings():
        require_playable(described.match_of(pairing, ""), is_played_elsewhere=cluster is not None)
    if cluster is None:
        print_package_warnings(described.entrants, described.cwd)
        described = with_contents(described)
    if file is not None:
        _write_copy(file, folder, described, is_begun=begun is not None)
    has_concurrency = options["concurrency"] is not None or described.concurrency > 1
    report_every = options["report_every"] or described.report_every
    pages = options["pages"] if is_given(context, "pages") else described.pages

    def play() -> int:
        with on_cluster(cluster, described.cwd, conditions, has_concurrency=has_concurrency) as settled:
            end, records = _play(described, folder, settled, report_every, pages)
        return exit_code_of_games(end, records, fail_on)

    play_and_exit("tournament", play, at_end, folder / "table.json")


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
                f"--resume {folder}: the tournament was begun with other options: {spelled(name, value)} "
                f"({f'begun with {kept}' if kept else 'begun without'}); "
                "leave that option out to continue it, or begin another tournament in another folder"
            )


def _refuse_changed_plan(folder: Path, begun: Tournament, described: Tournament) -> None:
    """Raise Misuse if two tournaments differ in anything but their programs, how they are paired, and more games."""

    def plan(each: Tournament) -> dict[str, object]:
        return {
            "kind": each.kind,
            "game": each.game_type or None,
            "edition": each.edition,
            "seed": each.seed,
            "time limits or rules": (dict(each.server_options), each.timeouts, each.has_time_limits),
            "sprt": each.sprt,
            "significance": (each.significance, each.min_games),
            "book": each.openings,
            "cwd": each.cwd,
        }

    different = [key for key, value in plan(begun).items() if value != plan(described)[key]]
    if described.games < begun.games:
        different.append("games")
    if different:
        raise Misuse(
            f"--resume {folder}: the tournament was begun with other values of {', '.join(different)}, and its matches "
            "could not be compared; between two resumes, programs may come and go and the games may become more"
        )


def _with_options(file: Path, described: Tournament, asked: Mapping[str, Any]) -> Tournament:
    """The tournament with the tests and limits of the options. Raises Misuse if its file contradicts one of them."""
    for name, said in _planned(described).items():
        value = asked[name]
        if name not in {"game", "edition"} and None not in {value, said} and value != said:
            raise Misuse(f"{spelled(name, value)}: {file} says {name} = {said}; leave one of them out")
    return replace(
        described,
        significance=asked["significance"] or described.significance,
        min_games=asked["min_tests"] or described.min_games,
        has_time_limits=described.has_time_limits and not asked["no_timeout"],
    )


def _write_copy(file: Path, folder: Path, described: Tournament, *, is_begun: bool) -> None:
    """Write a copy of the file for --resume, with the values of options and the directory to start programs in.

    With `is_begun`, it replaces the copy of a tournament that was begun before.
    """
    from spielleiter.common.errors import SetupError
    from spielleiter.match.tournament import BASE

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
    """Play all matches. With n programs, the reports are written after every n matches, and at the end in any case."""
    from spielleiter.match.plan import MatchSetup
    from spielleiter.match.records import load_setup, read_journal
    from spielleiter.match.reports.tournament_reports import render_table_md, write_tournament
    from spielleiter.match.runner import EndReason, write_match_reports
    from spielleiter.match.tournament_progress import MatchFolders, TournamentProgress

    progress, folders = TournamentProgress(described), MatchFolders(folder)
    end, unfit, played = EndReason.COMPLETED, False, 0
    conditions = prepare_machine(conditions)
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
            matches = {folder / each.folder: records for done in progress.encounters for each, records in done.matches}
            for place in write_pages(matches, pages, "tournament"):
                write_match_reports(MatchSetup.from_json(load_setup(place)), place, read_journal(place))
    finally:
        if progress.games_by_pairing:
            write_tournament(folder, progress)
    print_line()
    click.echo(render_table_md(progress), nl=False)
    if unfit and end in {EndReason.COMPLETED, EndReason.DECIDED, EndReason.UNFIT}:
        end = EndReason.UNFIT
    return end, [record for records in progress.games_by_pairing.values() for record in records]


def _play_match(
    progress: TournamentProgress,
    match: ScheduledMatch,
    folders: MatchFolders,
    folder: Path,
    conditions: Conditions,
    report_every: int | None,
) -> EndReason:
    """Play the remaining games of a match, and add its records to `progress`."""
    from spielleiter.cli.progress import showing_progress
    from spielleiter.match.pairings import absent_programs
    from spielleiter.match.records import save_setup
    from spielleiter.match.runner import EndReason, play_and_report, write_match_reports
    from spielleiter.match.stopping import sprt_of
    from spielleiter.match.tournament_progress import is_over

    found = folders.folder_of(progress, match, secrets.token_hex(8))
    match, setup, match_folder = found.match, found.setup, folder / found.match.folder
    if found.is_new:
        save_setup(match_folder, setup.to_json())
    end = EndReason.COMPLETED
    with usable_journal(match_folder) as journal:
        known = tuple(journal.records.values())
        try:
            if not is_over(setup, known, keeps_playing=conditions.keeps_playing):
                print_line(progress.title_of(match))
                with showing_progress(setup.games, known, sprt_of(setup), report_every) as display:
                    end = run_async(partial(play_and_report, setup, match_folder, journal, display, conditions)).end
            else:
                write_match_reports(setup, match_folder, known)
                if not conditions.keeps_playing and absent_programs(known):
                    end = EndReason.UNFIT
        finally:
            records = tuple(journal.records.values())
            progress.finish(match, records)
    if end is EndReason.UNFIT:
        show_unfit(setup, match_folder, records)
    return end
