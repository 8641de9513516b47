"""The reports of a match: files for spreadsheets, continuous integration and people.

The text of a report is a pure function of the summary and the records. Only junit.xml has another source: the end of
the standard error of programs in games that failed.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from spielleiter.match.game_folder import REPLAY_PAGE
from spielleiter.match.records import GameRecord
from spielleiter.match.reports.junit import BOTH, render_junit
from spielleiter.match.reports.plots import match_plots
from spielleiter.match.reports.rendering import ReportTable, escape_cell, render, write_text
from spielleiter.match.reports.texts import (
    FAULT_COLUMNS,
    MACHINE_COLUMNS,
    NO_VALUE,
    attempt_texts,
    elo_text,
    estimate_text,
    fault_counts,
    games_text,
    incident_texts,
    likelihood_text,
    machine_rows,
    machine_warnings,
    percent_text,
    result_text,
    seconds_text,
    share_text,
    significance_text,
    sprt_text,
    title,
)
from spielleiter.match.statistics import figure_names
from spielleiter.match.summary import ProgramSummary, Summary
from spielleiter.match.verdict import Verdict
from spielleiter.programs.outputs import read_tail

PAGE: Final = "report.html"
REPORTS: Final = ("summary.json", "games.csv", "junit.xml", "summary.md", PAGE)
"""The names of the files, in the order in which they are written."""
INCIDENTS: Final = 20
"""The number of incidents that summary.md shows; report.html has all of them."""
COLUMNS: Final[Mapping[str, str]] = {
    "game": "integer", "pair": "integer", "game_type": "text", "seed": "integer", "start": "text or empty",
    "name1": "text", "name2": "text", "seat1": "integer", "seat2": "integer", "winner": "text or empty",
    "is_counted": "integer", "verdict": "text", "offender": "text or empty", "reason": "text or empty",
    "points1": "integer or empty", "points2": "integer or empty", "cause1": "text or empty",
    "cause2": "text or empty", "plies": "integer", "answers1": "integer", "answers2": "integer",
    "think_seconds1": "number", "think_seconds2": "number", "think_max1": "number or empty",
    "think_max2": "number or empty", "cpu_seconds1": "number", "cpu_seconds2": "number", "wall_seconds": "number",
    "started_at": "text", "folder": "text", "replay": "text or empty", "season": "text or empty",
    "machine": "text or empty",
}  # fmt: skip
"""The columns of games.csv, and what is in them. They are never removed or reordered; new ones are added at the end.

