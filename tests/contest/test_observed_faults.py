"""The conditions that are watched during all games, among them think times on the contest's processor."""

from __future__ import annotations

import random
from typing import Any

import pytest

from spielleiter.contest.calibration import Speed
from spielleiter.contest.observed_faults import ObservedConditions, ThinkTimes, judge_think_times
from spielleiter.contest.package_games import GameResult
from spielleiter.contest.package_report import ConditionResult, PlayedGame, State
from spielleiter.contest.runtime_faults import fault
from spielleiter.programs.contest_conditions import Condition
from spielleiter.programs.machine_delay import AnswerTimes
from spielleiter.programs.packages.faults import Finding
from spielleiter.programs.sandbox.sandbox_run import Observations
from tests.match.sample_records import game

QUICK = [0.02] * 200


def computing(*times: float) -> list[AnswerTimes]:
    """Answers of a program that computes all the time, on an idle machine."""
    return [AnswerTimes(each, each) for each in times]


def judge(answers: list[AnswerTimes], speed: float) -> ThinkTimes:
    return judge_think_times([answers], speed)


# -- what is scaled ----------------------------------------------------------------------------------------------------


def test_sleep_takes_as_long_in_the_contest() -> None:
    """The program has used much processor time in the game, but not in this answer."""
    sleeping = AnswerTimes(1.9, processor=0.01)
    judged = judge([*computing(*QUICK), sleeping, sleeping], 3.0)
    assert judged.worst == pytest.approx(1.92)
    assert not judged.is_too_slow


def test_waiting_for_a_processor_is_left_out() -> None:
    delayed = [AnswerTimes(1.0 + used, processor=used, waited=0.95, others=2.0) for used in (0.1, 0.2, 0.25, 0.3, 0.35)]
    judged = judge([*computing(*QUICK), *delayed], 4.0)
    assert judged.worst == pytest.approx(0.35 * 4 + 0.05)
    assert not judged.is_too_slow
    assert judged.slowest == 1.35


def test_several_processes_have_one_core_in_the_contest() -> None:
    parallel = AnswerTimes(0.6, processor=2.2)
    assert judge([parallel] * 3, 1.0).expected == pytest.approx(2.2)


# -- outliers and a busy machine ---------------------------------------------------------------------------------------


def test_a_few_outliers_are_a_warning() -> None:
    judged = judge(computing(*QUICK, 1.0, 1.1), 3.0)
    assert (judged.expected, judged.worst) == (pytest.approx(0.06), pytest.approx(3.3))  # type: ignore[comparison-overlap]
    assert (judged.is_close, judged.is_too_slow) == (True, False)


def test_slow_answers_in_every_game_are_no_outliers() -> None:
    judged = judge_think_times([computing(*QUICK[:25], 0.8 + 0.02 * number) for number in range(8)], 3.0)
    assert (judged.is_too_slow, judged.is_disturbed) == (True, False)


@pytest.mark.parametrize(("waited", "others", "is_disturbed"), [(0.2, 0.0, True), (0.0, 0.9, True), (0.0, 0.1, False)])
def test_slow_answers_on_a_busy_machine_say_nothing(waited: float, others: float, is_disturbed: bool) -> None:
    judged = judge([AnswerTimes(each, each - waited, waited, others) for each in (1.0, 1.2, 1.4, 1.6)], 2.0)
    assert (judged.is_too_slow, judged.is_disturbed) == (True, is_disturbed)


# -- programs that watch the clock -------------------------------------------------------------------------------------


def test_a_program_that_watches_the_clock_takes_no_longer_on_a_slower_processor() -> None:
    judged = judge(computing(0.01, 1.2, *[1.79] * 10, 1.8), 2.0)
    assert judged == ThinkTimes(13, 1.8, 1.79, 1.8, watches_clock=True, is_disturbed=False)
    assert judged.is_close


def test_few_moves_that_use_all_of_the_time_are_enough() -> None:
    """In most positions, such a program has searched everything before its time is over."""
    rng = random.Random(1)
    games = [computing(*(rng.uniform(0.0, 0.6) for _ in range(26)), *[1.49] * 4) for _ in range(8)]
    judged = judge_think_times(games, 2.9)
    assert judged.watches_clock
    assert not judged.is_too_slow


def test_one_move_of_each_game_that_uses_all_of_the_time_is_enough() -> None:
    """It is not the same move in all games, so it is not the same work."""
    games = [computing(*QUICK[:number], 1.49, *QUICK[number:25]) for number in range(3, 11)]
    judged = judge_think_times(games, 2.9)
    assert judged.watches_clock
    assert (judged.is_too_slow, judged.is_close) == (False, False)


