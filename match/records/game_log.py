"""What our own server did in one game, as a file of JSON lines.

Invariants: every event of the game has its line, in order, with the time at which it happened. The file is bounded and
says where it was cut. Events become text when the log is closed, or when there are many of them, so that a log that is
not kept costs nothing.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Final

from spielleiter.match.records.trace_file import TraceFile
from spielleiter.server import events
from spielleiter.server.record.log import json_line

SERVER_LOG: Final = "server.log.gz"

LOG_LIMIT: Final = 4 * 1024 * 1024
"""Characters kept of a game's log, before they are compressed."""

HELD: Final = 2000
"""Events that are held before they become text; most games have a hundred."""


class GameLog(TraceFile[tuple[float, events.ServerEvent]]):
    """Collects the events of a game for the file `path`, which `close` completes."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, LOG_LIMIT)

    def hear(self, event: events.ServerEvent) -> None:
        """Add an event. Raises OSError."""
        if self._left > 0:
            self._held.append((time.time(), event))
            if len(self._held) >= HELD:
                self._flush()

    def _encode(self) -> bytes:
        lines = []
        for instant, event in self._held:
            if self._left <= 0:
                break
            lines.append(json_line(event, instant) + "\n")
            self._left -= len(lines[-1])
            if self._left <= 0:
                lines.append("(the rest was not kept)\n")
        self._held.clear()
        return "".join(lines).encode("utf-8", "backslashreplace")
