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

import time
from collections.abc import Callable
from math import inf
from typing import Final

import trio

from spielleiter.server.core.clock import TokenBucket

ANSWERS_PER_ADMISSION: Final = 2  # answers to players in one turn that allow one admission in the next
BURST: Final = 0.1  # seconds of processor time that a connection may use at once after a time of silence
SUSPECT_AFTER: Final = 0.02  # seconds of `BURST`; a connection that has used them waits as a suspect
REFUSAL_MEMORY: Final = 10.0  # seconds after its last refusal until a player is answered at once again
SHARED_BURST: Final = 0.05  # seconds of processor time that may be used before the share applies
SUSPECTS_SHARE: Final = 0.2  # the part of `share` that all suspects together may use
RECENT_PLAY: Final = 1.0  # seconds after an answer to a player in which another one is expected
SMOOTHING: Final = 1 / 16  # the weight of the last packet in the expected cost of the next one
OVERHEAD_INTERVAL: Final = 0.005  # seconds of measured use after which the overhead is measured again
MAX_OVERHEAD: Final = 8.0
OVERHEAD_SMOOTHING: Final = 1 / 8  # the weight of the last measurement
SHORT_WORK: Final = 0.001  # seconds; work that takes no longer is measured by the monotonic clock


class WorkMeter:
    """Measures pieces of work, one after the other, in seconds of this thread's processor time.

    Reading that time (`processor_time`) is a system call, which would cost as much as a part of a move. So it is read
    once in `SHORT_WORK` at most, and only used for work that takes longer, during which other programs may have run;
    short work is measured by the monotonic `clock`.
    """

    def __init__(
        self,
        processor_time: Callable[[], float] = time.thread_time,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self.processor_time = processor_time
        self._clock = clock
        self._read_at = -inf
        self._processor_time_then = 0.0
        self._begun = 0.0

    def begin(self) -> None:
        """Begin a piece of work."""
        now = self._begun = self._clock()
        if now > self._read_at + SHORT_WORK:
            self._read_at, self._processor_time_then = now, self.processor_time()

    def end(self) -> float:
        """End the piece of work; return the processor time that it has used, or up to `SHORT_WORK` more."""
        elapsed = self._clock() - self._begun
        return elapsed if elapsed <= SHORT_WORK else min(elapsed, self.processor_time() - self._processor_time_then)


class FairQueue:
    """Admits waiting tasks one by one.

    `share` is the part of one processor that all admitted tasks together may use while others play. `processor_time` is
    a clock of the processor time that the whole server has used, in seconds.
    """

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
        self._suspects_budget = TokenBucket(SUSPECTS_SHARE * share, SHARED_BURST)
        self._answers = 0
        self._answering = 0.0
        self._answered_at = -inf
        self._budget = TokenBucket(share, SHARED_BURST)
        self._expected = 0.0
        self.allowance = 1
        """The number of admissions in this turn."""

    def note_answer(self, now: float, used: float = 0.0) -> None:
        """Note that a player was answered without queueing, which took `used` seconds of processor time."""
        self._answers += 1
        self._answering += used
        self._answered_at = now
        self._measured += used
        if self._measured >= OVERHEAD_INTERVAL:
            self._measure_overhead()

    def charge(self, used: float, now: float, *, is_suspect: bool = False) -> None:
        """Charge `used` seconds of processor time for work that must not delay players."""
        self._expected += SMOOTHING * (used - self._expected)
        self._measured += used
        if self._measured >= OVERHEAD_INTERVAL:
            self._measure_overhead()
        self._budget.take(self.overhead * used, now)
        if is_suspect:
            self._suspects_budget.take(self.overhead * used, now)

    def _measure_overhead(self) -> None:
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
            debt = self._debt(self._budget)
            if debt > 0.0:
                await trio.sleep(debt)
                self._reset_answers()  # answers given during this long turn must not admit many tasks
            else:
                await trio.lowlevel.checkpoint()
        finally:
            if not ticket.is_admitted:  # the first task in the queue starts the next turn
                was_first = next(iter(self._queue)) is ticket
                del self._queue[ticket]
                if was_first:
                    self._start_turn()

    def _reset_answers(self) -> None:
        self._answers = 0
        self._answering = 0.0

    def _debt(self, budget: TokenBucket) -> float:
        """Return the seconds until `budget` has no debt; 0 while nobody plays."""
        now = trio.current_time()
        return budget.debt(now) if now < self._answered_at + RECENT_PLAY else 0.0

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


class ProcessorBudget:
    """The processor time that one connection may use, as a context manager around all work for it.

    A player that was refused nothing lately is answered at once. Everybody else waits in the fair queue, as a suspect
    after a recent refusal or after using a part of its budget. A connection that has used more processor time than its
    budget also waits until that is paid back, unless it is an administrator. The accepted packets of a player are not
    charged: a fast player is not a flood. Time is that of this thread in seconds, so other programs on the machine do
    not count; the cost that cannot be measured for each connection is added in proportion.

    `share` is the part of one processor that the connection may use in the long run; `meter` is the server's.
    """

    __slots__ = (
        "_budget",
        "_entered_at",
        "_fair_queue",
        "_is_player",
        "_meter",
        "_now",
        "_refused_at",
        "has_granted",
        "is_admin",
        "plays",
    )

    def __init__(self, fair_queue: FairQueue, share: float, meter: WorkMeter) -> None:
        self._fair_queue = fair_queue
        self._meter = meter
        self._now = trio.lowlevel.current_clock().current_time  # half the cost of trio.current_time
        self._budget = TokenBucket(share, BURST)
        self._entered_at = -inf
        self._is_player = False
        self._refused_at = -inf
        self.has_granted = False
        """Whether the present work includes a packet that was granted."""
        self.plays = False
        """Whether the peer has joined a game or is an administrator."""
        self.is_admin = False

    def note_refusal(self, now: float) -> None:
        """Note that the connection was refused something."""
        self._refused_at = now

    def has_to_wait(self, now: float) -> bool:
        """Return whether the next packet has to wait in the fair queue."""
        return not self._is_player_at(now) or self._debt(now) > 0.0

    @property
    def has_to_wait_first(self) -> bool:
        """Whether the work that has just begun has to wait in the fair queue."""
        return not self._is_player or self._debt(self._entered_at) > 0.0

    def _is_player_at(self, now: float) -> bool:
        """Return whether the peer has joined a game and was refused nothing lately."""
        return self.plays and now >= self._refused_at + REFUSAL_MEMORY

    def __enter__(self) -> None:
        """Start measuring."""
        now = self._entered_at = self._now()
        self._is_player = self._is_player_at(now)  # taken before a join can make it one
        self._meter.begin()

    def __exit__(self, *_: object) -> None:
        """Charge the processor time used since `__enter__`."""
        used = self._meter.end()
        now = self._now()
        if self.has_granted and self._is_player and self._is_player_at(now):
            self._fair_queue.note_answer(now, used)
        else:
            self._budget.take(self._fair_queue.overhead * used, now)
            self._fair_queue.charge(used, now, is_suspect=self._is_suspect(now))
        self.has_granted = False

    def interrupted(self) -> _Interruption:
        """Return a context manager for waiting within the work; the time in it is not charged to this connection."""
        return _Interruption(self)

    async def wait(self) -> bool:
        """Wait until this connection may be served; return whether it had to wait.

        If not, this is only a checkpoint: other tasks run once.
        """
        now = trio.current_time()
        if not self.has_to_wait(now):
            await trio.lowlevel.checkpoint()
            return False
        debt = self._debt(now)
        if debt > 0.0:
            await trio.sleep(debt)
        await self._fair_queue.wait_for_turn(is_suspect=self._is_suspect(trio.current_time()))
        return True

    def _is_suspect(self, now: float) -> bool:
        return now < self._refused_at + REFUSAL_MEMORY or self._budget.left(now) < BURST - SUSPECT_AFTER

    def _debt(self, now: float) -> float:
        """Return the seconds until the budget has no debt; an administrator never has to wait for that."""
        return 0.0 if self.is_admin else self._budget.debt(now)


class _Interruption:
    """The inverse of a `ProcessorBudget` as a context manager."""

    __slots__ = ("_budget",)

    def __init__(self, budget: ProcessorBudget) -> None:
        self._budget = budget

    def __enter__(self) -> None:
        self._budget.__exit__()

    def __exit__(self, *_: object) -> None:
        self._budget.__enter__()
