"""How long programs were kept waiting by this machine: for a processor, or because this very process was late.

Invariants: a program that thinks for too long is asked about the time since just before its request; what it waited for
before that is not counted. Measuring looks at the program's own processes only, a few times a second.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Final, Protocol

import trio

from spielleiter.match.programs.processes import Usage

INTERVAL: Final = 0.25  # seconds between two looks
LOOKS_PER_SEARCH: Final = 4
"""New processes of a program are searched for once in so many looks."""
_LATE: Final = 0.05  # seconds by which a loop may be late that has something to do


class Watched(Protocol):
    @property
    def pids(self) -> Iterable[int]: ...


class WaitingMeter:
    """Measures the two programs of a game as long as `run` runs; `cores`: how many each of them may use."""

    def __init__(self, cores: int) -> None:
        self._cores = cores
        self._programs: Sequence[Watched | None] = (None, None)
        self._pids: list[tuple[int, ...]] = [(), ()]
        self._last: list[Usage] = []
        self._since: list[Usage] = []
        self._late = 0.0
        self._late_before = 0.0

    async def run(self, programs: Sequence[Watched | None]) -> None:
        """Look at `programs` again and again."""
        self._programs = programs
        for count in itertools.count():
            if count % LOOKS_PER_SEARCH == 0:
                self._search()
            self._last = self._look()
            wake = trio.current_time() + INTERVAL
            await trio.sleep_until(wake)
            late = trio.current_time() - wake
            if late > _LATE:
                self._late += late

    def mark(self) -> None:
        """One of the programs begins to think."""
        if not self._last:
            self._search()
            self._last = self._look()
        self._since, self._late_before = self._last, self._late

    def seconds_waiting(self, program: int, think_time: float) -> float:
        """How much of the last `think_time` seconds `program` could not use."""
        if not self._since:
            return 0.0
        usage = self._look()[program]
        lost = usage.seconds_lost(self._since[program], think_time, self._cores)
        return max(lost, min(think_time, self._late - self._late_before))

    def _search(self) -> None:
        self._pids = [() if each is None else tuple(each.pids) for each in self._programs]

    def _look(self) -> list[Usage]:
        return [Usage.of(pids) for pids in self._pids]
