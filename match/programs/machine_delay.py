"""Measuring how long this machine delayed programs: they waited for a processor, or the match's process was late.

Invariants: for a program that thinks for too long, only delays since just before its request count. Measuring reads
only the program's own processes, a few times a second.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Final, Protocol

import trio

from spielleiter.match.programs.processes import Usage

INTERVAL: Final = 0.25  # seconds between two samples
SAMPLES_PER_SEARCH: Final = 4
"""A program's new processes are searched for once in this many samples."""
_TOLERATED_LAG: Final = 0.05  # seconds by which a busy event loop may be late without being slowed down by others


class HasPids(Protocol):
    """A program whose processes are measured."""

    @property
    def pids(self) -> Iterable[int]: ...


class SchedulingDelayMeter:
    """Measures the two programs of a game while `run` runs; each of them may use `cores` processor cores."""

    def __init__(self, cores: int) -> None:
        self._cores = cores
        self._programs: Sequence[HasPids | None] = (None, None)
        self._pids: list[tuple[int, ...]] = [(), ()]
        self._last: list[Usage] = []
        self._at_request: list[Usage] = []
        self._lag = 0.0
        self._lag_at_request = 0.0

    async def run(self, programs: Sequence[HasPids | None]) -> None:
        """Sample the usage of `programs` until cancelled."""
        self._programs = programs
        for count in itertools.count():
            if count % SAMPLES_PER_SEARCH == 0:
                self._search()
            self._last = self._sample()
            deadline = trio.current_time() + INTERVAL
            await trio.sleep_until(deadline)
            lag = trio.current_time() - deadline
            if lag > _TOLERATED_LAG:
                self._lag += lag

    def start_request(self) -> None:
        """Note that one of the programs has just been asked for a move."""
        if not self._last:
            self._search()
            self._last = self._sample()
        self._at_request, self._lag_at_request = self._last, self._lag

    def seconds_waiting(self, program: int, think_time: float) -> float:
        """Return for how many of the last `think_time` seconds this machine delayed `program`."""
        if not self._at_request:
            return 0.0
        usage = self._sample()[program]
        lost = usage.seconds_lost(self._at_request[program], think_time, self._cores)
        return max(lost, min(think_time, self._lag - self._lag_at_request))

    def _search(self) -> None:
        self._pids = [() if each is None else tuple(each.pids) for each in self._programs]

    def _sample(self) -> list[Usage]:
        return [Usage.of(pids) for pids in self._pids]
