"""Measuring the time for which programs wait for a processor."""

from __future__ import annotations

import os
from collections.abc import Iterable

import pytest

from spielleiter.contest.scripted_server import Stopwatch
from spielleiter.programs.processes import Usage

SECOND = 1_000_000_000
BOT, LATER = 77, 78


@pytest.fixture
def wait_times(monkeypatch: pytest.MonkeyPatch) -> dict[int, int]:
    """Nanoseconds that each process has waited for a processor so far."""
    so_far = {os.getpid(): 5 * SECOND, BOT: 7 * SECOND}

    def usage_of(pids: Iterable[int]) -> Usage:
        return Usage({pid: (0, so_far[pid]) for pid in pids if pid in so_far})

    monkeypatch.setattr(Usage, "of", usage_of)
    return so_far


async def test_waiting_time_counts_from_the_start(wait_times: dict[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr("trio.current_time", lambda: now)
    stopwatch = Stopwatch([BOT])
    now += 10
    assert (stopwatch.seconds, stopwatch.seconds_lost()) == (10.0, 0.0)
    wait_times[BOT] += 2 * SECOND
    wait_times[os.getpid()] += SECOND
    assert stopwatch.seconds_lost() == pytest.approx(3.0)
    wait_times[LATER] = 4 * SECOND
    assert stopwatch.seconds_lost([LATER]) == pytest.approx(5.0)
    wait_times[BOT] += 50 * SECOND  # never more than the elapsed time
    assert stopwatch.seconds_lost() == pytest.approx(10.0)
