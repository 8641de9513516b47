"""Measuring the cost of a match: the runner's own processor time, games per second, memory, and disk space.

Invariants: every figure of a match between programs is the difference between a match of few games and one of many, so
that it does not include starting the command and writing its reports. It does not include the processor time of the
programs, either.
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
from spielleiter.bench.load.scripts import START_PIECE, Load, load_of
from spielleiter.bench.options import Options
from spielleiter.bench.subject import BenchError, last_line, running_python
from spielleiter.common.own_python import own_python
from spielleiter.server.editions import EDITIONS

FEW: Final = 2
"""The number of games of the short match, which the long one is compared with."""
KIB_PER_MIB: Final = 1024
_BLOCK: Final = 512  # bytes, in the units of `st_blocks`
_LIMIT: Final = "600000"  # milliseconds; so long that no game is lost because this machine is busy


@dataclass(frozen=True)
class Cost:
    """The cost of one match."""

    seconds: float
    """Elapsed time."""
    own_seconds: float
    """The processor time of the command and the processes it started, except for the players' programs."""
    peak_mib: float
    """The largest resident memory of the command."""
    disk_kib: float
    """The disk space of the folders of all games."""
    irregular: int
    """The number of games that were not played to their regular end."""


def measure_match(options: Options, records: Records) -> Iterator[str]:
    """Measure matches of programs and of built-in players; for the yielded texts see `spielleiter.bench.run.Part`."""
    for edition in options.editions:
        yield f"match, {edition}, programs"
        few, many = _programs(edition, FEW), _programs(edition, FEW + options.match_games[0])
        more = options.match_games[0]
        records.add(
            {"part": "match", "edition": edition, "programs": "scripted", "games": more},
            {
                "runner's processor, a game": (1e3 * (many.own_seconds - few.own_seconds) / more, "ms"),
                "disk, a game": ((many.disk_kib - few.disk_kib) / more, "KiB"),
                "spoilt": (few.irregular + many.irregular, "games"),
            },
        )
    previous: tuple[int, Cost] | None = None
    for games in options.match_games:
        yield f"match, built-in players, {games} games"
        cost = run_match(("builtin:greedy", "builtin:random"), games, "-j", "2")
        values = {
            "games/s": (games / cost.seconds, "1/s"),
            "200 games": (200 * cost.seconds / games, "s"),
            "memory peak": (cost.peak_mib, "MiB"),
            "disk, a game": (cost.disk_kib / games, "KiB"),
            "spoilt": (float(cost.irregular), "games"),
        }
        if previous is not None:
            grown = (cost.peak_mib - previous[1].peak_mib) / (games - previous[0])
            values["memory, 1,000 games more"] = (1000 * grown, "MiB")
        records.add({"part": "match", "programs": "built-in", "games": games}, values)
        previous = games, cost


def _programs(edition: str, games: int) -> Cost:
    """Play a match between two scripted programs, which are started anew for every game."""
    load = load_of(edition)
    with TemporaryDirectory(prefix="spielleiter-bench-") as name:
        path = write_script(load, edition, Path(name))
        command = shlex.join(
            [*own_python(), "-I", "-S", str(Path(spielleiter.bench.load.scripted_program.__file__)), str(path)]
        )
        edition_options = ("--game", load.game_type, "--edition", edition, "--start-piece", START_PIECE)
        return run_match((command, command), games, *edition_options)


def write_script(load: Load, edition: str, folder: Path) -> Path:
    """Write the first scripted game of `load` as a file for scripted programs, and return its path."""
    script, names = load.scripts[0], EDITIONS[edition].dialect.welcome_names
    lines = [f'color="{names[script.seats[0]]}"'.encode()]
    lines += [
        b"%d %s" % (seat, packet.replace(b"\n", b"")) for seat, packet in zip(script.seats, script.packets, strict=True)
    ]
    path = folder / "script"
    path.write_bytes(b"\n".join(lines))
    return path


def run_match(programs: tuple[str, str], games: int, *options: str) -> Cost:
    """Play a match with the command `spielleiter match`, and return its cost. Raises BenchError."""
    if sys.platform != "linux":
        raise NotImplementedError
    with TemporaryDirectory(prefix="spielleiter-bench-") as name:
        folder = Path(name) / "match"
        arguments = ["-m", "spielleiter", "match", "--player1", programs[0], "--player2", programs[1], *options]
        arguments += ["-n", str(games), "--seed", "1", "--out", str(folder)]
        arguments += ["--soft-timeout", _LIMIT, "--hard-timeout", _LIMIT]
        start = time.perf_counter()
        nothing = subprocess.DEVNULL
        with running_python(arguments, stdin=nothing, stdout=nothing, stderr=subprocess.PIPE, cwd=name) as process:
            assert process.stderr is not None
            errors = process.stderr.read()
            _, status, usage = os.wait4(process.pid, 0)
            seconds = time.perf_counter() - start
            process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise BenchError(f"a match has failed: {last_line(errors)}")
        games_played = [json.loads(line) for line in (folder / "games.jsonl").read_text(encoding="utf-8").splitlines()]
        by_programs = sum(sum(record["cpu_seconds"]) for record in games_played)
        blocks = sum(path.lstat().st_blocks for path in (folder / "games").rglob("*"))
        return Cost(
            seconds=seconds,
            own_seconds=usage.ru_utime + usage.ru_stime - by_programs,
            peak_mib=usage.ru_maxrss / KIB_PER_MIB,
            disk_kib=blocks * _BLOCK / KIB_PER_MIB,
            irregular=sum(record["verdict"] != "regular" for record in games_played),
        )
