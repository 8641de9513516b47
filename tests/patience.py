"""How long a test waits in real time for what must happen.

Invariants: no test fails because the machine is busy. `PATIENCE` is never reached unless something hangs, and it is
shorter than pytest's faulthandler_timeout, so that the test that hangs is named. Where a limit of the product is not to
be reached in a test, it is PATIENCE, too. Where one program has to reach a limit and another one not, the test is
tried `with_longer_limits`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

PATIENCE: Final = 600.0
"""Seconds that nothing takes unless it hangs."""
_GROWTH: Final = 4
_TRIES: Final = 5


async def with_longer_limits(attempt: Callable[[float], Awaitable[None]], limit: float) -> None:
    """Call `attempt` with a limit in seconds; where it fails, again with a limit that is four times as long.

    Raises the AssertionError of the fifth attempt.
    """
    for _ in range(_TRIES - 1):
        try:
            await attempt(limit)
        except AssertionError:
            limit *= _GROWTH
        else:
            return
    await attempt(limit)
