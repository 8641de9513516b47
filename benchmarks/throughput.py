"""The throughput of games at full speed behind the proxy, beside open pages of the viewer, and beside followers.

Run it as `python -m benchmarks.throughput` with `proxy`, `pages` or `feed`. In each round everything
is measured one after the other and compared within the round. 100 pages are open: 40 with the list of rooms, 50 with a
game, and 10 that never read.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from spielleiter.bench.driver import plan_of
from spielleiter.bench.drivers import Drivers, default_process_count, running_drivers
from spielleiter.bench.scripted_games import load_of
from spielleiter.bench.subprocesses import LOG_NAME, first_line, running_piped, running_python, running_server

PAGES: Final = (40, 50, 10)
FOLLOWERS: Final = (1, 3)
SETTLE: Final = 3.0  # seconds after the pages have been opened or closed, which keeps the server busy for a moment
START_TIMEOUT: Final = 30.0
_URL: Final = re.compile(r'"url": "http://127\.0\.0\.1:(\d+)/"')
_LISTENS: Final = re.compile(r"listens on 127\.0\.0\.1:(\d+),")


def report(name: str, drivers: Drivers, seconds: float, base: float | None = None) -> float:
    """Measure for `seconds`, print the figures, and return the throughput; `base` is what it is compared with."""
    figures = drivers.measure(seconds)
    speed, cost = figures["throughput"][0], figures["processor per move"][0]
    share = "" if base is None else f", {speed / base:.2f} of that without"
    print(f"{name:30} {speed:8.0f} moves/s, {cost:6.0f} us of its processor a move{share}", flush=True)
    return speed


@contextmanager
def running_proxy(server_port: int, *options: str) -> Iterator[tuple[int, int]]:
    """Run the proxy in front of the server; yield its process and its port."""
    arguments = ["-m", "spielleiter", "proxy", "--listen", "0", "--to", f"127.0.0.1:{server_port}", *options]
    with running_python(arguments, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as process:
        listens = _LISTENS.match(first_line(process))
        assert listens is not None, "the proxy does not start"
        yield process.pid, int(listens[1])


def measure_proxy(edition: str, games: int, rounds: int, seconds: float) -> None:
    load, processes = load_of(edition), default_process_count()
    for _ in range(rounds):
        with TemporaryDirectory() as name, running_server(Path(name)) as server:
            with running_drivers(plan_of(load, server.port, games, pid=server.pid), processes) as drivers:
                direct = report("direct", drivers, seconds)
            for options in ((), ("--trace", str(Path(name) / "traces"))):
                with (
                    running_proxy(server.port, *options) as (pid, port),
                    running_drivers(plan_of(load, port, games, pid=pid), processes) as drivers,
                ):
                    report("proxy " + " ".join(options[:1]), drivers, seconds, direct)


def measure_pages(edition: str, games: int, rounds: int, seconds: float) -> None:
    with (
        TemporaryDirectory() as name,
        running_server(Path(name), "--viewer", "127.0.0.1:0") as server,
        running_drivers(
            plan_of(load_of(edition), server.port, games, pid=server.pid), default_process_count()
        ) as drivers,
    ):
        port = viewer_port(Path(name) / LOG_NAME)
        for _ in range(rounds):
            time.sleep(SETTLE)
            without = report("without pages", drivers, seconds)
            pages = [str(Path(__file__).with_name("pages.py")), str(port), *map(str, PAGES)]
            with running_piped(pages) as process:
                assert first_line(process), "the pages cannot be opened"
                time.sleep(SETTLE)
                report(f"beside {sum(PAGES)} pages", drivers, seconds, without)


def viewer_port(log: Path) -> int:
    """Return the port of the pages, which are loaded after the game port is open."""
    deadline = time.perf_counter() + START_TIMEOUT
    while time.perf_counter() < deadline:
        found = _URL.search(log.read_text(encoding="utf-8", errors="replace"))
        if found:
            return int(found[1])
        time.sleep(0.05)
    raise TimeoutError("the server does not serve its pages; its log says why")


def measure_feed(edition: str, games: int, rounds: int, seconds: float) -> None:
    with (
        TemporaryDirectory() as name,
        running_server(Path(name)) as server,
        running_drivers(
            plan_of(load_of(edition), server.port, games, pid=server.pid), default_process_count()
        ) as drivers,
    ):
        for _ in range(rounds):
            without = report("without followers", drivers, seconds)
            for count in FOLLOWERS:
                followers = [str(Path(__file__).with_name("followers.py")), str(server.port), str(count)]
                with running_piped(followers) as process:
                    assert first_line(process), "the server cannot be followed"
                    report(f"followers: {count}", drivers, seconds, without)


MEASURE: Final[dict[str, Callable[[str, int, int, float], None]]] = {
    "proxy": measure_proxy,
    "pages": measure_pages,
    "feed": measure_feed,
}


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.throughput", description=__doc__)
    parser.add_argument("what", choices=list(MEASURE))
    parser.add_argument("--edition", default="blokus-2027")
    parser.add_argument("--games", type=int, default=50, help="games at once")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=2.0)
    options = parser.parse_args(arguments)
    MEASURE[options.what](options.edition, options.games, options.rounds, options.seconds)


if __name__ == "__main__":
    main(sys.argv[1:])
