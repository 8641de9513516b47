"""The ports that an attack may try: those of the match that the attacker plays in.

A program could as well join on every port of this machine. In a test it must not: other tests run at the same time,
and their players and servers would be joined by strangers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

_PROC = Path("/proc")
_LISTENING = "0A"
_LOOPBACK = "0100007F"


def ancestors() -> list[int]:
    """Return the ids of the processes that have started this one; the match is one of them."""
    found: list[int] = []
    pid = _parent_of("self")
    while pid > 1:
        found.append(pid)
        pid = _parent_of(str(pid))
    return found


def ports_of(processes: list[int]) -> Iterator[int]:
    """Yield the ports of the loopback address that one of these processes listens to."""
    sockets = {inode for pid in processes for inode in _sockets_of(pid)}
    for line in (_PROC / "net" / "tcp").read_text().splitlines()[1:]:
        words = line.split()
        (address, port), state, inode = words[1].split(":"), words[3], words[9]
        if state == _LISTENING and address == _LOOPBACK and inode in sockets:
            yield int(port, 16)


def _parent_of(pid: str) -> int:
    try:
        return int(re.findall(r"^PPid:\s*(\d+)", (_PROC / pid / "status").read_text(), re.MULTILINE)[0])
    except OSError:
        return 0


def _sockets_of(pid: int) -> Iterator[str]:
    try:
        files = list((_PROC / str(pid) / "fd").iterdir())
    except OSError:  # of another user, such as the shell that has started the tests
        return
    for file in files:
        try:
            target = str(file.readlink())
        except OSError:
            continue
        if target.startswith("socket:["):
            yield target[8:-1]
