"""The conditions that are watched during all games, among them think times on the contest's processor."""

from __future__ import annotations

import dataclasses
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
from spielleiter.programs.sandbox.run import Observations
from tests.match.sample_records import game

THINKS_DIFFERENTLY = [0.01, 0.2, 0.35, 0.5, 0.7, 0.75, 0.8, 0.9, 1.0, 1.0]
QUICK = [0.02] * 200


def computing(*times: float) -> list[AnswerTimes]:
    """Answers of a program that computes all the time, on an idle machine."""
    return [AnswerTimes(each, each) for each in times]


def judge(answers: list[AnswerTimes], speed: float) -> ThinkTimes:
    return judge_think_times([answers], speed)


@pytest.mark.parametrize(
    ("speed", "expected", "is_close", "is_too_slow"),
    [(1.0, 1.0, False, False), (1.5, 1.5, True, False), (1.9, 1.9, True, False), (2.0, 2.0, False, True)],
)
def test_times_are_scaled(speed: float, expected: float, is_close: bool, is_too_slow: bool) -> None:
    judged = judge(computing(*THINKS_DIFFERENTLY), speed)
    assert judged == ThinkTimes(10, 1.0, expected, expected, watches_clock=False, is_disturbed=False)
    assert (judged.is_close, judged.is_too_slow) == (is_close, is_too_slow)


def test_a_program_that_never_answered_has_no_times() -> None:
    assert judge([], 2.0) == ThinkTimes(0, 0.0, 0.0, 0.0, watches_clock=False, is_disturbed=False)


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
    games = [computing(*QUICK[:25], 0.8 + 0.02 * number) for number in range(8)]
    judged = judge_think_times(games, 3.0)
    assert judged.is_too_slow
    assert not judged.is_disturbed


@pytest.mark.parametrize(("waited", "others"), [(0.2, 0.0), (0.0, 0.9)])
def test_slow_answers_on_a_busy_machine_say_nothing(waited: float, others: float) -> None:
    slow = [AnswerTimes(seconds, seconds - waited, waited, others) for seconds in (1.0, 1.2, 1.4, 1.6)]
    judged = judge(slow, 2.0)
    assert judged.is_too_slow
    assert judged.is_disturbed
    judged = judge([dataclasses.replace(each, waited=0.0, others=0.1) for each in slow], 2.0)
    assert judged.is_too_slow
    assert not judged.is_disturbed


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


@pytest.mark.parametrize("seed", range(20))
def test_work_that_varies_with_the_position_does_not_look_like_a_limit(seed: int) -> None:
    rng = random.Random(seed)
    games = [computing(*(rng.uniform(0.3, 1.0) for _ in range(30))) for _ in range(8)]
    judged = judge_think_times(games, 2.9)
    assert not judged.watches_clock
    assert judged.is_too_slow


def test_the_same_first_move_in_all_games_is_no_limit_of_a_program() -> None:
    judged = judge_think_times([computing(1.0, *QUICK[:25])] * 8, 2.9)
    assert not judged.watches_clock
    assert judged.is_too_slow


def test_a_few_equal_times_are_no_limit_of_a_program() -> None:
    assert not judge(computing(*[1.0] * 4), 1.0).watches_clock


def test_equal_times_of_a_quick_program_are_no_limit() -> None:
    assert not judge(computing(*[0.001] * 50), 1.0).watches_clock


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


def test_conditions_that_are_not_watched_have_no_result() -> None:
    assert ObservedConditions(Speed(1.0, is_measured=True), {}).result(Condition.OPTIONS) is None


@pytest.mark.parametrize(("seconds", "expected"), [(9.9, (State.GREEN, [])), (10.0, (State.YELLOW, ["slow-start"]))])
def test_a_slow_start_is_a_warning(seconds: float, expected: tuple[State, list[str]]) -> None:
    assert outcome(result(Condition.START, starts=(0.1, seconds))) == expected


@pytest.mark.parametrize(
    ("speed", "expected"),
    [
        (1.0, (State.GREEN, [])),
        (1.5, (State.YELLOW, ["nearly-too-slow"])),
        (2.0, (State.RED, ["too-slow"])),
    ],
)
def test_think_times_are_scaled(speed: float, expected: tuple[State, list[str]]) -> None:
    found = result(Condition.THINK_TIME, played(times=(0.1, 1.0, 1.0)), speed=speed)
    assert outcome(found) == expected
    assert "an estimate" in found.text


def test_a_busy_machine_never_makes_a_program_unfit() -> None:
    found = result(Condition.THINK_TIME, played(times=(0.1, 1.0, 1.0), load=1.0), speed=2.0)
    assert outcome(found) == (State.UNDECIDED, [])
    assert "other programs of this machine" in found.text
    assert outcome(result(Condition.THINK_TIME, played(times=(0.1, 1.0, 1.0), load=1.0))) == (State.GREEN, [])


def test_a_program_that_watches_the_clock_is_not_scaled() -> None:
    found = result(Condition.THINK_TIME, played(times=(1.2,) * 10), speed=3.0)
    assert outcome(found) == (State.GREEN, [])
    assert "watch the clock" in found.text


def test_a_timeout_in_a_game_is_a_fault_of_think_time() -> None:
    late = fault("timeout", game="game 1", reason="2.1 s, allowed are 2 s")
    assert outcome(result(Condition.THINK_TIME, played(late, times=(2.1,)))) == (State.RED, ["timeout"])


