"""Measuring how long this machine delayed programs: they waited for a processor because of others.

Invariants: for a program that thinks for too long, only what happened since its request counts, and only what others
have caused (`Usage.seconds_lost`). Requests that are answered quickly cost nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import inf
from typing import Final, Protocol

import trio

from spielleiter.match.programs.processes import Usage

GRACE: Final = 0.02  # seconds after a request until the processes are looked at; most requests are answered by then


class HasPids(Protocol):
    """A program whose processes are measured."""

    @property
    def pids(self) -> Iterable[int]: ...


class SchedulingDelayMeter:
    """Measures the two programs of a game while `run` runs; each of them may use `cores` processor cores."""

    def __init__(self, cores: int) -> None:
        self._cores = cores
        self._programs: Sequence[HasPids | None] = (None, None)
        self._at_request: list[Usage] = []
        self._pause = trio.CancelScope()
        self._due = inf

    async def run(self, programs: Sequence[HasPids | None]) -> None:
        """Look at `programs` shortly after each request, until cancelled."""
        self._programs = programs
        while True:
            with trio.CancelScope(deadline=self._due) as self._pause:
                await trio.sleep_forever()
            self._due = inf
            self._at_request = self._sample()

    def start_request(self) -> None:
        """Note that one of the programs has just been asked for a move."""
        self._at_request = []
        self._pause.deadline = self._due = trio.current_time() + GRACE

    def seconds_waiting(self, program: int, think_time: float) -> float:
        """Return for how many of the last `think_time` seconds this machine delayed `program`.

        It is 0 if the answer came before the processes were looked at, and never includes the time before that.
        """
        if not self._at_request:
            return 0.0
        return self._sample()[program].seconds_lost(self._at_request[program], think_time, self._cores)

    def _sample(self) -> list[Usage]:
        return [Usage.of(() if each is None else each.pids) for each in self._programs]
