"""What names cost that nobody has used before: `python -m bench.names [NAMES [CONNECTIONS]]`, 10 million by default.

Invariants: the names are sent to a server of its own, in packets that it would have to parse to know them, over so many
connections one after the other. What counts is the server's resident memory, after the first tenth and at the end.
"""

from __future__ import annotations

import contextlib
import socket
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from bench.subject import Subject, serving

NAMES: Final = 10_000_000
CONNECTIONS: Final = 10_000
PACKET_NAMES: Final = 500
MIB: Final = 1024
PARTS: Final = 10


def flood(port: int, first: int, names: int) -> None:
    """Send so many names over one connection; the server may cut it off before the last one."""
    with socket.create_connection(("127.0.0.1", port)) as sock, contextlib.suppress(OSError):
        sock.sendall(b"<protocol>")
        for start in range(first, first + names, PACKET_NAMES):
            sock.sendall(
                b"<join>%s</join>" % b"".join(b"<n%x/>" % number for number in range(start, start + PACKET_NAMES))
            )
        sock.shutdown(socket.SHUT_WR)
        while sock.recv(1 << 16):
            pass


def measure(server: Subject, names: int, connections: int) -> float:
    """Send all; how much more memory there is at the end than after the first part."""
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
    with TemporaryDirectory() as folder, serving(Path(folder)) as server:
        print(f"{'at the start:':>52} {server.resident_kib / MIB:6.1f} MiB")
        print(f"{'grown by':>51}: {100 * measure(server, names, connections):6.1f} %")


if __name__ == "__main__":
    main()
