"""Converts the kernel's receive time stamps to instants on the server's clock.

Invariants: an instant lies between the last time the socket was seen empty and the read: bytes that were not there at a
check have arrived after it, regardless of their stamp. The kernel stamps with the wall clock, so a stamp is trusted
only while the wall clock agrees with the monotonic clock. When the wall clock has been stepped, the stamp may be from
before or after the step. The candidate within the bounds is used, the earlier one if both are, and the instant of the
read if none is. Clocks are arguments.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from math import inf
from typing import Final

from spielleiter.server.core.clock import Arrival, StampSource

MAX_AGE: Final = 60.0  # seconds; an older stamp means a wrong clock, not a slow server
MIN_STEP: Final = 0.005  # seconds; a larger difference between the clocks is a step
DRIFT: Final = 0.0005  # seconds per second by which a clock may be slewed (the kernel's own limit)
LONGEST_DRIFT_TIME: Final = 10.0  # the longest time since the last comparison that counts for the drift, in seconds
LONGEST_COMPARISON: Final = 0.0005  # seconds; a comparison that took longer was interrupted and is repeated
ATTEMPTS: Final = 4


class StampReader:
    """Converts the stamps of one socket. `now` is the server's clock; `wall` and `monotonic` are the machine's."""

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
        self._offset, self._compared_at, _, _ = self._compare()

    def saw_empty(self, at: float) -> None:
        """Note that the socket was found empty, at the instant `at` or after it.

        Bytes that arrive from now on are stamped with the present wall clock.
        """
        self._empty_since = at
        offset, compared_at, _, is_uninterrupted = self._compare()
        if is_uninterrupted:
            self._offset, self._compared_at = offset, compared_at

    def arrival(self, stamp: float | None, *, read_at: float, has_emptied: bool) -> Arrival:
        """Return when the bytes of one read arrived.

        `stamp` is the kernel's, in seconds since the epoch, or None if there is none. `read_at` is the server's instant
        right before the read. `has_emptied` says that the read has left nothing in the socket.
        """
        now = self._now()  # taken first, so that the delay of an interruption counts in favour of the sender
        offset, compared_at, instant, is_uninterrupted = self._compare()
        arrival = Arrival(now)
        if stamp is not None:
            old_offset = self._offset
            step = offset - old_offset if is_uninterrupted else 0.0  # an interrupted comparison cannot show a step
            if abs(step) <= self._tolerance(compared_at):
                candidates = [instant - (old_offset + step + compared_at - stamp)]
            else:
                candidates = [instant - (each + compared_at - stamp) for each in (old_offset, offset)]
            arrival = self._choose(candidates, now)
        if has_emptied:
            self._empty_since = read_at
            if is_uninterrupted:
                self._offset, self._compared_at = offset, compared_at
        return arrival

    def _choose(self, candidates: list[float], now: float) -> Arrival:
        """Return the earliest of `candidates` that is possible, or `now` if none is.

        A single candidate before the last check is the stamp of bytes that were not complete then; the instant of that
        check is used for it.
        """
        earliest, latest = self._empty_since - LONGEST_COMPARISON, now + LONGEST_COMPARISON
        possible = [each for each in candidates if max(earliest, now - MAX_AGE) <= each <= latest]
        if possible:
            return Arrival(min(now, max(self._empty_since, min(possible))), StampSource.KERNEL)
        if len(candidates) == 1 and now - MAX_AGE <= candidates[0] < earliest:
            return Arrival(self._empty_since, StampSource.KERNEL)
        return Arrival(now)

    def _tolerance(self, compared_at: float) -> float:
        return MIN_STEP + DRIFT * min(LONGEST_DRIFT_TIME, compared_at - self._compared_at)

    def _compare(self) -> tuple[float, float, float, bool]:
        """Compare the clocks, which an interruption between two readings would falsify.

        Return wall minus monotonic time, the monotonic instant, the server's instant, and whether nothing interrupted
        the comparison. If something did, the server's instant is too early, in favour of the sender.
        """
        attempts = ATTEMPTS
        while True:
            before = self._monotonic()
            instant = self._now()
            wall = self._wall()
            after = self._monotonic()
            attempts -= 1
            is_uninterrupted = after - before <= LONGEST_COMPARISON
            if is_uninterrupted or not attempts:
                return wall - after, after, instant, is_uninterrupted
