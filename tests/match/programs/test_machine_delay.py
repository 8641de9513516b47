"""Delays of an answer for which the machine is responsible."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
import trio

from spielleiter.match.programs.machine_delay import GRACE, SchedulingDelayMeter
from spielleiter.match.programs.processes import Usage


class WaitingProgram:
    """A program whose only thread waits for a processor for `share` of the time."""

    def __init__(self, pid: int, share: float) -> None:
        self.pids = (pid,)
        self.share = share


@pytest.fixture
def usages(monkeypatch: pytest.MonkeyPatch) -> dict[int, float]:
    """The share of the time that each process waits for a processor, by process id."""
    shares: dict[int, float] = {}

    def sample(pids: Iterable[int]) -> Usage:
        return Usage({pid: (0, int(shares[pid] * trio.current_time() * 1e9)) for pid in pids})

    monkeypatch.setattr(Usage, "of", sample)
    return shares


async def test_only_waiting_since_the_request_counts(usages: dict[int, float], autojump_clock: object) -> None:
    usages.update({7: 0.5, 8: 0.0})
    meter = SchedulingDelayMeter(cores=1)
    assert meter.seconds_waiting(0, 1.0) == 0.0
    async with trio.open_nursery() as nursery:
        nursery.start_soon(meter.run, [WaitingProgram(7, 0.5), WaitingProgram(8, 0.0)])
        await trio.sleep(5)
        meter.start_request()
        await trio.sleep(2)
        assert meter.seconds_waiting(0, 2.0) == pytest.approx((2.0 - GRACE) / 2)
        assert meter.seconds_waiting(1, 2.0) == 0.0
        meter.start_request()
        assert meter.seconds_waiting(0, 2.0) == 0.0  # nothing is known of the new request yet
        await trio.sleep(1)
        assert meter.seconds_waiting(0, 1.0) == pytest.approx((1.0 - GRACE) / 2)
        nursery.cancel_scope.cancel()


async def test_a_request_before_the_measuring_begins_is_measured(
    usages: dict[int, float], autojump_clock: object
) -> None:
    usages.update({7: 0.5})
    meter = SchedulingDelayMeter(cores=1)
    meter.start_request()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(meter.run, [WaitingProgram(7, 0.5), None])
        await trio.sleep(1)
        assert meter.seconds_waiting(0, 1.0) == pytest.approx((1.0 - GRACE) / 2)
        nursery.cancel_scope.cancel()
