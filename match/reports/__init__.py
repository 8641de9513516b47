"""The reports of a match: files for spreadsheets, continuous integration and people.

Invariants: the text of a report is a pure function of the summary and the records. No report fetches anything, and
everything that a program or its author chose (names, reasons) is escaped for the format of the report. Only junit.xml
has another source: the end of the standard error of programs in games that failed.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Final

from spielleiter.match.records.game_files import REPLAY_PAGE
from spielleiter.match.records.game_record import GameRecord
from spielleiter.match.reports.csv import render_csv
from spielleiter.match.reports.files import write_text
from spielleiter.match.reports.html import render_html
from spielleiter.match.reports.junit import BOTH, render_junit
from spielleiter.match.reports.markdown import render_markdown
from spielleiter.match.summary import Summary
from spielleiter.programs.last_words import read_tail

PAGE: Final = "report.html"
REPORTS: Final = ("summary.json", "games.csv", "junit.xml", "summary.md", PAGE)
"""The names of the files, in the order in which they are written."""

_TAIL: Final = 4096  # bytes of a program's standard error in junit.xml


def render_summary(summary: Summary) -> str:
    """The text of summary.json."""
    return json.dumps(summary.to_json(), indent=2, ensure_ascii=False) + "\n"


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
