"""The conditions that are watched during games, from invented observations."""

from __future__ import annotations

from typing import Any

import pytest

from spielleiter.contest import contest_conditions as contest
from spielleiter.contest.calibration import Speed
from spielleiter.contest.contest_conditions import ContestCondition, fault
from spielleiter.contest.observed_faults import ObservedConditions
from spielleiter.contest.package_games import GameResult
from spielleiter.contest.package_report import ConditionResult, PlayedGame, State
from spielleiter.programs.machine_delay import AnswerTimes
from spielleiter.programs.packages.faults import Finding
from spielleiter.programs.sandbox.run import Observations
from spielleiter.programs.sandbox.sandbox import Condition
from tests.match.sample_records import game

MEBIBYTE = 2**20
SEEN: dict[str, Any] = {"sandbox": "bubblewrap", "peak_memory": 20 * MEBIBYTE, "network_attempts": 0}


def played(*findings: Finding, times: tuple[float, ...] = (0.1, 0.2), load: float = 0.0, **observed: Any) -> GameResult:
    """A game; other programs keep `load` processors busy while the program thinks for `times`."""
    record = game(1, think_times=(times, ()), cpu_seconds=(60.0, 0.0))
    shown = PlayedGame("upload-test", "game 1", "regular", "", (1, 2), len(times), 0.2, "games/0001", "")
    answers = tuple(AnswerTimes(each, each, others=load * each) for each in times)
    return GameResult(record, shown, findings, Observations(**{**SEEN, **observed}), False, answers)


def result(
    condition: ContestCondition,
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
    assert ObservedConditions(Speed(1.0, is_measured=True), {}).result(contest.OPTIONS) is None


@pytest.mark.parametrize(("seconds", "expected"), [(9.9, (State.GREEN, [])), (10.0, (State.YELLOW, ["slow-start"]))])
def test_a_slow_start_is_a_warning(seconds: float, expected: tuple[State, list[str]]) -> None:
    assert outcome(result(contest.START, starts=(0.1, seconds))) == expected


@pytest.mark.parametrize(
    ("speed", "expected"),
    [
        (1.0, (State.GREEN, [])),
        (1.5, (State.YELLOW, ["nearly-too-slow"])),
        (2.0, (State.RED, ["too-slow"])),
    ],
)
def test_think_times_are_scaled(speed: float, expected: tuple[State, list[str]]) -> None:
    found = result(contest.THINK_TIME, played(times=(0.1, 1.0, 1.0)), speed=speed)
    assert outcome(found) == expected
    assert "an estimate" in found.text


def test_a_busy_machine_never_makes_a_program_unfit() -> None:
    found = result(contest.THINK_TIME, played(times=(0.1, 1.0, 1.0), load=1.0), speed=2.0)
    assert outcome(found) == (State.UNDECIDED, [])
    assert "other programs of this machine" in found.text
    assert outcome(result(contest.THINK_TIME, played(times=(0.1, 1.0, 1.0), load=1.0))) == (State.GREEN, [])


def test_a_program_that_watches_the_clock_is_not_scaled() -> None:
    found = result(contest.THINK_TIME, played(times=(1.2,) * 10), speed=3.0)
    assert outcome(found) == (State.GREEN, [])
    assert "watch the clock" in found.text


def test_a_timeout_in_a_game_is_a_fault_of_think_time() -> None:
    late = fault("timeout", game="game 1", reason="2.1 s, allowed are 2 s")
    assert outcome(result(contest.THINK_TIME, played(late, times=(2.1,)))) == (State.RED, ["timeout"])


@pytest.mark.parametrize(
    ("peak", "expected"),
    [
        (1200 * MEBIBYTE, (State.GREEN, [])),
        (1300 * MEBIBYTE, (State.YELLOW, ["much-memory"])),
        (1537 * MEBIBYTE, (State.RED, ["too-much-memory"])),
    ],
)
def test_memory_is_compared_with_the_limit(peak: int, expected: tuple[State, list[str]]) -> None:
    assert outcome(result(contest.MEMORY, played(), played(peak_memory=peak))) == expected


def test_a_program_that_was_killed_had_too_much_memory() -> None:
    assert outcome(result(contest.MEMORY, played(exceeded_memory=True))) == (State.RED, ["too-much-memory"])


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        (4_000_000, (State.GREEN, [])),
        (5_000_000, (State.YELLOW, ["much-output"])),
        (50_000_000, (State.RED, ["endless-output"])),
    ],
)
def test_output_has_a_sensible_size(size: int, expected: tuple[State, list[str]]) -> None:
    assert outcome(result(contest.OUTPUT, played(), played(output_size=size))) == expected


