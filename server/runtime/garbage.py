"""Python's garbage collector, kept out of the way of clocks.

Invariants: what the start has built is never looked at again; collections of the oldest generation, which take longest,
happen while no game is running, and otherwise hardly ever. Every pause is measured. What a game or a connection has
cost is free without any of them (tests/server/test_freed_memory.py); they are there for what nobody has thought of.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

import trio

QUIET_INTERVAL: Final = 10.0  # seconds between full collections while no game is running
BUSY_INTERVAL: Final = 600.0  # seconds after which one happens all the same
_is_frozen = False
_NEVER: Final = 1_000_000  # younger collections until an automatic full one


class PauseMeter:
    """The collector's pauses so far, in seconds: how many, all together, and the longest."""

    def __init__(self, now: Callable[[], float] = time.perf_counter) -> None:
        self.count = 0
        self.total = 0.0
        self.longest = 0.0
        self._now = now
        self._started = 0.0

    def __call__(self, phase: str, _info: dict[str, int]) -> None:
        """A callback of `gc.callbacks`."""
        if phase == "start":
            self._started = self._now()
            return
        pause = self._now() - self._started
        self.count += 1
        self.total += pause
        self.longest = max(self.longest, pause)


@contextmanager
def deferred_gc() -> Iterator[PauseMeter]:
    """Freeze what there is and stop automatic full collections; everything is as before afterwards.

    Within another one, and after `keep_frozen`, nothing more is frozen: it could not be told apart afterwards.
    """
    global _is_frozen  # noqa: PLW0603 - as the collector is one for the whole process
    thresholds = gc.get_threshold()
    meter = PauseMeter()
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
    """Freeze what there is, for good: for a process in which `deferred_gc` is only a small part."""
    global _is_frozen  # noqa: PLW0603
    gc.collect()
    gc.freeze()
    _is_frozen = True


async def collect_in_quiet(is_quiet: Callable[[], bool]) -> None:
    """Collect everything now and then, for ever: soon when it is quiet, late when it never is."""
    waited = 0.0
    while True:
        await trio.sleep(QUIET_INTERVAL)
        waited += QUIET_INTERVAL
        if is_quiet() or waited >= BUSY_INTERVAL:
            gc.collect()
            waited = 0.0
