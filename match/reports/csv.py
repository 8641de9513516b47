"""games.csv: one line for each game, for spreadsheets.

Invariants: columns are never removed or reordered; new ones are added at the end. Programs 1 and 2 are the `--player1`
and `--player2` of the match. A text is one line without control characters, and no spreadsheet takes it for a formula.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable
from typing import Final

from spielleiter.match.records.game_record import GameRecord
from spielleiter.match.reports.escaping import escape_cell

COLUMNS: Final = (
    "game", "pair", "game_type", "seed", "start", "name1", "name2", "seat1", "seat2", "winner", "is_counted", "verdict",
    "offender", "reason", "points1", "points2", "cause1", "cause2", "plies", "answers1", "answers2", "think_seconds1",
    "think_seconds2", "think_max1", "think_max2", "cpu_seconds1", "cpu_seconds2", "wall_seconds", "started_at",
    "folder", "replay", "season", "machine",
)  # fmt: skip


def render_csv(records: Iterable[GameRecord], season: str | None = None) -> str:
    """The text of the file, with the line endings of RFC 4180; `season` is that of all games."""
    file = io.StringIO()
    writer = csv.writer(file)
    writer.writerow(COLUMNS)
    for record in records:
        writer.writerow([_cell(value) for value in (*_row(record), season, record.machine)])
    return file.getvalue()


def _row(record: GameRecord) -> list[str | float | None]:
    winner = "draw" if record.winner is None else record.names[record.winner]
    return [
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
    ]


def _cell(value: str | float | None) -> str | float:
    if value is None:
        return ""
    return escape_cell(value) if isinstance(value, str) else value
