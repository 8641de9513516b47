"""The latency of moves while the pages are under load, compared with a passive load of the same processor time.

Run it as `python -m benchmarks.page_load [KIND...]`. There are one server with its pages, and 50 games whose players
think for a tenth of a second. The kinds of load are:

- ``gets``: 250 loops that ask for the list of rooms;
- ``connects``: 250 new connections a second, each with one request;
- ``bodies``: 250 connections with a body of 4 MiB that is never finished;
- ``pages``: 100 open pages, of which 40 show the list, 50 a game, and 10 never read.

In each round every load is followed by its control: processes that use as much of the processor as the clients of the
load and the process of the pages did, with the same priorities, and do nothing else. The last lines are the medians of
the rounds, and their ratios; then comes the memory of the server and of the pages.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import psutil

from benchmarks.throughput import PAGES, viewer_port
from benchmarks.under_attack import drive, processor_seconds, settle
from spielleiter.bench.driver import plan_of
from spielleiter.bench.scripted_games import load_of
from spielleiter.bench.subprocesses import LOG_NAME, first_line, running_piped, running_server
from spielleiter.viewer.web.page_process import NICENESS

EDITION: Final = "blokus-2027"
KINDS: Final = ("gets", "connects", "bodies", "pages")
CLIENTS: Final = Path(__file__).with_name("page_clients.py")
SHOWN: Final = ("throughput", "latency median", "latency p99")
HOST: Final = "127.0.0.1"


@contextmanager
def running(*arguments: str) -> Iterator[int]:
    """Run this file or `pages.py` with these arguments; yield its process id when it is ready."""
    with running_piped(arguments) as process:
        assert first_line(process), f"{arguments} cannot be started"
        yield process.pid


def load_command(kind: str, port: int) -> list[str]:
    if kind == "pages":
        return [str(Path(__file__).with_name("pages.py")), str(port), *map(str, PAGES)]
    return [str(CLIENTS), kind, str(port)]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.page_load", description=__doc__)
    parser.add_argument("kinds", nargs="*", default=KINDS)
    parser.add_argument("--games", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=5.0, help="duration of each measurement")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    found: dict[str, list[dict[str, float]]] = {}
    with (
        TemporaryDirectory() as folder,
        running_server(Path(folder), "--grace", "0", "--viewer", f"{HOST}:0") as server,
    ):
        plan = plan_of(load_of(EDITION), server.port, options.games, pid=server.pid)
        port = viewer_port(Path(folder) / LOG_NAME)
        pages = psutil.Process(server.pid).children(recursive=True)[-1]  # on Linux below what starts it

        def memory() -> str:
            mib = [psutil.Process(pid).memory_info().rss / 2**20 for pid in (server.pid, pages.pid)]
            return f"memory: server {mib[0]:.1f} MiB, pages {mib[1]:.1f} MiB"

        def measure(name: str, *used_by: int) -> list[float]:
            """Print the figures; return the shares of a processor that these processes have used."""
            before, since = [processor_seconds(pid) for pid in used_by], time.perf_counter()
            measured = drive(plan, options.seconds)
            seconds = time.perf_counter() - since
            found.setdefault(name, []).append(measured)
            print(f"{name:18} " + "  ".join(f"{key} {measured[key]:8.2f}" for key in SHOWN), memory(), flush=True)
            return [(processor_seconds(pid) - used) / seconds for pid, used in zip(used_by, before, strict=True)]

        print("idle", memory(), flush=True)
        measure("warm-up")
        for _ in range(options.rounds):
            for kind in options.kinds:
                settle(server.pid)
                measure("quiet")
                with running(*load_command(kind, port)) as client:
                    shares = measure(kind, client, pages.pid)
                settle(pages.pid)
                with ExitStack() as stack:
                    for share, niceness in zip(shares, (0, NICENESS), strict=True):
                        stack.enter_context(running(str(CLIENTS), "passive", f"{share:.4f}", str(niceness)))
                    measure(f"{kind}, control")
    for kind in options.kinds:
        medians = {
            name: {key: statistics.median(each[key] for each in found[name]) for key in SHOWN}
            for name in (kind, f"{kind}, control", "quiet")
        }
        here, control, quiet = medians.values()
        ratios = (
            f"{key} {here[key]:.2f}, x{here[key] / control[key]:.2f} of control, x{here[key] / quiet[key]:.2f} of quiet"
            for key in SHOWN[1:]
        )
        print(f"{kind:10} " + "; ".join(ratios), flush=True)


if __name__ == "__main__":
    main()
