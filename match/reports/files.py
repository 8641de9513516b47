"""How reports get into their folder.

Invariants: a file is written whole or not at all; whoever reads it meanwhile sees the earlier one.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

from spielleiter.match.errors import JournalError


def write_text(path: Path, text: str) -> None:
    """Write a report over the one of before. Raises JournalError."""
    temporary = path.with_name(f".{path.name}.tmp")
    try:
        # a command line may hold bytes that are no text; they come as lone surrogates, which no file can take
        temporary.write_text(text, encoding="utf-8", errors="backslashreplace", newline="")
        temporary.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise JournalError(f"{path}: cannot be written ({error.strerror or error})") from None
