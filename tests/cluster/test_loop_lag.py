"""The lag of the event loop, on a virtual clock."""

from __future__ import annotations

import trio
import trio.testing

from spielleiter.cluster.loop_lag import INTERVAL, MAX_LAG, MEMORY, PATIENCE, LoopLag


async def test_a_lag_is_remembered_for_a_while(autojump_clock: trio.testing.MockClock) -> None:
    lag = LoopLag()
    assert lag.largest(trio.current_time()) == 0
    async with trio.open_nursery() as nursery:
        nursery.start_soon(lag.run)
        await trio.sleep(10 * INTERVAL)
        assert lag.largest(trio.current_time()) == 0
        autojump_clock.jump(INTERVAL + 0.7)  # nothing ran in this time
        await trio.testing.wait_all_tasks_blocked()
        assert 0.69 < lag.largest(trio.current_time()) < 0.71 + INTERVAL
        await trio.sleep(MEMORY + INTERVAL)
        assert lag.largest(trio.current_time()) == 0
        nursery.cancel_scope.cancel()


async def test_a_single_lag_is_waited_for(autojump_clock: object) -> None:
    lag, started = LoopLag(), trio.current_time()
    assert await lag.catch_up() == 0
    lag.add(trio.current_time(), 5.0)
    assert await lag.catch_up() == 0
    assert MEMORY <= trio.current_time() - started < PATIENCE


async def test_a_lag_that_goes_on_is_reported(autojump_clock: object) -> None:
    lag = LoopLag()

    async def be_late() -> None:
        while True:
            lag.add(trio.current_time(), MAX_LAG + 0.1)
            await trio.sleep(1)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(be_late)
        await trio.testing.wait_all_tasks_blocked()
        started = trio.current_time()
        assert await lag.catch_up() == MAX_LAG + 0.1
        assert trio.current_time() - started < PATIENCE + 2 * INTERVAL
        nursery.cancel_scope.cancel()
