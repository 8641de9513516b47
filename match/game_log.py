"""What our own server did in one game, as a file of JSON lines.

Invariants: every event of the game has its line, in order, with the time at which it happened. The file is bounded and
says where it was cut. Events become text when the log is closed, or when there are many of them, so that a log that is
not kept costs nothing.
"""

from __future__ import annotations

import gzip
import time
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from match.wire_log import LEVEL
from server import events
from server.log import json_line

SERVER_LOG: Final = "server.log.gz"

LOG_LIMIT: Final = 4 * 1024 * 1024
"""Characters kept of a game's log, before they are compressed."""

HELD: Final = 2000
"""Events that are held before they become text; most games have a hundred."""


class GameLog:
    """Collects the events of a game for the file `path`, which `close` completes."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._left = LOG_LIMIT
        self._events: list[tuple[float, events.Happening]] = []
        self._file: gzip.GzipFile | None = None

    def hear(self, happening: events.Happening) -> None:
        """Add an event. Raises OSError."""
        if self._left > 0:
            self._events.append((time.time(), happening))
            if len(self._events) >= HELD:
                self._flush()

    def close(self) -> None:
        """Write what is held, and end the file; may be called in a thread. Raises OSError."""
        try:
            self._flush()
        finally:
            self.discard()

    def discard(self) -> None:
        """Forget what is held; a file that was begun stays as it is."""
        self._events.clear()
        self._left = 0
        if self._file is not None:
            self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self.close()

    def _flush(self) -> None:
        lines = []
        for instant, happening in self._events:
            if self._left <= 0:
                break
            lines.append(json_line(happening, instant) + "\n")
            self._left -= len(lines[-1])
            if self._left <= 0:
                lines.append("(the rest was not kept)\n")
        self._events.clear()
        if self._file is None:
            self._file = gzip.open(self._path, "wb", LEVEL)  # noqa: SIM115 - closed by `discard`
        self._file.write("".join(lines).encode("utf-8", "backslashreplace"))
