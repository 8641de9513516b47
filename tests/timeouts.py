"""Timeouts for tests that wait in real time.

Invariants: no test fails because the machine is busy. `HANG_TIMEOUT` elapses only if something hangs, and it is shorter
than pytest's faulthandler_timeout, so that the hanging test is named. A limit of the product that a test must not reach
is set to `HANG_TIMEOUT` as well. A test in which one program must reach a limit and another one must not uses
`retry_with_longer_limits`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

HANG_TIMEOUT: Final = 600.0
"""Seconds; longer than anything takes that does not hang."""
_GROWTH: Final = 4
_ATTEMPTS: Final = 5


async def retry_with_longer_limits(attempt: Callable[[float], Awaitable[None]], limit: float) -> None:
    """Call `attempt` with a limit in seconds; if it fails, call it again with a limit four times as long.

    Raises the AssertionError of the fifth attempt.
    """
    for _ in range(_ATTEMPTS - 1):
        try:
            await attempt(limit)
        except AssertionError:
            limit *= _GROWTH
        else:
            return
    await attempt(limit)
