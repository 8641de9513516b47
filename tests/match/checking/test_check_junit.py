"""The JUnit file of the check of a command."""

from __future__ import annotations

from collections.abc import Sequence

from lxml import etree

from spielleiter.match.checking.check import Status, StepResult, render_junit
from tests.match.reports.xunit import assert_is_xunit

PASSED = StepResult(1, "starts", "it starts", Status.PASSED, "connected")
FAILED = StepResult(2, "plays", "a <move>", Status.FAILED, "no\x01 move & nothing", "first line\nsecond line")
WARNING = StepResult(
    2, "is lenient", "no <end>", Status.WARNING, "it\x02 ended", "last words", "nobody demands this\x03"
)
UNDECIDED = StepResult(2, "plays", "a <move>", Status.UNDECIDED, "late\x04", "last words")
NOT_TRIED = StepResult(3, "ends", "the end", Status.NOT_TRIED)


def suite_of(results: Sequence[StepResult], command: str = "bot") -> etree._Element:
    return assert_is_xunit(render_junit(command, results, "chess (1972)").encode())[0]


def test_the_steps_are_a_test_suite() -> None:
    suite = suite_of([PASSED, FAILED, NOT_TRIED], "bot <fast>\x02")
    assert dict(suite.attrib) == {
        "name": r"spielleiter check bot <fast>\x02, chess (1972)",
        "tests": "3",
        "failures": "1",
        "errors": "0",
        "skipped": "1",
    }
    assert [case.get("name") for case in suite] == ["01 starts", "02 plays", "03 ends"]
    assert [[child.tag for child in case] for case in suite] == [[], ["failure", "system-err"], ["skipped"]]
    assert suite[1][0].get("message") == r"no\x01 move & nothing"
    assert suite[1][0].text == "expected: a <move>"
    assert suite[1][1].text == "first line\nsecond line"


def test_a_warning_is_a_skipped_test() -> None:
    suite = suite_of([PASSED, WARNING])
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("2", "0", "1")
    assert [child.tag for child in suite[1]] == ["skipped", "system-out", "system-err"]
    assert suite[1][0].get("message") == r"warning: it\x02 ended (nobody demands this\x03)"
    assert [child.text for child in suite[1]] == [None, "expected: no <end>", "last words"]


def test_an_undecided_step_is_an_error() -> None:
    suite = suite_of([PASSED, UNDECIDED, NOT_TRIED])
    assert (suite.get("failures"), suite.get("errors"), suite.get("skipped")) == ("0", "1", "1")
    error, words = suite[1]
    assert (error.tag, error.get("type")) == ("error", "undecided")
    assert error.get("message") == r"this machine was too busy: late\x04"
    assert (error.text, words.tag, words.text) == ("expected: a <move>", "system-err", "last words")
