"""The interface through which the core schedules callbacks; `spielleiter.server.runtime.timers` implements it.

Invariants: instants are seconds of one monotonic clock, and delays are seconds. A callback must return at once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol


class Timer(Protocol):
    """A scheduled callback."""

    def cancel(self) -> None:
        """Prevent the call; does nothing if it has already been made or cancelled."""
        ...


class TimerService(Protocol):
    """Schedules callbacks."""

    def call_at(self, deadline: float, callback: Callable[[float], None]) -> Timer:
        """Call `callback(now)` once `deadline` has passed, unless cancelled."""
        ...

    def call_after(self, delay: float, callback: Callable[[float], None]) -> Timer:
        """Call `callback(now)` in `delay` seconds, unless cancelled."""
        ...
