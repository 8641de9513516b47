"""The files in a game's folder, and which folders are kept once their game is over.

Invariants: the journal has every game, whether its folder is kept or not. A folder is kept as a whole or not at all.
"""

from __future__ import annotations

import enum
import json
from pathlib import Path
from typing import Final

from zlib_ng import gzip_ng

from spielleiter.common.files import write_whole
from spielleiter.match.records.buffered_file import FAST_LEVEL
from spielleiter.match.records.game_log import SERVER_LOG, GameLog
from spielleiter.match.records.game_record import GameRecord, Verdict
from spielleiter.match.records.wire_log import WIRE_LOG, WireLog

GAMES: Final = "games"
"""The folder of the games' folders, in the folder of a match."""
REPLAY: Final = "replay.xml.gz"
REPLAY_PAGE: Final = "replay.html"
"""A page that shows the replay in a browser. The command `match` makes it after the games; no other module needs it."""


class KeepPolicy(enum.Enum):
    """Which games' folders are kept; the values are those of the option `--keep`."""

    NONE = "none"
    FAILED = "failed"
    """Only those of games whose verdict is not "regular"."""
    ALL = "all"

    def keeps(self, record: GameRecord) -> bool:
        """Whether the folder of this game is kept."""
        return self is KeepPolicy.ALL or (self is KeepPolicy.FAILED and record.verdict != Verdict.REGULAR)


class GameLogs:
    """The wire log and the server's log of one game, which become files in `folder`."""

    def __init__(self, folder: Path) -> None:
        self.wire = WireLog(folder / WIRE_LOG)
        self.log = GameLog(folder / SERVER_LOG)
        self.is_own = False
        """Whether the game is played at the match's own server; the events of other servers are not known."""

    def save(self) -> None:
        """Write both files. This takes some milliseconds, so it may be called in a thread. Raises OSError."""
        self.wire.close()
        if self.is_own:
            self.log.close()

    def discard(self) -> None:
        """Drop both without writing them."""
        self.wire.discard()
        self.log.discard()


def write_replay(folder: Path, content: bytes) -> str:
    """Write a compressed replay and return its file name. Equal replays give equal files. Raises OSError."""
    write_whole(folder / REPLAY, gzip_ng.compress(content, FAST_LEVEL, mtime=0))
    return REPLAY


def write_verdict(path: Path, record: GameRecord) -> None:
    """Write a record, one line for each field. Raises OSError."""
    fields = (
        f"  {json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}" for name, value in record.to_json().items()
    )
    write_whole(path, "{\n" + ",\n".join(fields) + "\n}\n")
