"""Games at once through the server, and through the bare wire: moves a second, latency, processor, memory, verdicts.

Law: floor and server are driven by the same driver in the same way, by turns, each time as fresh processes; only the
interval in which all games run is measured.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, TypeAlias

from spielleiter.bench.figures import Label, Records
from spielleiter.bench.load.drivers import Ended, Measured, driving, quantile
from spielleiter.bench.load.plan import plan_of
from spielleiter.bench.load.scripts import load_of
from spielleiter.bench.options import Options
from spielleiter.bench.subject import Subject, relaying, results_in, serving
from spielleiter.bench.verdicts import Verdicts, read_verdicts

KIB_PER_MIB: Final = 1024


def traffic_values(measured: Measured) -> dict[str, tuple[float, str]]:
    """The figures of one interval."""
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


def ended_values(ended: Ended, verdicts: Verdicts) -> dict[str, tuple[float, str]]:
    """What is known once the server has gone."""
    return {
        "false verdicts": (verdicts.false + ended.broken, "games"),
        "games judged": (verdicts.games, "games"),
    }


Start: TypeAlias = Callable[[Path, str, int], AbstractContextManager[Subject]]


def _start_floor(_folder: Path, edition: str, observers: int) -> AbstractContextManager[Subject]:
    return relaying(load_of(edition), observers)


def _start_server(folder: Path, _edition: str, _observers: int) -> AbstractContextManager[Subject]:
    return serving(folder)


SUBJECTS: Final[Mapping[str, Start]] = {"floor": _start_floor, "server": _start_server}


def measure_traffic(options: Options, records: Records) -> Iterator[str]:
    """Says beforehand what is measured next."""
    subjects = [name for name in SUBJECTS if name in options.only]
    for edition, observers, games in product(options.editions, options.observers, options.games):
        for name in subjects:
            what = f"{name}, {edition}, games at once: {games}" + (", observed" if observers else "")
            yield what
            labels: dict[str, Label] = {"subject": name, "edition": edition, "games": games, "observers": observers}
            records.add({"part": "traffic", **labels}, _measure(options, SUBJECTS[name], edition, games, observers))


def _measure(options: Options, start: Start, edition: str, games: int, observers: int) -> dict[str, tuple[float, str]]:
    with TemporaryDirectory(prefix="spielleiter-bench-") as name:
        folder = Path(name)
        with start(folder, edition, observers) as subject:
            plan = plan_of(load_of(edition), subject.port, games, pid=subject.pid, observers=observers)
            with driving(plan, options.drivers) as drivers:
                values = traffic_values(drivers.measure(options.seconds))
                values["memory peak"] = (subject.peak_kib / KIB_PER_MIB, "MiB")
        if start is _start_server:
            values |= ended_values(drivers.ended, read_verdicts(results_in(folder), drivers.ended.cut_off))
    return values
