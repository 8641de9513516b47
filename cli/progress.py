"""The progress of a match on standard error: a live display on a terminal, otherwise a line for each game.

If writing the display fails, the match continues.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta
from typing import Any, Final, TextIO, cast

import click

from spielleiter.cli.output import fitted
from spielleiter.common.terminal import understands_escapes
from spielleiter.common.text import count_text, escaped
from spielleiter.match.plan import PlannedGame
from spielleiter.match.records import GameRecord
from spielleiter.match.statistics import Sprt, count_pairs, count_results, running_elo
from spielleiter.match.verdict import Verdict

_STOPPING: Final = "finishing the running games; press Ctrl-C again to end them at once"


def game_line(record: GameRecord) -> str:
    """One line on a finished game: number, seats, points, and the winner or what went wrong."""
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
        offender = "" if record.offender is None else f"{record.names[record.offender]} "
        text += f" ({offender}{record.verdict}: {record.reason})"
    elif record.reason:
        text += f" ({record.reason})"
    return text


def score_line(records: Sequence[GameRecord], sprt: Sprt | None = None) -> str:
    """The standing, for example ``+57 =3 -40  LLR +1.20 (-2.94, +2.94)  Elo +59.6 [+10.2, +109.0]``.

    LLR and its bounds are left out without a test. The interval of Elo holds however often it is looked at.
    """
    from spielleiter.match.reports.texts import elo_text, ratio_text

    tally, pairs = count_results(records), count_pairs(records)
    test = "" if sprt is None else f"  {ratio_text(sprt.log_likelihood_ratio(pairs), sprt.lower, sprt.upper)}"
    return f"+{tally.wins} ={tally.draws} -{tally.losses}{test}  Elo {elo_text(running_elo(pairs))}"


class PlainProgress:
    """Prints a line for each finished game, and the standing after `every` games (None: never)."""

    def __init__(self, screen: TextIO, records: Sequence[GameRecord], sprt: Sprt | None, every: int | None) -> None:
        self._screen = screen
        self._records = list(records)
        self._sprt = sprt
        self._every = every

    def game_started(self, planned: PlannedGame) -> None: ...

    def game_finished(self, record: GameRecord) -> None:
        self._records.append(record)
        self._tell_about(record)
        if self._every is not None and len(self._records) % self._every == 0:
            self.tell(f"after {count_text(len(self._records), 'game')}: {score_line(self._records, self._sprt)}")

    def stopping(self) -> None:
        self.tell(_STOPPING)

    def _tell_about(self, record: GameRecord) -> None:
        self.tell(game_line(record))

    def tell(self, line: str) -> None:
        """Print a line that is no result."""
        with suppress(OSError):
            click.echo(escaped(line), file=self._screen)


class LiveProgress(PlainProgress):
    """A progress bar with games, time and standing; only games in which something went wrong get a line.

    The time is the estimated remaining time, computed from the games of this run; at the end it is their total time. On
    a terminal that is too narrow the text is truncated.
    """

    def __init__(
        self,
        screen: TextIO,
        planned: int,
        records: Sequence[GameRecord],
        sprt: Sprt | None = None,
        every: int | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
        from rich.table import Column

        super().__init__(screen, records, sprt, every)
        self._planned = planned
        self._resumed = len(records)
        self._clock = clock
        self._started_at = clock()
        self._is_stopping = False
        console = Console(
            file=cast("TextIO", _IgnoringErrors(screen)), force_terminal=True, legacy_windows=False, highlight=False
        )
        cropped = Column(no_wrap=True, overflow="crop")  # an ellipsis would become three dots in some encodings
        self._display = Progress(
            BarColumn(bar_width=None),
            MofNCompleteColumn(table_column=Column(no_wrap=True, min_width=len(f"{planned}/{planned}"))),
            TextColumn("{task.fields[text]}", markup=False, table_column=cropped),
            console=console,
            auto_refresh=False,  # a thread would take processor time from the games
            expand=True,
        )
        self._bar = self._display.add_task("", total=planned, completed=self._resumed, text=self._text())
        self._display.start()

    def stopping(self) -> None:
        self._is_stopping = True
        super().stopping()
        self._display.update(self._bar, text=self._text(), refresh=True)

    def close(self) -> None:
        """Leave the display as it is and move the cursor to the next line."""
        self._display.stop()

    def game_finished(self, record: GameRecord) -> None:
        super().game_finished(record)
        self._display.update(self._bar, completed=len(self._records), text=self._text(), refresh=True)

    def _tell_about(self, record: GameRecord) -> None:
        if record.verdict != Verdict.REGULAR:
            super()._tell_about(record)

    def tell(self, line: str) -> None:
        """Write a line above the bar."""
        self._display.console.print(fitted(escaped(line), self._screen), markup=False, soft_wrap=True)

    def _text(self) -> str:
        """What is beside the bar."""
        seconds, here = self._clock() - self._started_at, len(self._records) - self._resumed
        left = self._planned - len(self._records)
        duration = "" if not here else f"{timedelta(seconds=int(seconds / here * left))} left"
        if not left:
            duration = str(timedelta(seconds=int(seconds)))
        stopping = "stopping" if self._is_stopping else ""
        text = "  ".join(filter(None, (stopping, duration, score_line(self._records, self._sprt))))
        # what the encoding lacks is replaced before rich counts the columns, since replacements may be longer
        encoding = self._screen.encoding or "utf-8"
        return text.encode(encoding, self._screen.errors or "replace").decode(encoding)


class _IgnoringErrors:
    """A text file whose failing writes are ignored: rich ends the program when a pipe is closed."""

    def __init__(self, file: TextIO) -> None:
        self._file = file

    def write(self, text: str) -> int:
        with suppress(OSError):
            self._file.write(text)
        return len(text)

    def flush(self) -> None:
        with suppress(OSError):
            self._file.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


@contextmanager
def showing_progress(
    planned: int,
    records: Sequence[GameRecord],
    sprt: Sprt | None = None,
    every: int | None = None,
    screen: TextIO | None = None,
) -> Iterator[PlainProgress]:
    """Show the progress of `planned` games on `screen` (default: standard error).

    - `records`: the games finished so far.
    - `sprt`: the test whose log-likelihood ratio is shown with the standing.
    - `every`: the number of games after which a line with the standing is printed; None: never.
    """
    screen = sys.stderr if screen is None else screen
    if not understands_escapes(screen):  # it cannot erase a line
        yield PlainProgress(screen, records, sprt, every)
        return
    live = LiveProgress(screen, planned, records, sprt, every)
    try:
        yield live
    finally:
        live.close()
