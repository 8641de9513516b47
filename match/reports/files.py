"""Writing reports into their folder.

Invariants: a file is replaced atomically; a reader sees either the old or the new one.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

from spielleiter.match.errors import JournalError


def write_text(path: Path, text: str) -> None:
    """Write a report, replacing an existing one. Raises JournalError."""
    temporary = path.with_name(f".{path.name}.tmp")
    try:
        # bytes in a command line that are not text become lone surrogates, which cannot be encoded
        temporary.write_text(text, encoding="utf-8", errors="backslashreplace", newline="")
        temporary.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink()
        # Windows replaces no file that is open, for example a table in a spreadsheet
        hint = "; close it if another program has opened it" if isinstance(error, PermissionError) else ""
        raise JournalError(f"{path}: cannot be written ({error.strerror or error}){hint}") from None
