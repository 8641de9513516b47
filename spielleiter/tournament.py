"""`spielleiter tournament`: every program of a file against every other, and a table.

Invariants: the exit codes are those of `spielleiter match`. The table is written after as many matches as there are
programs, and at the end, however the tournament ends.
"""

from __future__ import annotations

import codecs
import json
import secrets
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from server.counting import count_text
from spielleiter.commands import EXIT_INTERRUPTED, Misuse, run_async, tell
from spielleiter.conditions import condition_options, conditions_of
from spielleiter.exit_codes import EXIT_FAULT, EXIT_MACHINE, fault_kinds
from spielleiter.match import check_setup, usable_journal
from spielleiter.options import MAX_CONCURRENCY, folder_option, game_option, is_given

if TYPE_CHECKING:
    from match.ratings import Rank
    from match.records import GameRecord
    from match.runner import End
    from match.tournament import Tournament

_COPY = "tournament.toml"


@click.command()
@click.argument("file", required=False, type=click.Path(path_type=Path))
@click.option(
    "-j",
    "--concurrency",
    type=click.IntRange(1, MAX_CONCURRENCY),
    metavar="N",
    help="How many games are played at a time.",
)
@game_option
@click.option(
    "--fail-on", multiple=True, metavar="KIND", help=f"Exit with {EXIT_FAULT} if this happened, as of `match`."
)
@condition_options
@folder_option("--out", "The folder for everything.")
@folder_option("--resume", "Go on with the tournament in this folder.")
@click.pass_context
def tournament(
    context: click.Context,
    /,
    file: Path | None,
    concurrency: int | None,
    game: str,
    fail_on: tuple[str, ...],
    out: Path | None,
    resume: Path | None,
    **chosen: Any,
) -> None:
    """Let the programs of a TOML file play a round robin or a gauntlet, and rate them.

    \b
    kind = "round-robin"    # or "gauntlet": the first program against each other one
    games = 20              # of each pairing, in pairs with the sides swapped
    sprt = "elo0=0 elo1=50" # ends a pairing that is decided before, as of `match`
    [[program]]
    name = "new"
    command = "./new"       # as of `match`
    [[program]]
    name = "greedy"
    command = "builtin:greedy"

    The folder holds table.md, table.json, and a folder for each match as of `match`.
    """  # noqa: D301 - click's sign for text that is not to be wrapped
    from match.errors import MatchError, SetupError
    from match.tournament import read_tournament

    if (file is None) == (resume is None):
        raise click.UsageError("expected a FILE, or --resume DIR, and not both")
    kinds = fault_kinds(fail_on)
    folder = resume or out or Path(f"tournament-{datetime.now().astimezone():%Y-%m-%d_%H-%M-%S}")
    try:
        described = read_tournament(file or folder / _COPY, game)
        described = replace(described, cwd=described.cwd or str(Path.cwd()))
        if resume is not None and is_given(context, "game"):
            _refuse_other_game(folder, described, game)
        for pairing in described.pairings():
            check_setup(described.match_of(pairing, ""))
        if file is not None:
            _keep(file, folder, described.game_type, described.cwd)
    except SetupError as error:
        raise Misuse(str(error)) from None
    try:
        end, records = _play(described, folder, concurrency or described.concurrency, conditions_of(chosen))
    except MatchError as error:
        tell(f"spielleiter tournament: {error}", err=True)
        raise click.exceptions.Exit(EXIT_MACHINE) from None
    raise click.exceptions.Exit(_exit_code(end, records, kinds))


def _refuse_other_game(folder: Path, begun: Tournament, game: str) -> None:
    """Raises Misuse if the tournament in `folder` is not of this game."""
    if game != begun.game_type:
        raise Misuse(
            f"--resume {folder}: the tournament was begun otherwise: --game {game} (begun with {begun.game_type}); "
            "leave that option out to go on with it, or begin another tournament in another folder"
        )


def _keep(file: Path, folder: Path, game_type: str, cwd: str) -> None:
    """A copy, for --resume, which names the game that --game named and the directory that programs are started in."""
    from match.errors import SetupError

    try:
        folder.mkdir(parents=True, exist_ok=True)
        if (folder / _COPY).exists():
            raise SetupError(f"{folder}: holds a tournament already; go on with it (--resume) or choose another folder")
        content = file.read_bytes().removeprefix(codecs.BOM_UTF8)  # it would stand behind what is put before
        named = tomllib.loads(content.decode())
        if "game" not in named:
            content = f"game = {json.dumps(game_type)}\n".encode() + content
        if "cwd" not in named:
            content = f"cwd = {json.dumps(cwd)}\n".encode() + content
        (folder / _COPY).write_bytes(content)
    except OSError as error:
        raise SetupError(f"{folder}: cannot be written to ({error.strerror or error})") from None


