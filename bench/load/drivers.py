"""Running driver processes: starting them, having them measure an interval, and combining their reports.

Invariants: all drivers measure the same interval, and none before every driver has all its games in play. The processes
have ended when the `with` statement ends.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, Final

from spielleiter.bench.load.plan import Plan, shares
from spielleiter.bench.subject import BenchError, describe_exit, running_piped
from spielleiter.common.quantile import nearest_rank

BUSY: Final = 0.85  # fraction of the time above which the driver, not the server, may limit the throughput
LEAD: Final = 0.05  # seconds before an interval begins, so that every driver has received the command


def default_process_count() -> int:
    """Return half the number of this machine's cores, from 1 to 4; more than 4 drivers have never been needed."""
    cores = os.cpu_count() or 1
    if sys.platform == "linux":
        cores = len(os.sched_getaffinity(0))
    return max(1, min(4, cores // 2))


def quantile(ordered: Sequence[float], share: float) -> float:
    """Return the nearest-rank quantile of `ordered`, which is in ascending order; NaN if it is empty."""
    return nearest_rank(ordered, share) if ordered else math.nan


@dataclass(frozen=True)
class Measurement:
    """The figures of an interval. All times are in seconds."""

    seconds: float
    """The length of the interval."""
    moves: int
    games: int
    """The number of games that ended."""
    latencies: tuple[tuple[float, ...], ...]
    """For each ply the latencies until the next request."""
    subject_seconds: float
    """The processor time of the measured process."""
    driver_busy: tuple[float, ...]
    """For each driver the fraction of the time in which it used a processor."""
    longest_wait: float
    """The longest time for which a player was waiting at the end: a server that never answers has no latency."""
    start_times: tuple[float, ...]
    """For each game the time from the players' connecting to the first request, or so far if there was none yet."""
    playing: int
    """The number of games in play at the end; the players of the others were waiting to be admitted."""

    @property
    def moves_per_second(self) -> float:
        return self.moves / self.seconds

    @property
    def ordered(self) -> list[float]:
        """All latencies in ascending order."""
        return sorted(chain.from_iterable(self.latencies))

    @property
    def processor_per_move(self) -> float:
        return self.subject_seconds / self.moves if self.moves else math.nan


@dataclass
class EndedGames:
    """How the games of a run ended."""

    over: int = 0
    """The number of complete games."""
    broken: int = 0
    """The number of games that ended before the last move, or without a result."""
    cut_off: set[str] = field(default_factory=set)
    """The rooms of the games that the drivers have aborted."""


class Drivers:
    """Driver processes with their games."""

    def __init__(self, processes: Sequence[subprocess.Popen[str]]) -> None:
        self._processes = processes
        self.ended = EndedGames()
        """Complete when the drivers have ended."""

    def await_ready(self) -> None:
        """Wait until every game of every driver is in play. Raises BenchError if a driver has ended."""
        for process in self._processes:
            _read_report(process)

    def measure(self, seconds: float) -> Measurement:
        """Measure for `seconds`, and return the combined figures. Raises BenchError if a driver has ended."""
        start = time.perf_counter() + LEAD
        for process in self._processes:
            assert process.stdin is not None
            process.stdin.write(f"measure {start!r} {start + seconds!r}\n")
            process.stdin.flush()
        reports = [_read_report(process) for process in self._processes]
        rates = [each["moves"] / each["seconds"] for each in reports]
        seconds = sum(each["seconds"] for each in reports) / len(reports)
        plies = zip(*(each["latencies"] for each in reports), strict=True)
        return Measurement(
            seconds,
            round(sum(rates) * seconds),
            sum(each["games"] for each in reports),
            tuple(tuple(chain.from_iterable(ply)) for ply in plies),
            sum(each["subject_seconds"] for each in reports) / len(reports),
            tuple(each["driver_seconds"] / each["seconds"] for each in reports),
            max(each["longest_wait"] for each in reports),
            tuple(chain.from_iterable(each["start_times"] for each in reports)),
            sum(each["playing"] for each in reports),
        )

    def finish(self) -> None:
        """End the drivers, and add their finished, broken and aborted games to `ended`."""
        for process in self._processes:
            assert process.stdin is not None
            process.stdin.close()
        for process in self._processes:
            report = _read_report(process)
            self.ended.over += report["over"]
            self.ended.broken += report["broken"]
            self.ended.cut_off.update(report["cut_off"])
            process.wait()


def _read_report(process: subprocess.Popen[str]) -> Any:
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        raise BenchError(f"a driver has ended before its time ({describe_exit(process)})")
    return json.loads(line)


@contextmanager
def running_drivers(plan: Plan, processes: int = 1) -> Iterator[Drivers]:
    """Play the games of `plan`, distributed over `processes` drivers. All are in play when the `with` block begins."""
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
            process = stack.enter_context(running_piped(module))
            assert process.stdin is not None
            with suppress(BrokenPipeError):  # the driver has ended; this is found when its report is read
                process.stdin.write(replace(plan, games=games).to_json() + "\n")
                process.stdin.flush()
            started.append(process)
        drivers = Drivers(started)
        drivers.await_ready()
        yield drivers
        drivers.finish()
