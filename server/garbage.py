"""Schedules Python's garbage collector so that its pauses do not fall into players' think times.

Invariants: objects that exist after the start are frozen, so the collector never examines them. Collections of the
oldest generation, which take longest, run while no game is running, and otherwise very rarely. Every pause is measured.
The memory of games and connections is freed by reference counts alone (`tests/server/test_freed_memory.py`); the
collector is needed for unexpected cycles only.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

import trio

QUIET_INTERVAL: Final = 10.0  # seconds between full collections while no game is running
BUSY_INTERVAL: Final = 600.0  # seconds between full collections while games are running
_is_frozen = False
_NEVER: Final = 1_000_000  # collections of the younger generation before an automatic full one


class PauseMeter:
    """Measures the collector's pauses: their number, their sum and the longest one, in seconds."""

    def __init__(self, now: Callable[[], float] = time.perf_counter) -> None:
        self.count = 0
        self.total = 0.0
        self.longest = 0.0
        self._now = now
        self._started = 0.0

    def __call__(self, phase: str, _info: dict[str, int]) -> None:
        """Measure a pause; a callback for `gc.callbacks`."""
        if phase == "start":
            self._started = self._now()
            return
        pause = self._now() - self._started
        self.count += 1
        self.total += pause
        self.longest = max(self.longest, pause)


@contextmanager
def deferred_gc(meter: PauseMeter | None = None) -> Iterator[PauseMeter]:
    """Freeze all existing objects and stop automatic full collections inside the block.

    Gives the meter of pauses: `meter`, or a new one.

    At the end, everything is restored. Inside another such block, and after `keep_frozen`, no objects are frozen,
    because `gc.unfreeze` could not distinguish them from those that have to stay frozen.
    """
    global _is_frozen  # noqa: PLW0603 - a process has one collector
    thresholds = gc.get_threshold()
    meter = meter or PauseMeter()
    freezes = not _is_frozen
    gc.collect()
    if freezes:
        gc.freeze()
        _is_frozen = True
    gc.set_threshold(thresholds[0], thresholds[1], _NEVER)
    gc.callbacks.append(meter)
    try:
        yield meter
    finally:
        gc.callbacks.remove(meter)
        gc.set_threshold(*thresholds)
        if freezes:
            gc.unfreeze()
            _is_frozen = False


def keep_frozen() -> None:
    """Freeze all existing objects permanently; for a process that uses `deferred_gc` many times, such as a test run."""
    global _is_frozen  # noqa: PLW0603
    gc.collect()
    gc.freeze()
    _is_frozen = True


async def collect_in_quiet(is_quiet: Callable[[], bool]) -> None:
    """Run full collections until it is cancelled.

    `is_quiet` returns whether no game is running. It is called every QUIET_INTERVAL seconds, and if it returns True,
    there is a collection. While games are running, there is one every BUSY_INTERVAL seconds.
    """
    waited = 0.0
    while True:
        await trio.sleep(QUIET_INTERVAL)
        waited += QUIET_INTERVAL
        if is_quiet() or waited >= BUSY_INTERVAL:
            gc.collect()
            waited = 0.0
