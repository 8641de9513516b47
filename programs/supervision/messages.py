"""The messages between the match, the fork server and the supervisors.

The match sends requests to the fork server. A request is a JSON object, preceded by its length, with file descriptors:
the supervisor's end of the socket for this program, the program's standard output and standard error, and its standard
input if it is to have one. The fork server forwards the request to a supervisor unchanged.

On the socket for the program, the match receives one JSON object per line, in this order:

- ``supervisor``: the supervisor's process id; sent by the fork server;
- ``pid``: the program has been started; or ``failed`` and ``errno``: it could not be started;
- ``exit``, ``cpu``, ``peak``: the program has ended, with its processor time in seconds and its peak memory in bytes;
- ``left``: the ids and names of processes that outlived it;
- ``gone``: whether nothing of it is left, with the total processor time as ``cpu``.

The match sends single bytes on that socket: TERMINATE, KILL, REUSE.
"""

from __future__ import annotations

import sys

assert sys.platform == "linux"  # before the imports, which other platforms lack

import socket
import struct
from typing import Final

HEAD: Final = struct.Struct("!I")
"""The length of a request."""
READY: Final = b"1"
"""Sent by the fork server once it accepts requests, and by a supervisor once it can take another program."""
TERMINATE: Final = b"T"
"""Ask the program and its process group to end."""
KILL: Final = b"K"
"""Kill the program and everything below the supervisor."""
REUSE: Final = b"R"
"""This supervisor may be used for another program."""

READ_SIZE: Final = 4096
_MAX_DESCRIPTORS: Final = 4


def receive_request(sock: socket.socket) -> tuple[bytes, list[int]] | None:
    """Read a request and its descriptors; None once the other end is closed."""
    data, descriptors, _, _ = socket.recv_fds(sock, HEAD.size, _MAX_DESCRIPTORS)
    if not data:
        return None
    data += _receive_exactly(sock, HEAD.size - len(data))
    return _receive_exactly(sock, HEAD.unpack(data)[0]), descriptors


def _receive_exactly(sock: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        more = sock.recv(size - len(data))
        if not more:
            sys.exit(0)
        data += more
    return data
