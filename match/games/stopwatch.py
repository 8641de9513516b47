"""Measuring how long something took, and how much of that time this machine is responsible for.

Invariants: measuring reads the program's processes and this one, nothing else. If the system does not report how long a
thread waited for a processor, the waiting time is 0.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

import trio

from spielleiter.programs.processes import Usage


class Stopwatch:
    """A stopwatch that runs from its creation. `pids` are the program's processes at that time."""

    def __init__(self, pids: Iterable[int]) -> None:
        self._pids = tuple(pids)
        self._before = Usage.of(self._pids)
        self._own_before = Usage.of([os.getpid()])
        self._started = trio.current_time()

    @property
    def seconds(self) -> float:
        """The seconds since the creation."""
        return trio.current_time() - self._started

    def seconds_lost(self, pids: Iterable[int] = ()) -> float:
        """Return how many of these seconds the program and this process waited for a processor.

        `pids` are processes of the program that were started later.
        """
        seconds, cores = self.seconds, os.cpu_count() or 1
        now = Usage.of({*self._pids, *pids})
        own = Usage.of([os.getpid()])
        lost = now.seconds_lost(self._before, seconds, cores) + own.seconds_lost(self._own_before, seconds, cores)
        return min(seconds, lost)
