"""Time limits, instants of arrival, and rates: how much a sender may use at once.

Invariants: nothing here reads the time; every instant is an argument, in seconds of one monotonic clock.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Final, Protocol

from msgspec import Struct

SHORTEST: Final = 1e-6
"""The shortest think time in seconds; a shorter one is the error of comparing the kernel's clock with ours."""
START_TOLERANCE: Final = 0.0005
"""Seconds by which an arrival may seem to precede the request that it answers, because of the same error."""


class StampSource(enum.Enum):
    """How the instant of an arrival was measured."""

    KERNEL = "kernel"  # the kernel's receive time stamp
    MONOTONIC = "monotonic"  # the monotonic clock, right after the read


class Arrival(Struct, frozen=True):
    """When bytes reached this machine: `instant` in seconds, and how it was measured."""

    instant: float
    source: StampSource = StampSource.MONOTONIC


class TimeLimits(Struct, frozen=True):
    """The limits of one player in seconds; None: unlimited. A think time that is equal to a limit is within it.

    The soft limit is checked when an answer arrives, the hard limit while none has arrived.
    """

    soft_timeout: float | None
    hard_timeout: float | None

    def is_over_soft_limit(self, think_time: float) -> bool:
        return self.soft_timeout is not None and think_time > self.soft_timeout

    def is_over_hard_limit(self, think_time: float) -> bool:
        return self.hard_timeout is not None and think_time > self.hard_timeout


UNLIMITED = TimeLimits(None, None)


class Timer(Protocol):
    """A scheduled callback."""

    def cancel(self) -> None:
        """Prevent the call; does nothing if it has already been made or cancelled."""
        ...


class TimerService(Protocol):
    """Schedules callbacks, which must return at once; `spielleiter.server.timers` implements it."""

    def call_at(self, deadline: float, callback: Callable[[float], None]) -> Timer:
        """Call `callback(now)` once `deadline` has passed, unless cancelled."""
        ...

    def call_after(self, delay: float, callback: Callable[[float], None]) -> Timer:
        """Call `callback(now)` in `delay` seconds, unless cancelled."""
        ...


class TokenBucket:
    """Allows `rate` units per second, and `burst` units at once after a time without use.

    Use beyond the limit is allowed and becomes a debt; the sender has to wait until it is paid back.
    """

    __slots__ = ("_burst", "_last", "_left", "_rate")

    def __init__(self, rate: float, burst: float) -> None:
        self._rate = rate
        self._burst = burst
        self._left = burst
        self._last = 0.0

    def take(self, amount: float, now: float) -> float:
        """Use `amount` at the instant `now`; return the seconds for which the sender has to wait, usually 0."""
        self._left = self.left(now) - amount
        self._last = now
        return max(0.0, -self._left / self._rate)

    def debt(self, now: float) -> float:
        """Return the seconds after the instant `now` until the debt is paid back; 0 if there is none."""
        return 0.0 if self._left >= 0.0 else max(0.0, -self.left(now) / self._rate)

    def left(self, now: float) -> float:
        """Return the amount that may be used at the instant `now` without waiting; negative if there is a debt."""
        return min(self._burst, self._left + (now - self._last) * self._rate)
