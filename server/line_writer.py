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
LAST_WORDS: Final = 5.0  # seconds that the end waits for what has not been written


class LineWriter:
    """A file-like object to write lines to; `file` is written to by a thread of its own."""

    def __init__(self, file: TextIO, most_lines: int = MOST_LINES) -> None:
        self._file = file
        self._lines: queue.Queue[str | None] = queue.Queue(most_lines)
        self._lost = 0
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
        if not self._thread.is_alive():
            return
        try:
            self._lines.put(None, timeout=LAST_WORDS)
        except queue.Full:
            return
        self._thread.join(LAST_WORDS)

    def _run(self) -> None:
        try:
            while (line := self._lines.get()) is not None:
                self._file.write(line)
                if self._lost:
                    lost, self._lost = self._lost, 0
                    self._file.write(f'{{"event": "log_lines_lost", "level": "warning", "count": {lost}}}\n')
                if self._lines.empty():
                    self._file.flush()
        except (OSError, ValueError):  # nobody reads any more, or the disk is full; games are played all the same
            return


@contextmanager
def line_writer(file: TextIO) -> Iterator[LineWriter]:
    """A LineWriter that is closed afterwards."""
    writer = LineWriter(file)
    try:
        yield writer
    finally:
        writer.close()