Two more follow for each part of the score after the points, with its name in the game and a 1 or 2.
"""

_POINTS: Final = ("Punkte",)
"""What games call their points on the wire where they have no other name for them."""
_TAIL: Final = 4096  # bytes of a program's standard error in junit.xml


def write_reports(
    folder: Path, summary: Summary, records: Sequence[GameRecord], faults_of: Collection[int] = BOTH
) -> tuple[Path, ...]:
    """Write all reports into the folder of a match and return their paths. Raises JournalError.

    Each file is replaced atomically. The records may come in any order. junit.xml reports the faults of the programs
    `faults_of`.
    """
    games = sorted(records, key=lambda record: record.game)
    texts = (
        render_summary(summary),
        render_csv(games, summary.season),
        render_junit(summary, games, _errors(folder, games), faults_of),
        render_markdown(summary),
        render_html(summary, games, games_with_page(folder, games)),
    )
    paths = tuple(folder / name for name in REPORTS)
    for path, text in zip(paths, texts, strict=True):
        write_text(path, text)
    return paths


def games_with_page(folder: Path, games: Iterable[GameRecord]) -> frozenset[int]:
    """The games of the match in `folder` whose replay has a page beside it."""
    return frozenset(game.game for game in games if game.folder and (folder / game.folder / REPLAY_PAGE).is_file())


def _errors(folder: Path, games: Iterable[GameRecord]) -> dict[int, str]:
    """The end of the standard error of the program at fault, or of both if neither is, by number of the game."""
    found = {}
    for game in games:
        if game.offender is None and game.is_counted:
            continue
        parts = []
        for program in (0, 1) if game.offender is None else (game.offender,):
            lines = read_tail(folder / game.folder / f"program{program + 1}.stderr.log", _TAIL)
            if any(lines):
                parts.append(f"{game.names[program]}:")
                parts += lines
        found[game.game] = "\n".join(parts).rstrip("\n")
    return found


def render_summary(summary: Summary) -> str:
    """The text of summary.json."""
    return json.dumps(summary.to_json(), indent=2, ensure_ascii=False) + "\n"


def render_csv(records: Iterable[GameRecord], season: str | None = None) -> str:
    """The text of games.csv, with the line endings of RFC 4180; `season` is that of all games.

    Programs 1 and 2 are the `--player1` and `--player2` of the match.
    """
    file = io.StringIO()
    writer = csv.writer(file)
    games = list(records)
    figures = figure_names(games)[1:]
    writer.writerow([*COLUMNS, *(escape_cell(f"{name}{number}") for name in figures for number in (1, 2))])
    for record in games:
        winner = "draw" if record.winner is None else record.names[record.winner]
        cells = (
            record.game,
            record.pair,
            record.game_type,
            record.seed,
            record.start,
            *record.names,
            record.seats.index(0),
            record.seats.index(1),
            winner if record.is_counted else None,
            int(record.is_counted),
            record.verdict,
            None if record.offender is None else record.names[record.offender],
            record.reason,
            *record.points,
            *record.causes,
            record.plies,
            *(len(times) for times in record.think_times),
            *(round(math.fsum(times), 6) for times in record.think_times),
            *(max(times, default=None) for times in record.think_times),
            *record.cpu_seconds,
            record.wall_seconds,
            record.started_at,
            record.folder,
            record.replay,
            season,
            record.machine,
            *(values.get(name) for name in figures for values in record.figures),
        )
        writer.writerow([escape_cell(cell) if isinstance(cell, str) else cell for cell in cells])
    return file.getvalue()


def _tables(summary: Summary) -> dict[str, ReportTable]:
    """The tables of summary.md and report.html."""
    programs = summary.programs
    return {
        "results": ReportTable(
            "Results",
            ("", *summary.names),
            (
                ("Won", *(each.wins for each in programs)),
                ("Drawn", *(each.draws for each in programs)),
                ("Lost", *(each.losses for each in programs)),
                *_figure_rows(programs),
            ),
        ),
        "comparison": ReportTable(
            f"{summary.names[0]} against {summary.names[1]}",
            ("", ""),
            (
                ("Score", percent_text(summary.results.score)),
                ("Elo, 95 %", elo_text(summary.elo)),
                ("Normalized Elo, 95 %", elo_text(summary.normalized_elo)),
                ("Likelihood of superiority", likelihood_text(summary.likelihood_of_superiority)),
                ("Point difference, 95 %", estimate_text(summary.point_difference)),
                ("Pairs with 0, ½, 1, 1½, 2 points", ", ".join(map(str, summary.pairs))),
            ),
        ),
        "faults": ReportTable(
            "Faults", ("Program", *FAULT_COLUMNS), tuple((each.name, *fault_counts(each)) for each in programs)
        ),
        "times": ReportTable(
            "Times",
            ("Program", "Answers", "Median", "95 %", "Longest", "Processor time", "per thinking time"),
            tuple(
                (
                    each.name,
                    each.think_times.answers,
                    seconds_text(each.think_times.median),
                    seconds_text(each.think_times.p95),
                    seconds_text(each.think_times.max),
                    seconds_text(each.cpu_seconds),
                    share_text(each.processor_share),
                )
                for each in programs
            ),
        ),
        "machines": ReportTable("Machines", MACHINE_COLUMNS, tuple(machine_rows(summary))),
    }


def _figure_rows(programs: Sequence[ProgramSummary]) -> Iterator[tuple[str, ...]]:
    """A row for each part of the score, with its name in the game if it is not simply points."""
    first, *more = dict.fromkeys(name for each in programs for name in each.figures) or ("",)
    called = "" if first in {"", *_POINTS} else f" ({first})"
    yield f"Mean points{called}, 95 %", *(estimate_text(each.points) for each in programs)
    for name in more:
        yield f"Mean {name}, 95 %", *(estimate_text(each.figures.get(name)) for each in programs)


def _tests(summary: Summary) -> list[tuple[str, str]]:
    tests = (("SPRT", sprt_text(summary)), ("Significance", significance_text(summary)))
    return [(name, text) for name, text in tests if text]


def render_markdown(summary: Summary) -> str:
    """The text of summary.md, in GitHub's Markdown: for the summary of a continuous integration run or a comment."""
    tables = _tables(summary)
    compared = tables["comparison"]
    # Markdown has no captions, so the title stands in the head
    tables["comparison"] = ReportTable("", (compared.title, ""), (*compared.rows, *_tests(summary)))
    text = render(
        "match/reports/templates/summary.md.j2",
        title=title(summary),
        games=games_text(summary),
        tables=[table for table in tables.values() if table.rows],
        lines=[*attempt_texts(summary), *machine_warnings(summary), *incident_texts(summary, INCIDENTS)],
        gaps=summary.platform_gaps,
    )
    return text.rstrip("\n") + "\n"


def render_html(summary: Summary, records: Sequence[GameRecord], pages: Collection[int] = ()) -> str:
    """The text of report.html; `records` are sorted by game. `pages` are the games whose replay has a page beside it.

    Links lead into the folders of the games beside the page.
    """
    incidents = []
    for each, line in zip(summary.incidents, incident_texts(summary), strict=True):
        game, colon, rest = line.partition(":")
        incidents.append((each, game, colon + rest))
    games = [
        (
            record,
            {
                "start": record.start or NO_VALUE,
                "first": record.names[record.seats[0]],
                "result": result_text(record),
                "verdict": record.verdict
                if record.verdict == Verdict.REGULAR
                else f"{record.verdict}: {record.reason}",
                "points": " : ".join(NO_VALUE if each is None else str(each) for each in record.points),
                "time": seconds_text(record.wall_seconds),
            },
        )
        for record in records
    ]
    season = "" if summary.season is None else f"{summary.season}: "
    return render(
        "match/reports/templates/report.html.j2",
        page_title=f"{season}{summary.names[0]} vs {summary.names[1]}",
        title=title(summary),
        facts=[games_text(summary), *(f"{name}: {text}" for name, text in _tests(summary))],
        tables=_tables(summary),
        incidents=incidents,
        attempts=attempt_texts(summary),
        machine_warnings=machine_warnings(summary),
        names=summary.names,
        plots=match_plots(summary, records),
        games=games,
        pages=pages,
        page_name=REPLAY_PAGE,
        gaps=summary.platform_gaps,
    )
