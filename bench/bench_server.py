"""Moves per second through the server, beside the bare wire: `python -m bench.bench_server`.

Law: floor and server are processes of their own, driven by the same driver, round about, in one run; medians.
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.scripts import Script, play_script
from game.blokus.rulesets import BLOKUS_2021
from protocol.dialects.blokus_2021 import BLOKUS_2021_R3

SECONDS = 3.0
ROUNDS = 3


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


def main() -> None:
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    game = BLOKUS_2021.with_options({"startPiece": "PENTO_L"})
    scripts = [play_script(game, BLOKUS_2021_R3, 1)]
    floor = subprocess.Popen(
        [sys.executable, "-m", "bench.floor"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert floor.stdin is not None
    assert floor.stdout is not None
    floor.stdin.write(json.dumps([([m.decode() for m in each.mementos], each.seats) for each in scripts]))
    floor.stdin.close()
    floor_port = int(floor.stdout.readline())
    with tempfile.TemporaryDirectory() as folder:
        port_file = Path(folder) / "port"
        arguments = ["serve", "--port", "0", "--port-file", str(port_file), "--start-piece", "PENTO_L"]
        arguments += ["--save-replay", str(Path(folder) / "replays"), "--host", "127.0.0.1"]
        with (Path(folder) / "log").open("w") as log:
            server = subprocess.Popen([sys.executable, "-m", "spielleiter", *arguments], stderr=log)
        while not port_file.exists():
            time.sleep(0.02)
        server_port = int(port_file.read_text())
        try:
            for games in [int(each) for each in sys.argv[1:]] or [1, 20, 100]:
                for name, port, process in (("floor", floor_port, floor), ("server", server_port, server)):
                    rounds = []
                    for _ in range(ROUNDS):
                        before = cpu_of(process.pid)
                        measured = drive(port, games, scripts, SECONDS)
                        measured["cpu us/move"] = 1e6 * (cpu_of(process.pid) - before) / measured["moves"]
                        rounds.append(measured)
                    shown = {key: statistics.median(each[key] for each in rounds) for key in rounds[0]}
                    text = "  ".join(f"{key} {value:9.3f}" for key, value in shown.items())
                    print(f"{name:6} {games:4} games  {text}  peak MiB {peak_of(process.pid):.0f}", flush=True)
        finally:
            server.terminate()
            server.wait()
            floor.kill()


if __name__ == "__main__":
    main()
