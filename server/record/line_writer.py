"""Lines for a file that may be slow: the writing is a thread's, and nobody waits for it.

Invariants: lines come out whole and in order. What waits is bounded in bytes: if the file takes nothing for so long
that more would wait, further lines are dropped, and how many is said as soon as it takes something again. A file that
takes nothing at the moment (a pipe that is full, a disk without room) is tried again; one that nobody reads any more is
not.
"""

from __future__ import annotations

import errno
import os
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final, TextIO

MOST_BYTES: Final = 4 * 1024 * 1024
"""What lines that have not been written may take up."""
AT_ONCE: Final = 256 * 1024  # bytes that are written in one go
GATHERING: Final = 0.05  # seconds that a line waits for others: each time the thread wakes up costs the event loop more
RETRY: Final = 0.1  # seconds until a file that takes nothing is tried again
LAST_WORDS: Final = 5.0  # seconds that the end waits for what has not been written

_NOBODY_READS: Final = frozenset({errno.EPIPE, errno.EBADF, errno.EINVAL})


class LineWriter:
    """A file-like object to write lines to; `file` is written to by a thread of its own."""

    def __init__(self, file: TextIO, most_bytes: int = MOST_BYTES) -> None:
        self._file = file
        self._most_bytes = most_bytes
        self._lines: deque[str] = deque()
        self._bytes = 0
        """Of lines that have not been written, also of those that are being written."""
        self._lost = 0
        self._has_news = threading.Condition()
        self._is_closing = threading.Event()
        self._is_dead = False
        self._thread = threading.Thread(target=self._run, name="log", daemon=True)
        self._thread.start()

    def isatty(self) -> bool:
        return self._file.isatty()

    def write(self, line: str) -> int:
        """Queue one line, its end included."""
        size = _size(line)
        with self._has_news:
            if self._is_dead:
                return len(line)
            if self._bytes + size > self._most_bytes:
                self._lost += 1
            else:
                self._bytes += size
                self._lines.append(line)
                self._has_news.notify()
        return len(line)

    def flush(self) -> None:
        """Nothing: the thread flushes whenever it has written all there is."""

    def close(self) -> None:
        """Wait for what is queued, but not for ever, and not at all if nobody reads any more."""
        self._is_closing.set()
        with self._has_news:
            self._has_news.notify()
        self._thread.join(LAST_WORDS)

    # -- the thread -------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        target = _Target(self._file)
        while text := self._gather():
            if not self._write_out(target, text):
                break
            self._note_written(text)
        with self._has_news:
            self._is_dead = True
            self._lines.clear()

    def _gather(self) -> str:
        """Wait for a line, and a moment for those that come with it; empty at the end."""
        with self._has_news:
            while not self._lines and not self._is_closing.is_set():
                self._has_news.wait()
        self._is_closing.wait(GATHERING)
        with self._has_news:
            lines, size = [], 0
            while self._lines and size < AT_ONCE:
                lines.append(self._lines.popleft())
                size += len(lines[-1])
        return "".join(lines)

    def _note_written(self, text: str) -> None:
        """There is room again; if lines were lost, say so behind what was written."""
        with self._has_news:
            self._bytes -= _size(text)
            if self._lost:
                line = f'{{"event": "log_lines_lost", "level": "warning", "count": {self._lost}}}\n'
                self._lost = 0
                self._lines.appendleft(line)
                self._bytes += _size(line)

    def _write_out(self, target: _Target, text: str) -> bool:
        """Write it, however long that takes; False if nobody will read it any more."""
        target.put(text)
        while True:
            try:
                if target.write():
                    return True
            except (OSError, ValueError) as error:  # a ValueError: the file was closed
                is_over = not isinstance(error, OSError) or error.errno in _NOBODY_READS or self._is_closing.is_set()
                if is_over and not isinstance(error, BlockingIOError):
                    return False
            time.sleep(RETRY)


class _Target:
    """The file to write to, below its buffers where it has any.

    A buffer that cannot be emptied, because a pipe is full or a disk, drops text or writes some of it twice.
    """

    def __init__(self, file: TextIO) -> None:
        self._file = file
        binary: Any = getattr(file, "buffer", None)
        self._raw: Any = getattr(binary, "raw", binary)
        self._rest = memoryview(b"")
        self._text = ""
        with suppress(OSError, ValueError):
            file.flush()  # what was written before goes first

    def put(self, text: str) -> None:
        """What is to be written next."""
        if self._raw is None:
            self._text = text
        else:
            text = text if os.linesep == "\n" else text.replace("\n", os.linesep)
            encoding, errors = self._file.encoding or "utf-8", self._file.errors or "backslashreplace"
            self._rest = memoryview(text.encode(encoding, errors))

    def write(self) -> bool:
        """Write as much as the file takes; False if some is left. Raises OSError and ValueError."""
        if self._raw is None:
            self._file.write(self._text)
            self._text = ""  # if only the flushing fails, it must not be written twice
            self._file.flush()
            return True
        while self._rest:
            written = self._raw.write(self._rest)
            if not written:  # None: it would have to wait
                return False
            self._rest = self._rest[written:]
        return True


def _size(text: str) -> int:
    """Bytes of the text in UTF-8."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


@contextmanager
def line_writer(file: TextIO) -> Iterator[LineWriter]:
    """A LineWriter that is closed afterwards."""
    writer = LineWriter(file)
    try:
        yield writer
    finally:
        writer.close()
