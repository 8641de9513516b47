"""Writing reports into their folder.

Invariants: a file is written as a whole; a reader sees either the old or the new one.
"""

from __future__ import annotations

from pathlib import Path

from spielleiter.common.errors import JournalError
from spielleiter.common.files import write_whole


def write_text(path: Path, text: str) -> None:
    """Write a report, replacing an existing one. Raises JournalError."""
    try:
        write_whole(path, text)
    except OSError as error:
        # Windows replaces no file that is open, for example a table in a spreadsheet
        hint = "; close it if another program has opened it" if isinstance(error, PermissionError) else ""
        raise JournalError(f"{path}: cannot be written ({error.strerror or error}){hint}") from None
