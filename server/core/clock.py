"""How long a player thought, and whether that was too long.

Invariants: a clock never reads the time itself; every instant is an argument, in seconds of one monotonic clock. It
runs from the moment a request was handed to the kernel (or should have been: `spielleiter.server.core.pending_request`)
to the moment the answer's last byte reached this machine. The soft limit is judged when an answer is there, the hard
limit when none came.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import NamedTuple

from spielleiter.server.errors import ClockError


class StampSource(enum.Enum):
    """How the instant of an arrival was taken."""

    KERNEL = "kernel"  # the kernel's receive time stamp
    MONOTONIC = "monotonic"  # the monotonic clock, right after the read


class Arrival(NamedTuple):
    """When bytes reached this machine: `instant` in seconds, and how we know."""

    instant: float
    source: StampSource = StampSource.MONOTONIC


@dataclass(frozen=True, slots=True)
class TimeLimits:
    """The limits of one player in seconds; None: unlimited."""

    soft_timeout: float | None
    hard_timeout: float | None


UNLIMITED = TimeLimits(None, None)


class MoveClock:
    """Measures one player's moves, one after the other, and keeps what it measured.

    Raises ClockError if it is stopped while it stands, or started while it runs: a bug of the caller.
    """

    __slots__ = ("_limits", "_started", "next_limits", "think_times")

    def __init__(self, limits: TimeLimits) -> None:
        self._limits = limits
        self.next_limits = limits
        """The limits that hold from the next start on."""
        self._started: float | None = None
        self.think_times: list[float] = []
        """Seconds of every answered request, in order."""

    @property
    def limits(self) -> TimeLimits:
        return self._limits

    @property
    def is_running(self) -> bool:
        return self._started is not None

    @property
    def soft_deadline(self) -> float | None:
        """The instant after which an answer is too late; None while budget or without a limit."""
        if self._started is None or self._limits.soft_timeout is None:
            return None
        return self._started + self._limits.soft_timeout

    @property
    def hard_deadline(self) -> float | None:
        """The instant at which the game ends without an answer; None while budget or without a limit."""
        if self._started is None or self._limits.hard_timeout is None:
            return None
        return self._started + self._limits.hard_timeout

    def start(self, now: float) -> None:
        """The request was handed to the kernel at `now`, or counts as delivered from then on."""
        if self._started is not None:
            raise ClockError("the clock runs already")
        self._limits = self.next_limits
        self._started = now

    def stop(self, at: float) -> float:
        """The answer arrived `at`; returns the think time in seconds, never below 0."""
        think_time = self.elapsed(at)
        self._started = None
        self.think_times.append(think_time)
        return think_time

    def answer_at_once(self) -> float:
        """The answer was there before the request had left this machine: a think time of 0."""
        self.think_times.append(0.0)
        return 0.0

    def abandon(self) -> None:
        """There will be no answer any more; forget the request. Does nothing if the clock stands."""
        self._started = None

    def elapsed(self, at: float) -> float:
        """Seconds from the start to `at`, never below 0."""
        if self._started is None:
            raise ClockError("the clock does not run")
        return max(0.0, at - self._started)

    def is_over_soft_limit(self, think_time: float) -> bool:
        return self._limits.soft_timeout is not None and think_time > self._limits.soft_timeout

    def is_over_hard_limit(self, think_time: float) -> bool:
        return self._limits.hard_timeout is not None and think_time > self._limits.hard_timeout
