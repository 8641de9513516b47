"""When a match ends before its last game: a test has decided it, or a program cannot play at all.

The same records give the same answer, so a match that is resumed ends where it would have ended. Both tests may be
evaluated after every game without exceeding their error rates.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import Final

from spielleiter.common.errors import SetupError
from spielleiter.match.plan import MatchSetup
from spielleiter.match.records import GameRecord
from spielleiter.match.statistics import PairCounts, Sprt, SprtError, better_program_by_e_value, half_points
from spielleiter.match.verdict import FAILED_AS_WELL, LEFTOVER_VERDICTS, UNCOUNTED_VERDICTS
from spielleiter.programs.outputs import MAX_LENGTH, read_tail

FAILURES: Final = 3
"""A program that has failed in all of its games is unfit after this many."""
ABSENCES: Final = 2
"""A program that never played a move of its games is unfit after this many: both games of a pair."""

_LINES: Final = 5


def unfit_programs(records: Collection[GameRecord]) -> tuple[int, ...]:
    """The programs (0, 1) that cannot play, judging by `records`, which hold all games so far."""
    unfit = []
    for program in (0, 1):
        if not any(was_played(record, program) for record in records):  # mostly, the first record says so
            failed = _failures(records, program)
            if len(failed) >= FAILURES or sum(not record.has_begun for record in failed) >= ABSENCES:
                unfit.append(program)
    return tuple(unfit)


def was_played(record: GameRecord, program: int) -> bool:
    """Whether `program` played until the game ended, by the rules or by a fault of its opponent."""
    is_innocent = record.offender != program or record.verdict in LEFTOVER_VERDICTS
    return record.is_counted and record.has_begun and is_innocent


def _failures(records: Collection[GameRecord], program: int) -> list[GameRecord]:
    return [
        record
        for record in records
        # the offender, or a program that failed together with it before the game began
        if (record.offender == program or any(each.startswith(FAILED_AS_WELL) for each in record.remarks[program]))
        and record.verdict not in UNCOUNTED_VERDICTS
        and not was_played(record, program)
    ]


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


def play_to_the_end(_records: Sequence[GameRecord]) -> bool:
    """The stop rule of a match without a test: it is never decided before its last game."""
    return False


def sprt_of(setup: MatchSetup) -> Sprt | None:
    """The sequential test of the match; None if it has none. Raises SetupError if it cannot be parsed."""
    try:
        return None if setup.sprt is None else Sprt.parse(setup.sprt)
    except SprtError as error:
        raise SetupError(str(error)) from None


def stop_rule(setup: MatchSetup) -> Callable[[Sequence[GameRecord]], bool]:
    """A function that says whether the records so far decide the match.

    It must be called with a growing sequence of records: each call's records begin with those of the previous call.
    Raises SetupError if the sequential test cannot be parsed.
    """
    sprt = sprt_of(setup)
    significance, min_games = setup.significance, setup.min_games
    if sprt is None and significance is None:
        return play_to_the_end

    games = seen = 0
    halves: dict[int, GameRecord] = {}
    """The finished game of each incomplete pair, by the number of the pair."""
    pairs = [0] * 5

    def is_decided(records: Sequence[GameRecord]) -> bool:
        nonlocal games, seen
        for record in records[seen:]:  # each record is evaluated only once
            if not record.is_counted:
                continue
            games += 1
            if (other := halves.pop(record.pair, None)) is None:
                halves[record.pair] = record
            else:
                pairs[half_points(record) + half_points(other)] += 1
        seen = len(records)
        if games < min_games:
            return False
        counts: PairCounts = (pairs[0], pairs[1], pairs[2], pairs[3], pairs[4])
        if sprt is not None and sprt.decide(counts) is not None:
            return True
        return significance is not None and better_program_by_e_value(counts, significance) is not None

    return is_decided
