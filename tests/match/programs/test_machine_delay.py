from __future__ import annotations

from collections.abc import Iterable

import pytest
import trio

from spielleiter.match.programs.machine_delay import INTERVAL, WaitingMeter
from spielleiter.match.programs.processes import Usage


class Waits:
    """A program whose only thread waits for a processor for `share` of all time."""

    def __init__(self, pid: int, share: float) -> None:
        self.pids = (pid,)
        self.share = share


@pytest.fixture
def usages(monkeypatch: pytest.MonkeyPatch) -> dict[int, float]:
    shares: dict[int, float] = {}

    def look(pids: Iterable[int]) -> Usage:
        return Usage({pid: (0, int(shares[pid] * trio.current_time() * 1e9)) for pid in pids})

    monkeypatch.setattr(Usage, "of", look)
    return shares


async def test_waiting_counts_from_the_request_on(usages: dict[int, float], autojump_clock: object) -> None:
    usages.update({7: 0.5, 8: 0.0})
    meter = WaitingMeter(cores=1)
    assert meter.seconds_waiting(0, 1.0) == 0.0
    async with trio.open_nursery() as nursery:
        nursery.start_soon(meter.run, [Waits(7, 0.5), Waits(8, 0.0)])
        await trio.sleep(5)
        meter.mark()
        await trio.sleep(2)
        assert 1.0 <= meter.seconds_waiting(0, 2.0) <= 1.0 + INTERVAL
        assert meter.seconds_waiting(1, 2.0) == 0.0
        nursery.cancel_scope.cancel()


async def test_a_loop_that_is_late_keeps_everybody_waiting(
    usages: dict[int, float], monkeypatch: pytest.MonkeyPatch, autojump_clock: object
) -> None:
    usages.update({7: 0.0})
    meter = WaitingMeter(cores=1)
    sleep_until = trio.sleep_until

    async def oversleep(deadline: float) -> None:
        await sleep_until(deadline + 0.5)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(meter.run, [Waits(7, 0.0), None])
        await trio.sleep(1)
        meter.mark()
        assert meter.seconds_waiting(0, 1.0) == 0.0
        monkeypatch.setattr(trio, "sleep_until", oversleep)
        await trio.sleep(2)
        assert meter.seconds_waiting(0, 2.0) >= 1.0
        assert meter.seconds_waiting(1, 0.2) == 0.2
        nursery.cancel_scope.cancel()
