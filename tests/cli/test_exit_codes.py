"""The exit code of a match."""

from __future__ import annotations

import click
import pytest

from spielleiter.cli.exit_codes import FAULTS, PROGRAMS_AT_FAULT, exit_code, fault_kinds
from spielleiter.match.runner import EndReason
from spielleiter.match.summary import summarise
from spielleiter.match.verdict import CRASH_VERDICTS, TIMEOUT_VERDICTS, Verdict
from tests.match.sample_records import fault, game

NAMES = ("a", "b")
CRASHES = [fault(number, 0, Verdict.CRASH) for number in range(1, 11)]
FAILED = game(11, None, verdict=Verdict.SERVER_FAILED, is_counted=False)


@pytest.mark.parametrize(
    ("end", "is_failed", "fail_on", "code"),
    [
        (EndReason.INTERRUPTED, True, "any", 130),
        (EndReason.MACHINE_FAILURE, False, "any", 4),
        (EndReason.COMPLETED, True, "any", 4),
        (EndReason.COMPLETED, False, "any", 3),
        (EndReason.COMPLETED, False, "timeout", 1),
    ],
)
def test_interruption_machine_failure_faults_and_a_worse_result_count_in_this_order(
    end: EndReason, is_failed: bool, fail_on: str, code: int
) -> None:
    records = (*CRASHES, *([FAILED] if is_failed else []))
    summary = summarise(records, NAMES, 11, None)
    assert exit_code(end, records, summary, fault_kinds((fail_on,)), "not-worse") == code


def test_without_requirements_the_exit_code_is_0() -> None:
    records = tuple(CRASHES)
    assert exit_code(EndReason.COMPLETED, records, summarise(records, NAMES, 10, None), fault_kinds(()), None) == 0


@pytest.mark.parametrize(("offender", "code"), [(0, 3), (1, 0)])
def test_only_the_faults_of_the_first_program_count_if_that_is_wanted(offender: int, code: int) -> None:
    records = (fault(1, offender, Verdict.CRASH), game(2, None))
    summary = summarise(records, NAMES, 2, None)
    kinds = fault_kinds(("any",))
    assert exit_code(EndReason.COMPLETED, records, summary, kinds, None) == 3
    assert exit_code(EndReason.COMPLETED, records, summary, kinds, None, PROGRAMS_AT_FAULT["player1"]) == code


def test_faults_are_given_separately_or_with_commas() -> None:
    wanted = CRASH_VERDICTS | TIMEOUT_VERDICTS
    assert fault_kinds(("crash", "timeout")) == fault_kinds(("crash, timeout",)) == wanted
    assert fault_kinds(("any",)) == fault_kinds(FAULTS) > wanted


def test_an_unknown_fault_is_misuse() -> None:
    with pytest.raises(click.UsageError, match="expected crash, timeout, illegal, message, exit, any"):
        fault_kinds(("crash", "bored"))
