"""The processor time that one connection uses, and whether its packets are handled at once or have to wait.

Invariants: a player that was refused nothing lately is answered at once. Everybody else waits in the fair queue, as a
suspect after a recent refusal or after using a part of its budget. A connection that has used more processor time than
its budget also waits until that is paid back, unless it is an administrator. The accepted packets of a player are not
charged: a fast player is not a flood. Time is the processor time of this thread in seconds, so other programs on the
machine do not count; the cost that cannot be measured for each connection is added in proportion.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Final

import trio

from spielleiter.server.core.clock import TokenBucket
from spielleiter.server.net.fair_queue import FairQueue

BURST: Final = 0.1  # seconds of processor time that a connection may use at once after a time of silence
SUSPECT_AFTER: Final = 0.02  # seconds of `BURST`; a connection that has used them waits as a suspect
REFUSAL_MEMORY: Final = 10.0  # seconds after its last refusal until a player is answered at once again


class ProcessorBudget:
    """The budget of one connection, as a context manager around all work for it.

    `share` is the part of one processor that the connection may use in the long run; `processor_time` is a clock, in
    seconds.
    """

    __slots__ = (
        "_begun",
        "_budget",
        "_fair_queue",
        "_is_player",
        "_processor_time",
        "_refused_at",
        "has_granted",
        "is_admin",
        "plays",
    )

    def __init__(self, fair_queue: FairQueue, share: float, processor_time: Callable[[], float]) -> None:
        self._fair_queue = fair_queue
        self._processor_time = processor_time
        self._budget = TokenBucket(share, BURST)
        self._begun = 0.0
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

    def _is_player_at(self, now: float) -> bool:
        """Return whether the peer has joined a game and was refused nothing lately."""
        return self.plays and now >= self._refused_at + REFUSAL_MEMORY

    def __enter__(self) -> None:
        """Start measuring."""
        self._is_player = self._is_player_at(trio.current_time())  # taken before a join can make it one
        self._begun = self._processor_time()

    def __exit__(self, *_: object) -> None:
        """Charge the processor time used since `__enter__`."""
        used = self._processor_time() - self._begun
        now = trio.current_time()
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
        return 0.0 if self.is_admin else self._budget.take(0.0, now)


class _Interruption:
    """The inverse of a `ProcessorBudget` as a context manager."""

    __slots__ = ("_budget",)

    def __init__(self, budget: ProcessorBudget) -> None:
        self._budget = budget

    def __enter__(self) -> None:
        self._budget.__exit__()

    def __exit__(self, *_: object) -> None:
        self._budget.__enter__()
