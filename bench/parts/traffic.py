"""Measuring many games at once, on the server and on the bare wire: throughput, latency, processor, memory, verdicts.

Invariants: bare wire and server get the same load from the same driver, alternately, each time as new processes. Only
an interval in which all games are in play is measured.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, TypeAlias

from spielleiter.bench.figures import Label, Records
from spielleiter.bench.load.drivers import EndedGames, Measurement, quantile, running_drivers
from spielleiter.bench.load.plan import plan_of
from spielleiter.bench.load.scripts import load_of
from spielleiter.bench.options import Options
from spielleiter.bench.subject import Subject, results_in, running_floor, running_server
from spielleiter.bench.verdicts import Verdicts, read_verdicts

KIB_PER_MIB: Final = 1024


def traffic_values(measured: Measurement) -> dict[str, tuple[float, str]]:
    """Return the figures of one interval: value and unit by name."""
    ordered = measured.ordered
    starts = sorted(measured.start_times)
    return {
        "throughput": (measured.moves_per_second, "moves/s"),
        "latency median": (1e3 * quantile(ordered, 0.5), "ms"),
        "latency p99": (1e3 * quantile(ordered, 0.99), "ms"),
        "latency max": (1e3 * max(quantile(ordered, 1.0), measured.longest_wait), "ms"),
        "start median": (1e3 * quantile(starts, 0.5), "ms"),
        "games playing": (measured.playing, "games"),
        "games ended": (measured.games, "games"),
        "processor per move": (1e6 * measured.processor_per_move, "us"),
        "processor busy": (measured.subject_seconds / measured.seconds, "of a core"),
        "driver busy": (max(measured.driver_busy), "of a core"),
    }


def ended_values(ended: EndedGames, verdicts: Verdicts) -> dict[str, tuple[float, str]]:
    """Return the figures that are known only when the server has ended: value and unit by name."""
    return {
        "false verdicts": (verdicts.false + ended.broken, "games"),
        "games judged": (verdicts.games, "games"),
    }


Start: TypeAlias = Callable[[Path, str, int], AbstractContextManager[Subject]]
"""Starts the process to be measured. The arguments: its folder, the edition, and the number of observers of a game."""


def _start_floor(_folder: Path, edition: str, observers: int) -> AbstractContextManager[Subject]:
    return running_floor(load_of(edition), observers)


def _start_server(folder: Path, _edition: str, _observers: int) -> AbstractContextManager[Subject]:
    return running_server(folder)


SUBJECTS: Final[Mapping[str, Start]] = {"floor": _start_floor, "server": _start_server}


def measure_traffic(options: Options, records: Records) -> Iterator[str]:
    """Measure games at once; for the yielded texts see `spielleiter.bench.run.Part`."""
    subjects = [name for name in SUBJECTS if name in options.only]
    for edition, observers, games in product(options.editions, options.observers, options.games):
        for name in subjects:
            yield f"{name}, {edition}, games at once: {games}" + (", observed" if observers else "")
            labels: dict[str, Label] = {"subject": name, "edition": edition, "games": games, "observers": observers}
            records.add({"part": "traffic", **labels}, _measure(options, SUBJECTS[name], edition, games, observers))


def _measure(options: Options, start: Start, edition: str, games: int, observers: int) -> dict[str, tuple[float, str]]:
    with TemporaryDirectory(prefix="spielleiter-bench-") as name:
        folder = Path(name)
        with start(folder, edition, observers) as subject:
            plan = plan_of(load_of(edition), subject.port, games, pid=subject.pid, observers=observers)
            with running_drivers(plan, options.drivers) as drivers:
                values = traffic_values(drivers.measure(options.seconds))
                values["memory peak"] = (subject.peak_kib / KIB_PER_MIB, "MiB")
        if start is _start_server:
            values |= ended_values(drivers.ended, read_verdicts(results_in(folder), drivers.ended.cut_off))
    return values
