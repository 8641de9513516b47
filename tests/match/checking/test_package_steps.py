"""The steps of the scripted server as one condition of a package."""

from __future__ import annotations

from spielleiter.match.checking.check import Status, StepResult
from spielleiter.match.checking.package_check import summed_up
from spielleiter.match.checking.package_report import State

PASSED = StepResult(1, "starts", "it starts", Status.PASSED, "connected")
FAILED = StepResult(2, "the end: the opponent leaves", "the process ends", Status.FAILED, "it runs", folder="step02")
SAME = StepResult(3, "the end: the opponent is too slow", "the process ends", Status.FAILED, "it runs", folder="step03")
WARNING = StepResult(4, "unknown", "no end", Status.WARNING, "it ended", remark="not required", folder="step04")
UNDECIDED = StepResult(5, "a pause", "silence", Status.UNDECIDED, "late")


def test_all_steps_passed() -> None:
    done = summed_up([PASSED, PASSED])
    assert (done.state, done.text, done.findings) == (State.GREEN, "2 of 2 steps passed", ())


def test_steps_that_miss_the_same_expectation_are_one_finding() -> None:
    done = summed_up([PASSED, FAILED, SAME])
    assert done.state is State.RED
    [finding] = done.findings
    assert finding.code == "failed-step"
    assert finding.file == "protocol/step02"
    assert finding.text == ("the end: the opponent leaves (and 1 more step): expected the process ends; got: it runs")


def test_a_step_that_is_not_required_is_yellow() -> None:
    done = summed_up([PASSED, WARNING])
    assert done.state is State.YELLOW
    assert [each.code for each in done.findings] == ["missed-step"]
    assert "not required" in done.findings[0].text


def test_a_busy_machine_leaves_the_condition_undecided() -> None:
    assert summed_up([PASSED, UNDECIDED]).state is State.UNDECIDED
    assert summed_up([FAILED, UNDECIDED]).state is State.RED
