"""The files of a pair of games: its opening is read, and its results are written, where the match was started.

Invariants: what is sent is bounded; a file that would exceed the bound is left out, and its name is sent instead. A
received file name that could lead out of the folder of its game is refused.
"""

from __future__ import annotations

import re
import stat
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from spielleiter.cluster.messages import MAX_RESULT, File
from spielleiter.common.errors import ClusterError, MachineError, os_error_text
from spielleiter.common.files import write_whole
from spielleiter.match.plan import PlannedGame
from spielleiter.match.records import GameRecord
from spielleiter.programs.temporary_folders import remove_game_folder

MAX_FILES: Final = 64
"""The most files of one game that are sent, the first ones by name."""

_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")


def collect_files(
    folder: Path, records: Iterable[GameRecord], limit: int = MAX_RESULT
) -> tuple[tuple[File, ...], tuple[tuple[int, str], ...]]:
    """Read the files of the games whose folders are kept; `folder` is that of the match. Raises OSError.

    Returns the files, and game and name of those that were left out. The smallest ones are taken first, until they
    have `limit` bytes.
    """
    found, files, omitted = [], [], []
    for record in records:
        if record.folder:
            paths = sorted(each for each in (folder / record.folder).iterdir() if stat.S_ISREG(each.lstat().st_mode))
            found += [(path.stat().st_size, record.game, path) for path in paths[:MAX_FILES]]
            omitted += [(record.game, path.name) for path in paths[MAX_FILES:]]
    for size, game, path in sorted(found):
        if size <= limit:
            limit -= size
            files.append(File(game, path.name, path.read_bytes()))
        else:
            omitted.append((game, path.name))
    return tuple(files), tuple(omitted)


def require_acceptable(records: Iterable[GameRecord], files: Iterable[File]) -> None:
    """Raise ClusterError if a file belongs to none of the games, or its name is not acceptable."""
    games = {record.game for record in records if record.folder}
    for file in files:
        if file.game not in games or not _NAME.fullmatch(file.name):
            raise ClusterError(f"it has sent a file that belongs to no game: {file.name!r}")


def write_files(folder: Path, records: Sequence[GameRecord], files: Sequence[File]) -> None:
    """Write the received files into the folders of the games; `folder` is that of the match.

    Folders that an interrupted run has left are replaced. Raises OSError, and ClusterError as `require_acceptable`.
    """
    require_acceptable(records, files)
    folders = {record.game: folder / record.folder for record in records if record.folder}
    for each in folders.values():
        if each.exists():
            remove_game_folder(each)
        each.mkdir(parents=True)
    for file in files:
        write_whole(folders[file.game] / file.name, file.content)


def read_opening(game: PlannedGame) -> tuple[str, int, str, bytes] | None:
    """The opening of a game as it is sent to machines. Raises MachineError."""
    opening = game.opening
    if opening is None:
        return None
    path = Path(opening.path)
    try:
        return opening.name, opening.turn, "".join(path.suffixes), path.read_bytes()
    except OSError as error:
        raise MachineError(os_error_text(error)) from None
