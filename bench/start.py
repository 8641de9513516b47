"""How long the server takes until it accepts, beside Python with nothing but the two libraries it stands on.

Law: by turns, and so often that there are at least five of each in a run.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from bench.figures import Records
from bench.options import Options
from bench.subject import serving, start_python

LEAST: Final = 5
BARE: Final = "import trio, lxml.etree"


def measure_start(options: Options, records: Records) -> Iterator[str]:
    """Says beforehand what is measured next."""
    yield "start"
    for _ in range(-(-LEAST // options.rounds)):
        bare, server = _bare_seconds(), _server_seconds()
        records.add(
            {"part": "start"},
            {
                "bare Python": (1e3 * bare, "ms"),
                "server": (1e3 * server, "ms"),
                "server to bare Python": (server / bare, "times"),
            },
        )


def _bare_seconds() -> float:
    start = time.perf_counter()
    start_python(["-c", BARE], stdin=subprocess.DEVNULL).wait()
    return time.perf_counter() - start


def _server_seconds() -> float:
    with TemporaryDirectory(prefix="spielleiter-bench-") as name:
        start = time.perf_counter()
        with serving(Path(name)):
            return time.perf_counter() - start
