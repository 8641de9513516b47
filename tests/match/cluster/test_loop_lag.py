"""The lag of the event loop, on a virtual clock."""

from __future__ import annotations

import trio
import trio.testing

from spielleiter.match.cluster.loop_lag import INTERVAL, MEMORY, LoopLag


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
