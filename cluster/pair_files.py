"""The records and files of a pair of games: sent by a machine, checked and written where the match was started.

Invariants: a machine can only add records and files of the games that it was given, and the records name it. What is
sent is bounded; a file that would exceed the bound is left out, and its name is sent instead.
"""

from __future__ import annotations

import dataclasses
import re
import stat
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from spielleiter.cluster.site_messages import MAX_RESULT, File, PairPlayed
from spielleiter.common.errors import ClusterError, MachineError, os_error_text
from spielleiter.common.files import write_whole
from spielleiter.match.game_folder import GAMES, REPLAY, write_verdict
from spielleiter.match.plan import PlannedGame
from spielleiter.match.records import GameRecord, RecordError
from spielleiter.match.referee import VERDICT
from spielleiter.match.verdict import VERDICTS
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


def checked_records(
    played: PairPlayed, games: Sequence[PlannedGame], names: tuple[str, str], machine: str
) -> list[GameRecord]:
    """The records of a pair that `machine` has played.

    Raises ClusterError if they are not those of `games`, or a file belongs to none of them or could leave its folder.
    """
    try:
        records = [GameRecord.from_json(each) for each in played.records]
    except RecordError as error:
        raise ClusterError(f"it has sent {error}") from None
    planned = [(each.game, each.pair, each.seed, each.seats) for each in games]
    if [(each.game, each.pair, each.seed, each.seats) for each in records] != planned:
        raise ClusterError("it has sent the records of other games")
    kept = {file.game for file in played.files if file.name == REPLAY}
    checked = []
    for record in records:
        if record.names != names or record.folder not in {"", f"{GAMES}/{record.game:04d}"}:
            raise ClusterError("it has sent a record that does not belong to this match")
        if record.verdict not in VERDICTS or not {record.offender, record.winner} <= {None, 0, 1}:
            raise ClusterError("it has sent a record whose result is none")
        replay = REPLAY if record.folder and record.game in kept else None
        checked.append(dataclasses.replace(record, machine=machine, replay=replay))
    with_folder = {record.game for record in checked if record.folder}
    for file in played.files:
        if file.game not in with_folder or not _NAME.fullmatch(file.name):
            raise ClusterError(f"it has sent a file that belongs to no game: {file.name!r}")
    return checked


def write_pair(folder: Path, records: Sequence[GameRecord], played: PairPlayed) -> None:
    """Write the files of a pair, whose records were checked, into the folder of the match.

    Folders that an interrupted run has left are replaced. Blocks. Raises MachineError.
    """
    folders = {record.game: folder / record.folder for record in records if record.folder}
    try:
        for each in folders.values():
            if each.exists():
                remove_game_folder(each)
            each.mkdir(parents=True)
        for file in played.files:
            write_whole(folders[file.game] / file.name, file.content)
        for record in records:
            if record.folder:
                write_verdict(folder / record.folder / VERDICT, record)
    except OSError as error:
        raise MachineError(os_error_text(error)) from None
