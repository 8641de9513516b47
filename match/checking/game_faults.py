"""Turning the record of a game into findings about the checked package.

Invariants: the checked program is the first one of its match, its opponent is a built-in player. A fault of the machine
is never a finding. A crash whose output names the cause gives the finding of that cause instead of a general one.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from spielleiter.match.checking import contest_conditions as contest
from spielleiter.match.checking.crash_causes import crash_cause, other_spelling, wheel_version
from spielleiter.match.checking.errors import is_delayed
from spielleiter.match.checking.package_faults import CODE_OF_VERDICT, FAULTS, fault
from spielleiter.match.packages.finding import Finding
from spielleiter.match.programs.answer_meter import AnswerTimes
from spielleiter.match.programs.starter import output_files
from spielleiter.match.records.game_record import CRASH_VERDICTS, UNCOUNTED_VERDICTS, GameRecord, Verdict
from spielleiter.match.sandbox.conditions import DISK_LIMIT, FILE_LIMIT, MEMORY_LIMIT, PROCESS_LIMIT
from spielleiter.match.sandbox.observations import Observations
from spielleiter.server.text.counting import count_text

PROGRAM: Final = 0
"""The index of the checked program in its match."""

_MEGABYTE: Final = 1024 * 1024


def is_machines_fault(record: GameRecord) -> bool:
    """Return whether the game says nothing about the program, because this machine or the opponent failed."""
    return record.verdict in UNCOUNTED_VERDICTS or record.offender not in {None, PROGRAM}


def was_delayed(record: GameRecord, answers: Sequence[AnswerTimes], limit: float) -> bool:
    """Return whether the program lost by an answer that would have been in time if it had waited for no processor.

    `answers` are those of the program, `limit` is the time for each in seconds.
    """
    if record.verdict != Verdict.TIMEOUT or record.offender != PROGRAM or not answers:
        return False
    return is_delayed(answers[-1].seconds, answers[-1].waited, limit)


def game_findings(
    record: GameRecord,
    observed: Observations | None,
    title: str,
    folder: Path,
    *,
    program_folder: Path | None = None,
    python: str = "the Python of this machine",
) -> tuple[Finding, ...]:
    """Return what is wrong with the program according to one game.

    `observed` is what the sandbox saw of the program, `title` names the game in sentences, and `folder` is that of the
    match, in which the record names the folder of the game. `program_folder` is that of the unpacked package, None if
    there is none; `python` is what the program found as `python3`.
    """
    if record.offender != PROGRAM or is_machines_fault(record):
        return ()
    if record.verdict in CRASH_VERDICTS and (cause := _cause(record, observed, folder, program_folder, python)):
        return (cause,)
    place = f"{folder.name}/{record.folder}"
    return (fault(CODE_OF_VERDICT[record.verdict], place, game=title, reason=record.reason),)


def _cause(
    record: GameRecord, observed: Observations | None, folder: Path, program_folder: Path | None, python: str
) -> Finding | None:
    """Return why the program crashed, if that is known."""
    place = f"{folder.name}/{record.folder}"
    if observed is not None and observed.exceeded_memory:
        peak = size_text(observed.peak_memory or MEMORY_LIMIT)
        return fault("too-much-memory", place, peak=peak, limit=size_text(MEMORY_LIMIT))
    if observed is not None and observed.exceeded_processes:
        return fault("too-many-processes", place, limit=PROCESS_LIMIT)
    if observed is not None and observed.exceeded_disk:
        return fault("too-much-disk", place, size=size_text(DISK_LIMIT), files=f"{FILE_LIMIT:,}")
    if observed is not None and observed.window_attempts:
        return fault("needs-window", place, reason=observed.window_attempts[0])
    out, error = output_files(folder / record.folder, PROGRAM)
    cause = crash_cause(out, error)
    if cause is None:
        return None
    values: dict[str, object] = {"reason": cause.line, "python": python}
    if cause.code == "missing-when-run" and program_folder is not None:
        if found := other_spelling(cause.line, program_folder):
            return fault("other-spelling", place, name=found[0], there=found[1], **values)
    elif cause.code == "wheel-for-other-python":
        wheel = values["wheel"] = wheel_version(cause.line)
        if not wheel or python.startswith(f"Python {wheel}."):  # in the second case, it is for another system
            return None
    return fault(cause.code, place, **values)


def affects_game(finding: Finding) -> bool:
    """Return whether a finding of a game concerns its course, and not only what happens after its end."""
    return FAULTS[finding.code].condition is not contest.END


def size_text(size: int) -> str:
    """Return a size in bytes as text for people, such as ``12 MB``; a MB has 1024 times 1024 bytes."""
    if size >= 1024 * _MEGABYTE:
        return f"{size / (1024 * _MEGABYTE):.2f} GB"
    if size >= _MEGABYTE:
        return f"{size / _MEGABYTE:.0f} MB"
    return f"{size / 1024:.0f} kB" if size >= 1024 else count_text(size, "byte")


def merged(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return one finding for each code: the first one, which says how often the same happened again."""
    groups: dict[str, list[Finding]] = {}
    for each in findings:
        groups.setdefault(each.code, []).append(each)
    return tuple(
        first if not more else dataclasses.replace(first, text=f"{first.text}; the same {_again(len(more))}")
        for first, *more in groups.values()
    )


def _again(count: int) -> str:
    return "happened once more" if count == 1 else f"happened {count_text(count, 'more time')}"
