"""Writes lines to a file that may be slow; a thread writes, and no caller waits for it.

Invariants: lines are written completely and in order. The waiting lines are bounded in bytes: lines beyond the limit
are dropped, and a line with their number is written as soon as the file accepts data again. While a file accepts
nothing (a full pipe, a full disk), writing is retried. It stops permanently only when the file has been closed or its
reader is gone.
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
"""The maximum size of the lines that wait to be written."""
CHUNK_BYTES: Final = 256 * 1024  # bytes that are written together
BATCH_DELAY: Final = 0.05  # seconds that a line waits for others: every wake-up of the thread delays the event loop
RETRY_INTERVAL: Final = 0.1  # seconds between attempts to write to a file that accepts nothing
CLOSE_TIMEOUT: Final = 5.0  # seconds that `close` waits for lines that have not been written

_NO_READER: Final = frozenset({errno.EPIPE, errno.EBADF, errno.EINVAL})


class LineWriter:
    """A file-like object whose lines a thread writes to `file`; at most `most_bytes` of them wait."""

    def __init__(self, file: TextIO, most_bytes: int = MOST_BYTES) -> None:
        self._file = file
        self._most_bytes = most_bytes
        self._lines: deque[str] = deque()
        self._bytes = 0
        """The size of the lines that wait or are being written."""
        self._lost = 0
        self._changed = threading.Condition()
        self._is_closing = threading.Event()
        self._has_stopped = False
        self._thread = threading.Thread(target=self._run, name="log", daemon=True)
        self._thread.start()

    def isatty(self) -> bool:
        return self._file.isatty()

    def fileno(self) -> int:
        """Return the descriptor of the file; it tells a console of Windows from others."""
        return self._file.fileno()

    def write(self, line: str) -> int:
        """Queue one line, which includes its line end; return its length in characters."""
        size = _size(line)
        with self._changed:
            if self._has_stopped:
                return len(line)
            if self._bytes + size > self._most_bytes:
                self._lost += 1
            else:
                self._bytes += size
                self._lines.append(line)
                self._changed.notify()
        return len(line)

    def flush(self) -> None:
        """Do nothing: the thread flushes after writing all lines."""

    def close(self) -> None:
        """Stop the thread after it has written all queued lines, or after CLOSE_TIMEOUT seconds."""
        self._is_closing.set()
        with self._changed:
            self._changed.notify()
        self._thread.join(CLOSE_TIMEOUT)

    # -- the thread -------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        target = _Target(self._file)
        while text := self._gather():
            if not self._write_out(target, text):
                break
            self._note_written(text)
        with self._changed:
            self._has_stopped = True
            self._lines.clear()

    def _gather(self) -> str:
        """Wait for a line, and a moment longer for others; return their text, or an empty text at the end."""
        with self._changed:
            while not self._lines and not self._is_closing.is_set():
                self._changed.wait()
        self._is_closing.wait(BATCH_DELAY)
        with self._changed:
            lines, size = [], 0
            while self._lines and size < CHUNK_BYTES:
                lines.append(self._lines.popleft())
                size += len(lines[-1])
        return "".join(lines)

    def _note_written(self, text: str) -> None:
        """Free the space of the written `text`; if lines were dropped, queue a line with their number."""
        with self._changed:
            self._bytes -= _size(text)
            if self._lost:
                line = f'{{"event": "log_lines_lost", "level": "warning", "count": {self._lost}}}\n'
                self._lost = 0
                self._lines.appendleft(line)
                self._bytes += _size(line)

    def _write_out(self, target: _Target, text: str) -> bool:
        """Write `text`, with retries if necessary; return False if the file is closed or has no reader."""
        target.set_text(text)
        while True:
            try:
                if target.write():
                    return True
            except (OSError, ValueError) as error:  # a ValueError: the file was closed
                is_over = not isinstance(error, OSError) or error.errno in _NO_READER or self._is_closing.is_set()
                if is_over and not isinstance(error, BlockingIOError):
                    return False
            time.sleep(RETRY_INTERVAL)


class _Target:
    """The file to write to, without its buffers if it has any.

    A buffer that cannot be flushed, because a pipe or a disk is full, drops text or writes some of it twice.
    """

    def __init__(self, file: TextIO) -> None:
        self._file = file
        binary: Any = getattr(file, "buffer", None)
        self._raw: Any = getattr(binary, "raw", binary)
        self._rest = memoryview(b"")
        self._text = ""
        with suppress(OSError, ValueError):
            file.flush()  # earlier text has to be written first

    def set_text(self, text: str) -> None:
        """Set the text to write next."""
        if self._raw is None:
            self._text = text
        else:
            text = text if os.linesep == "\n" else text.replace("\n", os.linesep)
            encoding, errors = self._file.encoding or "utf-8", self._file.errors or "backslashreplace"
            try:
                self._rest = memoryview(text.encode(encoding, errors))
            except UnicodeEncodeError:  # the file is strict, and its encoding lacks a character
                self._rest = memoryview(text.encode(encoding, "backslashreplace"))

    def write(self) -> bool:
        """Write what the file accepts; return whether this was the whole text. Raises OSError and ValueError."""
        if self._raw is None:
            self._file.write(self._text)
            self._text = ""  # it must not be written again if only the flush fails
            self._file.flush()
            return True
        while self._rest:
            written = self._raw.write(self._rest)
            if not written:  # None: writing would block
                return False
            self._rest = self._rest[written:]
        return True


def _size(text: str) -> int:
    """Return the size of `text` in bytes of UTF-8."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


@contextmanager
def line_writer(file: TextIO) -> Iterator[LineWriter]:
    """Give a LineWriter for `file`, and close it at the end of the block."""
    writer = LineWriter(file)
    try:
        yield writer
    finally:
        writer.close()
