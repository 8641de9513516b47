"""Recorded conversations as streams: the bytes that one end of one connection sent."""

from __future__ import annotations

import gzip
import re
from collections import defaultdict
from pathlib import Path
from typing import Final, NamedTuple

_LINE: Final = re.compile(r"\s*[0-9.]+\s+(\S+)\s+(->|<-)  (.*)", re.DOTALL)
_ESCAPE: Final = re.compile(rb"\\(n|t|r|\\|x[0-9A-Fa-f]{2})")
_PLAIN: Final = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"\\": b"\\"}


class Stream(NamedTuple):
    """All bytes of one direction of one connection. Positions that are abridged in the recording are left out."""

    connection: str
    is_to_server: bool
    data: bytes


def read_streams(path: Path) -> list[Stream]:
    raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    streams: dict[tuple[str, bool], bytearray] = defaultdict(bytearray)
    for line in raw.decode().splitlines():
        match = _LINE.fullmatch(line)
        if match is None:
            assert line.startswith("#") or not line, line
            continue
        connection, direction, text = match.groups()
        if not text.startswith("(") and "<<memento" not in text:
            streams[connection, direction == "->"] += _ESCAPE.sub(_unescape, text.encode())
    return [Stream(connection, is_to_server, bytes(data)) for (connection, is_to_server), data in streams.items()]


def _unescape(match: re.Match[bytes]) -> bytes:
    code = match[1]
    return _PLAIN[code] if code in _PLAIN else bytes([int(code[1:], 16)])
