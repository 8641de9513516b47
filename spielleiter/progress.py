"""How a match that is being played looks: a live display on a terminal, a line for each game elsewhere.

Law: nothing is decided here. A display that cannot be drawn any more ends nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as RichProgress

from match.plan import PlannedGame
from match.records import GameRecord, Verdict
from match.runner import Progress
from match.statistics import count_pairs, count_results, estimate_elo

_STOPPING = "finishing the games that are being played; once more (Ctrl-C) cuts them off"


def game_line(record: GameRecord) -> str:
    """One line on a finished game: number, who sat where, points, who won or what went wrong."""
    first, second = (record.names[program] for program in record.seats)
    points = ":".join(
        "-" if record.points[program] is None else str(record.points[program]) for program in record.seats
    )
    if not record.is_counted:
        result = "not counted"
    else:
        result = "draw" if record.winner is None else f"{record.names[record.winner]} wins"
    text = f"game {record.game}: {first} - {second} {points}, {result}"
    if record.verdict != Verdict.REGULAR:
        who = "" if record.offender is None else f"{record.names[record.offender]} "
        text += f" ({who}{record.verdict}: {record.reason})"
    elif record.reason:
        text += f" ({record.reason})"
    return text


def standing(records: Sequence[GameRecord]) -> str:
    """``+57 =3 -40  Elo +59.6 [+10.2, +109.0]``."""
    from match.reports.words import elo_text

    tally = count_results(records)
    return f"+{tally.wins} ={tally.draws} -{tally.losses}  Elo {elo_text(estimate_elo(count_pairs(records)))}"


class PlainProgress:
    """A line for each game, as it is finished."""

    def game_started(self, planned: PlannedGame) -> None: ...

    def game_finished(self, record: GameRecord) -> None:
        click.echo(game_line(record))

    def stopping(self) -> None:
        click.echo(_STOPPING, err=True)


class LiveProgress:
    """A bar with the standing; only games in which something went wrong get a line."""

    def __init__(self, bar: RichProgress, planned: int, records: Sequence[GameRecord]) -> None:
        self._bar = bar
        self._records = list(records)
        self._task = bar.add_task("", total=planned, completed=len(self._records), standing=standing(self._records))

    def game_started(self, planned: PlannedGame) -> None: ...

    def game_finished(self, record: GameRecord) -> None:
        self._records.append(record)
        if record.verdict != Verdict.REGULAR:
            self._bar.console.print(game_line(record), markup=False, highlight=False)
        self._bar.update(self._task, advance=1, standing=standing(self._records))

    def stopping(self) -> None:
        self._bar.console.print(_STOPPING, markup=False, highlight=False)


@contextmanager
def showing_progress(planned: int, records: Sequence[GameRecord], console: Console | None = None) -> Iterator[Progress]:
    """The display for `planned` games of which `records` are finished already."""
    console = console or Console()
    if not console.is_terminal:
        yield PlainProgress()
        return
    columns = (
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[standing]}", markup=False),
    )
    with RichProgress(*columns, console=console) as bar:
        yield LiveProgress(bar, planned, records)
