"""From the kernel's receive time stamps to instants on the server's clock.

Invariants: an instant lies between the last time the socket was seen empty and the read. Whatever a stamp says, bytes
that were not there at a look have arrived after it. The kernel counts in the wall clock, so a stamp is believed as far
as the wall clock is in step with the monotonic clock. After a step the stamp may have been taken before it or after
it: the instant that lies within the bounds is taken, of two the earlier one, and without one the read itself.
Clocks are arguments.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from math import inf
from typing import Final

from spielleiter.server.core.clock import Arrival, StampSource

MAX_AGE: Final = 60.0  # seconds; an older stamp is a clock gone wrong, not a slow server
STEP: Final = 0.005  # seconds; the clocks coming apart by more is a step
DRIFT: Final = 0.0005  # seconds a second that a disciplined clock may be slewed (the kernel's own limit)
LONGEST_DRIFT: Final = 10.0  # seconds; so much of the time since the last look counts as drift, however long it was
SHARP: Final = 0.0005  # seconds; a comparison that took longer was interrupted and is made again
ATTEMPTS: Final = 4


class StampReader:
    """Turns one socket's stamps into arrivals. `now` is the server's clock; `wall` and `monotonic` the machine's."""

    __slots__ = ("_compared_at", "_empty_since", "_monotonic", "_now", "_offset", "_wall")

    def __init__(
        self,
        now: Callable[[], float],
        wall: Callable[[], float] = time.time,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._now = now
        self._wall = wall
        self._monotonic = monotonic
        self._empty_since = -inf
        self._offset, self._compared_at, _ = self._compare()

    def saw_empty(self, at: float) -> None:
        """Nothing was unread when the socket was looked at, at the instant `at` or after it.

        What comes from now on is stamped by the wall clock as it goes now.
        """
        self._empty_since = at
        offset, compared_at, is_sharp = self._compare()
        if is_sharp:
            self._offset, self._compared_at = offset, compared_at

    def arrival(self, stamp: float | None, *, read_at: float, has_emptied: bool) -> Arrival:
        """When the bytes of one read arrived.

        `stamp` is the kernel's, in seconds since the epoch, or None where it gave none; `read_at` the server's instant
        right before the read; `has_emptied` says that the read has left nothing behind.
        """
        now = self._now()  # first: what an interruption adds to the age is for the sender
        offset, compared_at, is_sharp = self._compare()
        arrival = Arrival(now)
        if stamp is not None:
            old_offset = self._offset
            step = offset - old_offset if is_sharp else 0.0  # a comparison that was interrupted tells of no step
            if abs(step) <= self._tolerance(compared_at):
                candidates = [now - (old_offset + step + compared_at - stamp)]
            else:
                candidates = [now - (each + compared_at - stamp) for each in (old_offset, offset)]
            arrival = self._choose(candidates, now)
        if has_emptied:
            self._empty_since = read_at
            if is_sharp:
                self._offset, self._compared_at = offset, compared_at
        return arrival

    def _choose(self, candidates: list[float], now: float) -> Arrival:
        """The earliest of `candidates` that is possible.

        A single one that lies before the last look was taken of bytes that were not complete then: it is that look.
        """
        earliest, latest = self._empty_since - SHARP, now + SHARP
        possible = [each for each in candidates if max(earliest, now - MAX_AGE) <= each <= latest]
        if possible:
            return Arrival(min(now, max(self._empty_since, min(possible))), StampSource.KERNEL)
        if len(candidates) == 1 and now - MAX_AGE <= candidates[0] < earliest:
            return Arrival(self._empty_since, StampSource.KERNEL)
        return Arrival(now)

    def _tolerance(self, compared_at: float) -> float:
        return STEP + DRIFT * min(LONGEST_DRIFT, compared_at - self._compared_at)

    def _compare(self) -> tuple[float, float, bool]:
        """Wall minus monotonic, the monotonic instant it was taken at, and whether it was taken at one go."""
        attempts = ATTEMPTS
        while True:
            before = self._monotonic()
            wall = self._wall()
            after = self._monotonic()
            attempts -= 1
            is_sharp = after - before <= SHARP
            if is_sharp or not attempts:
                return wall - after, after, is_sharp
