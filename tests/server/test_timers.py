"""Timers are called once, in order and not too early; cancelled ones are never called."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import trio
from hypothesis import given, settings
from hypothesis import strategies as st
from trio.testing import MockClock

from spielleiter.server.timers import SWEEP_FROM, ScheduledTimer, Timers


def raise_error(error: Exception) -> None:
    raise error


@asynccontextmanager
async def running(on_bug: Callable[[Exception], None] = raise_error) -> AsyncIterator[Timers]:
    timers = Timers(on_bug)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(timers.run)
        yield timers
        nursery.cancel_scope.cancel()


@settings(max_examples=20)
@given(
    st.lists(
        st.tuples(
            st.integers(0, 50),  # seconds after which it is set
            st.integers(-5, 50),  # seconds from then to its deadline
            st.one_of(st.none(), st.integers(0, 60)),  # seconds from setting to cancelling
        ),
        max_size=30,
    )
)
def test_every_timer_is_called_once_at_its_deadline_and_in_order(plan: list[tuple[int, int, int | None]]) -> None:
    called: list[tuple[int, float]] = []

    async def set_and_cancel(timers: Timers, number: int) -> None:
        after, delay, cancelled_after = plan[number]
        await trio.sleep(after)
        timer = timers.call_after(delay, lambda now: called.append((number, now)))
        if cancelled_after is not None:
            await trio.sleep(cancelled_after + 0.5)
            timer.cancel()

    async def main() -> None:
        async with running() as timers, trio.open_nursery() as nursery:
            for number in range(len(plan)):
                nursery.start_soon(set_and_cancel, timers, number)
            await trio.sleep(200)

    trio.run(main, clock=MockClock(autojump_threshold=0))
    due = {
        number: float(after + max(0, delay))
        for number, (after, delay, cancelled_after) in enumerate(plan)
        if cancelled_after is None or max(0, delay) <= cancelled_after
    }
    assert dict(called) == due
    assert len(called) == len(due)
    assert [now for _, now in called] == sorted(due.values())


async def test_a_callback_may_set_and_cancel_others(autojump_clock: MockClock) -> None:
    called: list[str] = []
    async with running() as timers:
        timers.call_at(50.0, lambda _: called.append("far away"))
        await trio.testing.wait_all_tasks_blocked()  # now the task sleeps until then
        later = timers.call_at(2.0, lambda _: called.append("cancelled"))

        def first(now: float) -> None:
            called.append("first")
            later.cancel()
            later.cancel()
            timers.call_at(now, lambda _: called.append("at once"))
            timers.call_after(5.0, lambda _: called.append("later"))

        timers.call_at(1.0, first)
        await trio.sleep(3)
        assert called == ["first", "at once"]
        await trio.sleep(4)
    assert called == ["first", "at once", "later"]


async def test_a_callback_that_raises_is_reported_and_the_others_are_called(autojump_clock: MockClock) -> None:
    bugs: list[Exception] = []
    called: list[float] = []
    error = RuntimeError("a bug")
    async with running(bugs.append) as timers:
        timers.call_at(1.0, called.append)
        timers.call_at(1.0, lambda _: raise_error(error))
        timers.call_at(1.0, called.append)
        timers.call_at(2.0, called.append)
        await trio.sleep(3)
    assert called == [1.0, 1.0, 2.0]
    assert bugs == [error]


@settings(max_examples=20)
@given(st.lists(st.booleans(), min_size=1, max_size=400))
def test_cancelled_timers_do_not_pile_up_however_far_their_deadlines(are_kept: list[bool]) -> None:
    """Every move leaves a cancelled timer, and a time limit may be hours."""
    timers = Timers(raise_error)
    pending: list[ScheduledTimer] = []
    for is_kept in are_kept:
        timer = timers.call_at(1e9, lambda _: None)
        if is_kept:
            pending.append(timer)
        else:
            timer.cancel()
        assert len(timers) <= max(SWEEP_FROM, 2 * len(pending)) + 1


async def test_other_tasks_run_between_two_timers(autojump_clock: object) -> None:
    called: list[str] = []

    async def take_turns() -> None:
        await trio.sleep(1.0)
        for _ in range(10):
            called.append("a turn")
            await trio.lowlevel.checkpoint()

    async with running() as timers, trio.open_nursery() as nursery:
        for _ in range(10):
            timers.call_after(1.0, lambda _now: called.append("a timer"))
        nursery.start_soon(take_turns)
        await trio.sleep(2.0)
    turns = [number for number, what in enumerate(called) if what == "a turn"]
    assert turns[5] < 14
    assert called.count("a timer") == 10
