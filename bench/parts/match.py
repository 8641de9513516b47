"""What a match costs: the runner's own processor time, games a second, memory, and the disk.

Invariants: every figure of programs is a difference between a match of few games and one of many, so that starting the
command and writing its reports does not count as playing. What the programs themselves use is not the runner's.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import spielleiter.bench.load.scripted_program
from spielleiter.bench.figures import Records
from spielleiter.bench.load.scripts import START_PIECE, load_of
from spielleiter.bench.options import Options
from spielleiter.bench.subject import BenchError, start_python
from spielleiter.server.editions import EDITIONS

FEW: Final = 2
"""Games of the match that the others are compared with."""
KIB_PER_MIB: Final = 1024
_BLOCK: Final = 512  # bytes, in the units of `st_blocks`
_LIMIT: Final = "600000"  # milliseconds; no game is lost because this machine is busy


@dataclass(frozen=True)
class Cost:
    """What one match took."""

    seconds: float
    own_seconds: float
    """Of the processor: the command and what it started, but for the programs."""
    peak_mib: float
    disk_kib: float
    """Of all games' folders."""
    spoilt: int
    """Games that were not played to their end."""


def measure_match(options: Options, records: Records) -> Iterator[str]:
    """Says beforehand what is measured next."""
    for edition in options.editions:
        yield f"match, {edition}, programs"
        few, many = _programs(edition, FEW), _programs(edition, FEW + options.match_games[0])
        more = options.match_games[0]
        records.add(
            {"part": "match", "edition": edition, "programs": "scripted", "games": more},
            {
                "runner's processor, a game": (1e3 * (many.own_seconds - few.own_seconds) / more, "ms"),
                "disk, a game": ((many.disk_kib - few.disk_kib) / more, "KiB"),
                "spoilt": (few.spoilt + many.spoilt, "games"),
            },
        )
    previous: tuple[int, Cost] | None = None
    for games in options.match_games:
        yield f"match, built-in players, {games} games"
        cost = _match(("builtin:greedy", "builtin:random"), games, "-j", "2")
        values = {
            "games/s": (games / cost.seconds, "1/s"),
            "200 games": (200 * cost.seconds / games, "s"),
            "memory peak": (cost.peak_mib, "MiB"),
            "disk, a game": (cost.disk_kib / games, "KiB"),
            "spoilt": (float(cost.spoilt), "games"),
        }
        if previous is not None:
            grown = (cost.peak_mib - previous[1].peak_mib) / (games - previous[0])
            values["memory, 1,000 games more"] = (1000 * grown, "MiB")
        records.add({"part": "match", "programs": "built-in", "games": games}, values)
        previous = games, cost


def _programs(edition: str, games: int) -> Cost:
    """A match of two scripted programs, each started anew for every game."""
    load, dialect = load_of(edition), EDITIONS[edition].dialect
    script = load.scripts[0]
    lines = [f'color="{dialect.welcome_names[script.seats[0]]}"'.encode()]
    lines += [
        b"%d %s" % (seat, packet.replace(b"\n", b"")) for seat, packet in zip(script.seats, script.packets, strict=True)
    ]
    with TemporaryDirectory(prefix="spielleiter-bench-") as name:
        path = Path(name) / "script"
        path.write_bytes(b"\n".join(lines))
        command = shlex.join(
            [sys.executable, "-I", "-S", str(Path(spielleiter.bench.load.scripted_program.__file__)), str(path)]
        )
        edition_options = ("--game", load.game_type, "--edition", edition, "--start-piece", START_PIECE)
        return _match((command, command), games, *edition_options)


def _match(programs: tuple[str, str], games: int, *options: str) -> Cost:
    """Play a match with the command, as anybody does. Raises BenchError."""
    with TemporaryDirectory(prefix="spielleiter-bench-") as name:
        folder = Path(name) / "match"
        arguments = ["-m", "spielleiter", "match", "--player1", programs[0], "--player2", programs[1], *options]
        arguments += ["-n", str(games), "--seed", "1", "--out", str(folder)]
        arguments += ["--soft-timeout", _LIMIT, "--hard-timeout", _LIMIT]
        start = time.perf_counter()
        quiet = subprocess.DEVNULL
        process = start_python(arguments, stdin=quiet, stdout=quiet, stderr=subprocess.PIPE, cwd=name)
        assert process.stderr is not None
        said = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        process.stderr.close()
        if process.returncode:
            raise BenchError(f"a match has failed: {' '.join(said.splitlines()[-1:])}")
        told = [json.loads(line) for line in (folder / "games.jsonl").read_text(encoding="utf-8").splitlines()]
        spent = sum(sum(record["cpu_seconds"]) for record in told)
        blocks = sum(path.lstat().st_blocks for path in (folder / "games").rglob("*"))
        return Cost(
            seconds=seconds,
            own_seconds=usage.ru_utime + usage.ru_stime - spent,
            peak_mib=usage.ru_maxrss / KIB_PER_MIB,
            disk_kib=blocks * _BLOCK / KIB_PER_MIB,
            spoilt=sum(record["verdict"] != "regular" for record in told),
        )
