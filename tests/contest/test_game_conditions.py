"""The conditions that are decided by games, starts and steps of their own, from invented results."""

from __future__ import annotations

from spielleiter.contest.check import Status, StepResult
from spielleiter.contest.contest_conditions import PAIRING, fault
from spielleiter.contest.package_check import (
    OptionResult,
    games_result,
    option_forms,
    options_result,
    summed_up,
    two_games_result,
)
from spielleiter.contest.package_games import GameResult
from spielleiter.contest.package_report import PlayedGame, State
from spielleiter.match.verdict import Verdict
from spielleiter.programs.packages.faults import Finding
from tests.match.sample_records import game

CRASH = fault("crash", "pairing/games/0001", game="game 1", reason="x")
LATE = fault("does-not-end", game="game 1", reason="it still ran")
FORM = option_forms()[0]


def played(*findings: Finding, winner: int = 0, verdict: str = Verdict.REGULAR) -> GameResult:
    record = game(1, winner, verdict=verdict, reason="because")
    shown = PlayedGame("pairing", "game 1", verdict, "because", (1, 2), 3, 0.1, "pairing/games/0001", "")
    return GameResult(record, shown, findings, None, is_undecided=verdict == Verdict.OVERLOAD)


def test_sound_games_are_green_and_counted() -> None:
    result = games_result(PAIRING, [played(), played(winner=1)])
    assert (result.state, result.text) == (State.GREEN, "2 of 2 games without a fault, 1 won")


def test_a_fault_after_the_end_does_not_count_for_the_games() -> None:
    assert games_result(PAIRING, [played(LATE)]).state is State.GREEN


def test_faults_outweigh_games_that_this_machine_spoiled() -> None:
    spoiled = played(verdict=Verdict.OVERLOAD)
    undecided = games_result(PAIRING, [played(), spoiled])
    assert undecided.state is State.UNDECIDED
    assert undecided.text == "1 of 2 games without a fault, 2 won; overloaded machine: because"
    red = games_result(PAIRING, [played(CRASH), spoiled, played(CRASH)])
    assert red.state is State.RED
    assert [each.code for each in red.findings] == ["crash"]
    assert red.findings[0].text.endswith("once more")


def test_two_games_show_only_what_single_games_do_not_show() -> None:
    new = two_games_result([played(), played(CRASH)], set())
    assert (new.state, [each.code for each in new.findings]) == (State.YELLOW, ["not-twice"])
    assert new.findings[0].file == "pairing/games/0001"
    known = two_games_result([played(), played(CRASH)], {"crash"})
    assert (known.state, known.findings) == (State.GREEN, ())
    assert "no fault that single games" in known.text
    assert two_games_result([played(), played()], set()).text == "both were played without a fault"


def test_a_busy_machine_cannot_check_two_games() -> None:
    assert two_games_result([played(), played(verdict=Verdict.OVERLOAD)], set()).state is State.NOT_CHECKED


def test_options_are_green_if_every_form_is_understood() -> None:
    good, bad = OptionResult(FORM, 0.1), OptionResult(FORM, finding=fault("option-order", form="f", reason="r"))
    late = OptionResult(FORM, is_undecided=True)
    assert options_result([good, good]).text == "2 of 2 orders and forms are understood"
    assert options_result([good]).state is State.GREEN
    assert options_result([good, late]).state is State.UNDECIDED
    red = options_result([good, late, bad])
    assert (red.state, red.text) == (State.RED, "1 of 3 orders and forms are understood")


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
