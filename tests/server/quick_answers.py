"""A player whose answers are ready before they are asked for: `python quick_answers.py PORT CODE FILE`.

FILE has one packet on each line, with ROOM for the id of the room. They answer the requests for a move in turn.
"""

from __future__ import annotations

import re
import socket
import sys
from pathlib import Path


def main(port: str, code: str, file: str) -> None:
    packets = iter(Path(file).read_bytes().splitlines())
    with socket.create_connection(("127.0.0.1", int(port))) as sock:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.sendall(f'<protocol><joinPrepared reservationCode="{code}"/>'.encode())
        seen, room, asked = b"", b"", 0
        while data := sock.recv(1 << 16):
            seen += data
            if not room and (found := re.search(rb'roomId="([^"]+)"', seen)):
                room = found[1]
            for _ in range(seen.count(b"MoveRequest") - asked):
                asked += 1
                sock.sendall(next(packets).replace(b"ROOM", room))
            if b"</protocol>" in seen or b"<left" in seen:
                return


main(*sys.argv[1:])
