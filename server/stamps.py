"""From the kernel's receive time stamps to instants on the server's clock.

Law: a stamp is believed only if the wall clock, in which the kernel counts, has kept step with the monotonic clock
since the last look; after a step the instant is that of the read, and the answer says so. Clocks are arguments.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from server.clock import Arrival, StampSource

MAX_AGE: Final = 60.0  # seconds; an older stamp is a clock gone wrong, not a slow server
STEP: Final = 0.005  # seconds; the clocks coming apart by more is a step
DRIFT: Final = 0.0005  # seconds a second that a disciplined clock may be slewed (the kernel's own limit)
SHARP: Final = 0.0005  # seconds; a comparison that took longer was interrupted and is made again
ATTEMPTS: Final = 4


class StampReader:
    """Turns one socket's stamps into arrivals. `now` is the server's clock; `wall` and `monotonic` the machine's."""

    __slots__ = ("_compared_at", "_monotonic", "_now", "_offset", "_wall")

    def __init__(
        self,
        now: Callable[[], float],
        wall: Callable[[], float] = time.time,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._now = now
        self._wall = wall
        self._monotonic = monotonic
        self._offset, self._compared_at, _ = self._compare()

    def arrival(self, stamp: float | None) -> Arrival:
        """`stamp`: seconds since the epoch, or None where the kernel gave none."""
        now = self._now()
        offset, compared_at, is_sharp = self._compare()
        tolerance = STEP + DRIFT * (compared_at - self._compared_at)
        has_stepped = is_sharp and abs(offset - self._offset) > tolerance
        if is_sharp:  # a comparison that was interrupted says nothing of a step: the last sharp one still holds
            self._offset, self._compared_at = offset, compared_at
        if stamp is None or has_stepped:
            return Arrival(now)
        age = self._offset + compared_at - stamp
        if not -SHARP <= age <= MAX_AGE:
            return Arrival(now)
        return Arrival(now - max(0.0, age), StampSource.KERNEL)

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
