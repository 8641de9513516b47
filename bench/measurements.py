"""What is measured: games at once on the bare wire and on the server, starts of the server, and matches.

Things that are compared are measured alternately, in the same run, each time with new processes.
"""

from __future__ import annotations

import json
import os
import shlex
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Any, Final, TypeAlias

import spielleiter.bench.scripted_program
from spielleiter.bench.driver import plan_of
from spielleiter.bench.drivers import default_process_count, running_drivers
from spielleiter.bench.report import KEPT_COST, Label, Records
from spielleiter.bench.scripted_games import START_PIECE, Load, load_of
from spielleiter.bench.subprocesses import (
    REPLAYS_NAME,
    BenchError,
    last_line,
    running_floor,
    running_python,
    running_server,
    start_python,
)
from spielleiter.common.own_python import own_python
from spielleiter.server.editions import EDITIONS
from spielleiter.server.net.sockets import connections_possible

CONNECTIONS: Final = 8192
"""The number of open files that the processes may need."""
KIB_PER_MIB: Final = 1024
LEAST_STARTS: Final = 5  # in a run
CALL_TIMEOUT: Final = 10.0  # seconds
BARE: Final = "import trio, xml.parsers.expat"
"""The code that bare Python runs: it imports the two libraries that the server is based on."""
FEW: Final = 2
"""The number of games of the short match, which the long one is compared with."""
KEPT: Final = ("--restart", "never", "-j", "2")
"""The options of a match whose programs stay for all games."""
_BLOCK: Final = 512  # bytes, in the units of `st_blocks`
_LIMIT: Final = "600000"  # milliseconds; so long that no game is lost because this machine is busy
QUICK: Final[Mapping[str, Any]] = MappingProxyType(
    {"rounds": 1, "seconds": 0.5, "games": (1, 20), "observers": (0,), "match_games": (10, 20)}
)


@dataclass(frozen=True)
class Options:
    """Which parts are measured, under which load, and for how long. The values have been checked."""

    only: tuple[str, ...] = ("floor", "server", "start", "match")
    rounds: int = 3
    """The number of rounds, in each of which everything is measured once."""
    seconds: float = 2.0
    """The duration of each measurement under load."""
    games: tuple[int, ...] = (1, 20, 100, 500)
    """The numbers of games at once."""
    editions: tuple[str, ...] = ("blokus-2021-r3", "blokus-2027")
    """The full names of the editions."""
    observers: tuple[int, ...] = (0, 1)
    """The numbers of observers of each game."""
    drivers: int = default_process_count()
    """The number of driver processes."""
    match_games: tuple[int, ...] = (100, 500)
    """The numbers of games of the matches between built-in players. Matches of programs have the first number."""

    @classmethod
    def quick(cls, **chosen: Any) -> Options:
        """Return options for few games and one short round, except for the `chosen` ones."""
        return cls(**{**QUICK, **chosen})


Part: TypeAlias = Callable[[Options, Records], Iterator[str]]
"""Measures one round, adds it to the records, and yields a description of each step before the step begins."""


def run(options: Options, tell: Callable[[str], None]) -> Records:
    """Measure what `options` select, and return the records. Raises BenchError.

    `tell` is called with a description of each step before it begins.
    """
    connections_possible(CONNECTIONS)  # the processes started from here inherit the limit
    records = Records()
    for number in range(options.rounds):
        for words, part in PARTS:
            if words.intersection(options.only):
                for what in part(options, records):
                    tell(f"round {number + 1} of {options.rounds}: {what}")
    return records


def measure_traffic(options: Options, records: Records) -> Iterator[str]:
    """Measure many games at once: throughput, latency, processor, memory, verdicts; see `Part`."""
    subjects = [name for name in ("floor", "server") if name in options.only]
    loads = product(options.editions, options.observers, options.games, subjects)
    for edition, observers, games, subject in loads:
        yield f"{subject}, {edition}, games at once: {games}" + (", observed" if observers else "")
        load = load_of(edition)
        with TemporaryDirectory(prefix="spielleiter-bench-") as name:
            folder = Path(name)
            with running_floor(load, observers) if subject == "floor" else running_server(folder) as measured:
                plan = plan_of(load, measured.port, games, pid=measured.pid, observers=observers)
                with running_drivers(plan, options.drivers) as drivers:
                    values = drivers.measure(options.seconds)
                    values["memory peak"] = (measured.kib("VmHWM:") / KIB_PER_MIB, "MiB")
            if subject == "server":
                judged, false = count_verdicts(folder / REPLAYS_NAME / "results.jsonl", drivers.cut_off)
                values["false verdicts"] = (false + drivers.broken, "games")
                values["games judged"] = (judged, "games")
        labels: dict[str, Label] = {"subject": subject, "edition": edition, "games": games, "observers": observers}
        records.add({"part": "traffic", **labels}, values)


def count_verdicts(path: Path, cut_off: AbstractSet[str]) -> tuple[int, int]:
    """Return the numbers of games with a verdict, and with a wrong one, in the results file `path`.

    Every scripted move is legal and in time, so every cause except REGULAR is wrong; but a player has LEFT in the rooms
    `cut_off`, whose games the driver has aborted.
    """
    if not path.exists():
        return 0, 0
    results = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    right = {"REGULAR"}
    false = sum(
        not (right | {"LEFT"} if each["room"] in cut_off else right).issuperset(each["causes"]) for each in results
    )
    return len(results), false


