"""Writes all bytes to a file that may take them in several parts.

Invariants: bytes are written in order, each once. A file that takes nothing is an error, and never an endless loop.

Writes a file as a whole: under another name first, then renamed.

Invariants: whenever this process is ended, and whenever somebody reads the file, it has its old content or the new one,
never none or a part. The other name belongs to this process: whatever was left there is removed, never written to.
"""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final


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


_numbers: Final = itertools.count()
_KEPT_NAME: Final = 40  # characters of the name in that of the temporary file, which has at most 255 bytes


def write_whole(path: Path, content: bytes | str) -> None:
    """Write `content` to the file at `path`, replacing an existing one. Raises OSError, which names `path`.

    Text is written as UTF-8; lone surrogates, which cannot be encoded, become backslash escapes. A symbolic link stays,
    and what it points to is replaced. What cannot be replaced, such as ``/dev/stdout``, is written to.
    """
    data = content.encode("utf-8", "backslashreplace") if isinstance(content, str) else content
    with _naming(path):
        target = Path(os.path.realpath(path))
        if target.exists() and not target.is_file():
            target.write_bytes(data)
            return
        temporary = target.with_name(f".{target.name[:_KEPT_NAME]}.{os.getpid()}-{next(_numbers)}.tmp")
        temporary.unlink(missing_ok=True)
        try:
            with temporary.open("xb") as file:
                file.write(data)
            temporary.replace(target)
        except OSError:
            with contextlib.suppress(OSError):
                temporary.unlink()
            raise


def require_writable(path: Path) -> None:
    """Raise OSError if `write_whole` could not write to `path`; nothing is changed."""
    with _naming(path):
        target = Path(os.path.realpath(path))
        if target.is_file() or not target.exists():
            with tempfile.TemporaryFile(dir=target.parent):
                pass
        elif not target.is_fifo():  # opening that would wait for its reader
            with target.open("ab"):
                pass


@contextlib.contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Raise an OSError with the path that the user knows, not that of a temporary file."""
    try:
        yield
    except OSError as error:
        error.filename, error.filename2 = str(path), None
        raise
