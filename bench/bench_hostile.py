"""Measuring the latency of moves with and without hostile clients.

Run it as `python -m spielleiter.bench.bench_hostile [HOSTILE...] [--games N]`.

Invariants: there is one server and one driver. For each group of hostile clients there are three intervals, one after
another: without them, with them connected to a sink (`bench/sink.py`), and with them connected to the server. The sink
shows how their own use of the processor affects the latencies; the rest is caused by the server. An interval without
hostile clients begins when the server has finished with the previous ones. The last lines are the medians of the
rounds, and their ratios.

Each number of hostile clients (500 unless others are given) is measured separately. Players think for about a tenth of
a second, or answer at once (`--pace 0`: as many moves as the server can play). `--each` also shows each kind of attack
alone; `--kinds` shows only the kinds that it names. If there are fewer hostile clients than kinds, each kind is
measured alone.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from spielleiter.bench.hostile import KINDS
from spielleiter.bench.load.drivers import quantile, running_drivers
from spielleiter.bench.load.plan import Plan, plan_of
from spielleiter.bench.load.scripts import START_PIECE, load_of
from spielleiter.bench.machine import raise_file_limit
from spielleiter.common.own_python import own_python

SECONDS = 5.0
ROUNDS = 3
EDITION = "blokus-2021-r3"
QUIET_SHARE = 0.05  # the fraction of a processor that an idle server may use
QUIET_LOOK = 0.3  # seconds during which that is measured
QUIET_PATIENCE = 60.0  # seconds after which waiting for an idle server is given up
SHOWN = ("moves/s", "median ms", "p99 ms", "max ms")


@contextmanager
def hostile_clients(port: int, count: int, kinds: tuple[str, ...] = ()) -> Iterator[None]:
    """Run `count` hostile clients, all of them connected; afterwards print how often each kind has connected."""
    hostile = subprocess.Popen(
        [*own_python(), "-P", "-m", "spielleiter.bench.hostile", str(port), str(count), *kinds],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert hostile.stdout is not None
    assert hostile.stdout.readline() == "ready\n"
    yield
    output, _ = hostile.communicate()
    counts = "  ".join(f"{kind} {count}" for kind, count in json.loads(output).items())
    print(f"       connections made: {counts}", flush=True)


@contextmanager
def running_sink() -> Iterator[int]:
    """Run a sink for connections, and yield its port."""
    command = [*own_python(), "-P", "-m", "spielleiter.bench.sink"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as sink:
        assert sink.stdout is not None
        try:
            yield int(sink.stdout.readline())
        finally:
            sink.kill()


@contextmanager
def running_server(folder: Path, *options: str) -> Iterator[tuple[int, subprocess.Popen[bytes]]]:
    """Run a server with the default settings, except for `options`, a replay folder and a fixed start piece.

    Yields its port and its process.
    """
    port_file = folder / "port"
    arguments = ["serve", "--port", "0", "--port-file", str(port_file), "--start-piece", START_PIECE]
    arguments += ["--save-replay", str(folder / "replays"), "--grace", "0", *options]
    with (folder / "log").open("w", encoding="utf-8") as log:
        server = subprocess.Popen([*own_python(), "-P", "-m", "spielleiter", *arguments], stderr=log)
    try:
        while not port_file.exists():
            time.sleep(0.02)
        yield int(port_file.read_text(encoding="ascii")), server
    finally:
        server.terminate()
        server.wait()


def processor_seconds(pid: int) -> float:
    """Return the processor time that a process has used, in seconds."""
    if sys.platform != "linux":
        raise NotImplementedError
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def settle(pid: int, look: float = QUIET_LOOK, patience: float = QUIET_PATIENCE) -> None:
    """Wait until a process is idle, measured in intervals of `look` seconds.

    Raises TimeoutError if it is still busy after `patience` seconds.
    """
    deadline = time.monotonic() + patience
    used = processor_seconds(pid)
    while True:
        before, began = used, time.monotonic()
        time.sleep(look)
        used = processor_seconds(pid)
        if used - before <= QUIET_SHARE * (time.monotonic() - began):
            return
        if time.monotonic() > deadline:
            raise TimeoutError(f"the server is still busy {patience:g} s after the attack")


def drive(plan: Plan, seconds: float) -> dict[str, float]:
    """Return the figures of `seconds` of playing `plan`. Afterwards the games are played to their end."""
    with running_drivers(replace(plan, ends_games=True)) as drivers:
        measured = drivers.measure(seconds)
    latencies = measured.ordered
    return {
        "moves/s": measured.moves_per_second,
        "median ms": 1000 * quantile(latencies, 0.5),
        "p99 ms": 1000 * quantile(latencies, 0.99),
        "max ms": 1000 * latencies[-1],
        "cpu us/move": 1e6 * measured.processor_per_move,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("hostile", type=int, nargs="*", default=[500], help="number of hostile clients")
    parser.add_argument("--games", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=SECONDS, help="duration of each measurement")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--kinds", nargs="+", default=[], help="measure each of these kinds alone, and nothing else")
    parser.add_argument("--pace", type=float, default=0.1, help="think time of the players in seconds; 0: none")
    parser.add_argument("--each", action="store_true", help="measure each kind alone, too")
    arguments = parser.parse_args()
    raise_file_limit()
    kinds = [kind.__name__.lower() for kind in KINDS]
    alone = arguments.kinds or (kinds if arguments.each else [])
    groups = [
        (f"{count} {name}", count, chosen)
        for count in arguments.hostile
        for name, chosen in [("attack", tuple(kinds)), *((kind, (kind,)) for kind in alone)]
        if len(chosen) == 1 or (count >= len(chosen) and not arguments.kinds)
    ]
    found: dict[str, list[dict[str, float]]] = {}
    with tempfile.TemporaryDirectory() as folder, running_server(Path(folder)) as (port, server):
        pace = arguments.pace or None
        plan = plan_of(load_of(EDITION), port, arguments.games, pid=server.pid, pace=pace, is_spread=pace is None)

        def measure(name: str) -> None:
            measured = drive(plan, arguments.seconds)
            found.setdefault(name, []).append(measured)
            figures = "  ".join(f"{key} {measured[key]:9.3f}" for key in (*SHOWN, "cpu us/move"))
            print(f"{name:26} {figures}", flush=True)

        measure("warm-up")
        for _ in range(arguments.rounds):
            for name, count, chosen in groups:
                settle(server.pid)
                measure("quiet")
                with running_sink() as sink, hostile_clients(sink, count, chosen):
                    measure(f"{name}, to a sink")
                with hostile_clients(port, count, chosen):
                    measure(name)
    medians = {
        name: {key: statistics.median(each[key] for each in rounds) for key in SHOWN} for name, rounds in found.items()
    }
    for name in found:
        figures = "  ".join(f"{key} {value:.2f}" for key, value in medians[name].items())
        bases = [base for base in ("quiet", f"{name}, to a sink") if base in medians]
        ratios = "  ".join(
            f"{key[:-3]} x{medians[name][key] / medians[base][key]:.2f} of {'quiet' if base == 'quiet' else 'sink'}"
            for base in bases
            for key in SHOWN[1:3]
        )
        print(f"{name:26} {arguments.games} games  {figures}  {ratios}")


if __name__ == "__main__":
    main()
