"""The latency of moves while the pages are under load, compared with a passive load of the same processor time.

Run it as `python -m benchmarks.page_load [KIND...]`. There are one server with its pages, and 50 games whose players
think for a tenth of a second. The kinds of load are:

- ``gets``: 250 loops that ask for the list of rooms;
- ``connects``: 250 new connections a second, each with one request;
- ``bodies``: 250 connections with a body of 4 MiB that is never finished;
- ``pages``: 100 open pages, of which 40 show the list, 50 a game, and 10 never read.

In each round every load is followed by its control: processes that use as much of the processor as the clients of the
load and the process of the pages did, with the same priorities, and do nothing else. The last lines are the medians of
the rounds, and their ratios; then comes the memory of the server and of the pages.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import statistics
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import psutil
import trio

from benchmarks.throughput import PAGES, viewer_port
from benchmarks.under_attack import drive, processor_seconds, settle
from spielleiter.bench.driver import plan_of
from spielleiter.bench.scripted_games import load_of
from spielleiter.bench.subprocesses import LOG_NAME, first_line, running_piped, running_server
from spielleiter.viewer.web.page_process import NICENESS

EDITION: Final = "blokus-2027"
COUNT: Final = 250
BODY_BYTES: Final = 4 * 1024 * 1024
UNFINISHED: Final = 1  # bytes of a body that are never sent
SHOWN: Final = ("throughput", "latency median", "latency p99")
SLICE: Final = 0.01  # seconds of which a passive load uses its share
HOST: Final = "127.0.0.1"
_LIST: Final = f"GET /api/rooms HTTP/1.1\r\nHost: {HOST}\r\n".encode()


# -- the clients ------------------------------------------------------------------------------------------------------


async def get_for_ever(port: int, _number: int) -> None:
    """Ask for the list again and again, on one connection as long as it lasts."""
    async with await trio.open_tcp_stream(HOST, port) as stream:
        while True:
            await stream.send_all(_LIST + b"\r\n")
            data = bytes(await stream.receive_some())
            head, _, body = data.partition(b"\r\n\r\n")
            missing = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]) - len(body)
            while missing > 0 and (data := bytes(await stream.receive_some())):
                missing -= len(data)


async def connect_for_ever(port: int, number: int) -> None:
    """Connect once a second."""
    start = trio.current_time() + number / COUNT
    while True:
        await trio.sleep_until(start)
        start = max(start + 1, trio.current_time())
        async with await trio.open_tcp_stream(HOST, port) as stream:
            await stream.send_all(_LIST + b"Connection: close\r\n\r\n")
            async for _ in stream:
                pass


async def send_an_unfinished_body(port: int, _number: int) -> None:
    """Send nearly all of a body, and wait."""
    head = f"POST /api/replays HTTP/1.1\r\nHost: {HOST}\r\nContent-Length: {BODY_BYTES}\r\n"
    async with await trio.open_tcp_stream(HOST, port) as stream:
        await stream.send_all(f"{head}Content-Type: application/octet-stream\r\n\r\n".encode())
        await stream.send_all(bytes(BODY_BYTES - UNFINISHED))
        await stream.receive_some()
        await trio.sleep(1)


CLIENTS: Final[dict[str, Callable[[int, int], Awaitable[None]]]] = {
    "gets": get_for_ever,
    "connects": connect_for_ever,
    "bodies": send_an_unfinished_body,
}


async def run_clients(kind: str, port: int) -> None:
    """Run the clients of one kind until standard input ends; one that is disconnected begins again."""

    async def repeat(number: int) -> None:
        while True:
            with contextlib.suppress(OSError, ValueError, trio.BrokenResourceError):
                await CLIENTS[kind](port, number)
            await trio.sleep(0.1)

    async with trio.open_nursery() as nursery:
        for number in range(COUNT):
            nursery.start_soon(repeat, number)
        print("ready", flush=True)
        await trio.to_thread.run_sync(lambda: os.read(0, 1), abandon_on_cancel=True)
        nursery.cancel_scope.cancel()


def be_passive(share: float, niceness: int) -> None:
    """Use this share of a processor until killed."""
    os.nice(niceness)
    print("ready", flush=True)
    while True:
        began, used = time.perf_counter(), time.process_time()
        while time.process_time() - used < share * SLICE:
            pass
        time.sleep(max(0.0, began + SLICE - time.perf_counter()))


# -- measuring --------------------------------------------------------------------------------------------------------


@contextmanager
def running(*arguments: str) -> Iterator[int]:
    """Run this file or `pages.py` with these arguments; yield its process id when it is ready."""
    with running_piped(arguments) as process:
        assert first_line(process), f"{arguments} cannot be started"
        yield process.pid


def load_command(kind: str, port: int) -> list[str]:
    if kind == "pages":
        return [str(Path(__file__).with_name("pages.py")), str(port), *map(str, PAGES)]
    return ["-m", "benchmarks.page_load", "--client", kind, str(port)]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.page_load", description=__doc__)
    parser.add_argument("kinds", nargs="*", default=[*CLIENTS, "pages"])
    parser.add_argument("--games", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=5.0, help="duration of each measurement")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    found: dict[str, list[dict[str, float]]] = {}
    with (
        TemporaryDirectory() as folder,
        running_server(Path(folder), "--grace", "0", "--viewer", f"{HOST}:0") as server,
    ):
        plan = plan_of(load_of(EDITION), server.port, options.games, pid=server.pid)
        port = viewer_port(Path(folder) / LOG_NAME)
        (pages,) = psutil.Process(server.pid).children()

        def memory() -> str:
            mib = [psutil.Process(pid).memory_info().rss / 2**20 for pid in (server.pid, pages.pid)]
            return f"memory: server {mib[0]:.1f} MiB, pages {mib[1]:.1f} MiB"

        def measure(name: str, *used_by: int) -> list[float]:
            """Print the figures; return the shares of a processor that these processes have used."""
            before, since = [processor_seconds(pid) for pid in used_by], time.perf_counter()
            measured = drive(plan, options.seconds)
            seconds = time.perf_counter() - since
            found.setdefault(name, []).append(measured)
            print(f"{name:18} " + "  ".join(f"{key} {measured[key]:8.2f}" for key in SHOWN), memory(), flush=True)
            return [(processor_seconds(pid) - used) / seconds for pid, used in zip(used_by, before, strict=True)]

        print("idle", memory(), flush=True)
        measure("warm-up")
        for _ in range(options.rounds):
            for kind in options.kinds:
                settle(server.pid)
                measure("quiet")
                with running(*load_command(kind, port)) as client:
                    shares = measure(kind, client, pages.pid)
                settle(pages.pid)
                with ExitStack() as stack:
                    for share, niceness in zip(shares, (0, NICENESS), strict=True):
                        stack.enter_context(
                            running("-m", "benchmarks.page_load", "--passive", f"{share:.4f}", str(niceness))
                        )
                    measure(f"{kind}, control")
    for kind in options.kinds:
        medians = {
            name: {key: statistics.median(each[key] for each in found[name]) for key in SHOWN}
            for name in (kind, f"{kind}, control", "quiet")
        }
        here, control, quiet = medians.values()
        ratios = (
            f"{key} {here[key]:.2f}, x{here[key] / control[key]:.2f} of control, x{here[key] / quiet[key]:.2f} of quiet"
            for key in SHOWN[1:]
        )
        print(f"{kind:10} " + "; ".join(ratios), flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--client"]:
        trio.run(run_clients, sys.argv[2], int(sys.argv[3]))
    elif sys.argv[1:2] == ["--passive"]:
        be_passive(float(sys.argv[2]), int(sys.argv[3]))
    else:
        main()
