"""Running driver processes: starting them, having them measure an interval, and combining their reports.

All drivers measure the same interval, and none before every driver has all its games in play.
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
from dataclasses import replace
from itertools import chain
from typing import Any, Final

from spielleiter.bench.driver import Plan
from spielleiter.bench.subprocesses import BenchError, describe_exit, running_piped
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


class Drivers:
    """Driver processes with their games."""

    def __init__(self, processes: Sequence[subprocess.Popen[str]]) -> None:
        self._processes = processes
        self.broken = 0
        """When the drivers have ended: the number of games that ended before the last move, or without a result."""
        self.cut_off: set[str] = set()
        """When the drivers have ended: the rooms of the games that they have aborted."""

    def await_ready(self) -> None:
        """Wait until every game of every driver is in play. Raises BenchError if a driver has ended."""
        for process in self._processes:
            _read_report(process)

    def measure(self, seconds: float) -> dict[str, tuple[float, str]]:
        """Measure for `seconds`, and return the figures: value and unit by name. Raises BenchError."""
        start = time.perf_counter() + LEAD
        for process in self._processes:
            assert process.stdin is not None
            process.stdin.write(f"measure {start!r} {start + seconds!r}\n")
            process.stdin.flush()
        return combined_figures([_read_report(process) for process in self._processes])

    def finish(self) -> None:
        """End the drivers, and count their broken and aborted games."""
        for process in self._processes:
            assert process.stdin is not None
            process.stdin.close()
        for process in self._processes:
            report = _read_report(process)
            self.broken += report["broken"]
            self.cut_off.update(report["cut_off"])
            process.wait()


def combined_figures(reports: Sequence[dict[str, Any]]) -> dict[str, tuple[float, str]]:
    """Return the figures of an interval, value and unit by name. `reports` are the results of `Driver.measure`."""
    count = len(reports)
    speed = sum(each["moves"] / each["seconds"] for each in reports)
    seconds = sum(each["seconds"] for each in reports) / count
    subject_seconds = sum(each["subject_seconds"] for each in reports) / count
    latencies = sorted(latency for each in reports for latency in each["latencies"])
    start_times = sorted(chain.from_iterable(each["start_times"] for each in reports))
    longest_wait = max(each["longest_wait"] for each in reports)  # a server that never answers has no latency
    return {
        "throughput": (speed, "moves/s"),
        "latency median": (1e3 * quantile(latencies, 0.5), "ms"),
        "latency p99": (1e3 * quantile(latencies, 0.99), "ms"),
        "latency max": (1e3 * max(quantile(latencies, 1.0), longest_wait), "ms"),
        "start median": (1e3 * quantile(start_times, 0.5), "ms"),
        "games playing": (sum(each["playing"] for each in reports), "games"),
        "games ended": (sum(each["games"] for each in reports), "games"),
        "processor per move": (1e6 * subject_seconds / (speed * seconds) if speed else math.nan, "us"),
        "processor busy": (subject_seconds / seconds, "of a core"),
        "driver busy": (max(each["driver_seconds"] / each["seconds"] for each in reports), "of a core"),
    }


def _read_report(process: subprocess.Popen[str]) -> Any:
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        raise BenchError(f"a driver has ended before its time ({describe_exit(process)})")
    return json.loads(line)


@contextmanager
def running_drivers(
    plan: Plan, processes: int = 1, arguments: Sequence[str] = ("-m", "spielleiter.bench.driver")
) -> Iterator[Drivers]:
    """Play the games of `plan`, distributed over `processes` drivers. All are in play when the `with` block begins.

    `arguments` are those of Python that start a driver. Every driver plays at least one game.
    """
    processes = max(1, min(plan.games, processes))
    with ExitStack() as stack:
        started = []
        for number in range(processes):
            process = stack.enter_context(running_piped(arguments))
            games = plan.games // processes + (number < plan.games % processes)
            assert process.stdin is not None
            with suppress(BrokenPipeError):  # the driver has ended; this is found when its report is read
                process.stdin.write(replace(plan, games=games).to_json() + "\n")
                process.stdin.flush()
            started.append(process)
        drivers = Drivers(started)
        drivers.await_ready()
        yield drivers
        drivers.finish()
