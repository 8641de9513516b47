"""Who may wait a moment, so that those who play need not.

Law: one task a turn of the event loop gets through, in the order of coming; between two of them everybody else who is
ready has had a turn. However many strangers call at once, a move waits for one of them at most.
"""

from __future__ import annotations

import trio


class Turnstile:
    __slots__ = ("_lock",)

    def __init__(self) -> None:
        self._lock = trio.Lock()

    async def wait_for_turn(self) -> None:
        """Wait until it is this task's turn; nobody is waited for who is not here."""
        async with self._lock:
            await trio.lowlevel.checkpoint()
