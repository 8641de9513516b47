"""How much of something a sender may use: at once, and in the long run.

Invariants: time is an argument, in seconds; what was used beyond the allowance is a debt that has to be waited for.
"""

from __future__ import annotations


class TokenBucket:
    """A token bucket: `rate` units a second, and `burst` units at once after a while of silence."""

    __slots__ = ("_burst", "_last", "_left", "_rate")

    def __init__(self, rate: float, burst: float) -> None:
        self._rate = rate
        self._burst = burst
        self._left = burst
        self._last = 0.0

    def take(self, amount: float, now: float) -> float:
        """Use up `amount` at the instant `now`; returns for how many seconds the sender has to wait, mostly 0."""
        self._left = min(self._burst, self._left + (now - self._last) * self._rate) - amount
        self._last = now
        return max(0.0, -self._left / self._rate)

    def left(self, now: float) -> float:
        """What may be used at once at the instant `now`; a debt is below zero."""
        return min(self._burst, self._left + (now - self._last) * self._rate)
