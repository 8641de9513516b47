"""Whether a program can play at all, so that no match is won against one that cannot.

Invariants: a program that has played a game without a fault of its own is fit, whatever comes later. Games that the
machine spoilt, or that its opponent did not come to, say nothing about a program.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Final

from spielleiter.match.programs.last_words import MAX_LENGTH, read_tail
from spielleiter.match.records.game_record import FAILED_AS_WELL, LEFTOVER_VERDICTS, UNCOUNTED_VERDICTS, GameRecord

FAILURES: Final = 3
"""A program that has failed in all of so many games is unfit."""
ABSENCES: Final = 2
"""... and so is one that never took its seat in so many: both games of a pair."""

_LINES: Final = 5


def unfit_programs(records: Collection[GameRecord]) -> tuple[int, ...]:
    """The programs (0, 1) that cannot play, as far as `records`, all games so far, show."""
    return tuple(program for program in (0, 1) if _is_unfit(records, program))


def _is_unfit(records: Collection[GameRecord], program: int) -> bool:
    if any(was_played(record, program) for record in records):
        return False
    failed = _failures(records, program)
    return len(failed) >= FAILURES or sum(not record.is_counted for record in failed) >= ABSENCES


def was_played(record: GameRecord, program: int) -> bool:
    """Whether `program` played to the end, its own or its opponent's."""
    return record.is_counted and (record.offender != program or record.verdict in LEFTOVER_VERDICTS)


def _failures(records: Collection[GameRecord], program: int) -> list[GameRecord]:
    return [
        record
        for record in records
        if _has_failed(record, program) and record.verdict not in UNCOUNTED_VERDICTS and not was_played(record, program)
    ]


def _has_failed(record: GameRecord, program: int) -> bool:
    """Whether it is the offender, or neither could have played."""
    return record.offender == program or any(each.startswith(FAILED_AS_WELL) for each in record.remarks[program])


def why_unfit(records: Collection[GameRecord], program: int, command: str, folder: Path) -> Iterator[str]:
    """Lines for a person: what went wrong with an unfit program, what was started, and what that wrote.

    `folder` is the match's.
    """
    failed = _failures(records, program)
    last = failed[-1]
    yield f"{last.names[program]} cannot play: {last.verdict} in game {last.game} ({last.reason})"
    yield f"  it was started as: {command}"
    if not last.folder:
        yield "  what it wrote was not kept; --keep failed keeps it"
        return
    place = folder / last.folder
    for stream in ("stderr", "stdout"):
        file = place / f"program{program + 1}.{stream}.log"
        if lines := [line.expandtabs(4)[:MAX_LENGTH] for line in read_tail(file) if line][-_LINES:]:
            yield f"  the end of {file}:"
            yield from (f"    {line}" for line in lines)
            return
    yield "  it wrote nothing"
