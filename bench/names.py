"""Measuring how much memory the server uses for unknown names of elements.

Run it as `python -m spielleiter.bench.names [NAMES [CONNECTIONS]]`; the default is 10 million names.

Invariants: the names are sent to a server started for this purpose, over the given number of connections one after
another, in packets that the server has to parse. The result is the server's resident memory after a few games (anything
that is used for the first time takes memory once), after the first tenth of the names, and at the end.
"""

from __future__ import annotations

import contextlib
import socket
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from spielleiter.bench.bench_hostile import EDITION, drive, settle
from spielleiter.bench.load.plan import plan_of
from spielleiter.bench.load.scripts import load_of
from spielleiter.bench.subject import Subject, running_server

NAMES: Final = 10_000_000
CONNECTIONS: Final = 10_000
PACKET_NAMES: Final = 500
MIB: Final = 1024
PARTS: Final = 10
GAMES: Final = 20
GAME_SECONDS: Final = 3.0
SETTLED: Final = 2.0
"""Seconds for which the server must be idle, so that replays have been written and their memory is free."""


def flood(port: int, first: int, names: int) -> None:
    """Send `names` names, numbered from `first`, over one connection. The server may close it before the last one."""
    with socket.create_connection(("127.0.0.1", port)) as sock, contextlib.suppress(OSError):
        sock.sendall(b"<protocol>")
        for start in range(first, first + names, PACKET_NAMES):
            sock.sendall(
                b"<join>%s</join>" % b"".join(b"<n%x/>" % number for number in range(start, start + PACKET_NAMES))
            )
        sock.shutdown(socket.SHUT_WR)
        while sock.recv(1 << 16):
            pass


def play(server: Subject, seconds: float = GAME_SECONDS) -> None:
    """Play games for `seconds`, and wait until the server has finished with all of them."""
    drive(plan_of(load_of(EDITION), server.port, GAMES, pid=server.pid), seconds)
    settle(server.pid, look=SETTLED)


def measure(server: Subject, names: int, connections: int) -> float:
    """Send all names, and print the memory after each tenth.

    Returns the growth of the memory from the first tenth to the end, as a fraction.
    """
    each, settled = names // connections, 0
    for number in range(connections):
        flood(server.port, number * each, each)
        if (number + 1) % max(1, connections // PARTS) == 0:
            resident = server.resident_kib
            settled = settled or resident
            print(
                f"{(number + 1) * each:>12} names over {number + 1:>6} connections: {resident / MIB:6.1f} MiB",
                flush=True,
            )
    return server.resident_kib / settled - 1


def main() -> None:
    names, connections = (*map(int, sys.argv[1:]), *(NAMES, CONNECTIONS)[len(sys.argv) - 1 :])
    with TemporaryDirectory() as folder, running_server(Path(folder)) as server:
        print(f"{'at the start:':>52} {server.resident_kib / MIB:6.1f} MiB")
        play(server)
        used = server.resident_kib
        print(f"{f'after {GAMES} games at once:':>52} {used / MIB:6.1f} MiB", flush=True)
        grown = measure(server, names, connections)
        print(f"{'since the first tenth':>51}: {100 * grown:+6.1f} %")
        print(f"{'since the games':>51}: {100 * (server.resident_kib / used - 1):+6.1f} %")


if __name__ == "__main__":
    main()
