"""Clocks and rates: how long a player thinks, what its time limits are, and how much a sender may use at once.

Invariants: nothing here reads the time; every instant is an argument, in seconds of one monotonic clock.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol

from spielleiter.server.errors import ClockError

SHORTEST: Final = 1e-6
"""The shortest think time in seconds; a shorter one is the error of comparing the kernel's clock with ours."""
START_TOLERANCE: Final = 0.0005
"""Seconds by which an arrival may seem to precede the request that it answers, because of the same error."""


class StampSource(enum.Enum):
    """How the instant of an arrival was measured."""

    KERNEL = "kernel"  # the kernel's receive time stamp
    MONOTONIC = "monotonic"  # the monotonic clock, right after the read


class Arrival(NamedTuple):
    """When bytes reached this machine: `instant` in seconds, and how it was measured."""

    instant: float
    source: StampSource = StampSource.MONOTONIC


@dataclass(frozen=True, slots=True)
class TimeLimits:
    """The limits of one player in seconds; None: unlimited."""

    soft_timeout: float | None
    hard_timeout: float | None


UNLIMITED = TimeLimits(None, None)


class MoveClock:
    """Measures the think times of one player, one move after the other, and keeps them.

    It runs from the moment a request was handed to the kernel (at the latest, from the moment that `PendingRequest`
    sets) to the moment the answer's last byte reached this machine. The soft limit is checked when an answer arrives,
    the hard limit while none has arrived.

    Raises ClockError if the caller stops a clock that is not running, or starts one that is running.
    """

    __slots__ = ("_started", "limits", "next_limits", "think_times")

    def __init__(self, limits: TimeLimits) -> None:
        self.limits = limits
        """The limits of the current request, or of the last one if the clock is stopped."""
        self.next_limits = limits
        """The limits that apply from the next start on."""
        self._started: float | None = None
        self.think_times: list[float] = []
        """The think time of every answered request in seconds, in order."""

    @property
    def is_running(self) -> bool:
        return self._started is not None

    @property
    def soft_deadline(self) -> float | None:
        """The instant after which an answer is too late; None if the clock is stopped or there is no limit."""
        if self._started is None or self.limits.soft_timeout is None:
            return None
        return self._started + self.limits.soft_timeout

    @property
    def hard_deadline(self) -> float | None:
        """The instant at which a missing answer ends the game; None if the clock is stopped or there is no limit."""
        if self._started is None or self.limits.hard_timeout is None:
            return None
        return self._started + self.limits.hard_timeout

    def start(self, now: float) -> None:
        """Start at `now`, the instant at which the request was handed to the kernel or counts as delivered."""
        if self._started is not None:
            raise ClockError("the clock is already running")
        self.limits = self.next_limits
        self._started = now

    def precedes_start(self, at: float) -> bool:
        """Return whether `at` is certainly before the start; False if the clock is stopped."""
        return self._started is not None and at < self._started - START_TOLERANCE

    def stop(self, at: float) -> float:
        """Stop at the arrival of the answer; return and keep the think time in seconds, never below SHORTEST."""
        think_time = self.elapsed(at)
        self._started = None
        self.think_times.append(think_time)
        return think_time

    def record_instant_answer(self) -> float:
        """Keep and return a think time of 0, for an answer that came before the request had left this machine."""
        self.think_times.append(0.0)
        return 0.0

    def abandon(self) -> None:
        """Stop without an answer and without a think time. Does nothing if the clock is stopped."""
        self._started = None

    def elapsed(self, at: float) -> float:
        """Return the seconds from the start to `at`, never below SHORTEST."""
        if self._started is None:
            raise ClockError("the clock is not running")
        return max(SHORTEST, at - self._started)

    def is_over_soft_limit(self, think_time: float) -> bool:
        return self.limits.soft_timeout is not None and think_time > self.limits.soft_timeout

    def is_over_hard_limit(self, think_time: float) -> bool:
        return self.limits.hard_timeout is not None and think_time > self.limits.hard_timeout


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

    def left(self, now: float) -> float:
        """Return the amount that may be used at the instant `now` without waiting; negative if there is a debt."""
        return min(self._burst, self._left + (now - self._last) * self._rate)