def _play(
    described: Tournament, folder: Path, concurrency: int, chosen: Mapping[str, Any]
) -> tuple[End, list[GameRecord]]:
    from match.journal import SETUP, load_setup, save_setup
    from match.ratings import rank
    from match.reports import write_reports
    from match.runner import Conditions, End, play_match
    from match.season import season_text
    from match.setup import MatchSetup
    from match.stopping import sprt_of, stop_rule
    from match.summary import summarise
    from spielleiter.match import lower_concurrency, show_unfit
    from spielleiter.progress import Interim, showing_progress

    names = [entrant.name for entrant in described.entrants]
    matches: dict[tuple[int, int], Sequence[GameRecord]] = {}
    end, unfit = End.DONE, False
    conditions = Conditions(lower_concurrency(concurrency), **chosen)
    try:
        for pairing in described.pairings():
            place = folder / described.folder_of(pairing)
            if (place / SETUP).exists():
                setup = MatchSetup.from_json(load_setup(place))
            else:
                setup = described.match_of(pairing, secrets.token_hex(8))
                save_setup(place, setup.to_json())
            season = season_text(setup.game_type, setup.edition)
            tell(f"{season}: {setup.names[0]} against {setup.names[1]}, {count_text(setup.games, 'game')}")
            test, is_decided = sprt_of(setup), stop_rule(setup)
            with usable_journal(place) as journal:
                try:
                    known = tuple(journal.records.values())
                    with showing_progress(setup.games, known, interim=Interim(test)) as progress:
                        end = run_async(partial(play_match, setup, place, journal, progress, conditions, is_decided))
                finally:
                    matches[pairing] = records = tuple(journal.records.values())
                    write_reports(place, summarise(records, setup.names, setup.games, test), records)
            if end is End.UNFIT:  # the others can still play each other
                unfit = True
                show_unfit(setup, place, records)
            elif end not in {End.DONE, End.DECIDED}:
                tell(f"{end.value}; --resume {folder} goes on")
                break
            if len(matches) % len(names) == 0:
                _write_table(folder, rank(names, matches))
    finally:
        if matches:
            _write_table(folder, rank(names, matches))
    tell()
    click.echo((folder / "table.md").read_text(encoding="utf-8"), nl=False)
    if unfit and end in {End.DONE, End.DECIDED, End.UNFIT}:
        end = End.UNFIT
    return end, [record for records in matches.values() for record in records]


def _write_table(folder: Path, table: Sequence[Rank]) -> None:
    from match.errors import JournalError

    try:
        (folder / "table.md").write_text(_render_table(table), encoding="utf-8", errors="backslashreplace")
        text = json.dumps([line.to_json() for line in table], indent=2, ensure_ascii=False)
        (folder / "table.json").write_text(text + "\n", encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise JournalError(f"{folder}: cannot be written to ({error.strerror or error})") from None


def _render_table(table: Sequence[Rank]) -> str:
    """The ratings, and below them each program's results against each other one: won, drawn, lost."""
    from match.reports.escaping import escape_markdown

    lines = [
        "| | program | rating | 95 % | games | won | drawn | lost | faults |",
        "|--:|---|--:|---|--:|--:|--:|--:|--:|",
    ]
    names = [escape_markdown(line.name) for line in table]
    for place, (name, line) in enumerate(zip(names, table, strict=True), 1):
        rating, results = line.rating, line.results
        lines.append(
            f"| {place} | {name} | {rating.value:+z.0f} | [{rating.low:+z.0f}, {rating.high:+z.0f}] | "
            f"{results.games} | {results.wins} | {results.draws} | {results.losses} | {line.faults} |"
        )
    lines += ["", f"| against | {' | '.join(names)} |", "|---" + "|--:" * len(table) + "|"]
    for name, line in zip(names, table, strict=True):
        met = dict(line.opponents)
        cells = [
            f"+{tally.wins} ={tally.draws} -{tally.losses}" if (tally := met.get(other.name)) else "–"
            for other in table
        ]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _exit_code(end: End, records: Sequence[GameRecord], kinds: frozenset[str]) -> int:
    from match.records import Verdict
    from match.runner import End

    if end is End.INTERRUPTED:
        return EXIT_INTERRUPTED
    if end in {End.MACHINE, End.UNFIT} or not any(record.is_counted for record in records):
        return EXIT_MACHINE
    if any(record.verdict == Verdict.SERVER_FAILED for record in records):
        return EXIT_MACHINE
    return EXIT_FAULT if any(record.verdict in kinds for record in records) else 0
