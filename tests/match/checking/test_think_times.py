"""Think times, scaled to the processor of the contest."""

from __future__ import annotations

import pytest

from spielleiter.match.checking.think_times import GameTimes, ThinkTimes, judge_think_times

THINKS_DIFFERENTLY = [0.01, 0.2, 0.35, 0.5, 0.7, 0.75, 0.8, 0.9, 1.0]
STOPS_AT_ITS_OWN_LIMIT = [0.01, 1.2, *[1.79] * 10, 1.8]


def judge(times: list[float], speed: float, processor: float = 60.0) -> ThinkTimes:
    return judge_think_times([GameTimes(times, processor)], speed)


@pytest.mark.parametrize(
    ("speed", "expected", "is_close", "is_too_slow"),
    [(1.0, 1.0, False, False), (1.5, 1.5, True, False), (1.9, 1.9, True, False), (2.0, 2.0, False, True)],
)
def test_times_are_scaled(speed: float, expected: float, is_close: bool, is_too_slow: bool) -> None:
    judged = judge(THINKS_DIFFERENTLY, speed)
    assert judged == ThinkTimes(9, 1.0, expected, watches_clock=False)
    assert (judged.is_close, judged.is_too_slow) == (is_close, is_too_slow)


def test_a_program_that_watches_the_clock_takes_no_longer_on_a_slower_processor() -> None:
    judged = judge(STOPS_AT_ITS_OWN_LIMIT, 2.0)
    assert judged == ThinkTimes(13, 1.8, 1.8, watches_clock=True)
    assert judged.is_close


def test_a_few_equal_times_are_no_limit_of_a_program() -> None:
    assert not judge([1.0] * 4, 1.0).watches_clock
    assert not judge([1.0] * 5 + [0.2] * 30, 1.0).watches_clock


def test_equal_times_of_a_quick_program_are_no_limit() -> None:
    assert not judge([0.001] * 50, 1.0).watches_clock


def test_a_program_that_never_answered_has_no_times() -> None:
    assert judge([], 2.0) == ThinkTimes(0, 0.0, 0.0, watches_clock=False)


def test_only_processor_time_is_scaled() -> None:
    """A program that sleeps, or that had to wait for a busy machine, takes no longer on a slower processor."""
    assert judge(THINKS_DIFFERENTLY, 3.0, processor=0.1).expected == pytest.approx(0.3 + 0.9)


def test_each_game_is_scaled_by_its_own_processor_time() -> None:
    idle, busy = GameTimes([0.2, 1.0], 0.0), GameTimes([0.2, 0.4], 5.0)
    assert judge_think_times([idle, busy], 2.0) == ThinkTimes(4, 1.0, 1.0, watches_clock=False)
    assert judge_think_times([idle, busy], 3.0).expected == pytest.approx(1.2)
