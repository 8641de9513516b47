"""Measuring the time until a server accepts connections and answers, compared with starting Python and two libraries.

Invariants: both are measured alternately, at least five times each in a run.
"""

from __future__ import annotations

import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from spielleiter.bench.figures import Records
from spielleiter.bench.options import Options
from spielleiter.bench.subject import running_server, start_python

LEAST: Final = 5  # starts in a run
CALL_TIMEOUT: Final = 10.0  # seconds
BARE: Final = "import trio, xml.parsers.expat"
"""The code that bare Python runs: it imports the two libraries that the server is based on."""


def measure_start(options: Options, records: Records) -> Iterator[str]:
    """Measure starts; for the yielded texts see `spielleiter.bench.run.Part`."""
    yield "start"
    for _ in range(-(-LEAST // options.rounds)):
        bare, (server, answering) = _bare_seconds(), _server_seconds()
        records.add(
            {"part": "start"},
            {
                "bare Python": (1e3 * bare, "ms"),
                "server": (1e3 * server, "ms"),
                "server to bare Python": (server / bare, "times"),
                "server, first answer": (1e3 * answering, "ms"),
            },
        )


def _bare_seconds() -> float:
    start = time.perf_counter()
    start_python(["-c", BARE], stdin=subprocess.DEVNULL).wait()
    return time.perf_counter() - start


def _server_seconds() -> tuple[float, float]:
    """Return the seconds until the server accepts, and until a client that connects at once has got an answer."""
    with TemporaryDirectory(prefix="spielleiter-bench-") as name:
        start = time.perf_counter()
        with running_server(Path(name)) as server:
            accepting = time.perf_counter() - start
            with socket.create_connection(("127.0.0.1", server.port), CALL_TIMEOUT) as client:
                client.sendall(b"<protocol></protocol>")
                client.recv(1)
            return accepting, time.perf_counter() - start
