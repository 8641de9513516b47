"""Timers: callbacks at given instants, all called by one task.

Invariants: the callback of a timer is called once, not before its deadline, with the present time. A cancelled timer is
never called and keeps no object alive. If several timers are due, other tasks run between two of them, since a timer
may end a game, which takes milliseconds. Callbacks are plain functions that do not block. An exception of a callback is
reported as a bug; the other timers are still called.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from math import inf
from typing import Final

import trio

SWEEP_FROM: Final = 64
"""With fewer timers than this, cancelled ones stay in the heap until their deadline."""


class ScheduledTimer:
    """A timer that was set by `Timers`; `cancel` may be called at any time, also after the call."""

    __slots__ = ("callback",)

    def __init__(self, callback: Callable[[float], None]) -> None:
        self.callback: Callable[[float], None] | None = callback

    def cancel(self) -> None:
        """Prevent the call, and drop the reference to the callback."""
        self.callback = None


class Timers:
    """A heap of timers, and the task that calls them (`run`). `on_bug` is called with what callbacks raise."""

    def __init__(self, on_bug: Callable[[Exception], None]) -> None:
        self._on_bug = on_bug
        self._heap: list[tuple[float, int, ScheduledTimer]] = []
        """The timers with their deadline and their number, which tuples compare faster than a method would."""
        self._sweep_at = SWEEP_FROM
        self._count = 0
        self._scope = trio.CancelScope()

    def __len__(self) -> int:
        """The number of timers in the heap, including cancelled ones."""
        return len(self._heap)

    def call_at(self, deadline: float, callback: Callable[[float], None]) -> ScheduledTimer:
        """Call `callback(now)` once trio's clock has reached `deadline`; `deadline` and `now` are its seconds."""
        if len(self._heap) >= self._sweep_at:
            # remove cancelled timers: every move leaves one, and a time limit may be hours
            self._heap = [entry for entry in self._heap if entry[2].callback is not None]
            heapq.heapify(self._heap)
            self._sweep_at = max(SWEEP_FROM, 2 * len(self._heap))
        self._count += 1
        timer = ScheduledTimer(callback)
        heapq.heappush(self._heap, (deadline, self._count, timer))
        if self._heap[0][2] is timer:
            self._scope.deadline = deadline  # wakes the task if it sleeps until a later deadline
        return timer

    def call_after(self, delay: float, callback: Callable[[float], None]) -> ScheduledTimer:
        """Call `callback(now)` in `delay` seconds."""
        return self.call_at(trio.current_time() + delay, callback)

    async def run(self) -> None:
        """Call timers when they are due; runs until it is cancelled."""
        while True:
            with trio.CancelScope() as self._scope:
                self._scope.deadline = self._next_deadline()
                await trio.sleep_forever()
            while self._call_next(trio.current_time()):
                await trio.lowlevel.checkpoint()

    def _call_next(self, now: float) -> bool:
        """Call the first timer if it is due; return whether it was."""
        if self._next_deadline() > now:
            return False
        timer = heapq.heappop(self._heap)[2]
        callback, timer.callback = timer.callback, None
        assert callback is not None
        try:
            callback(now)
        except Exception as error:
            self._on_bug(error)
        return True

    def _next_deadline(self) -> float:
        """Return the deadline of the first timer that is not cancelled; infinite if there is none."""
        heap = self._heap
        while heap and heap[0][2].callback is None:
            heapq.heappop(heap)
        return heap[0][0] if heap else inf
