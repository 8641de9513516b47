"""Who may wait a moment, so that those who play need not.

Law: a turn of the event loop lets one through, in the order of coming, and one more for every two answers that players
got in the last turn; between two turns everybody else who is ready has had one. So strangers cost the players half of
what they cost each other at most, however many call at once, and a busy server still lets new games begin.
"""

from __future__ import annotations

from typing import Final

import trio

ANSWERS_EACH: Final = 2  # to players, for every stranger beyond the first


class Turnstile:
    __slots__ = ("_answers", "_queue", "allowance")

    def __init__(self) -> None:
        self._queue: dict[_Ticket, None] = {}
        self._answers = 0
        self.allowance = 1
        """So many get through in this turn."""

    def note_answer(self) -> None:
        """A player got an answer without waiting here."""
        self._answers += 1

    async def wait_for_turn(self) -> None:
        """Wait until it is this task's turn; nobody is waited for who is not here."""
        ticket = _Ticket()
        is_first = not self._queue
        self._queue[ticket] = None
        try:
            if is_first:
                self._answers = 0  # what was answered while nobody waited lets no crowd in now
            else:
                await ticket.called.wait()
            if ticket.is_through:
                return
            await trio.lowlevel.checkpoint()  # the first in the queue opens the next turn
        finally:
            if not ticket.is_through:
                was_first = next(iter(self._queue)) is ticket
                del self._queue[ticket]
                if was_first:
                    self._open()

    def _open(self) -> None:
        """Let through who is allowed to, beside the one that calls; the next one opens the turn after this."""
        self.allowance = max(1, self._answers // ANSWERS_EACH)
        self._answers = 0
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
