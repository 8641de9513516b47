"""The JUnit file of a package's check."""

from __future__ import annotations

from spielleiter.match.checking.contest_conditions import CONDITIONS
from spielleiter.match.checking.package_report import State, render_junit
from tests.match.checking.package_reports import HOSTILE, report
from tests.match.reports.xunit import assert_is_xunit


def test_every_condition_is_a_test() -> None:
    states = {"options": State.RED, "memory": State.YELLOW, "network": State.NOT_CHECKED, "end": State.UNDECIDED}
    suite = assert_is_xunit(render_junit(report(states)).encode())[0]
    wanted = {"tests": str(len(CONDITIONS)), "failures": "1", "errors": "1", "skipped": "2", "time": "12.500"}
    assert wanted.items() <= dict(suite.attrib).items()
    cases = {(case.get("name") or "")[3:]: case for case in suite}
    assert list(cases) == [each.title for each in CONDITIONS]
    [failure] = cases["options"]
    assert failure.tag == "failure"
    assert (failure.text or "").startswith("crash: game 1: the program crashes (as expected)")
    assert [each.tag for each in cases["memory"]] == ["skipped", "system-out"]
    assert cases["memory"][0].get("message") == "warning: as expected"
    assert [(each.tag, each.get("message")) for each in cases["network"]] == [("skipped", "not checked: as expected")]
    assert [each.tag for each in cases["the end"]] == ["error"]
    assert list(cases["the start"]) == []


def test_hostile_texts_are_escaped() -> None:
    states = {"options": State.RED, "memory": State.YELLOW, "end": State.UNDECIDED}
    suite = assert_is_xunit(render_junit(report(states, package=HOSTILE, text=HOSTILE)).encode())[0]
    assert r"\x1b[31m\u202e" in (suite.get("name") or "")
    assert {each.tag for each in suite.iter()} == {
        "testsuite", "testcase", "failure", "error", "skipped", "system-out",
    }  # fmt: skip