def test_an_outlier_does_not_hide_that_a_program_watches_the_clock() -> None:
    assert judge([*computing(0.5, *[1.2] * 20), AnswerTimes(1.49, 1.2)], 2.9).watches_clock


@pytest.mark.parametrize("seed", range(5))
def test_work_that_varies_with_the_position_does_not_look_like_a_limit(seed: int) -> None:
    rng = random.Random(seed)
    judged = judge_think_times([computing(*(rng.uniform(0.3, 1.0) for _ in range(30))) for _ in range(8)], 2.9)
    assert (judged.watches_clock, judged.is_too_slow) == (False, True)


def test_the_same_first_move_in_all_games_is_no_limit_of_a_program() -> None:
    judged = judge_think_times([computing(1.0, *QUICK[:25])] * 8, 2.9)
    assert (judged.watches_clock, judged.is_too_slow) == (False, True)


@pytest.mark.parametrize("times", [[1.0] * 4, [0.001] * 50], ids=["few", "quick"])
def test_equal_times_that_are_few_or_short_are_no_limit_of_a_program(times: list[float]) -> None:
    assert not judge(computing(*times), 1.0).watches_clock


MEBIBYTE = 2**20
SEEN: dict[str, Any] = {"sandbox": "bubblewrap", "peak_memory": 20 * MEBIBYTE, "network_attempts": 0}


def played(*findings: Finding, times: tuple[float, ...] = (0.1, 0.2), load: float = 0.0, **observed: Any) -> GameResult:
    """A game; other programs keep `load` processors busy while the program thinks for `times`."""
    record = game(1, think_times=(times, ()), cpu_seconds=(60.0, 0.0))
    shown = PlayedGame("upload-test", "game 1", "regular", "", (1, 2), len(times), 0.2, "games/0001", "")
    answers = tuple(AnswerTimes(each, each, others=load * each) for each in times)
    return GameResult(record, shown, findings, Observations(**{**SEEN, **observed}), False, answers)


def result(
    condition: Condition,
    *games: GameResult,
    speed: float = 1.0,
    gaps: dict[Condition, str] | None = None,
    starts: tuple[float, ...] = (),
) -> ConditionResult:
    observed = ObservedConditions(Speed(speed, is_measured=True), gaps or {})
    observed.add_games(games)
    observed.add_starts(starts)
    found = observed.result(condition)
    assert found is not None
    return found


def outcome(found: ConditionResult) -> tuple[State, list[str]]:
    return found.state, [each.code for each in found.findings]


GREEN: tuple[State, list[str]] = (State.GREEN, [])


def yellow(code: str) -> tuple[State, list[str]]:
    return State.YELLOW, [code]


def red(code: str) -> tuple[State, list[str]]:
    return State.RED, [code]


def test_conditions_that_are_not_watched_have_no_result() -> None:
    assert ObservedConditions(Speed(1.0, is_measured=True), {}).result(Condition.OPTIONS) is None


@pytest.mark.parametrize(
    ("condition", "observed", "expected"),
    [
        (Condition.MEMORY, {"peak_memory": 1200 * MEBIBYTE}, GREEN),
        (Condition.MEMORY, {"peak_memory": 1300 * MEBIBYTE}, yellow("much-memory")),
        (Condition.MEMORY, {"peak_memory": 1537 * MEBIBYTE}, red("too-much-memory")),
        (Condition.MEMORY, {"exceeded_memory": True}, red("too-much-memory")),
        (Condition.PROCESSES, {}, GREEN),
        (Condition.PROCESSES, {"exceeded_processes": True}, red("too-many-processes")),
        (Condition.OUTPUT, {"output_size": 4_000_000}, GREEN),
        (Condition.OUTPUT, {"output_size": 5_000_000}, yellow("much-output")),
        (Condition.OUTPUT, {"output_size": 50_000_000}, red("endless-output")),
        (Condition.DISK, {"exceeded_disk": True}, red("too-much-disk")),
        (Condition.DISK, {"bytes_written": 99_000_000}, GREEN),
        (Condition.DISK, {"bytes_written": 100_000_000}, yellow("much-disk")),
        (Condition.DISK, {"files_written": 1000}, yellow("much-disk")),
        (Condition.DISK, {"hid_files": True}, yellow("hides-files")),
        (Condition.NETWORK, {"network_attempts": 3}, yellow("uses-network")),
        (Condition.WINDOW, {"window_attempts": ("cannot open display",)}, yellow("opens-window")),
        (Condition.INPUT, {}, GREEN),
    ],
)
def test_what_was_observed_in_one_of_the_games_decides(
    condition: Condition, observed: dict[str, Any], expected: tuple[State, list[str]]
) -> None:
    assert outcome(result(condition, played(), played(**observed))) == expected


