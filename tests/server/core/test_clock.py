"""A move clock measures think times exactly; a token bucket limits bursts and the average rate."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spielleiter.server.core.clock import SHORTEST, START_TOLERANCE, UNLIMITED, MoveClock, TimeLimits, TokenBucket
from spielleiter.server.errors import ClockError

instants = st.floats(0, 1e6, allow_nan=False)
LIMITS = TimeLimits(2.0, 10.0)


@given(instants, instants)
def test_the_think_time_runs_from_the_start_to_the_arrival_and_is_never_0(start: float, arrival: float) -> None:
    clock = MoveClock(LIMITS)
    clock.start(start)
    think_time = max(SHORTEST, arrival - start)
    assert clock.elapsed(arrival) == think_time
    assert clock.stop(arrival) == think_time
    assert clock.think_times == [think_time]


@pytest.mark.parametrize(
    ("at", "precedes"),
    [(9.0, True), (10 - 2 * START_TOLERANCE, True), (10 - START_TOLERANCE / 2, False), (10.0, False), (11.0, False)],
)
def test_an_arrival_before_the_start_is_told_from_a_quick_answer(at: float, precedes: bool) -> None:
    clock = MoveClock(LIMITS)
    assert not clock.precedes_start(at)
    clock.start(10.0)
    assert clock.precedes_start(at) is precedes


@settings(max_examples=30)
@given(st.lists(st.tuples(instants, st.sampled_from(["stop", "abandon", "instant"])), max_size=20))
def test_every_answered_request_has_one_think_time_and_the_clock_stops_in_between(
    moves: list[tuple[float, str]],
) -> None:
    clock = MoveClock(LIMITS)
    for think_time, end in moves:
        if end == "instant":
            assert clock.record_instant_answer() == 0.0
            continue
        clock.start(7.0)
        assert clock.hard_deadline == 17.0
        if end == "stop":
            clock.stop(7.0 + think_time)
        else:
            clock.abandon()
        assert not clock.is_running
    assert len(clock.think_times) == sum(end != "abandon" for _, end in moves)


@pytest.mark.parametrize(
    ("think_time", "is_over_soft", "is_over_hard"),
    [(0.0, False, False), (2.0, False, False), (2.0001, True, False), (10.0, True, False), (10.0001, True, True)],
)
def test_a_think_time_equal_to_a_limit_is_within_it(think_time: float, is_over_soft: bool, is_over_hard: bool) -> None:
    clock = MoveClock(LIMITS)
    assert clock.is_over_soft_limit(think_time) == is_over_soft
    assert clock.is_over_hard_limit(think_time) == is_over_hard


@given(instants)
def test_without_limits_nothing_is_too_slow_and_there_is_no_deadline(think_time: float) -> None:
    clock = MoveClock(UNLIMITED)
    clock.start(0.0)
    assert clock.hard_deadline is None
    assert not clock.is_over_soft_limit(think_time)
    assert not clock.is_over_hard_limit(think_time)


def test_a_stopped_clock_has_no_deadline() -> None:
    clock = MoveClock(LIMITS)
    assert clock.hard_deadline is None
    assert clock.limits is LIMITS


def test_abandoning_a_stopped_clock_does_nothing() -> None:
    clock = MoveClock(LIMITS)
    clock.abandon()
    clock.start(1.0)
    assert clock.stop(1.5) == 0.5


def test_wrong_use_raises_clock_error() -> None:
    clock = MoveClock(LIMITS)
    with pytest.raises(ClockError, match="is not running"):
        clock.stop(1.0)
    with pytest.raises(ClockError, match="is not running"):
        clock.elapsed(1.0)
    clock.start(1.0)
    with pytest.raises(ClockError, match="is already running"):
        clock.start(2.0)
    assert clock.stop(3.0) == 2.0


def test_a_burst_is_free_and_anything_above_it_has_a_delay() -> None:
    bucket = TokenBucket(rate=2.0, burst=10.0)
    assert bucket.take(10.0, 0.0) == 0.0
    assert bucket.take(1.0, 0.0) == 0.5
    assert bucket.take(0.0, 0.25) == 0.25
    assert bucket.take(0.0, 0.5) == 0.0


def test_silence_accumulates_no_more_than_a_burst() -> None:
    bucket = TokenBucket(rate=2.0, burst=10.0)
    bucket.take(10.0, 0.0)
    assert bucket.take(10.0, 1e6) == 0.0
    assert bucket.take(2.0, 1e6) == pytest.approx(1.0)


def test_the_remaining_amount_grows_up_to_the_burst_and_may_be_negative() -> None:
    bucket = TokenBucket(rate=2.0, burst=10.0)
    bucket.take(13.0, 0.0)
    assert (bucket.left(0.0), bucket.left(2.0), bucket.left(100.0)) == (-3.0, 1.0, 10.0)
