"""A match's results as files, for spreadsheets, continuous integration and people.

Law: a report is a pure function of summary and records that gives the file's whole text; nothing in it is fetched
from elsewhere, and whatever a program or its author chose (names, reasons) is escaped for the form it stands in.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from match.errors import JournalError
from match.records import GameRecord
from match.reports.csv import render_csv
from match.reports.html import render_html
from match.reports.junit import render_junit
from match.reports.markdown import render_markdown
from match.summary import Summary

REPORTS: Final = ("summary.json", "games.csv", "junit.xml", "summary.md", "report.html")
"""The files' names, in the order they are written."""


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
        render_csv(games),
        render_junit(summary, games),
        render_markdown(summary),
        render_html(summary, games),
    )
    paths = tuple(folder / name for name in REPORTS)
    for path, text in zip(paths, texts, strict=True):
        _write(path, text)
    return paths


def _write(path: Path, text: str) -> None:
    temporary = path.with_name(f".{path.name}.tmp")
    try:
        # a command line may hold bytes that are no text; they come as lone surrogates, which no file can take
        temporary.write_text(text, encoding="utf-8", errors="backslashreplace", newline="")
        temporary.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise JournalError(f"{path}: cannot be written ({error.strerror or error})") from None
