"""Who has to wait a moment, so that those who play need not.

Invariants: a turn of the event loop lets one through, in the order of coming, and more of them where players got many
answers in the last turn: so many that they are expected to take half as long as those answers did. Between two turns
everybody else who is ready has had one. Suspects, who were refused something lately or have used much, have a line of
their own; only its first one queues with everybody else, so somebody new does not wait for a flood.

While players are being answered, those who come through here use no more than `share` of a processor together, and
suspects no more than a part of that. So a player that becomes ready finds the server idle most of the time, however
many call at once. What cannot be measured for each connection (its tasks, its socket, its end) is added in proportion
to what can. While nobody plays there is no such bound, and a busy server still lets new games begin.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Final

import trio

from spielleiter.server.core.token_bucket import TokenBucket

ANSWERS_EACH: Final = 2  # to players, for every stranger beyond the first
BURST: Final = 0.05  # seconds of processor time that may be used before the share counts
SUSPECTS_PART: Final = 0.2  # of what all may use here while others play
PLAYED_FOR: Final = 1.0  # seconds after an answer to a player in which more are to be expected
SMOOTHING: Final = 1 / 16  # the weight of the last packet in what one is expected to use
COMPARED_AFTER: Final = 0.005  # seconds of measured use after which it is compared with all that was used
MOST_OVERHEAD: Final = 8.0
OVERHEAD_SMOOTHING: Final = 1 / 8  # the weight of the last comparison


class FairQueue:
    """`share` is the part of one processor that everybody who waits here may use while others play.

    `processor_time` is a clock of what everything together has used, in seconds.
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
        """What was told here since `_used_before`."""
        self.overhead = 1.0
        """All that is used, as a multiple of what is measured."""
        self._queue: dict[_Ticket, None] = {}
        self._suspects = trio.Lock()
        """Held by the suspect that stands in the queue; those who wait for it are let in in the order of coming."""
        self._suspects_budget = TokenBucket(SUSPECTS_PART * share, BURST)
        self._answers = 0
        self._answering = 0.0
        self._answered_at = -inf
        self._budget = TokenBucket(share, BURST)
        self._expected = 0.0
        self.allowance = 1
        """So many get through in this turn."""

    def note_answer(self, now: float, used: float = 0.0) -> None:
        """A player got an answer without waiting here, which has used so many seconds of processor time."""
        self._answers += 1
        self._answering += used
        self._compare(used)
        self._answered_at = now

    def charge(self, used: float, now: float, *, is_suspect: bool = False) -> None:
        """Somebody who is not to keep players waiting has used so many seconds of processor time."""
        self._expected += SMOOTHING * (used - self._expected)
        self._compare(used)
        self._budget.take(self.overhead * used, now)
        if is_suspect:
            self._suspects_budget.take(self.overhead * used, now)

    def _compare(self, used: float) -> None:
        self._measured += used
        if self._measured < COMPARED_AFTER:
            return
        now = self._processor_time()
        overhead = min(MOST_OVERHEAD, max(1.0, (now - self._used_before) / self._measured))
        self.overhead += OVERHEAD_SMOOTHING * (overhead - self.overhead)
        self._used_before, self._measured = now, 0.0

    async def wait_for_turn(self, *, is_suspect: bool = False) -> None:
        """Wait until it is this task's turn; nobody is waited for who is not here."""
        if not is_suspect:
            await self._wait_in_line()
            return
        async with self._suspects:
            debt = self._debt(self._suspects_budget)
            if debt > 0.0:
                await trio.sleep(debt)
            await self._wait_in_line()

    async def _wait_in_line(self) -> None:
        ticket = _Ticket()
        is_first = not self._queue
        self._queue[ticket] = None
        try:
            if is_first:
                self._forget_answers()  # what was answered while nobody waited lets no crowd in now
            else:
                await ticket.called.wait()
            if ticket.is_through:
                return
            await self._pause()  # the first in the queue opens the next turn
        finally:
            if not ticket.is_through:
                was_first = next(iter(self._queue)) is ticket
                del self._queue[ticket]
                if was_first:
                    self._open()

    def _forget_answers(self) -> None:
        self._answers = 0
        self._answering = 0.0

    async def _pause(self) -> None:
        debt = self._debt(self._budget)
        if debt > 0.0:
            await trio.sleep(debt)
            self._forget_answers()  # a crowd must not be let in for what was answered in so long a turn
        else:
            await trio.lowlevel.checkpoint()

    def _debt(self, budget: TokenBucket) -> float:
        """Seconds until `budget` is paid back, while others play."""
        now = trio.current_time()
        return budget.take(0.0, now) if now < self._answered_at + PLAYED_FOR else 0.0

    def _open(self) -> None:
        """Let through who is allowed to, beside the one that calls; the next one opens the turn after this."""
        most = self._answers // ANSWERS_EACH
        if self._expected > 0.0:
            most = min(most, int(self._answering / ANSWERS_EACH / self._expected))
        self.allowance = max(1, most)
        self._forget_answers()
        for _ in range(min(self.allowance - 1, len(self._queue))):
            ticket = next(iter(self._queue))
            del self._queue[ticket]
            ticket.is_through = True
            ticket.called.set()
        if self._queue:
            next(iter(self._queue)).called.set()


class _Ticket:
    """A place in the queue."""

    __slots__ = ("called", "is_through")

    def __init__(self) -> None:
        self.called = trio.Event()
        self.is_through = False