@pytest.mark.parametrize(
    ("peak", "expected"),
    [
        (1200 * MEBIBYTE, (State.GREEN, [])),
        (1300 * MEBIBYTE, (State.YELLOW, ["much-memory"])),
        (1537 * MEBIBYTE, (State.RED, ["too-much-memory"])),
    ],
)
def test_memory_is_compared_with_the_limit(peak: int, expected: tuple[State, list[str]]) -> None:
    assert outcome(result(Condition.MEMORY, played(), played(peak_memory=peak))) == expected


def test_a_program_that_was_killed_had_too_much_memory() -> None:
    assert outcome(result(Condition.MEMORY, played(exceeded_memory=True))) == (State.RED, ["too-much-memory"])


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        (4_000_000, (State.GREEN, [])),
        (5_000_000, (State.YELLOW, ["much-output"])),
        (50_000_000, (State.RED, ["endless-output"])),
    ],
)
def test_output_has_a_sensible_size(size: int, expected: tuple[State, list[str]]) -> None:
    assert outcome(result(Condition.OUTPUT, played(), played(output_size=size))) == expected


def test_attempts_are_warnings_if_the_program_plays_on() -> None:
    game_with_attempts = played(network_attempts=3, window_attempts=("cannot open display",))
    assert outcome(result(Condition.NETWORK, played(), game_with_attempts)) == (State.YELLOW, ["uses-network"])
    assert outcome(result(Condition.WINDOW, played(), game_with_attempts)) == (State.YELLOW, ["opens-window"])


def test_attempts_are_red_if_the_program_fails_without() -> None:
    needy = played(fault("needs-network", reason="x"), network_attempts=3)
    shown = played(fault("needs-window", reason="x"), window_attempts=("cannot open display",))
    assert outcome(result(Condition.NETWORK, needy)) == (State.RED, ["needs-network"])
    assert outcome(result(Condition.WINDOW, shown)) == (State.RED, ["needs-window"])


def test_an_end_that_fails_is_counted() -> None:
    late = fault("does-not-end", game="game 1", reason="x")
    found = result(Condition.END, played(late), played())
    assert outcome(found) == (State.RED, ["does-not-end"])
    assert "in 1 of 2 games" in found.text


def test_a_program_that_never_reaches_the_end_has_none() -> None:
    crashed = played(fault("crash", game="game 1", reason="x"))
    assert result(Condition.END, crashed).state is State.NOT_CHECKED
    assert "in 1 of 1 game" in result(Condition.END, crashed, played()).text


def test_input_and_disk_are_those_of_the_games() -> None:
    failing = played(fault("needs-input", reason="x"), fault("writes-elsewhere", reason="y"))
    assert outcome(result(Condition.INPUT, failing)) == (State.RED, ["needs-input"])
    assert outcome(result(Condition.DISK, failing)) == (State.RED, ["writes-elsewhere"])
    assert outcome(result(Condition.INPUT, played())) == (State.GREEN, [])
    assert "2 files with 3 kB" in result(Condition.DISK, played(files_written=2, bytes_written=3072)).text


@pytest.mark.parametrize(
    ("condition", "gap", "observed"),
    [
        (Condition.NETWORK, Condition.NETWORK, {"network_attempts": None}),
        (Condition.WINDOW, Condition.DISPLAY, {}),
        (Condition.DISK, Condition.READ_ONLY, {}),
    ],
)
def test_a_gap_of_the_sandbox_is_named(condition: Condition, gap: Condition, observed: dict[str, Any]) -> None:
    found = result(condition, played(**observed), gaps={gap: "There is no sandbox."})
    assert (found.state, found.text) == (State.NOT_CHECKED, "There is no sandbox.")


@pytest.mark.parametrize(
    ("condition", "gap", "observed", "code"),
    [
        (Condition.MEMORY, Condition.MEMORY, {"peak_memory": None}, "memory-not-limited"),
        (Condition.MEMORY, Condition.MEMORY, {}, "memory-not-limited"),
        (Condition.PROCESSES, Condition.PROCESSES, {}, "processes-not-limited"),
        (Condition.DISK, Condition.DISK, {}, "disk-not-limited"),
    ],
)
def test_what_could_not_be_limited_is_never_green(
    condition: Condition, gap: Condition, observed: dict[str, Any], code: str
) -> None:
    assert outcome(result(condition, played())) == (State.GREEN, [])
    found = result(condition, played(**observed), gaps={gap: "There is no sandbox."})
    assert outcome(found) == (State.YELLOW, [code])
    assert "There is no sandbox" in found.findings[0].text


@pytest.mark.parametrize(
    ("condition", "observed", "expected"),
    [
        (Condition.PROCESSES, {"exceeded_processes": True}, (State.RED, ["too-many-processes"])),
        (Condition.DISK, {"exceeded_disk": True}, (State.RED, ["too-much-disk"])),
        (Condition.DISK, {"bytes_written": 99_000_000}, (State.GREEN, [])),
        (Condition.DISK, {"bytes_written": 100_000_000}, (State.YELLOW, ["much-disk"])),
        (Condition.DISK, {"files_written": 1000}, (State.YELLOW, ["much-disk"])),
        (Condition.DISK, {"hid_files": True}, (State.YELLOW, ["hides-files"])),
    ],
)
def test_processes_and_files_are_compared_with_the_limits(
    condition: Condition, observed: dict[str, Any], expected: tuple[State, list[str]]
) -> None:
    assert outcome(result(condition, played(), played(**observed))) == expected


def test_a_program_that_never_played_has_no_times() -> None:
    assert result(Condition.START).state is State.NOT_CHECKED
    assert result(Condition.THINK_TIME, played(times=())).state is State.NOT_CHECKED
