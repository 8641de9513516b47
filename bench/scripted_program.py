"""A program for matches whose moves are known in advance.

Run it as ``python -I -S scripted_program.py SCRIPT -h HOST -p PORT -r CODE``.

It does as little and imports as little as possible, so that a match between two of these programs measures
the match. It is run as a file, since finding a module of a package takes time. With ``--restart never`` it plays a
further game for each line of its standard input.

SCRIPT is a file. Its first line is the text by which the welcome message of the player who begins is recognised. Each
further line is a move: the seat, a blank and the packet, with `ROOM` in place of the room id.
"""

from __future__ import annotations

import socket
import sys

ROOM = b"00000000-0000-4000-8000-000000000000"
_READ = 1 << 16
_KEPT = 1024  # bytes kept from the end of the data: the next packet may begin in them


def play(script: str, host: str, port: int, code: str) -> None:
    """Play one game to its end."""
    with open(script, "rb") as file:  # noqa: PTH123 - pathlib takes as long to load as all the rest
        first, *lines = file.read().splitlines()
    moves: tuple[list[bytes], list[bytes]] = ([], [])
    for line in lines:
        moves[int(line[:1])].append(line[2:])
    with socket.create_connection((host, port)) as sock:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.sendall(b'<protocol><joinPrepared reservationCode="%s"/>' % code.encode())
        read, room, own = b"", b"", moves[0]
        while data := sock.recv(_READ):
            read += data
            if not room and b"welcomeMessage" in read and b"</room>" in read:
                room = read.partition(b'roomId="')[2].partition(b'"')[0]
                own = moves[0 if first in read else 1]
            if b"</room>" not in data:
                if b"<left" in read:
                    return
                continue
            end = read[-_KEPT:]
            if b'class="moveRequest"' in end or b"MoveRequest" in end:
                sock.sendall(own.pop(0).replace(ROOM, room))
                read = b""
            elif b"<left" in end:
                return
            elif room:
                read = end


if __name__ == "__main__":
    play(sys.argv[1], sys.argv[3], int(sys.argv[5]), sys.argv[7])
    for words in map(str.split, sys.stdin):
        play(sys.argv[1], words[0], int(words[1]), words[2])
