"""A program for tests that answers its first move request with given data."""

from __future__ import annotations

import shlex
from pathlib import Path

from tests.interpreter import PYTHON

_SCRIPT = """
import re, socket, sys

options = dict(zip(sys.argv[2::2], sys.argv[3::2]))
connection = socket.create_connection((options["-h"], int(options["-p"])))
connection.sendall(b'<protocol><joinPrepared reservationCode="%s"/>' % options["-r"].encode())
received = b""
while b"moveRequest" not in received:
    data = connection.recv(4096)
    if not data:
        sys.exit(1)
    received += data
room_id = re.search(rb'roomId="([^"]+)"', received)[1]
connection.sendall(b'<room roomId="%s">%s</room>' % (room_id, sys.argv[1].encode()))
received = b""
while b"<left " not in received and (data := connection.recv(4096)):
    received += data
"""


def answering_program(folder: Path, data: str) -> str:
    """Return the command of a program that answers with `data` and then reads until the game or its connection ends."""
    script = folder / "answering.py"
    script.write_text(_SCRIPT)
    return f"{PYTHON} -I {shlex.quote(str(script))} {shlex.quote(data)}"
