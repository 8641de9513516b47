"""Measuring the latency of moves at the beginning and at the end of a game, alone and beside many idle rooms.

Invariants: one game is played at a time, and it is a long one, so that there are late plies. The measurements with and
without idle rooms alternate.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from spielleiter.bench.figures import Records
from spielleiter.bench.idle_clients import idle_rooms
from spielleiter.bench.load.drivers import Measurement, quantile, running_drivers
from spielleiter.bench.load.plan import plan_of
from spielleiter.bench.load.scripts import load_of
from spielleiter.bench.options import Options
from spielleiter.bench.subject import running_server

EARLY: Final = range(1, 11)
LATE: Final = range(70, 81)


def measure_plies(options: Options, records: Records) -> Iterator[str]:
    """Measure the latency of plies; for the yielded texts see `spielleiter.bench.run.Part`."""
    for edition in options.editions:
        yield f"plies, {edition}, alone"
        alone = _play(edition, 0, options.seconds)
        yield f"plies, {edition}, beside {options.idle_rooms} idle rooms"
        crowded = _play(edition, options.idle_rooms, options.seconds)
        early, late = _median(alone, EARLY), _median(alone, LATE)
        records.add(
            {"part": "plies", "edition": edition, "idle rooms": options.idle_rooms},
            {
                _plies("plies", EARLY): (1e3 * early, "ms"),
                _plies("plies", LATE): (1e3 * late, "ms"),
                "late to early": (late / early, "times"),
                "all plies": (1e3 * quantile(alone.ordered, 0.5), "ms"),
                "beside idle rooms": (1e3 * quantile(crowded.ordered, 0.5), "ms"),
                "beside to alone": (quantile(crowded.ordered, 0.5) / quantile(alone.ordered, 0.5), "times"),
            },
        )


def _plies(word: str, plies: range) -> str:
    return f"{word} {plies[0]}-{plies[-1]}"


def _median(measured: Measurement, plies: range) -> float:
    """Return the median of the latencies at these plies."""
    return quantile(sorted(chain.from_iterable(measured.latencies[plies[0] : plies[-1] + 1])), 0.5)


def _play(edition: str, rooms: int, seconds: float) -> Measurement:
    load = load_of(edition, is_long=True)
    with (
        TemporaryDirectory(prefix="spielleiter-bench-") as name,
        running_server(Path(name)) as server,
        idle_rooms(server.port, load.game_type, rooms) if rooms else nullcontext(),
        running_drivers(plan_of(load, server.port, 1)) as drivers,
    ):
        return drivers.measure(seconds)
