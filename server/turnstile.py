"""Who has to wait a moment, so that those who play need not.

Invariants: a turn of the event loop lets one through, in the order of coming, and more of them where players got many
answers in the last turn: so many that they are expected to take half as long as those answers did. Between two turns
everybody else who is ready has had one. While players are being answered, those who come through here use no more than
`share` of a processor together, so a player that becomes ready finds the server idle most of the time, however many
call at once. While nobody plays there is no such bound, and a busy server still lets new games begin.
"""

from __future__ import annotations

from math import inf
from typing import Final

import trio

from server.allowance import Allowance

ANSWERS_EACH: Final = 2  # to players, for every stranger beyond the first
BURST: Final = 0.05  # seconds of processor time that may be used before the share counts
PLAYED_FOR: Final = 1.0  # seconds after an answer to a player in which more are to be expected
SMOOTHING: Final = 1 / 16  # the weight of the last packet in what one is expected to use


class Turnstile:
    """`share` is the part of one processor that everybody who waits here may use while others play."""

    __slots__ = ("_answered_at", "_answering", "_answers", "_budget", "_expected", "_queue", "allowance")

    def __init__(self, share: float = 1.0) -> None:
        self._queue: dict[_Ticket, None] = {}
        self._answers = 0
        self._answering = 0.0
        self._answered_at = -inf
        self._budget = Allowance(share, BURST)
        self._expected = 0.0
        self.allowance = 1
        """So many get through in this turn."""

    def note_answer(self, now: float, used: float = 0.0) -> None:
        """A player got an answer without waiting here, which has used so many seconds of processor time."""
        self._answers += 1
        self._answering += used
        self._answered_at = now

    def charge(self, used: float, now: float) -> None:
        """Somebody who is not to keep players waiting has used so many seconds of processor time."""
        self._expected += SMOOTHING * (used - self._expected)
        self._budget.take(used, now)

    async def wait_for_turn(self) -> None:
        """Wait until it is this task's turn; nobody is waited for who is not here."""
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
        now = trio.current_time()
        debt = self._budget.take(0.0, now) if now < self._answered_at + PLAYED_FOR else 0.0
        if debt > 0.0:
            await trio.sleep(debt)
            self._forget_answers()  # a crowd must not be let in for what was answered in so long a turn
        else:
            await trio.lowlevel.checkpoint()

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
