"""Keeping what a machine of a cluster sends back: checking it against the plan, and writing its files.

Invariants: a machine can only add records and files of the games that it was given. The record names the machine.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

from spielleiter.cluster.game_files import require_acceptable, write_files
from spielleiter.cluster.messages import PairPlayed
from spielleiter.common.errors import ClusterError, MachineError, os_error_text
from spielleiter.match.game_folder import GAMES, REPLAY, write_verdict
from spielleiter.match.plan import PlannedGame
from spielleiter.match.records import GameRecord, RecordError
from spielleiter.match.referee import VERDICT
from spielleiter.match.verdict import VERDICTS


def checked_records(
    played: PairPlayed, games: Sequence[PlannedGame], names: tuple[str, str], machine: str
) -> list[GameRecord]:
    """The records of a pair that `machine` has played.

    Raises ClusterError if they are not those of `games`, or if `write_pair` could not write the files of the pair.
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
    require_acceptable(checked, played.files)
    return checked


def write_pair(folder: Path, records: Sequence[GameRecord], played: PairPlayed) -> None:
    """Write the files of a pair into the folder of the match. Blocks. Raises ClusterError and MachineError."""
    try:
        write_files(folder, records, played.files)
        for record in records:
            if record.folder:
                write_verdict(folder / record.folder / VERDICT, record)
    except OSError as error:
        raise MachineError(os_error_text(error)) from None
