"""A match's results as files, for spreadsheets, continuous integration and people.

Invariants: a report is a pure function of summary and records that gives the file's whole text; nothing in it is
fetched from elsewhere, and whatever a program or its author chose (names, reasons) is escaped for the form it stands
in. Only junit.xml has more: the ends of what programs wrote to standard error in games that failed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from spielleiter.match.programs.last_words import read_tail
from spielleiter.match.records.game_record import GameRecord
from spielleiter.match.reports.csv import render_csv
from spielleiter.match.reports.files import write_text
from spielleiter.match.reports.html import render_html
from spielleiter.match.reports.junit import render_junit
from spielleiter.match.reports.markdown import render_markdown
from spielleiter.match.summary import Summary

PAGE: Final = "report.html"
REPORTS: Final = ("summary.json", "games.csv", "junit.xml", "summary.md", PAGE)
"""The files' names, in the order they are written."""

_TAIL: Final = 4096  # bytes of each program's standard error in junit.xml


def render_summary(summary: Summary) -> str:
    """summary.json."""
    return json.dumps(summary.to_json(), indent=2, ensure_ascii=False) + "\n"


def write_reports(folder: Path, summary: Summary, records: Sequence[GameRecord]) -> tuple[Path, ...]:
    """Write every report into a match's folder, each whole or not at all, over those of before. Raises JournalError.

    Records may come in any order.
    """
    games = sorted(records, key=lambda record: record.game)
    texts = (
        render_summary(summary),
        render_csv(games, summary.season),
        render_junit(summary, games, _errors(folder, games)),
        render_markdown(summary),
        render_html(summary, games),
    )
    paths = tuple(folder / name for name in REPORTS)
    for path, text in zip(paths, texts, strict=True):
        write_text(path, text)
    return paths


def _errors(folder: Path, games: Iterable[GameRecord]) -> dict[int, str]:
    """By number of the game: what the program at fault wrote last to standard error, or both if none was."""
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
