"""What stays of a game's folder once the game is over.

Invariants: the journal has every game, whatever stays of its folder. Of a folder everything stays or nothing.
"""

from __future__ import annotations

import enum
import gzip
from pathlib import Path
from typing import Final

from spielleiter.match.records.buffered_file import FAST_LEVEL
from spielleiter.match.records.game_log import SERVER_LOG, GameLog
from spielleiter.match.records.game_record import GameRecord, Verdict
from spielleiter.match.records.wire_log import WIRE_LOG, WireLog

REPLAY: Final = "replay.xml.gz"


class KeepPolicy(enum.Enum):
    """Which games keep their folders; the values are those of the option."""

    NONE = "none"
    FAILED = "failed"
    """Those in which something went wrong, whosever fault it was."""
    ALL = "all"

    def keeps(self, record: GameRecord) -> bool:
        """Whether the folder of this game stays."""
        return self is KeepPolicy.ALL or (self is KeepPolicy.FAILED and record.verdict != Verdict.REGULAR)


class GameLogs:
    """The wire log and the server's log of one game, for files in `folder`."""

    def __init__(self, folder: Path) -> None:
        self.wire = WireLog(folder / WIRE_LOG)
        self.log = GameLog(folder / SERVER_LOG)
        self.is_own = False
        """Whether the game was played at our own server; no other one's events are known."""

    def save(self) -> None:
        """Write both files. Takes some milliseconds, so it may be called in a thread. Raises OSError."""
        self.wire.close()
        if self.is_own:
            self.log.close()

    def discard(self) -> None:
        """Forget both."""
        self.wire.discard()
        self.log.discard()


def write_replay(folder: Path, content: bytes) -> str:
    """Write a replay, compressed; the same one gives the same file. Returns its name. Raises OSError."""
    (folder / REPLAY).write_bytes(gzip.compress(content, FAST_LEVEL, mtime=0))
    return REPLAY
