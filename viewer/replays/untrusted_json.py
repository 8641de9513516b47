"""JSON files that may come from anybody: reading them within bounds, and checking single values.

Invariants: nothing here raises for any file or value. Only regular files are read, since opening a named pipe would
wait for ever. A text has no lone surrogates, so that it can be encoded. A number of players is an integer, and not a
boolean or a float that equals one.
"""

from __future__ import annotations

import errno
import json
import math
import os
import re
import stat
from pathlib import Path
from typing import Any, BinaryIO, Final

from spielleiter.game.api import Seat

LONGEST_TEXT: Final = 1000
_MOST_SECONDS: Final = 1e9
_MOST_COUNTED: Final = 1_000_000_000
_SURROGATE: Final = re.compile(r"\\u[dD][89a-fA-F]")


def open_regular(path: Path) -> BinaryIO:
    """Open a file for reading without waiting. Raises OSError or ValueError, also if it is not a regular file."""
    file = open(path, "rb", opener=_open_at_once)  # noqa: SIM115 - it is returned
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(errno.EINVAL, "not a regular file", str(path))
    return file


def _open_at_once(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def read_object(path: Path, most_bytes: int) -> dict[str, Any] | None:
    """Return the JSON object in a file; None if there is none, or if the file has more than `most_bytes` bytes."""
    try:
        with open_regular(path) as file:
            content = file.read(most_bytes + 1)
    except (OSError, ValueError):  # ValueError: a path with a null character
        return None
    return parse_object(content) if len(content) <= most_bytes else None


def parse_object(content: bytes) -> dict[str, Any] | None:
    """Return the JSON object in `content`, with lone surrogates replaced; None for anything else."""
    text = content.decode("utf-8-sig", "replace")
    try:
        value = json.loads(text)
        if _SURROGATE.search(text):
            value = json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def text_in(value: Any) -> str | None:
    """Return a text, cut to `LONGEST_TEXT` characters; None for anything else."""
    return value[:LONGEST_TEXT] if isinstance(value, str) else None


def seconds_in(value: Any) -> float | None:
    """Return a number of seconds, None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value < _MOST_SECONDS and math.isfinite(value) else None


def count_in(value: Any) -> int | None:
    """Return a whole number from 0, None for anything else."""
    return value if type(value) is int and 0 <= value <= _MOST_COUNTED else None


def seat_in(value: Any) -> Seat | None:
    """Return the number of one of two players or programs, 0 or 1; None for anything else."""
    return value if type(value) is int and value in (0, 1) else None


def seats_in(value: Any) -> tuple[Seat, Seat] | None:
    """Return both numbers in the order of a list; None if `value` is not a list of both."""
    if not isinstance(value, list) or len(value) != 2:
        return None
    first, second = (seat_in(each) for each in value)
    return None if first is None or second is None or first == second else (first, second)