def test_attempts_are_warnings_if_the_program_plays_on() -> None:
    game_with_attempts = played(network_attempts=3, window_attempts=("cannot open display",))
    assert outcome(result(contest.NETWORK, played(), game_with_attempts)) == (State.YELLOW, ["uses-network"])
    assert outcome(result(contest.WINDOW, played(), game_with_attempts)) == (State.YELLOW, ["opens-window"])


def test_attempts_are_red_if_the_program_fails_without() -> None:
    needy = played(fault("needs-network", reason="x"), network_attempts=3)
    shown = played(fault("needs-window", reason="x"), window_attempts=("cannot open display",))
    assert outcome(result(contest.NETWORK, needy)) == (State.RED, ["needs-network"])
    assert outcome(result(contest.WINDOW, shown)) == (State.RED, ["needs-window"])


def test_an_end_that_fails_is_counted() -> None:
    late = fault("does-not-end", game="game 1", reason="x")
    found = result(contest.END, played(late), played())
    assert outcome(found) == (State.RED, ["does-not-end"])
    assert "in 1 of 2 games" in found.text


def test_a_program_that_never_reaches_the_end_has_none() -> None:
    crashed = played(fault("crash", game="game 1", reason="x"))
    assert result(contest.END, crashed).state is State.NOT_CHECKED
    assert "in 1 of 1 game" in result(contest.END, crashed, played()).text


def test_input_and_disk_are_those_of_the_games() -> None:
    failing = played(fault("needs-input", reason="x"), fault("writes-elsewhere", reason="y"))
    assert outcome(result(contest.INPUT, failing)) == (State.RED, ["needs-input"])
    assert outcome(result(contest.DISK, failing)) == (State.RED, ["writes-elsewhere"])
    assert outcome(result(contest.INPUT, played())) == (State.GREEN, [])
    assert "2 files with 3 kB" in result(contest.DISK, played(files_written=2, bytes_written=3072)).text


@pytest.mark.parametrize(
    ("condition", "gap", "observed"),
    [
        (contest.NETWORK, Condition.NETWORK, {"network_attempts": None}),
        (contest.WINDOW, Condition.DISPLAY, {}),
        (contest.DISK, Condition.READ_ONLY, {}),
    ],
)
def test_a_gap_of_the_sandbox_is_named(condition: ContestCondition, gap: Condition, observed: dict[str, Any]) -> None:
    found = result(condition, played(**observed), gaps={gap: "There is no sandbox."})
    assert (found.state, found.text) == (State.NOT_CHECKED, "There is no sandbox.")


@pytest.mark.parametrize(
    ("condition", "gap", "observed", "code"),
    [
        (contest.MEMORY, Condition.MEMORY, {"peak_memory": None}, "memory-not-limited"),
        (contest.MEMORY, Condition.MEMORY, {}, "memory-not-limited"),
        (contest.PROCESSES, Condition.PROCESSES, {}, "processes-not-limited"),
        (contest.DISK, Condition.DISK, {}, "disk-not-limited"),
    ],
)
def test_what_could_not_be_limited_is_never_green(
    condition: ContestCondition, gap: Condition, observed: dict[str, Any], code: str
) -> None:
    assert outcome(result(condition, played())) == (State.GREEN, [])
    found = result(condition, played(**observed), gaps={gap: "There is no sandbox."})
    assert outcome(found) == (State.YELLOW, [code])
    assert "There is no sandbox" in found.findings[0].text


@pytest.mark.parametrize(
    ("condition", "observed", "expected"),
    [
        (contest.PROCESSES, {"exceeded_processes": True}, (State.RED, ["too-many-processes"])),
        (contest.DISK, {"exceeded_disk": True}, (State.RED, ["too-much-disk"])),
        (contest.DISK, {"bytes_written": 99_000_000}, (State.GREEN, [])),
        (contest.DISK, {"bytes_written": 100_000_000}, (State.YELLOW, ["much-disk"])),
        (contest.DISK, {"files_written": 1000}, (State.YELLOW, ["much-disk"])),
        (contest.DISK, {"hid_files": True}, (State.YELLOW, ["hides-files"])),
    ],
)
def test_processes_and_files_are_compared_with_the_limits(
    condition: ContestCondition, observed: dict[str, Any], expected: tuple[State, list[str]]
) -> None:
    assert outcome(result(condition, played(), played(**observed))) == expected


def test_a_program_that_never_played_has_no_times() -> None:
    assert result(contest.START).state is State.NOT_CHECKED
    assert result(contest.THINK_TIME, played(times=())).state is State.NOT_CHECKED
