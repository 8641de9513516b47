"""The table of faults, and the document that lists them."""

from __future__ import annotations

import string

import pytest

from spielleiter.contest.contest_conditions import CONDITIONS, FAULTS, fault
from spielleiter.programs.packages.faults import FAULTS as STATIC_FAULTS
from tests.documents import rows


def test_no_code_is_also_that_of_a_static_fault() -> None:
    assert set(FAULTS).isdisjoint(STATIC_FAULTS)


def test_every_fault_belongs_to_a_condition_of_the_report() -> None:
    assert {each.condition for each in FAULTS.values()} - {None} <= set(CONDITIONS)
    assert len({each.key for each in CONDITIONS}) == len(CONDITIONS)


@pytest.mark.parametrize("code", FAULTS)
def test_a_sentence_is_one_line_whatever_it_quotes(code: str) -> None:
    names = [name for _, name, _, _ in string.Formatter().parse(FAULTS[code].sentence) if name]
    finding = fault(code, "folder", **dict.fromkeys(names, "a\nb\x1b{c}"))
    assert finding.text.count(r"a\nb\x1b{c}") == len(names)
    assert "\n" not in finding.text
    assert (finding.code, finding.level, finding.file) == (code, FAULTS[code].level, "folder")


def test_every_fault_is_documented() -> None:
    documented = {code.strip("`"): (condition, level) for code, condition, level, _ in rows("docs/check.md", "code")}
    assert documented == {
        code: ("the game that shows it" if each.condition is None else each.condition.title, each.level.value)
        for code, each in FAULTS.items()
    }


def test_every_condition_is_documented() -> None:
    assert [tuple(row) for row in rows("docs/check.md", "condition")] == [
        (each.title, f"`{each.key}`", each.demand) for each in CONDITIONS
    ]


def test_no_program_is_told_to_wait_for_the_end_of_the_connection() -> None:
    assert "as soon as the result has come" in FAULTS["does-not-end"].sentence  # the release keeps it open
