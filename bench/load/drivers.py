"""The driver's processes, from outside: start them, have them measure an interval, put together what they say.

Law: all of them measure the same interval, and none before every one has all of its games running. They are gone when
the `with` statement is over.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, Final

from spielleiter.bench.load.plan import Plan, shares
from spielleiter.bench.subject import BenchError, end, how_it_ended, start_piped
from spielleiter.server.quantile import nearest_rank

BUSY: Final = 0.85  # share of the time above which a driver may be what is measured
LEAD: Final = 0.05  # seconds until an interval begins, so that every driver has heard of it


def sensible_processes() -> int:
    """One half of this machine's cores drives the other; more than four have never been needed."""
    return max(1, min(4, len(os.sched_getaffinity(0)) // 2))


def quantile(ordered: Sequence[float], share: float) -> float:
    """The value that at least this share of them does not exceed; NaN of nothing."""
    return nearest_rank(ordered, share) if ordered else math.nan


@dataclass(frozen=True)
class Measured:
    """What happened in an interval; seconds."""

    seconds: float
    moves: int
    games: int
    """So many ended in it."""
    latencies: tuple[tuple[float, ...], ...]
    """By ply after which they were waited for."""
    subject_seconds: float
    """Of the processor, by the process that was measured."""
    driver_busy: tuple[float, ...]
    """Shares of the time in which each driver had a processor."""
    longest_wait: float
    """Of those that were still waiting in the end: a server that never answers has no latency."""
    start_times: tuple[float, ...]
    """From a player's connecting to its game's first request; so far, of those that still wait."""
    playing: int
    """Games that had begun in the end; the others waited for their players to be let in."""

    @property
    def moves_per_second(self) -> float:
        return self.moves / self.seconds

    @property
    def ordered(self) -> list[float]:
        """All latencies, the shortest first."""
        return sorted(chain.from_iterable(self.latencies))

    @property
    def processor_per_move(self) -> float:
        return self.subject_seconds / self.moves if self.moves else math.nan


@dataclass
class Ended:
    """How the games of a run ended."""

    over: int = 0
    broken: int = 0
    """Before the last move, or without a result."""
    cut_off: set[str] = field(default_factory=set)
    """The rooms of those that the driver left."""


class Drivers:
    """Driver processes with all their games running."""

    def __init__(self, processes: Sequence[subprocess.Popen[str]]) -> None:
        self._processes = processes
        self.ended = Ended()
        """Complete once the drivers are gone."""

    def await_ready(self) -> None:
        """Until every game of every driver runs."""
        for process in self._processes:
            _answer(process)

    def measure(self, seconds: float) -> Measured:
        """What happens in the next so many seconds."""
        start = time.perf_counter() + LEAD
        for process in self._processes:
            assert process.stdin is not None
            process.stdin.write(f"measure {start!r} {start + seconds!r}\n")
            process.stdin.flush()
        told = [_answer(process) for process in self._processes]
        rates = [each["moves"] / each["seconds"] for each in told]
        seconds = sum(each["seconds"] for each in told) / len(told)
        plies = zip(*(each["latencies"] for each in told), strict=True)
        return Measured(
            seconds,
            round(sum(rates) * seconds),
            sum(each["games"] for each in told),
            tuple(tuple(chain.from_iterable(ply)) for ply in plies),
            sum(each["subject_seconds"] for each in told) / len(told),
            tuple(each["driver_seconds"] / each["seconds"] for each in told),
            max(each["longest_wait"] for each in told),
            tuple(chain.from_iterable(each["start_times"] for each in told)),
            sum(each["playing"] for each in told),
        )

    def finish(self) -> None:
        """Let them end, and hear how their games did."""
        for process in self._processes:
            assert process.stdin is not None
            process.stdin.close()
        for process in self._processes:
            told = _answer(process)
            self.ended.over += told["over"]
            self.ended.broken += told["broken"]
            self.ended.cut_off.update(told["cut_off"])
            process.wait()


def _answer(process: subprocess.Popen[str]) -> Any:
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        raise BenchError(f"a driver has ended before its time ({how_it_ended(process)})")
    return json.loads(line)


@contextmanager
def driving(plan: Plan, processes: int = 1) -> Iterator[Drivers]:
    """The games of `plan`, spread over so many processes; all run when the `with` statement begins."""
    module = (
        "spielleiter.bench.load.held"
        if plan.hold_ply
        else "spielleiter.bench.load.driver"
        if plan.pace is None
        else "spielleiter.bench.load.paced"
    )
    with ExitStack() as stack:
        started = []
        for games in shares(plan.games, processes):
            process = start_piped(module)
            stack.callback(end, process)
            assert process.stdin is not None
            with suppress(BrokenPipeError):  # then it has ended already, which is told when it has to answer
                process.stdin.write(replace(plan, games=games).to_json() + "\n")
                process.stdin.flush()
            started.append(process)
        drivers = Drivers(started)
        drivers.await_ready()
        yield drivers
        drivers.finish()
