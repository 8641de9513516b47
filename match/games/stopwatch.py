"""How long something took, and how much of that was this machine's doing.

Invariants: measuring reads the processes of the program and this one, and nothing else. Where the system does not say
how long a thread waited for a processor, nothing was waited for.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

import trio

from spielleiter.match.programs.processes import Usage


class Stopwatch:
    """Runs from its beginning. `pids`: the program's processes at that time."""

    def __init__(self, pids: Iterable[int]) -> None:
        self._pids = tuple(pids)
        self._before = Usage.of(self._pids)
        self._own_before = Usage.of([os.getpid()])
        self._started = trio.current_time()

    @property
    def seconds(self) -> float:
        """Since the beginning."""
        return trio.current_time() - self._started

    def seconds_lost(self, pids: Iterable[int] = ()) -> float:
        """How much of it program and measuring process waited for a processor; `pids`: processes that came later."""
        seconds, cores = self.seconds, os.cpu_count() or 1
        now = Usage.of({*self._pids, *pids})
        own = Usage.of([os.getpid()])
        lost = now.seconds_lost(self._before, seconds, cores) + own.seconds_lost(self._own_before, seconds, cores)
        return min(seconds, lost)
