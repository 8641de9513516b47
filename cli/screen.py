"""What a running game shows in a terminal: lines for people, below them the board, and what a player waits for.

On a terminal the board is drawn in place: lines are written above it, and the last position stays. If the output is not
a terminal, or one without escape sequences, boards follow each other like lines.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, nullcontext, suppress
from typing import Final, TextIO

import click
import trio

from spielleiter.common.terminal import shows_colours, understands_escapes
from spielleiter.common.text import printable, wrapped
from spielleiter.game.api import Seat, State
from spielleiter.protocol.messages import Memento, RoomData, WelcomeMessage
from spielleiter.viewer.terminal import Canvas, colors_of, draw

WRITE_INTERVAL: Final = 0.05
"""The shortest time between two writes, in seconds."""

ANNOUNCE_AFTER: Final = 0.5
"""Seconds of waiting for a game after which it is announced."""

_ERASE_BELOW: Final = "\033[J"
_EMPTY: Final = "·"
_UNLIMITED: Final = 1000


class Screen:
    """Shows a game on standard output, or with `err` on standard error, where failing writes are ignored.

    The methods only store what is to be shown; a task writes it in a thread, at most every `WRITE_INTERVAL` seconds,
    and takes the newest position. Therefore no player waits for a terminal, however slow it is.

    `board`: whether positions are drawn; None: if the output is a terminal.
    """

    def __init__(self, *, board: bool | None = None, err: bool = False) -> None:
        self._err = err
        self._out: Final = sys.stderr if err else sys.stdout
        self._is_terminal = self._out.isatty()
        self._is_live = understands_escapes(self._out)
        self.draws: Final = self._is_terminal if board is None else board
        """Whether positions are drawn."""
        self._lines: list[str] = []
        self._lines_below: list[str] = []
        self._position: tuple[State, tuple[str, str]] | None = None
        self._is_drawn = True
        """Whether that position has been written to the terminal."""
        self._height = 0
        """The number of lines of the board directly above the cursor."""
        self._size = os.terminal_size((0, 0))
        self._has_news = trio.Event()
        self._is_over = False
        self._writes_immediately = trio.Event()

    # -- storing what is to be shown ------------------------------------------------------------------------------

    def say(self, line: str, *, below: bool = False) -> None:
        """Write a line above the board, or `below` it (then the board is not drawn again). Returns at once."""
        line = printable(line)
        lines = wrapped(line, terminal_size(self._out).columns - 1) if self._is_terminal else [line]
        if (below or self._lines_below) and self._is_live:
            self._lines_below += lines
        else:
            self._lines += lines
        self._has_news.set()

    def show(self, state: State, names: tuple[str, str], *, always: bool = False) -> None:
        """Draw a position, unless it equals the last one. Returns at once.

        `names` are by seat; the name of a player without one is empty. With `always`, the position is drawn even if
        this screen draws no positions.
        """
        if not (self.draws or always) or (self._position is not None and self._position[0] == state):
            return
        self._position = state, names
        if self._is_live:
            self._is_drawn = False
        else:
            self._lines += draw(state, names, canvas_of(self._out)) or []
        self._has_news.set()

    def write_immediately(self) -> None:
        """From now on write without waiting for newer positions."""
        self._writes_immediately.set()

    # -- writing it -----------------------------------------------------------------------------------------------

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Screen]:
        """Write in the background. When the block ends, even with an error, all remaining text is written."""
        failure: Exception | None = None
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._write_all)
            try:
                yield self
            except Exception as error:  # raised below, so that it is not wrapped in an exception group
                failure = error
            self._is_over = True
            self._writes_immediately.set()
            self._has_news.set()
        if failure:
            raise failure

    async def _write_all(self) -> None:
        while self._has_news.is_set() or not self._is_over:
            await self._has_news.wait()
            self._has_news = trio.Event()
            text = self._take()
            if text:
                await trio.to_thread.run_sync(self._write, text, abandon_on_cancel=True)
            with trio.move_on_after(WRITE_INTERVAL):
                await self._writes_immediately.wait()

    def _write(self, text: str) -> None:
        encoding = getattr(self._out, "encoding", None) or "utf-8"
        text = text.encode(encoding, "replace").decode(encoding)
        with suppress(OSError) if self._err else nullcontext():
            click.echo(text, nl=False, err=self._err, color=self._is_terminal)

    def _take(self) -> str:
        """The text that is to be written now."""
        lines, below = self._lines, self._lines_below
        self._lines, self._lines_below = [], []
        size, is_in_foreground = terminal_size(self._out), self.is_in_foreground
        if size != self._size or not is_in_foreground:
            self._size, self._height = size, 0  # the board has moved: the next one is drawn below
        board: list[str] = []
        is_due = not self._is_drawn or (self._height > 0 and bool(lines))
        if self._position is not None and is_in_foreground and is_due:
            self._is_drawn = True
            board = draw(*self._position, canvas_of(self._out)) or []
        if self._height and not (lines or board):
            text = ""
        else:
            back = f"\r\033[{self._height}A{_ERASE_BELOW}" if self._height else ""
            text = back + "".join(f"{line}\n" for line in (*lines, *board))
            self._height = len(board)
        if below:
            text += "".join(f"{line}\n" for line in below)
            self._height = 0
        return text

    @property
    def is_in_foreground(self) -> bool:
        """Whether this process is in the foreground of its terminal; True if the output is not a terminal.

        In the background nothing is drawn.
        """
        if sys.platform == "win32":  # where every process may write to its console
            return True
        try:
            return os.tcgetpgrp(self._out.fileno()) == os.getpgrp()
        except (OSError, ValueError):  # no terminal
            return True


class Waiting:
    """Says what a player is waiting for until its game begins, and then which player it is; each line once.

    It gets the data of the room (`note`) and announces them with `say`. `team_names` returns the names of the teams by
    seat, in the edition of the room; it is called when the first position has arrived.
    """

    def __init__(self, say: Callable[[str], None], team_names: Callable[[], tuple[str, str]]) -> None:
        self._say = say
        self._team_names = team_names
        self._seat: Seat | None = None
        self._is_complete = trio.Event()
        self._has_begun = trio.Event()

    def note(self, data: RoomData) -> None:
        """Process data that the room has sent to its player."""
        if isinstance(data, WelcomeMessage):
            self._seat = data.seat
            self._is_complete.set()
        elif isinstance(data, Memento) and not self._has_begun.is_set():
            self._is_complete.set()
            self._has_begun.set()
            line = "the game begins"
            if self._seat is not None:
                line += f": you are player {self._team_names()[self._seat]}"
                if colors := ", ".join(colors_of(data.state, self._seat)):
                    line += f" ({colors})"
            self._say(line)

    async def run(self, awaited: Callable[[], str]) -> None:
        """Announce that the player waits for `awaited()`, and then for the game to be resumed, if it has to wait."""
        with trio.move_on_after(ANNOUNCE_AFTER):
            await self._is_complete.wait()
        if not self._is_complete.is_set():
            self._say(f"waiting for {awaited()}")
        await self._is_complete.wait()
        with trio.move_on_after(ANNOUNCE_AFTER):
            await self._has_begun.wait()
        if not self._has_begun.is_set():
            self._say("both players are here; waiting for the game to be resumed")


def canvas_of(out: TextIO, rows: int | None = None) -> Canvas:
    """The canvas for drawings on the stream `out`: its size, whether it shows colours, and what it can encode.

    `rows` is the maximum number of lines; None: those of the terminal.
    """
    encoding = getattr(out, "encoding", None) or "utf-8"
    empty = _EMPTY if _EMPTY.encode(encoding, "ignore") else "."
    if not out.isatty():
        return Canvas(rows=_UNLIMITED if rows is None else rows, empty=empty)
    size = terminal_size(out)
    is_coloured = shows_colours(out)
    return Canvas(size.columns - 1, size.lines - 1 if rows is None else rows, is_coloured=is_coloured, empty=empty)


def terminal_size(out: TextIO) -> os.terminal_size:
    """The size of the terminal `out`, at least two columns and two rows."""
    try:
        size = os.get_terminal_size(out.fileno())
    except (OSError, ValueError):
        size = os.terminal_size((0, 0))
    if not (size.columns and size.lines):  # pseudo-terminals are often created without a size
        size = shutil.get_terminal_size()
    return os.terminal_size((max(size.columns, 2), max(size.lines, 2)))
