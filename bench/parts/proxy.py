"""Measuring what `spielleiter proxy` costs the games: throughput without it, through it, and with traces.

Invariants: the three ways are measured one after the other in each round, each with new processes, and compared within
the round. That no byte is lost is shown by the bytes at both ends, not by the counts of the proxy alone. trio is loaded
only when these are compared: other parts measure within this process.
"""

from __future__ import annotations

import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from spielleiter.bench.figures import Records
from spielleiter.bench.load.drivers import Measurement, running_drivers
from spielleiter.bench.load.plan import plan_of
from spielleiter.bench.load.scripts import load_of
from spielleiter.bench.options import Options
from spielleiter.bench.subject import (
    END_TIMEOUT,
    BenchError,
    describe_exit,
    first_line,
    last_line,
    running_python,
    running_server,
)

if TYPE_CHECKING:
    from spielleiter.bench.load.both_ends import Carried

DIRECT: Final = "direct"
PLAIN: Final = "proxy"
TRACED: Final = "proxy --trace"
WAYS: Final = (DIRECT, PLAIN, TRACED)
CONNECTIONS: Final = 40
"""The number of connections whose bytes are compared."""
_LISTENS: Final = re.compile(r"listens on 127\.0\.0\.1:(\d+),")
_PASSED_ON: Final = re.compile(r"passed on \d+ connections?, (\d+) bytes to the server, (\d+) bytes from it")


@dataclass
class RunningProxy:
    """The command as a process; when it has ended, `counted` is the number of bytes that it says to have passed on."""

    pid: int
    port: int
    counted: int = 0


def measure_proxy(options: Options, records: Records) -> Iterator[str]:
    """Measure games at full speed through the proxy; for the yielded texts see `spielleiter.bench.run.Part`."""
    for edition, games in product(options.editions, options.proxy_games):
        direct = 0.0
        for way in WAYS:
            yield f"proxy, {edition}, games at once: {games}, {way}"
            measured = _measure_games(options, edition, games, way)
            values = {"throughput": (measured.moves_per_second, "moves/s")}
            if not measured.moves_per_second:
                raise BenchError(f"no move was made ({way})")
            if way == DIRECT:
                direct = measured.moves_per_second
            else:
                values["to direct"] = (measured.moves_per_second / direct, "x")
                values["processor per move"] = (1e6 * measured.processor_per_move, "us")
            records.add({"part": "proxy", "edition": edition, "games": games, "way": way}, values)
    edition = options.editions[-1]
    for way in (PLAIN, TRACED):
        yield f"proxy, {edition}, bytes at both ends, {way}"
        carried, counted = measure_bytes(edition, way, CONNECTIONS)
        values = {
            "sent": (carried.sent, "bytes"),
            "lost": (carried.lost, "bytes"),
            "added": (carried.added, "bytes"),
            "passed on, by its own count": (counted, "bytes"),
        }
        records.add({"part": "proxy", "edition": edition, "games": "", "way": way}, values)


def _measure_games(options: Options, edition: str, games: int, way: str) -> Measurement:
    """Return the figures of games that are played directly or through the proxy; the subject is the proxy, if any."""
    load = load_of(edition)
    with (
        TemporaryDirectory(prefix="spielleiter-bench-") as name,
        running_server(Path(name)) as server,
        ExitStack() as stack,
    ):
        subject = server if way == DIRECT else stack.enter_context(running_proxy(server.port, way, Path(name)))
        with running_drivers(plan_of(load, subject.port, games, pid=subject.pid), options.drivers) as drivers:
            return drivers.measure(options.seconds)


def measure_bytes(edition: str, way: str, connections: int) -> tuple[Carried, int]:
    """Return the bytes at both ends of the proxy, and their number by its own count. Raises BenchError."""
    import trio

    from spielleiter.bench.load.both_ends import carry

    async def run(folder: Path) -> tuple[Carried, int]:
        (listener,) = await trio.open_tcp_listeners(0, host="127.0.0.1")
        async with listener:
            address = listener.socket.getsockname()
            with running_proxy(address[1], way, folder) as proxy:
                carried = await carry(listener, proxy.port, load_of(edition), connections)
        return carried, proxy.counted

    with TemporaryDirectory(prefix="spielleiter-bench-") as name:
        return trio.run(run, Path(name))


@contextmanager
def running_proxy(server_port: int, way: str, folder: Path) -> Iterator[RunningProxy]:
    """Run the command in front of the server at a port of this machine; all its files are in `folder`.

    Raises BenchError, also at the end if the command has ended before, or does not end.
    """
    arguments = ["-m", "spielleiter", "proxy", "--listen", "0", "--to", f"127.0.0.1:{server_port}"]
    if way == TRACED:
        arguments += ["--trace", str(folder / "traces")]
    log_file = folder / "proxy.log"

    def problem(what: str) -> BenchError:
        log = last_line(log_file.read_text(encoding="utf-8", errors="replace"))
        return BenchError(": ".join(filter(None, [what, log])))

    with (
        log_file.open("w", encoding="utf-8") as log,
        running_python(arguments, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log) as process,
    ):
        listens = _LISTENS.match(first_line(process))
        if listens is None:
            raise problem(f"the proxy does not start ({describe_exit(process)})")
        proxy = RunningProxy(process.pid, int(listens[1]))
        yield proxy
        process.send_signal(signal.SIGTERM)
        try:
            output, _ = process.communicate(timeout=END_TIMEOUT)
        except subprocess.TimeoutExpired:
            raise problem("the proxy does not end") from None
        passed_on = _PASSED_ON.search(output)
        if passed_on is None:
            raise problem(f"the proxy has ended before its time ({describe_exit(process)})")
        proxy.counted = int(passed_on[1]) + int(passed_on[2])
