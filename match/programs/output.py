"""One of a program's outputs as a file, or as one file after the other.

Invariants: each line has the seconds since the program's start before it. A file is bounded and says where it was cut;
what comes after that is taken all the same, or the program would hang.
"""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO, Final

OUTPUT_LIMIT: Final = 8 * 1024 * 1024
"""Bytes kept of each of a program's two outputs."""


class Output:
    """Writes what a program writes to `path`, once it is open."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: BinaryIO | None = None
        self._kept = 0
        self._is_line_begun = False

    def open(self) -> None:
        """Create the file, empty. Raises OSError."""
        self._file = self._path.open("wb")

    def turn_to(self, path: Path) -> None:
        """From here on write to another file, which is created unless there is nobody to write any more.

        Raises OSError.
        """
        was_open = self._file is not None
        self.close()
        self._path, self._kept, self._is_line_begun = path, 0, False
        if was_open:
            self.open()

    def write(self, chunk: bytes, seconds: float) -> None:
        """Add what came `seconds` after the program's start. Raises OSError."""
        if self._kept >= OUTPUT_LIMIT or self._file is None:
            return
        stamp = f"{seconds:9.3f}  ".encode()
        text = b"".join(
            (b"" if number == 0 and self._is_line_begun else stamp) + line
            for number, line in enumerate(chunk.splitlines(keepends=True))
        )
        self._is_line_begun = not text.endswith(b"\n")
        self._kept += len(text)
        if self._kept >= OUTPUT_LIMIT:
            text += b"\n(the rest was not kept)\n"
        self._file.write(text)
        self._file.flush()

    def close(self) -> None:
        """Nothing more is written before `turn_to`."""
        if self._file is not None:
            self._file.close()
            self._file = None
