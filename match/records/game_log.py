"""The log of one game at the match's own server, as a file of JSON lines.

Invariants: every event of the game has a line, in order, with the time at which it happened. The size of the file is
bounded, and it says where it was cut. Events are converted to text when the log is closed or when there are many of
them, so a log that is not kept costs nothing.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Final

from spielleiter.match.records.buffered_file import BufferedFile
from spielleiter.server import events
from spielleiter.server.log import json_line

SERVER_LOG: Final = "server.log.gz"

LOG_LIMIT: Final = 4 * 1024 * 1024
"""The maximum size of a game's log, in characters before compression."""

BUFFERED: Final = 2000
"""The number of events after which the buffer is converted to text; most games have about a hundred."""


class GameLog(BufferedFile[tuple[float, events.ServerEvent]]):
    """Collects the events of a game for the file `path`, which `close` completes."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, LOG_LIMIT)

    def add(self, event: events.ServerEvent) -> None:
        """Add an event. Raises OSError."""
        if self._remaining > 0:
            self._buffer.append((time.time(), event))
            if len(self._buffer) >= BUFFERED:
                self._flush()

    def _encode(self) -> bytes:
        lines = []
        for instant, event in self._buffer:
            if self._remaining <= 0:
                break
            lines.append(json_line(event, instant) + "\n")
            self._remaining -= len(lines[-1])
            if self._remaining <= 0:
                lines.append("(the rest was not kept)\n")
        self._buffer.clear()
        return "".join(lines).encode("utf-8", "backslashreplace")
