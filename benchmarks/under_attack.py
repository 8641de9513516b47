"""The latency of moves with and without hostile clients.

Run it as `python -m benchmarks.under_attack [HOSTILE...] [--each] [--kinds KIND...]`. There are one server and one
driver, whose players think for a tenth of a second. For each group of hostile clients there are three intervals in each
round: without them, with them connected to a sink, and with them connected to the server. The sink shows how their own
use of the processor affects the latencies; the rest is caused by the server. The last lines are the medians of the
rounds, and their ratios.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from benchmarks.hostile_clients import KINDS
from spielleiter.bench.driver import Plan, plan_of
from spielleiter.bench.drivers import running_drivers
from spielleiter.bench.scripted_games import load_of
from spielleiter.bench.subprocesses import running_piped, running_server
from spielleiter.server.net.sockets import connections_possible

CLIENTS: Final = Path(__file__).with_name("hostile_clients.py")
EDITION: Final = "blokus-2021-r3"
QUIET_SHARE: Final = 0.05  # the fraction of a processor that an idle server may use
QUIET_INTERVAL: Final = 0.3  # seconds during which that is measured
QUIET_TIMEOUT: Final = 60.0  # seconds after which waiting for an idle server is given up
SHOWN: Final = ("throughput", "latency median", "latency p99", "latency max")


@contextmanager
def hostile_clients(port: int, count: int, kinds: tuple[str, ...] = ()) -> Iterator[None]:
    """Run `count` hostile clients, all of them connected; afterwards print how often each kind has connected."""
    with running_piped([str(CLIENTS), str(port), str(count), *kinds]) as hostile:
        assert hostile.stdout is not None
        assert hostile.stdout.readline() == "ready\n"
        yield
        output, _ = hostile.communicate()
    counts = "  ".join(f"{kind} {count}" for kind, count in json.loads(output).items())
    print(f"       connections made: {counts}", flush=True)


@contextmanager
def running_sink() -> Iterator[int]:
    """Run a process that discards what it receives, and yield its port."""
    with running_piped([str(CLIENTS), "--sink"]) as sink:
        assert sink.stdout is not None
        yield int(sink.stdout.readline())


def processor_seconds(pid: int) -> float:
    """Return the processor time that a process has used, in seconds."""
    if sys.platform != "linux":
        raise NotImplementedError
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def settle(pid: int, interval: float = QUIET_INTERVAL, timeout: float = QUIET_TIMEOUT) -> None:
    """Wait until a process is idle, measured in intervals of `interval` seconds. Raises TimeoutError."""
    deadline = time.monotonic() + timeout
    used = processor_seconds(pid)
    while True:
        before, began = used, time.monotonic()
        time.sleep(interval)
        used = processor_seconds(pid)
        if used - before <= QUIET_SHARE * (time.monotonic() - began):
            return
        if time.monotonic() > deadline:
            raise TimeoutError(f"the server is still busy {timeout:g} s after the attack")


def drive(plan: Plan, seconds: float) -> dict[str, float]:
    """Return the figures of `seconds` of playing `plan`. Afterwards the games are played to their end."""
    paced = str(Path(__file__).with_name("paced_driver.py"))
    with running_drivers(plan, arguments=(paced,)) as drivers:
        return {name: value for name, (value, _) in drivers.measure(seconds).items()}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.under_attack", description=__doc__)
    parser.add_argument("hostile", type=int, nargs="*", default=[500], help="number of hostile clients")
    parser.add_argument("--games", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=5.0, help="duration of each measurement")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--kinds", nargs="+", default=[], help="measure each of these kinds alone, and nothing else")
    parser.add_argument("--each", action="store_true", help="measure each kind alone, too")
    arguments = parser.parse_args()
    connections_possible(1 << 20)
    kinds = [kind.__name__.lower() for kind in KINDS]
    alone = arguments.kinds or (kinds if arguments.each else [])
    groups = [
        (f"{count} {name}", count, chosen)
        for count in arguments.hostile
        for name, chosen in [("attack", tuple(kinds)), *((kind, (kind,)) for kind in alone)]
        if len(chosen) == 1 or (count >= len(chosen) and not arguments.kinds)
    ]
    found: dict[str, list[dict[str, float]]] = {}
    with tempfile.TemporaryDirectory() as folder, running_server(Path(folder), "--grace", "0") as server:
        plan = plan_of(load_of(EDITION), server.port, arguments.games, pid=server.pid)

        def measure(name: str) -> None:
            measured = drive(plan, arguments.seconds)
            found.setdefault(name, []).append(measured)
            figures = "  ".join(f"{key} {measured[key]:9.3f}" for key in (*SHOWN, "processor per move"))
            print(f"{name:26} {figures}", flush=True)

        measure("warm-up")
        for _ in range(arguments.rounds):
            for name, count, chosen in groups:
                settle(server.pid)
                measure("quiet")
                with running_sink() as sink, hostile_clients(sink, count, chosen):
                    measure(f"{name}, to a sink")
                with hostile_clients(server.port, count, chosen):
                    measure(name)
    medians = {
        name: {key: statistics.median(each[key] for each in rounds) for key in SHOWN} for name, rounds in found.items()
    }
    for name, figures in medians.items():
        print(f"{name:26} " + "  ".join(f"{key} {value:.2f}" for key, value in figures.items()), end="")
        for base in ("quiet", f"{name}, to a sink"):
            for key in SHOWN[1:3]:
                if base in medians:
                    print(f"  {key} x{figures[key] / medians[base][key]:.2f} of {base}", end="")
        print()


if __name__ == "__main__":
    main()