@pytest.mark.parametrize(
    ("condition", "code", "observed"),
    [
        (Condition.NETWORK, "needs-network", {"network_attempts": 3}),
        (Condition.WINDOW, "needs-window", {"window_attempts": ("cannot open display",)}),
        (Condition.INPUT, "needs-input", {}),
        (Condition.DISK, "writes-elsewhere", {}),
        (Condition.MEMORY, "out-of-memory", {}),
    ],
)
def test_a_game_that_failed_for_a_condition_makes_it_red(
    condition: Condition, code: str, observed: dict[str, Any]
) -> None:
    assert outcome(result(condition, played(fault(code, reason="x"), **observed))) == red(code)


def test_what_is_written_to_disk_is_counted() -> None:
    assert "2 files with 3 kB" in result(Condition.DISK, played(files_written=2, bytes_written=3072)).text


@pytest.mark.parametrize(("seconds", "expected"), [(9.9, GREEN), (10.0, yellow("slow-start"))])
def test_a_slow_start_is_a_warning(seconds: float, expected: tuple[State, list[str]]) -> None:
    assert outcome(result(Condition.START, starts=(0.1, seconds))) == expected


@pytest.mark.parametrize(
    ("speed", "load", "expected", "text"),
    [
        (1.0, 0.0, GREEN, "an estimate"),
        (1.5, 0.0, yellow("nearly-too-slow"), "an estimate"),
        (2.0, 0.0, red("too-slow"), "an estimate"),
        (1.0, 1.0, GREEN, "an estimate"),
        (2.0, 1.0, (State.UNDECIDED, []), "other programs of this machine"),
    ],
)
def test_think_times_are_scaled_and_a_busy_machine_never_makes_a_program_unfit(
    speed: float, load: float, expected: tuple[State, list[str]], text: str
) -> None:
    found = result(Condition.THINK_TIME, played(times=(0.1, 1.0, 1.0), load=load), speed=speed)
    assert outcome(found) == expected
    assert text in found.text


def test_a_program_that_watches_the_clock_is_not_scaled() -> None:
    found = result(Condition.THINK_TIME, played(times=(1.2,) * 10), speed=3.0)
    assert outcome(found) == GREEN
    assert "watch the clock" in found.text


def test_a_timeout_in_a_game_is_a_fault_of_think_time() -> None:
    late = fault("timeout", game="game 1", reason="2.1 s, allowed are 2 s")
    assert outcome(result(Condition.THINK_TIME, played(late, times=(2.1,)))) == red("timeout")


def test_an_end_that_fails_is_counted_and_that_of_a_crash_is_none() -> None:
    late, crash = (fault(code, game="game 1", reason="x") for code in ("does-not-end", "crash"))
    found = result(Condition.END, played(crash), played(late), played())
    assert outcome(found) == red("does-not-end")
    assert "in 1 of 2 games" in found.text
    assert result(Condition.END, played(crash)).state is State.NOT_CHECKED


def test_a_program_that_never_played_has_no_times() -> None:
    assert result(Condition.START).state is State.NOT_CHECKED
    assert result(Condition.THINK_TIME, played(times=())).state is State.NOT_CHECKED


@pytest.mark.parametrize(
    ("condition", "gap", "observed", "expected"),
    [
        (Condition.NETWORK, Condition.NETWORK, {"network_attempts": None}, (State.NOT_CHECKED, [])),
        (Condition.WINDOW, Condition.DISPLAY, {}, (State.NOT_CHECKED, [])),
        (Condition.DISK, Condition.READ_ONLY, {}, (State.NOT_CHECKED, [])),
        (Condition.MEMORY, Condition.MEMORY, {"peak_memory": None}, yellow("memory-not-limited")),
        (Condition.MEMORY, Condition.MEMORY, {}, yellow("memory-not-limited")),
        (Condition.PROCESSES, Condition.PROCESSES, {}, yellow("processes-not-limited")),
        (Condition.DISK, Condition.DISK, {}, yellow("disk-not-limited")),
    ],
)
def test_what_the_sandbox_could_not_see_or_limit_is_named_and_never_green(
    condition: Condition, gap: Condition, observed: dict[str, Any], expected: tuple[State, list[str]]
) -> None:
    found = result(condition, played(**observed), gaps={gap: "There is no sandbox."})
    assert outcome(found) == expected
    assert "There is no sandbox" in (found.findings[0].text if found.findings else found.text)
