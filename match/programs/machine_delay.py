"""Measuring how long this machine delayed programs: they waited for a processor because of others.

Invariants: for a program that thinks for too long, only what happened since its request counts, and only what others
have caused (`Usage`). The processes are looked at before the request is sent, and then again and again until the
answer, since the system forgets how long a thread has waited that has ended. Requests that are answered quickly cost
one look.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Sequence
from typing import Final, Protocol

import trio

from spielleiter.match.programs.processes import Usage

FIRST_LOOK: Final = 0.02
"""The seconds from a request to the next look at the processes, and the shortest time between two looks."""
_GROWTH: Final = 20  # the time between two looks is this part of that since the request, so long requests cost little
_AFTER_LIMIT: Final = 0.005  # seconds; the clock starts a little later than the measurement
_SHORTEST: Final = 0.001  # seconds; a shorter pause than this may be none


class MeasuredProcesses(Protocol):
    """A program whose processes are measured."""

    @property
    def pids(self) -> Iterable[int]: ...

    @property
    def cpu_seconds_so_far(self) -> float: ...


class SchedulingDelayMeter:
    """Measures the programs of a game while `run` runs; each of them may use `cores` processor cores.

    `programs` may be filled after this was created. `limits` are their soft time limits in seconds.
    """

    def __init__(self, programs: Sequence[MeasuredProcesses | None], limits: tuple[float, float], cores: int) -> None:
        self._programs = programs
        self._limits = limits
        self._cores = cores
        self._asked: int | None = None
        """The program that was asked last."""
        self._requested_at = -math.inf
        self._due = math.inf
        self._pause = trio.CancelScope()
        self._at_request = self._last = Usage({})
        self._last_at = -math.inf
        self._waited = 0.0
        """The waiting until the last look."""
        self._asleep: dict[int, tuple[int, float]] = {}
        """Threads that sleep since an earlier look: their run time, and `_waited` at that look."""
        self._most = math.inf
        """The waiting before a thread that was asked began to sleep until after the limit."""

    async def run(self) -> None:
        """Look at the program that was asked while it thinks, until cancelled."""
        while True:
            with trio.CancelScope(deadline=self._due) as self._pause:
                await trio.sleep_forever()
            self._look()
            thought = self._last_at - self._requested_at
            pause = max(FIRST_LOOK, thought / _GROWTH)
            after_limit = math.inf if self._asked is None else self._limits[self._asked] + _AFTER_LIMIT - thought
            self._due = self._last_at + (after_limit if _SHORTEST < after_limit < pause else pause)

    def start_request(self, program: int) -> None:
        """Note that `program` is asked for a move next."""
        self._asked = program
        self._requested_at = self._last_at = trio.current_time()
        self._at_request = self._last = usage_of(self._programs[program])
        self._waited, self._most = 0.0, math.inf
        self._asleep.clear()
        self._due = self._requested_at + FIRST_LOOK if self._last.threads else math.inf
        self._pause.deadline = self._due

    def seconds_waiting(self, program: int, think_time: float) -> float:
        """Return for how many of the last `think_time` seconds, since the request, this machine delayed `program`."""
        if program != self._asked:
            return 0.0
        self._look()
        most = self._last.most_caused_by_others(self._at_request, think_time, self._cores)
        return max(0.0, min(self._waited, self._most, most))

    def _look(self) -> None:
        if self._asked is None:
            return
        now, at = usage_of(self._programs[self._asked]), trio.current_time()
        self._waited += now.longest_wait(self._last, at - self._last_at, self._cores)
        known = self._at_request.threads.keys() - self._at_request.asleep
        asleep = {thread: now.threads[thread][0] for thread in now.asleep & known}
        for thread in self._asleep.keys() - asleep.keys():
            del self._asleep[thread]
        for thread, run_time in asleep.items():
            if thread not in self._asleep or self._asleep[thread][0] != run_time:  # it was awake in the meantime
                self._asleep[thread] = run_time, self._waited
        if self._asleep and at - self._requested_at >= self._limits[self._asked] + _AFTER_LIMIT / 2:
            # whatever others did since, the thread that was asked would not have answered in time
            self._most = min(self._most, *(waited for _, waited in self._asleep.values()))
        self._last, self._last_at = now, at


def usage_of(program: MeasuredProcesses | None) -> Usage:
    """Return the usage of a program and of everything that it has started, so far."""
    if program is None or sys.platform != "linux":
        return Usage({})
    return Usage.of(program.pids, program.cpu_seconds_so_far)
