"""Writes all bytes to a file that may take them in several parts.

Invariants: bytes are written in order, each once. A file that takes nothing is an error, and never an endless loop.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator


def written_parts(write: Callable[[memoryview], int | None], data: bytes | memoryview) -> Iterator[int]:
    """Write `data` with `write`, and yield after each call how many bytes that call has written.

    `write` is `FileIO.write`, or `os.write` with its descriptor: it takes bytes and returns how many it has written.
    Raises what `write` raises, and OSError (ENOSPC) if it writes nothing.
    """
    rest = memoryview(data)
    while rest:
        written = write(rest)
        if not written:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        rest = rest[written:]
        yield written


def write_all(write: Callable[[memoryview], int | None], data: bytes | memoryview) -> None:
    """Write all of `data` with `write`. Raises what `written_parts` raises."""
    for _ in written_parts(write, data):
        pass
