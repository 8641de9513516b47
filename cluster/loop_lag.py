"""Measuring how late the event loop of a site process is, so that a busy machine refuses pairs.

Invariants: a single late wake-up is forgotten after MEMORY seconds.
"""

from __future__ import annotations

from typing import Final

import trio

INTERVAL: Final = 0.25
"""Seconds between two measurements."""
MEMORY: Final = 3.0
"""For how many seconds a lag counts."""
PATIENCE: Final = 6.0
"""Seconds for a machine to catch up before it refuses a pair; more than MEMORY, so that a single lag is waited for."""
MAX_LAG: Final = 0.2
"""The lag in seconds from which a machine refuses pairs: a tenth of the time limit of the contest."""


class LoopLag:
    """The largest lag of the event loop in the last seconds, while `run` runs."""

    def __init__(self) -> None:
        self._lags: list[tuple[float, float]] = []

    async def run(self) -> None:
        """Measure until cancelled."""
        while True:
            deadline = trio.current_time() + INTERVAL
            await trio.sleep_until(deadline)
            now = trio.current_time()
            self.add(now, now - deadline)

    def add(self, now: float, lag: float) -> None:
        """Add a measurement."""
        self._lags = [(at, seconds) for at, seconds in self._lags if at > now - MEMORY]
        self._lags.append((now, lag))

    def largest(self, now: float) -> float:
        """Return the largest lag of the last MEMORY seconds."""
        return max((seconds for at, seconds in self._lags if at > now - MEMORY), default=0.0)

    async def catch_up(self) -> float:
        """Wait until the lag is low again, for at most PATIENCE seconds. Returns the lag if it is still too high, or 0.

        `run` must be running.
        """
        deadline = trio.current_time() + PATIENCE
        while (lag := self.largest(trio.current_time())) > MAX_LAG:
            if trio.current_time() >= deadline:
                return lag
            await trio.sleep(INTERVAL)
        return 0.0
