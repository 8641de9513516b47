"""Things to do at an instant: one task for all of them, however many there are.

Law: an alarm is called once, not before its deadline, with the instant at which it was called; a cancelled one never.
Callbacks are plain functions that return at once and do not raise.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from math import inf

import trio


class ScheduledAlarm:
    """One thing to do; `cancel` may be called at any time, also afterwards."""

    __slots__ = ("callback", "deadline", "number")

    def __init__(self, deadline: float, number: int, callback: Callable[[float], None]) -> None:
        self.deadline = deadline
        self.number = number
        self.callback: Callable[[float], None] | None = callback

    def __lt__(self, other: ScheduledAlarm) -> bool:
        return (self.deadline, self.number) < (other.deadline, other.number)

    def cancel(self) -> None:
        self.callback = None  # the heap forgets the rest when its time comes; nothing else is kept alive by it


class Alarms:
    """A heap of alarms and the task that calls them (`run`)."""

    def __init__(self) -> None:
        self._heap: list[ScheduledAlarm] = []
        self._count = 0
        self._scope = trio.CancelScope()

    def call_at(self, deadline: float, callback: Callable[[float], None]) -> ScheduledAlarm:
        """Call `callback(now)` as soon as trio's clock has passed `deadline` (seconds)."""
        self._count += 1
        alarm = ScheduledAlarm(deadline, self._count, callback)
        heapq.heappush(self._heap, alarm)
        if self._heap[0] is alarm:
            self._scope.deadline = deadline  # wakes the task if it sleeps for something later
        return alarm

    def call_after(self, delay: float, callback: Callable[[float], None]) -> ScheduledAlarm:
        """Call `callback(now)` in `delay` seconds."""
        return self.call_at(trio.current_time() + delay, callback)

    async def run(self) -> None:
        """Call alarms for ever."""
        while True:
            with trio.CancelScope() as self._scope:
                self._scope.deadline = self._next_deadline()
                await trio.sleep_forever()
            now = trio.current_time()
            while self._heap and self._heap[0].deadline <= now:
                callback = heapq.heappop(self._heap).callback
                if callback is not None:
                    callback(now)

    def _next_deadline(self) -> float:
        heap = self._heap
        while heap and heap[0].callback is None:
            heapq.heappop(heap)
        return heap[0].deadline if heap else inf
