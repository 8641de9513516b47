"""Measuring matches on a cluster: what a pair costs there more than here, and how well many machines are used.

Invariants: the time of a pair is the difference between a match of few games and one of many, so that it does not
include starting the command, the scheduler and the workers. Simulated machines are workers of this machine whose
programs sleep. The use of machines counts from the moment at which the last of them has begun to play.
"""

from __future__ import annotations

import json
import shlex
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import spielleiter.bench.load.sleeping_program
from spielleiter.bench.figures import Records
from spielleiter.bench.load.scripts import START_PIECE, load_of
from spielleiter.bench.options import Options
from spielleiter.bench.parts.match import FEW, run_match, write_script
from spielleiter.bench.subject import BenchError, last_line, running_python
from spielleiter.common.own_python import own_python

WORKERS: Final = (1, 2)
"""The numbers of workers with which the cost of a pair is measured."""
PAIRS_PER_MACHINE: Final = 3
"""The number of pairs that each simulated machine plays."""
_PLAYERS: Final = ("builtin:first", "builtin:random")
_MARGIN: Final = 120.0  # seconds for a program to take its seat on a busy machine, beyond its sleep


def measure_cluster(options: Options, records: Records) -> Iterator[str]:
    """Measure the cost of a pair, and in the first round simulated machines; see `spielleiter.bench.run.Part`."""
    pairs = options.match_games[0] // 2
    for workers in WORKERS:
        yield f"cluster, {workers} at a time, here and on as many workers"
        here = _seconds_of_pair(pairs, "-j", str(workers))
        there = _seconds_of_pair(pairs, "--cluster", f"local:{workers}", "-j", str(workers))
        values = {
            "a pair, here": (1e3 * here, "ms"),
            "a pair, on workers": (1e3 * there, "ms"),
            "overhead of a pair": (1e3 * (there - here), "ms"),
        }
        records.add({"part": "cluster", "machines": workers, "programs": "built-in"}, values)
    for machines in options.cluster_machines:
        labels: dict[str, str | int] = {"part": "cluster", "machines": machines, "programs": "sleeping"}
        if records.where(**labels):
            continue
        yield f"cluster, {machines} simulated machines, pairs of {options.pair_seconds:g} s"
        records.add(labels, {"of linear": (_used_share(machines, options), "")})


def _seconds_of_pair(pairs: int, *options: str) -> float:
    few, many = (run_match(_PLAYERS, FEW + games, "--pages", "none", *options) for games in (0, 2 * pairs))
    return (many.seconds - few.seconds) / pairs


def _used_share(machines: int, options: Options) -> float:
    """Play sleeping programs on simulated machines, and return the share of their time in which they play."""
    edition = options.editions[0]
    load = load_of(edition)
    with TemporaryDirectory(prefix="spielleiter-bench-") as name:
        script = write_script(load, edition, Path(name))
        seconds = options.pair_seconds / 2
        sleeping = Path(spielleiter.bench.load.sleeping_program.__file__)
        command = shlex.join([*own_python(), "-I", "-S", str(sleeping), str(seconds), str(script)])
        folder = Path(name) / "match"
        arguments = ["-m", "spielleiter", "match", "--player1", command, "--player2", command, "--seed", "1"]
        arguments += ["--game", load.game_type, "--edition", edition, "--start-piece", START_PIECE, "--pages", "none"]
        arguments += [
            "-n",
            str(2 * PAIRS_PER_MACHINE * machines),
            "--cluster",
            f"local:{machines}",
            "-j",
            str(machines),
        ]
        arguments += ["--start-timeout", str(seconds + _MARGIN), "--no-timeout", "--out", str(folder)]
        nothing = subprocess.DEVNULL
        with running_python(arguments, stdin=nothing, stdout=nothing, stderr=subprocess.PIPE, cwd=name) as process:
            _, errors = process.communicate()
        if process.returncode:
            raise BenchError(f"a match has failed: {last_line(errors)}")
        lines = (folder / "games.jsonl").read_text(encoding="utf-8").splitlines()
    return used_share([json.loads(line) for line in lines])


def used_share(records: Sequence[Mapping[str, Any]]) -> float:
    """The share of the machines' time in which they play, after the last one has begun; `records` are of the journal.

    A machine that has nothing to do at the end, while others still play, counts as unused.
    """
    spans: dict[str, list[tuple[float, float]]] = {}
    for record in records:
        start = datetime.fromisoformat(record["started_at"]).timestamp()
        spans.setdefault(record["machine"], []).append((start, start + record["wall_seconds"]))
    begin = max(min(start for start, _ in each) for each in spans.values())
    end = max(end for each in spans.values() for _, end in each)
    played = sum(max(0.0, to - max(since, begin)) for each in spans.values() for since, to in each)
    return played / (len(spans) * (end - begin))
