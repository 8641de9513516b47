"""Think times are those of the instants given, in any order of events, and the limits are judged exactly."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spielleiter.server.core.clock import UNLIMITED, Arrival, MoveClock, StampSource, TimeLimits
from spielleiter.server.errors import ClockError

instants = st.floats(0, 1e6, allow_nan=False)
LIMITS = TimeLimits(2.0, 10.0)


@given(instants, instants)
def test_the_think_time_is_from_the_start_to_the_arrival_and_never_below_zero(start: float, arrival: float) -> None:
    clock = MoveClock(LIMITS)
    clock.start(start)
    assert clock.elapsed(arrival) == max(0.0, arrival - start)
    assert clock.stop(arrival) == max(0.0, arrival - start)
    assert clock.think_times == [max(0.0, arrival - start)]


@settings(max_examples=30)
@given(st.lists(st.tuples(instants, st.sampled_from(["stop", "abandon", "at once"])), max_size=20))
def test_it_counts_every_answered_request_once_and_stands_in_between(moves: list[tuple[float, str]]) -> None:
    clock = MoveClock(LIMITS)
    for think_time, end in moves:
        if end == "at once":
            assert clock.answer_at_once() == 0.0
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
def test_a_limit_is_passed_only_by_more_than_it(think_time: float, is_over_soft: bool, is_over_hard: bool) -> None:
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


def test_no_deadline_while_it_stands() -> None:
    clock = MoveClock(LIMITS)
    assert clock.hard_deadline is None
    assert clock.limits is LIMITS


def test_abandoning_a_clock_that_stands_does_nothing() -> None:
    clock = MoveClock(LIMITS)
    clock.abandon()
    clock.start(1.0)
    assert clock.stop(1.5) == 0.5


def test_using_it_wrongly_is_a_bug_of_ours() -> None:
    clock = MoveClock(LIMITS)
    with pytest.raises(ClockError, match="does not run"):
        clock.stop(1.0)
    with pytest.raises(ClockError, match="does not run"):
        clock.elapsed(1.0)
    clock.start(1.0)
    with pytest.raises(ClockError, match="runs already"):
        clock.start(2.0)
    assert clock.stop(3.0) == 2.0


def test_an_arrival_was_seen_by_our_own_clock_unless_the_kernel_saw_it() -> None:
    assert Arrival(1.0).source is StampSource.MONOTONIC
    assert [source.value for source in StampSource] == ["kernel", "monotonic"]
