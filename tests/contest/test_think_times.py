"""Think times, scaled to the processor of the contest."""

from __future__ import annotations

import dataclasses
import random

import pytest

from spielleiter.contest.observed_faults import ThinkTimes, judge_think_times
from spielleiter.programs.machine_delay import AnswerTimes

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
