"""Decides in which order connections are served, so that players do not have to wait.

Invariants: each turn of the queue admits one task, in the order of arrival. It admits more tasks if players got many
answers in the last turn, but no more than are expected to take half the time of those answers. Between two turns, every
other task that is ready has run. Suspects, which were refused something lately or have used a lot of processor time,
wait in a queue of their own; only its first one waits in the main queue, so a newcomer does not wait behind a flood.

While players are being answered, the tasks that are admitted here use no more than `share` of a processor together, and
suspects no more than a part of that. So a player that becomes ready usually finds the server idle, however many others
connect at the same time. The cost that cannot be measured for each connection (tasks, sockets, closing) is added in
proportion to the measured one. While nobody plays there is no such bound, and a busy server still starts new games.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Final

import trio

from spielleiter.server.core.clock import TokenBucket

ANSWERS_PER_ADMISSION: Final = 2  # answers to players in one turn that allow one admission in the next
BURST: Final = 0.05  # seconds of processor time that may be used before the share applies
SUSPECTS_SHARE: Final = 0.2  # the part of `share` that all suspects together may use
RECENT_PLAY: Final = 1.0  # seconds after an answer to a player in which another one is expected
SMOOTHING: Final = 1 / 16  # the weight of the last packet in the expected cost of the next one
OVERHEAD_INTERVAL: Final = 0.005  # seconds of measured use after which the overhead is measured again
MAX_OVERHEAD: Final = 8.0
OVERHEAD_SMOOTHING: Final = 1 / 8  # the weight of the last measurement


class FairQueue:
    """Admits waiting tasks one by one.

    `share` is the part of one processor that all admitted tasks together may use while others play. `processor_time` is
    a clock of the processor time that the whole server has used, in seconds.
    """

    __slots__ = (
        "_answered_at",
        "_answering",
        "_answers",
        "_budget",
        "_expected",
        "_measured",
        "_processor_time",
        "_queue",
        "_suspects",
        "_suspects_budget",
        "_used_before",
        "allowance",
        "overhead",
    )

    def __init__(self, share: float = 1.0, processor_time: Callable[[], float] = lambda: 0.0) -> None:
        self._processor_time = processor_time
        self._used_before = processor_time()
        self._measured = 0.0
        """The processor time reported here since `_used_before`, in seconds."""
        self.overhead = 1.0
        """The whole processor time, as a multiple of the measured one."""
        self._queue: dict[_Ticket, None] = {}
        self._suspects = trio.Lock()
        """Held by the suspect that waits in the main queue; the lock admits the others in the order of arrival."""
        self._suspects_budget = TokenBucket(SUSPECTS_SHARE * share, BURST)
        self._answers = 0
        self._answering = 0.0
        self._answered_at = -inf
        self._budget = TokenBucket(share, BURST)
        self._expected = 0.0
        self.allowance = 1
        """The number of admissions in this turn."""

    def note_answer(self, now: float, used: float = 0.0) -> None:
        """Note that a player was answered without queueing, which took `used` seconds of processor time."""
        self._answers += 1
        self._answering += used
        self._measure_overhead(used)
        self._answered_at = now

    def charge(self, used: float, now: float, *, is_suspect: bool = False) -> None:
        """Charge `used` seconds of processor time for work that must not delay players."""
        self._expected += SMOOTHING * (used - self._expected)
        self._measure_overhead(used)
        self._budget.take(self.overhead * used, now)
        if is_suspect:
            self._suspects_budget.take(self.overhead * used, now)

    def _measure_overhead(self, used: float) -> None:
        self._measured += used
        if self._measured < OVERHEAD_INTERVAL:
            return
        now = self._processor_time()
        overhead = min(MAX_OVERHEAD, max(1.0, (now - self._used_before) / self._measured))
        self.overhead += OVERHEAD_SMOOTHING * (overhead - self.overhead)
        self._used_before, self._measured = now, 0.0

    async def wait_for_turn(self, *, is_suspect: bool = False) -> None:
        """Wait until this task is admitted; a single waiting task is admitted after one turn of the event loop."""
        if not is_suspect:
            await self._wait_in_queue()
            return
        async with self._suspects:
            debt = self._debt(self._suspects_budget)
            if debt > 0.0:
                await trio.sleep(debt)
            await self._wait_in_queue()

    async def _wait_in_queue(self) -> None:
        ticket = _Ticket()
        is_first = not self._queue
        self._queue[ticket] = None
        try:
            if is_first:
                self._reset_answers()  # answers given while the queue was empty must not admit many tasks now
            else:
                await ticket.called.wait()
            if ticket.is_admitted:
                return
            await self._pause()  # the first task in the queue starts the next turn
        finally:
            if not ticket.is_admitted:
                was_first = next(iter(self._queue)) is ticket
                del self._queue[ticket]
                if was_first:
                    self._start_turn()

    def _reset_answers(self) -> None:
        self._answers = 0
        self._answering = 0.0

    async def _pause(self) -> None:
        debt = self._debt(self._budget)
        if debt > 0.0:
            await trio.sleep(debt)
            self._reset_answers()  # answers given during this long turn must not admit many tasks
        else:
            await trio.lowlevel.checkpoint()

    def _debt(self, budget: TokenBucket) -> float:
        """Return the seconds until `budget` has no debt; 0 while nobody plays."""
        now = trio.current_time()
        return budget.take(0.0, now) if now < self._answered_at + RECENT_PLAY else 0.0

    def _start_turn(self) -> None:
        """Admit tasks in addition to the calling one, and wake up the task that starts the turn after this."""
        most = self._answers // ANSWERS_PER_ADMISSION
        if self._expected > 0.0:
            most = min(most, int(self._answering / ANSWERS_PER_ADMISSION / self._expected))
        self.allowance = max(1, most)
        self._reset_answers()
        for _ in range(min(self.allowance - 1, len(self._queue))):
            ticket = next(iter(self._queue))
            del self._queue[ticket]
            ticket.is_admitted = True
            ticket.called.set()
        if self._queue:
            next(iter(self._queue)).called.set()


class _Ticket:
    """The place of one task in the queue."""

    __slots__ = ("called", "is_admitted")

    def __init__(self) -> None:
        self.called = trio.Event()
        self.is_admitted = False
