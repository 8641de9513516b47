"""A lightweight program for matches and checks.

Usage: ``python -I -S light.py FILE STRATEGY [OPTION...] -h HOST -p PORT [-r CODE]``

Invariants: for a server it is a program like any other, with a process, a connection and an exit code of its own. It
only relays bytes between the server and the process of the tests, which runs the player: tests/match/players.py listens
there on the port in FILE. It imports very little, so that it starts in about 20 ms.

It ends with exit code 0 if its player closes the connection, and with 1 if its player resets it. With
``--ends-at WORD`` it ends when the server sends that word. With ``--ends-with stream`` it says no goodbye, and ends
when the server ends its stream. With ``--after FILE`` it begins when this file exists.
"""

from __future__ import annotations

import os
import select
import socket
import struct
import sys
import time

_READ = 1 << 16
_GOODBYES = b"<close/>", b"CloseConnection/>", b"</protocol>"


def run(file: str, words: list[str]) -> None:
    """Play one game to its end."""
    with open(file, encoding="ascii") as content:  # noqa: PTH123 - importing pathlib takes time
        port = int(content.read())
    options = dict(zip(words[1::2], words[2::2], strict=True))
    forbidden = options.get("--ends-at", "").encode()
    waits = options.get("--ends-with") == "stream"
    while "--after" in options and not os.access(options["--after"], os.F_OK):
        time.sleep(0.02)
    with (
        socket.create_connection((options["-h"], int(options["-p"]))) as server,
        socket.create_connection(("127.0.0.1", port)) as player,
    ):
        for sock in (server, player):
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        player.sendall("\0".join(words).encode() + b"\n")
        sources = [server, player]
        while True:
            for sock in select.select(sources, [], [])[0]:
                data = _received(sock)
                if sock is player:
                    if data is None:
                        _reset(server)
                    if data and not (waits and any(word in data for word in _GOODBYES)):
                        _send(server, data)
                    elif waits and server in sources:
                        sources.remove(player)
                        break
                    else:
                        return
                elif not data and player not in sources:
                    return
                elif not data:
                    sources.remove(server)
                    player.shutdown(socket.SHUT_WR)
                elif forbidden and forbidden in data:
                    sys.exit(f"{forbidden.decode()} is not known here")
                elif not _send(player, data):
                    _reset(server)


def _reset(server: socket.socket) -> None:
    """End as a program that crashes."""
    server.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    sys.exit(1)


def _received(sock: socket.socket) -> bytes | None:
    """Receive bytes; None if the connection was reset."""
    try:
        return sock.recv(_READ)
    except ConnectionResetError:
        return None


def _send(sock: socket.socket, data: bytes) -> bool:
    """Send bytes; return False if the connection was reset, which no later call tells."""
    try:
        sock.sendall(data)
    except ConnectionResetError:
        return False
    except BrokenPipeError:
        pass  # noticed when reading from it
    return True


if __name__ == "__main__":
    run(sys.argv[1], sys.argv[2:])
