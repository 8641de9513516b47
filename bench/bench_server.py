"""Games whose players think, or do not, against a server that runs; and what a process has used."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

from bench.scripts import Script


def cpu_of(pid: int) -> float:
    """Processor seconds a running process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(") ", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def peak_of(pid: int) -> float:
    """MiB of memory a running process has had at most."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) / 1024
    return 0.0


def drive(port: int, games: int, scripts: list[Script], seconds: float, pace: float | None = None) -> dict[str, float]:
    """Players answer at once, or think for about `pace` seconds."""
    told = {
        "host": "127.0.0.1",
        "port": port,
        "games": games,
        "password": "examplepassword",
        "seconds": seconds,
        "game_type": "swc_2021_blokus",
        "pace": pace,
        "scripts": [{"seats": each.seats, "packets": [p.decode() for p in each.packets]} for each in scripts],
    }
    done = subprocess.run(
        [sys.executable, "-m", "bench.driver" if pace is None else "bench.paced"],
        input=json.dumps(told),
        capture_output=True,
        text=True,
        check=True,
    )
    measured = json.loads(done.stdout)
    latencies = sorted(measured["latencies"])
    return {
        "moves/s": measured["moves"] / measured["seconds"],
        "median ms": 1000 * statistics.median(latencies),
        "p99 ms": 1000 * latencies[int(len(latencies) * 0.99)],
        "max ms": 1000 * latencies[-1],
        "driver busy": measured["driver_cpu"] / measured["seconds"],
        "moves": measured["moves"],
    }
