"""The progress of a match: a live display on a terminal, otherwise a line for each game.

Invariants: this module makes no decisions and writes only to standard error, so that standard output contains only the
answer. If writing the display fails, the match continues.
"""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Final, TextIO

import click

from spielleiter.cli.commands import fitted
from spielleiter.common.terminal import understands_escapes
from spielleiter.common.text import escaped
from spielleiter.match.plan import PlannedGame
from spielleiter.match.records import GameRecord
from spielleiter.match.runner import ProgressListener
from spielleiter.match.statistics import Sprt, count_pairs, count_results, running_elo
from spielleiter.match.verdict import Verdict

_STOPPING: Final = "finishing the running games; press Ctrl-C again to end them at once"
_ERASE_LINE: Final = "\r\033[K"


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


def time_text(seconds: float) -> str:
    """A duration, for example ``0:01:23``, truncated to whole seconds."""
    return str(timedelta(seconds=int(seconds)))


@dataclass(frozen=True, slots=True)
class Interim:
    """The settings for showing the standing while a match is running."""

    sprt: Sprt | None = None
    """The test whose log-likelihood ratio is shown; None: none."""
    every: int | None = None
    """The number of games after which a line with the standing is printed; None: never."""

    def line(self, records: Sequence[GameRecord]) -> str:
        """The line after these games, ``after 40 games: …``; empty if none is due."""
        if self.every is None or len(records) % self.every:
            return ""
        return f"after {len(records)} game{'' if len(records) == 1 else 's'}: {score_line(records, self.sprt)}"


class PlainProgress:
    """Prints a line for each finished game."""

    def __init__(self, screen: TextIO, records: Sequence[GameRecord] = (), interim: Interim = Interim()) -> None:
        self._screen = screen
        self._records = list(records)
        self._interim = interim

    def game_started(self, planned: PlannedGame) -> None: ...

    def game_finished(self, record: GameRecord) -> None:
        self._records.append(record)
        self._tell(game_line(record))
        if line := self._interim.line(self._records):
            self._tell(line)

    def stopping(self) -> None:
        self._tell(_STOPPING)

    def _tell(self, line: str) -> None:
        with suppress(OSError):
            click.echo(escaped(line), file=self._screen)


class LiveProgress:
    """A progress bar with games, time and standing; only games in which something went wrong get a line.

    The time is the estimated remaining time, computed from the games of this run; at the end it is their total time. On
    a terminal that is too narrow the text is truncated.
    """

    def __init__(
        self,
        screen: TextIO,
        planned: int,
        records: Sequence[GameRecord],
        clock: Callable[[], float] = time.monotonic,
        interim: Interim = Interim(),
    ) -> None:
        self._interim = interim
        self._screen = screen
        self._records = list(records)
        self._resumed = len(self._records)
        self._clock = clock
        self._started_at = clock()
        self._planned = planned
        self._text = ""
        self._bar = click.progressbar(
            range(planned),
            show_pos=True,
            show_percent=False,
            show_eta=False,  # it would count the earlier games of a resumed match as games of this run
            item_show_func=lambda _: self._text,
            bar_template="%(label)s[%(bar)s]  %(info)s",
            width=0,
            file=screen,
        )
        self._bar.pos = self._resumed
        self._draw()

    def game_started(self, planned: PlannedGame) -> None: ...

    def game_finished(self, record: GameRecord) -> None:
        self._records.append(record)
        self._bar.pos = len(self._records)
        fault = "" if record.verdict == Verdict.REGULAR else game_line(record)
        self._draw(*filter(None, (fault, self._interim.line(self._records))))

    def stopping(self) -> None:
        self._bar.label = "stopping  "
        self._draw(_STOPPING)

    def close(self) -> None:
        """Leave the display as it is and move the cursor to the next line."""
        with suppress(OSError):
            self._bar.render_finish()

    def _draw(self, *lines_above: str) -> None:
        """Draw the bar again, below new lines if there are any."""
        text = "  ".join(filter(None, (self._time(), score_line(self._records, self._interim.sprt))))
        before = f"{self._bar.label}[]  {self._bar.format_pos()}  "
        self._text = text[: max(0, shutil.get_terminal_size().columns - len(before))]
        with suppress(OSError):
            for line in lines_above:
                click.echo(_ERASE_LINE + fitted(escaped(line), self._screen), file=self._screen)
            self._bar.render_progress()

    def _time(self) -> str:
        seconds, here = self._clock() - self._started_at, len(self._records) - self._resumed
        left = self._planned - len(self._records)
        if not left:
            return time_text(seconds)
        return f"{time_text(seconds / here * left)} left" if here else ""


@contextmanager
def showing_progress(
    planned: int, records: Sequence[GameRecord], screen: TextIO | None = None, interim: Interim = Interim()
) -> Iterator[ProgressListener]:
    """Show the progress of `planned` games on `screen` (default: stderr); `records` are the games finished so far."""
    screen = sys.stderr if screen is None else screen
    if not understands_escapes(screen):  # it cannot erase a line
        yield PlainProgress(screen, records, interim)
        return
    live = LiveProgress(screen, planned, records, interim=interim)
    try:
        yield live
    finally:
        live.close()
