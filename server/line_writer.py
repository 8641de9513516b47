"""Lines for a file that may be slow: the writing is a thread's, and nobody waits for it.

Law: lines come out whole and in order. If the file takes nothing for so long that too many lines wait, further ones are
dropped, and how many is said as soon as it takes something again.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, TextIO

MOST_LINES: Final = 10_000
GATHERING: Final = 0.05  # seconds that a line waits for others: each time the thread wakes up costs the event loop more
LAST_WORDS: Final = 5.0  # seconds that the end waits for what has not been written


class LineWriter:
    """A file-like object to write lines to; `file` is written to by a thread of its own."""

    def __init__(self, file: TextIO, most_lines: int = MOST_LINES) -> None:
        self._file = file
        self._lines: queue.Queue[str | None] = queue.Queue(most_lines)
        self._lost = 0
        self._is_closing = threading.Event()
        self._is_over = False
        self._thread = threading.Thread(target=self._run, name="log", daemon=True)
        self._thread.start()

    def isatty(self) -> bool:
        return self._file.isatty()

    def write(self, line: str) -> int:
        """Queue one line, its end included."""
        try:
            self._lines.put_nowait(line)
        except queue.Full:
            self._lost += 1
        return len(line)

    def flush(self) -> None:
        """Nothing: the thread flushes whenever it has written all there is."""

    def close(self) -> None:
        """Wait for what is queued, but not for ever, and not at all if nobody reads any more."""
        self._is_closing.set()
        if not self._thread.is_alive():
            return
        try:
            self._lines.put(None, timeout=LAST_WORDS)
        except queue.Full:
            return
        self._thread.join(LAST_WORDS)

    def _run(self) -> None:
        try:
            while not self._is_over:
                lines = self._gather()
                self._file.write("".join(lines))
                if self._lost:
                    lost, self._lost = self._lost, 0
                    self._file.write(f'{{"event": "log_lines_lost", "level": "warning", "count": {lost}}}\n')
                self._file.flush()
        except (OSError, ValueError):  # nobody reads any more, or the disk is full; games are played all the same
            return

    def _gather(self) -> list[str]:
        """Wait for a line, and a moment for those that come with it."""
        lines = []
        line = self._lines.get()
        if line is not None:
            self._is_closing.wait(GATHERING)
        try:
            while line is not None:
                lines.append(line)
                line = self._lines.get_nowait()
        except queue.Empty:
            return lines
        self._is_over = True
        return lines


@contextmanager
def line_writer(file: TextIO) -> Iterator[LineWriter]:
    """A LineWriter that is closed afterwards."""
    writer = LineWriter(file)
    try:
        yield writer
    finally:
        writer.close()
