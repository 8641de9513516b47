"""Exit codes of `match`, `tournament`, `check` and `replay-wire`: a failing program or machine, a worse player.

Invariants: conditions that make the figures worthless (interruption, failure of the machine) take precedence over
faults of programs, and those over the question which program is better.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

import click

from spielleiter.cli.commands import EXIT_FAILURE
from spielleiter.cli.ctrl_c import EXIT_INTERRUPTED

if TYPE_CHECKING:
    from spielleiter.match.records import GameRecord
    from spielleiter.match.runner import EndReason
    from spielleiter.match.summary import Summary

EXIT_FAULT = 3
EXIT_MACHINE = 4
"""There is no answer, and no program is to blame."""
EXIT_UNFIT = 5
"""There is no answer, since a program cannot play."""

FAULTS = ("crash", "timeout", "illegal", "message", "exit", "any")
PROGRAMS_AT_FAULT: Mapping[str, tuple[int, ...]] = MappingProxyType({"both": (0, 1), "player1": (0,)})
"""The programs whose faults count, by the value of --faults-of."""


def exit_code(
    end: EndReason,
    records: tuple[GameRecord, ...],
    summary: Summary,
    fail_on: frozenset[str],
    require: str | None,
    faults_of: Collection[int] = PROGRAMS_AT_FAULT["both"],
) -> int:
    """The exit code of a match: the first that applies of interrupted, unfit, machine, fault, worse, done.

    `fail_on` are verdicts, which count against the programs `faults_of`.
    """
    from spielleiter.match.runner import EndReason
    from spielleiter.match.verdict import Verdict

    if end is EndReason.INTERRUPTED:
        return EXIT_INTERRUPTED
    if end is EndReason.UNFIT:
        return EXIT_UNFIT
    if end is EndReason.MACHINE_FAILURE or any(record.verdict == Verdict.SERVER_FAILED for record in records):
        return EXIT_MACHINE
    if not any(record.is_counted for record in records):
        return EXIT_MACHINE  # the match has no result
    if any(record.verdict in fail_on and record.offender in faults_of for record in records):
        return EXIT_FAULT
    if require == "better" and summary.better != 0:
        return EXIT_FAILURE
    # with too few pairs no program can be shown to be worse, so that exit code 0 would mean nothing
    if require == "not-worse" and (summary.better == 1 or not summary.has_enough_pairs):
        return EXIT_FAILURE
    if summary.sprt is not None and summary.sprt.decision == "H0":
        return EXIT_FAILURE
    return 0


def fault_kinds(texts: tuple[str, ...]) -> frozenset[str]:
    """The verdicts that the values of --fail-on name. Raises UsageError for an unknown one."""
    from spielleiter.match.verdict import (
        BAD_MESSAGE_VERDICTS,
        CRASH_VERDICTS,
        ILLEGAL_VERDICTS,
        LEFTOVER_VERDICTS,
        TIMEOUT_VERDICTS,
    )

    columns = (CRASH_VERDICTS, TIMEOUT_VERDICTS, ILLEGAL_VERDICTS, BAD_MESSAGE_VERDICTS, LEFTOVER_VERDICTS)
    kinds = dict(zip(FAULTS, (*columns, frozenset[str]().union(*columns)), strict=True))
    wanted = [word.strip() for text in texts for word in text.split(",")]
    for word in wanted:
        if word not in kinds:
            raise click.UsageError(f"--fail-on {word!r}: expected {', '.join(FAULTS)}")
    return frozenset().union(*(kinds[word] for word in wanted))
