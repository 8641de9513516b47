"""One output of a program (standard output or standard error), written to one file after the other.

Invariants: each line is preceded by the seconds since the program's start. A file has a maximum size, and says where it
was cut. The rest of the output is still read, since the program would block otherwise.
"""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO, Final

OUTPUT_LIMIT: Final = 8 * 1024 * 1024
"""Bytes that are kept of each of a program's two outputs."""


class Output:
    """Writes to the file `path` once `open` was called."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: BinaryIO | None = None
        self._size = 0
        self._is_within_line = False
        self._is_paused = False
        self.total = 0
        """The bytes that were written to it, kept or not, in all files together."""

    def open(self) -> None:
        """Create the file, empty. Raises OSError."""
        self._file = self._path.open("wb")

    def redirect_to(self, path: Path) -> None:
        """Continue in another file, which is created if the current one is open. Raises OSError."""
        was_open = self._file is not None or self._is_paused
        self.close()
        self._path, self._size, self._is_within_line = path, 0, False
        if was_open:
            self.open()

    def pause(self) -> None:
        """Close the file, so that it can be removed, and drop what is written until `redirect_to` is called."""
        was_open = self._file is not None
        self.close()
        self._is_paused = was_open

    def write(self, chunk: bytes, seconds: float) -> None:
        """Write a chunk that was read `seconds` after the program's start. Raises OSError."""
        self.total += len(chunk)
        if self._size >= OUTPUT_LIMIT or self._file is None:
            return
        stamp = f"{seconds:9.3f}  ".encode()
        text = b"".join(
            (b"" if number == 0 and self._is_within_line else stamp) + line
            for number, line in enumerate(chunk.splitlines(keepends=True))
        )
        self._is_within_line = not text.endswith(b"\n")
        self._size += len(text)
        if self._size >= OUTPUT_LIMIT:
            text += b"\n(the rest was not kept)\n"
        self._file.write(text)
        self._file.flush()

    def close(self) -> None:
        """Close the file; nothing more is written, even after `redirect_to`, until `open` is called."""
        self._is_paused = False
        if self._file is not None:
            self._file.close()
            self._file = None