def measure_start(options: Options, records: Records) -> Iterator[str]:
    """Measure the time until a server accepts and answers, alternating with bare Python; see `Part`."""
    yield "start"
    for _ in range(-(-LEAST_STARTS // options.rounds)):
        start = time.perf_counter()
        start_python(["-c", BARE], stdin=subprocess.DEVNULL).wait()
        bare = time.perf_counter() - start
        with TemporaryDirectory(prefix="spielleiter-bench-") as name:
            start = time.perf_counter()
            with running_server(Path(name)) as server:
                accepting = time.perf_counter() - start
                with socket.create_connection(("127.0.0.1", server.port), CALL_TIMEOUT) as client:
                    client.sendall(b"<protocol></protocol>")
                    client.recv(1)
                answering = time.perf_counter() - start
        records.add(
            {"part": "start"},
            {
                "bare Python": (1e3 * bare, "ms"),
                "server": (1e3 * accepting, "ms"),
                "server to bare Python": (accepting / bare, "times"),
                "server, first answer": (1e3 * answering, "ms"),
            },
        )


@dataclass(frozen=True)
class Cost:
    """The cost of one match."""

    seconds: float
    """Elapsed time."""
    processor_seconds: float
    """The processor time of the command and all processes that it started."""
    own_seconds: float
    """The same without the players' programs, and without the thinking of built-in players."""
    peak_mib: float
    """The largest resident memory of the command."""
    disk_kib: float
    """The disk space of the folders of all games."""
    irregular: int
    """The number of games that were not played to their regular end."""


def measure_match(options: Options, records: Records) -> Iterator[str]:
    """Measure matches of programs and of built-in players; see `Part`.

    The figures of a match of programs are differences between one of few games and one of many, so that they do not
    include starting the command and writing its reports.
    """
    more = options.match_games[0]
    for edition in options.editions:
        yield f"match, {edition}, programs"
        few, many = scripted_match(edition, FEW), scripted_match(edition, FEW + more)
        kept_few, kept_many = (scripted_match(edition, games, *KEPT) for games in (FEW, FEW + more))
        records.add(
            {"part": "match", "edition": edition, "programs": "scripted", "games": more},
            {
                "runner's processor, a game": (1e3 * (many.own_seconds - few.own_seconds) / more, "ms"),
                KEPT_COST: (1e3 * (kept_many.own_seconds - kept_few.own_seconds) / more, "ms"),
                "disk, a game": ((many.disk_kib - few.disk_kib) / more, "KiB"),
                "spoilt": (sum(each.irregular for each in (few, many, kept_few, kept_many)), "games"),
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


def scripted_match(edition: str, games: int, *options: str) -> Cost:
    """Play a match between two scripted programs, which are started anew for every game unless `options` say otherwise.

    It makes no pages, which only a match of few games has by default.
    """
    load = load_of(edition)
    with TemporaryDirectory(prefix="spielleiter-bench-") as name:
        path = write_script(load, edition, Path(name))
        program = Path(spielleiter.bench.scripted_program.__file__)
        command = shlex.join([*own_python(), "-I", "-S", str(program), str(path)])
        edition_options = ("--game", load.game_type, "--edition", edition, "--start-piece", START_PIECE)
        return run_match((command, command), games, "--pages", "none", *edition_options, *options)


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


def run_match(
    programs: tuple[str, str], games: int, *options: str, environment: Mapping[str, str] | None = None
) -> Cost:
    """Play a match with the command `spielleiter match`, and return its cost. Raises BenchError.

    `environment` are the variables of the command; None for those of this process.
    """
    if sys.platform != "linux":
        raise NotImplementedError
    with TemporaryDirectory(prefix="spielleiter-bench-") as name:
        folder = Path(name) / "match"
        arguments = ["-m", "spielleiter", "match", "--player1", programs[0], "--player2", programs[1], *options]
        arguments += ["-n", str(games), "--seed", "1", "--out", str(folder)]
        arguments += ["--soft-timeout", _LIMIT, "--hard-timeout", _LIMIT]
        start = time.perf_counter()
        nothing = subprocess.DEVNULL
        pipes = {"stdin": nothing, "stdout": nothing, "stderr": subprocess.PIPE}
        with running_python(arguments, **pipes, cwd=name, env=environment) as process:
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
            processor_seconds=usage.ru_utime + usage.ru_stime,
            own_seconds=usage.ru_utime + usage.ru_stime - by_programs,
            peak_mib=usage.ru_maxrss / KIB_PER_MIB,
            disk_kib=blocks * _BLOCK / KIB_PER_MIB,
            irregular=sum(record["verdict"] != "regular" for record in games_played),
        )


PARTS: Final[tuple[tuple[frozenset[str], Part], ...]] = (
    (frozenset({"floor", "server"}), measure_traffic),
    (frozenset({"start"}), measure_start),
    (frozenset({"match"}), measure_match),
)
"""The parts, each with the values of the option `only` that select it."""
