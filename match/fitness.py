"""Deciding whether a program can play at all, so that a match against a program that cannot is ended early.

Invariants: a program that has played one game without a fault of its own is fit, whatever happens later. Games that do
not count because of the machine, and games that were won because the opponent did not play, are no evidence about a
program.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Final

from spielleiter.match.records.game_record import FAILED_AS_WELL, LEFTOVER_VERDICTS, UNCOUNTED_VERDICTS, GameRecord
from spielleiter.programs.last_words import MAX_LENGTH, read_tail

FAILURES: Final = 3
"""A program that has failed in all of its games is unfit after this many."""
ABSENCES: Final = 2
"""A program that never played a move of its games is unfit after this many: both games of a pair."""

_LINES: Final = 5


def unfit_programs(records: Collection[GameRecord]) -> tuple[int, ...]:
    """The programs (0, 1) that cannot play, judging by `records`, which hold all games so far."""
    return tuple(program for program in (0, 1) if _is_unfit(records, program))


def _is_unfit(records: Collection[GameRecord], program: int) -> bool:
    if any(was_played(record, program) for record in records):
        return False
    failed = _failures(records, program)
    return len(failed) >= FAILURES or sum(not record.has_begun for record in failed) >= ABSENCES


def was_played(record: GameRecord, program: int) -> bool:
    """Whether `program` played until the game ended, by the rules or by a fault of its opponent."""
    is_innocent = record.offender != program or record.verdict in LEFTOVER_VERDICTS
    return record.is_counted and record.has_begun and is_innocent


def _failures(records: Collection[GameRecord], program: int) -> list[GameRecord]:
    return [
        record
        for record in records
        if _has_failed(record, program) and record.verdict not in UNCOUNTED_VERDICTS and not was_played(record, program)
    ]


def _has_failed(record: GameRecord, program: int) -> bool:
    """Whether the program is the offender, or failed together with the offender before the game began."""
    return record.offender == program or any(each.startswith(FAILED_AS_WELL) for each in record.remarks[program])


def why_unfit(records: Collection[GameRecord], program: int, command: str, folder: Path) -> Iterator[str]:
    """Lines that tell a person how an unfit program failed, how it was started, and what it wrote last.

    `folder` is the folder of the match, `command` the program's command line.
    """
    failed = _failures(records, program)
    last = failed[-1]
    yield f"{last.names[program]} cannot play: {last.verdict} in game {last.game} ({last.reason})"
    yield f"  it was started as: {command}"
    if not last.folder:
        yield "  its output was not kept; --keep failed keeps it"
        return
    game_folder = folder / last.folder
    for stream in ("stderr", "stdout"):
        file = game_folder / f"program{program + 1}.{stream}.log"
        if lines := [line.expandtabs(4)[:MAX_LENGTH] for line in read_tail(file) if line][-_LINES:]:
            yield f"  the end of {file}:"
            yield from (f"    {line}" for line in lines)
            return
    yield "  it wrote nothing"
