"""Finished games as lines of JSON: one each, in a file that only grows.

Law: a line is written with one call, before the players are told the result, so that no game anybody knows the end of
is missing, however the server ends; a line cut off by a full disk is an error, completed by nothing and read by nobody,
and the next one begins a line of its own. The same object stands beside each replay. Fields: see `result_line`.
"""

from __future__ import annotations

import errno
import json
import os
from datetime import datetime
from pathlib import Path
from typing import Any

from server.errors import StartError
from server.events import GameEnded


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
    """The file, open for appending. Raises StartError if it cannot be written."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._is_cut_off = False
        """The last line has no end."""
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
            self._end_cut_off_line()
        except OSError as error:
            raise StartError(f"results {path}: cannot be written to ({error.strerror or error})") from None

    def _end_cut_off_line(self) -> None:
        """What a server before this one could not write to its end, for want of room or of power."""
        with self.path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            if size:
                file.seek(size - 1)
                if file.read(1) != b"\n":
                    os.write(self._descriptor, b"\n")

    def append(self, line: dict[str, Any]) -> None:
        """One line, in one call. Raises OSError."""
        text = json.dumps(line, ensure_ascii=False).encode() + b"\n"
        if self._is_cut_off:
            text = b"\n" + text
        written = os.write(self._descriptor, text)
        if written < len(text):
            self._is_cut_off = True
            raise OSError(errno.ENOSPC, f"{os.strerror(errno.ENOSPC)}: {written} of {len(text)} bytes were written")
        self._is_cut_off = False

    def sync(self) -> None:
        """Wait until all lines are on the disk itself, where it is one (and not /dev/null). Raises OSError."""
        try:
            os.fsync(self._descriptor)
        except OSError as error:
            if error.errno != errno.EINVAL:
                raise

    def close(self) -> None:
        os.close(self._descriptor)
