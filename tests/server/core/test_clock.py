"""A move clock measures think times exactly; a token bucket limits bursts and the average rate."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spielleiter.server.core.clock import SHORTEST, MoveClock, TimeLimits, TokenBucket
from spielleiter.server.errors import ClockError

instants = st.floats(0, 1e6, allow_nan=False)
LIMITS = TimeLimits(2.0, 10.0)


@given(instants, instants)
def test_the_think_time_runs_from_the_start_to_the_arrival_and_is_never_0(start: float, arrival: float) -> None:
    clock = MoveClock(LIMITS)
    clock.start(start)
    think_time = max(SHORTEST, arrival - start)
    assert clock.stop(arrival) == think_time
    assert clock.record_instant_answer() == 0.0
    clock.start(start)
    clock.abandon()  # leaves no think time
    assert clock.think_times == [think_time, 0.0]
    assert not clock.is_running


@pytest.mark.parametrize(
    ("think_time", "is_over_soft", "is_over_hard"),
    [(2.0, False, False), (2.0001, True, False), (10.0, True, False), (10.0001, True, True)],
)
def test_a_think_time_equal_to_a_limit_is_within_it(think_time: float, is_over_soft: bool, is_over_hard: bool) -> None:
    clock = MoveClock(LIMITS)
    assert clock.is_over_soft_limit(think_time) == is_over_soft
    assert clock.is_over_hard_limit(think_time) == is_over_hard


def test_wrong_use_raises_clock_error() -> None:
    clock = MoveClock(LIMITS)
    assert (clock.soft_deadline, clock.hard_deadline) == (None, None)
    with pytest.raises(ClockError, match="is not running"):
        clock.stop(1.0)
    clock.start(1.0)
    with pytest.raises(ClockError, match="is already running"):
        clock.start(2.0)
    assert (clock.soft_deadline, clock.hard_deadline) == (3.0, 11.0)


def test_a_burst_is_free_and_anything_above_it_is_a_debt() -> None:
    bucket = TokenBucket(rate=2.0, burst=10.0)
    assert bucket.take(10.0, 0.0) == 0.0
    assert bucket.take(1.0, 0.0) == 0.5
    assert bucket.left(0.25) == -0.5
    assert bucket.take(0.0, 0.25) == 0.25
    assert bucket.left(1e6) == 10.0  # silence accumulates no more than a burst
    bucket.take(10.0, 1e6)
    assert bucket.take(2.0, 1e6) == pytest.approx(1.0)
