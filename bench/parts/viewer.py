"""Measuring what open pages of the viewer cost the games: throughput with pages and without any, in alternation.

Invariants: both are measured on the same server with the same games, several times in turn, so that a machine that
becomes slower does not change the ratio. Some of the pages never read.
"""

from __future__ import annotations

import json
import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, Final

from spielleiter.bench.figures import Records
from spielleiter.bench.load.drivers import Drivers, Measurement, running_drivers
from spielleiter.bench.load.plan import plan_of
from spielleiter.bench.load.scripts import load_of
from spielleiter.bench.options import Options
from spielleiter.bench.subject import LOG_NAME, BenchError, describe_exit, first_line, running_python, running_server

GAMES: Final = 50
LISTS: Final = 40
WATCHED: Final = 50
SILENT: Final = 10
PAGES: Final = LISTS + WATCHED + SILENT
TURNS: Final = 3
SETTLE: Final = 3.0  # seconds after the pages have been opened or closed, which keeps the server busy for a moment
START_TIMEOUT: Final = 30.0
_URL: Final = re.compile(r'"url": "http://127\.0\.0\.1:(\d+)/"')


def measure_viewer(options: Options, records: Records) -> Iterator[str]:
    """Measure games at full speed beside pages; for the yielded texts see `spielleiter.bench.run.Part`."""
    for edition in options.editions:
        yield f"viewer, {edition}, {GAMES} games at once, {PAGES} pages"
        records.add({"part": "viewer", "edition": edition}, _measure(options, edition))


def _measure(options: Options, edition: str) -> dict[str, tuple[float, str]]:
    without: list[Measurement] = []
    beside: list[Measurement] = []
    updates = []
    with (
        TemporaryDirectory(prefix="spielleiter-bench-") as name,
        running_server(Path(name), "--viewer", "127.0.0.1:0") as server,
        running_drivers(plan_of(load_of(edition), server.port, GAMES, pid=server.pid), options.drivers) as drivers,
    ):
        port = _viewer_port(Path(name) / LOG_NAME)
        for _ in range(TURNS):
            without.append(_measured(drivers, options.seconds))
            with _open_pages(port) as pages:
                begin = time.perf_counter()
                beside.append(_measured(drivers, options.seconds))
                seconds = time.perf_counter() - begin
                updates.append(_finish(pages)["events"] / seconds / (LISTS + WATCHED))
    pairs = list(zip(beside, without, strict=True))
    return {
        "throughput without pages": (median(each.moves_per_second for each in without), "moves/s"),
        f"throughput beside {PAGES} pages": (median(each.moves_per_second for each in beside), "moves/s"),
        "with pages to without": (median(one.moves_per_second / other.moves_per_second for one, other in pairs), "x"),
        "processor per move without pages": (1e6 * median(each.processor_per_move for each in without), "us"),
        "processor per move beside pages": (1e6 * median(each.processor_per_move for each in beside), "us"),
        "updates of a page": (median(updates), "/s"),
    }


def _measured(drivers: Drivers, seconds: float) -> Measurement:
    time.sleep(SETTLE)
    return drivers.measure(seconds)


def _viewer_port(log: Path) -> int:
    """Return the port of the pages, which are loaded after the game port is open."""
    deadline = time.perf_counter() + START_TIMEOUT
    while time.perf_counter() < deadline:
        found = _URL.search(log.read_text(encoding="utf-8", errors="replace"))
        if found:
            return int(found[1])
        time.sleep(0.05)
    raise BenchError("the server does not serve its pages; its log says why")


@contextmanager
def _open_pages(port: int) -> Iterator[subprocess.Popen[str]]:
    pipe = subprocess.PIPE
    arguments = [str(number) for number in (port, LISTS, WATCHED, SILENT)]
    command = ["-m", "spielleiter.bench.load.pages", *arguments]
    with running_python(command, stdin=pipe, stdout=pipe, stderr=pipe) as process:
        if not first_line(process):
            raise BenchError(f"the pages cannot be opened ({describe_exit(process)})")
        yield process


def _finish(process: subprocess.Popen[str]) -> Any:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.close()
    line = process.stdout.readline()
    if not line:
        raise BenchError(f"the pages have ended before their time ({describe_exit(process)})")
    return json.loads(line)
