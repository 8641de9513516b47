"""Putting into words why a program cannot be started."""

from __future__ import annotations

import errno
from pathlib import Path


def start_problem(word: str, error: OSError | ValueError, cwd: str | None) -> str:
    """Return why the program `word` cannot be started in the directory `cwd`."""
    if isinstance(error, ValueError):  # a null byte in a word
        return f"{word!r}: {error}"
    if cwd is not None and not Path(cwd).is_dir():
        return f"{cwd}: the directory to start {word} in does not exist"
    if error.errno == errno.ENOENT:
        if Path(cwd or "", word).exists():
            return f"{word}: the interpreter that its first line names does not exist"
        return f"{word}: there is no such program"
    if error.errno == errno.EACCES:
        return f"{word}: is not executable"
    if error.errno == errno.ENOEXEC:
        return f"{word}: is not a program for this machine, and has no first line (#!) that names an interpreter"
    return f"{word}: {error.strerror or error}"
