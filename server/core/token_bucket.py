"""A token bucket: limits how much of something a sender may use at once and in the long run.

Invariants: time is an argument, in seconds. Use beyond the limit is allowed and becomes a debt; the sender has to wait
until it is paid back.
"""

from __future__ import annotations


class TokenBucket:
    """Allows `rate` units per second, and `burst` units at once after a time without use."""

    __slots__ = ("_burst", "_last", "_left", "_rate")

    def __init__(self, rate: float, burst: float) -> None:
        self._rate = rate
        self._burst = burst
        self._left = burst
        self._last = 0.0

    def take(self, amount: float, now: float) -> float:
        """Use `amount` at the instant `now`; return the seconds for which the sender has to wait, usually 0."""
        self._left = min(self._burst, self._left + (now - self._last) * self._rate) - amount
        self._last = now
        return max(0.0, -self._left / self._rate)

    def left(self, now: float) -> float:
        """Return the amount that may be used at the instant `now` without waiting; negative if there is a debt."""
        return min(self._burst, self._left + (now - self._last) * self._rate)
