"""Finished games as lines of JSON: one each, in a file that only grows.

Invariants: a line is written with one call, before the players are told the result, so that no game anybody knows the
end of is missing, however the server ends. A line that cannot be written (the disk is full, the folder may not be
written to) waits in memory, behind those that failed before it, until it can be; what waits is bounded. What the disk
has taken of such a line is taken back, so whoever reads the file finds whole lines. If the file has been removed or
renamed, the next line begins a new one. No other server writes into the file. A pipe is refused: writing to it would
wait for a reader. The same object stands beside each replay. Fields: see `result_line`.
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

from spielleiter.server.errors import StartError
from spielleiter.server.events import GameEnded
from spielleiter.server.record.file_lock import LockedError, is_at, lock_file
from spielleiter.server.record.write_all import written_parts

MOST_WAITING_BYTES: Final = 32 * 1024 * 1024
"""What lines that cannot be written may take up; a usual one has about 2 KB."""
LINES_AT_ONCE: Final = 64
"""Of the lines that wait, no more are written in one call, since everybody else waits meanwhile."""

_FLAGS: Final = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)
"""Opening never waits, whatever has come in the place of the file."""
_PIPE: Final = "it is a pipe, and results need a file"


def result_line(game: GameEnded, ended_at: datetime, replay: str | None) -> dict[str, Any]:
    """What is kept of a game; lists are by seat, times in seconds."""
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
    """The file, open for appending. Raises StartError if it cannot be written, or if another server writes into it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._descriptor: int | None = None
        self._waiting: deque[bytes] = deque()
        self._waiting_bytes = 0
        self._written = 0
        """Bytes of the first line that waits that are in the file already."""
        try:
            self._open()
        except LockedError:
            raise StartError(
                f"results {path}: another server writes into this file; stop that server or choose another file"
            ) from None
        except OSError as error:
            raise StartError(f"results {path}: cannot be written to ({error.strerror or error})") from None

    @property
    def waiting(self) -> int:
        """How many lines have not been written."""
        return len(self._waiting)

    def append(self, line: dict[str, Any]) -> bool:
        """Write one line, or keep it; False if too many wait already, and it is lost. Then call `write_waiting`."""
        text = encoded_line(line)
        if self._waiting_bytes + len(text) > MOST_WAITING_BYTES:
            return False
        self._waiting.append(text)
        self._waiting_bytes += len(text)
        return True

    def write_waiting(self) -> None:
        """Write the lines that wait, the oldest first, as many as fit into one turn. Raises OSError; the rest waits."""
        descriptor = self._open()
        for _ in range(min(len(self._waiting), LINES_AT_ONCE)):
            text = self._waiting[0]
            try:
                self._write(descriptor, text)
            except OSError:
                self._take_back(descriptor)
                raise
            self._waiting.popleft()
            self._waiting_bytes -= len(text)
            self._written = 0

    def _write(self, descriptor: int, text: bytes) -> None:
        """Write the missing part of a line. Raises OSError."""
        for written in written_parts(partial(os.write, descriptor), memoryview(text)[self._written :]):
            self._written += written

    def _take_back(self, descriptor: int) -> None:
        """Remove the part of a line that was written. If that fails too, the rest will follow it."""
        if self._written:
            with contextlib.suppress(OSError):
                os.ftruncate(descriptor, os.fstat(descriptor).st_size - self._written)
                self._written = 0

    def forget_replay(self, name: str) -> None:
        """The replay `name` could not be written: a line that waits does not name it."""
        for number, text in enumerate(self._waiting):
            line = json.loads(text)
            if line["replay"] == name and not (number == 0 and self._written):
                changed = encoded_line({**line, "replay": None})
                self._waiting[number] = changed
                self._waiting_bytes += len(changed) - len(text)

    def _open(self) -> int:
        """The open file; a new one if that at `path` is another one or gone. Raises OSError."""
        if self._descriptor is not None and is_at(self._descriptor, self.path):
            return self._descriptor
        self.close()
        self.path.parent.mkdir(parents=True, exist_ok=True)
        if self.path.is_fifo():
            raise OSError(errno.ENXIO, _PIPE)  # without a reader, opening it would say something else
        descriptor = os.open(self.path, _FLAGS, 0o644)
        try:
            lock_file(descriptor, self.path)
            self._end_cut_off_line(descriptor)
        except OSError:
            os.close(descriptor)
            raise
        self._descriptor, self._written = descriptor, 0
        return descriptor

    def _end_cut_off_line(self, descriptor: int) -> None:
        """What a server before this one could not write to its end, for want of room or of power."""
        with self.path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            if size:
                file.seek(size - 1)
                if file.read(1) != b"\n":
                    os.write(descriptor, b"\n")

    def sync(self) -> None:
        """Wait until all lines are on the disk itself, where it is one (and not /dev/null). Raises OSError."""
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
    """The bytes of a line, its end included."""
    return json.dumps(line, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n"  # an escape of JSON, too
