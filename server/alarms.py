"""Things to do at an instant: one task for all of them, however many there are.

Invariants: an alarm is called once, not before its deadline, with the instant at which it was called; a cancelled one
never, and it keeps nothing alive. However many are due at once, everybody else has a turn between two of them: an alarm
may end a game, which takes milliseconds. Callbacks are plain functions that do not wait; one that raises has a bug,
which is reported and keeps no other from being called.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from math import inf
from typing import Final

import trio

SWEEP_FROM: Final = 64
"""As long as there are fewer alarms, the cancelled ones among them are left until their time comes."""


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
        self.callback = None


class Alarms:
    """A heap of alarms and the task that calls them (`run`). `on_bug` is handed what callbacks raise."""

    def __init__(self, on_bug: Callable[[Exception], None]) -> None:
        self._on_bug = on_bug
        self._heap: list[ScheduledAlarm] = []
        self._sweep_at = SWEEP_FROM
        self._count = 0
        self._scope = trio.CancelScope()

    def __len__(self) -> int:
        """How many alarms are kept, cancelled ones included."""
        return len(self._heap)

    def call_at(self, deadline: float, callback: Callable[[float], None]) -> ScheduledAlarm:
        """Call `callback(now)` as soon as trio's clock has passed `deadline` (seconds)."""
        if len(self._heap) >= self._sweep_at:
            self._sweep()
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
            while self._call_next(trio.current_time()):
                await trio.lowlevel.checkpoint()

    def _call_next(self, now: float) -> bool:
        """Call the first alarm that is due; whether there was one."""
        if self._next_deadline() > now:
            return False
        alarm = heapq.heappop(self._heap)
        callback, alarm.callback = alarm.callback, None
        assert callback is not None
        try:
            callback(now)
        except Exception as error:
            self._on_bug(error)
        return True

    def _sweep(self) -> None:
        """Forget the cancelled ones: every move leaves one, and a limit may be hours."""
        self._heap = [alarm for alarm in self._heap if alarm.callback is not None]
        heapq.heapify(self._heap)
        self._sweep_at = max(SWEEP_FROM, 2 * len(self._heap))

    def _next_deadline(self) -> float:
        heap = self._heap
        while heap and heap[0].callback is None:
            heapq.heappop(heap)
        return heap[0].deadline if heap else inf
