"""The results file: a line of JSON for each finished game, appended to the file.

Invariants: a line is written with one call, before the players receive the result, so no game with a known result is
missing, however the server ends. A line that cannot be written (full disk, missing permission) waits in memory, after
those that failed before it, until it can be written; the waiting lines are bounded. The part of such a line that was
written is removed again, so the file contains whole lines only. If the file has been removed or renamed, the next line
starts a new one. No other server writes to the file. A pipe is refused, because writing to it would wait for a reader.
The same JSON object is written beside each replay; `result_line` has its fields.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
from collections import deque
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, Final

from spielleiter.common.files import LockedError, is_at, lock_file, written_parts
from spielleiter.server.errors import StartError
from spielleiter.server.events import GameEnded

MOST_WAITING_BYTES: Final = 32 * 1024 * 1024
"""The maximum size of the waiting lines; a typical line has about 2 KB."""
LINES_AT_ONCE: Final = 64
"""The number of waiting lines that are written in one call, since all other tasks wait for it."""

_FLAGS: Final = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)
"""Opening does not block, even if a pipe or a device has replaced the file."""
_PIPE: Final = "it is a pipe, and results need a file"


def result_line(game: GameEnded, ended_at: datetime, replay: str | None) -> dict[str, Any]:
    """Return the JSON object of a finished game; lists are by seat, times are in seconds.

    `replay` is the file name of its replay, or None if there is none.
    """
    return {
        "ended_at": ended_at.isoformat(timespec="milliseconds"),
        "room": game.room,
        "edition": game.edition,
        "names": list(game.names),
        "causes": list(game.causes),
        "reasons": list(game.reasons),
        "parts": [list(parts) for parts in game.parts],
        "winners": list(game.winners),
        "plies": game.plies,
        "thinking": [stats.as_dict() for stats in game.thinking],
        "think_times": [[round(seconds, 6) for seconds in times] for times in game.think_times],
        "replay": replay,
    }


class ResultsFile:
    """The results file, open for appending, and the lines that wait to be written."""

    def __init__(self, path: Path) -> None:
        """Open and lock the file. Raises StartError if it cannot be written to, or if another server writes to it."""
        self.path = path
        self._descriptor: int | None = None
        self._waiting: deque[bytes] = deque()
        self._waiting_bytes = 0
        self._written = 0
        """The number of bytes of the first waiting line that are in the file already."""
        try:
            self._open()
        except LockedError:
            raise StartError(
                f"results {path}: another server writes to this file; stop that server or choose another file"
            ) from None
        except OSError as error:
            raise StartError(f"results {path}: cannot be written to ({error.strerror or error})") from None

    @property
    def waiting(self) -> int:
        """The number of lines that have not been written."""
        return len(self._waiting)

    def append(self, line: dict[str, Any]) -> bool:
        """Queue one line for `write_waiting`; return False if it is lost because too many are waiting."""
        text = encoded_line(line)
        if self._waiting_bytes + len(text) > MOST_WAITING_BYTES:
            return False
        self._waiting.append(text)
        self._waiting_bytes += len(text)
        return True

    def write_waiting(self) -> None:
        """Write waiting lines, the oldest first, at most `LINES_AT_ONCE`. Raises OSError; the others keep waiting."""
        descriptor = self._open()
        for _ in range(min(len(self._waiting), LINES_AT_ONCE)):
            text = self._waiting[0]
            try:
                self._write(descriptor, text)
            except OSError:
                self._remove_part(descriptor)
                raise
            self._waiting.popleft()
            self._waiting_bytes -= len(text)
            self._written = 0

    def _write(self, descriptor: int, text: bytes) -> None:
        """Write the missing part of a line. Raises OSError."""
        for written in written_parts(partial(os.write, descriptor), memoryview(text)[self._written :]):
            self._written += written

    def _remove_part(self, descriptor: int) -> None:
        """Remove the written part of a line from the file. If that fails too, the next attempt writes the rest."""
        if self._written:
            with contextlib.suppress(OSError):
                os.ftruncate(descriptor, os.fstat(descriptor).st_size - self._written)
                self._written = 0

    def forget_replay(self, name: str) -> None:
        """Remove the name of a replay that could not be written from the waiting lines."""
        for number, text in enumerate(self._waiting):
            line = json.loads(text)
            if line["replay"] == name and not (number == 0 and self._written):
                changed = encoded_line({**line, "replay": None})
                self._waiting[number] = changed
                self._waiting_bytes += len(changed) - len(text)

    def _open(self) -> int:
        """Return the open file; it is opened again if `path` is another file by now, or missing. Raises OSError."""
        if self._descriptor is not None and is_at(self._descriptor, self.path):
            return self._descriptor
        self.close()
        self.path.parent.mkdir(parents=True, exist_ok=True)
        if self.path.is_fifo():
            raise OSError(errno.ENXIO, _PIPE)  # without a reader, opening it would raise another error
        descriptor = os.open(self.path, _FLAGS, 0o644)
        try:
            lock_file(descriptor, self.path)
            self._end_partial_line(descriptor)
        except OSError:
            os.close(descriptor)
            raise
        self._descriptor, self._written = descriptor, 0
        return descriptor

    def _end_partial_line(self, descriptor: int) -> None:
        """End the last line if an earlier server could not, because of a full disk or a crash. Raises OSError."""
        with self.path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            if size:
                file.seek(size - 1)
                if file.read(1) != b"\n":
                    os.write(descriptor, b"\n")

    def sync(self) -> None:
        """Flush the file to the disk; devices such as /dev/null need no flush. Raises OSError."""
        if self._descriptor is None:
            return
        try:
            os.fsync(self._descriptor)
        except OSError as error:
            if error.errno != errno.EINVAL:
                raise

    def close(self) -> None:
        """Close the file, if it is open."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def encoded_line(line: dict[str, Any]) -> bytes:
    """Return the bytes of a line, including its line end."""
    return (
        json.dumps(line, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n"
    )  # the escapes are valid in JSON too
