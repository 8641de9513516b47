"""A pseudo-terminal for a program, and an emulation of what a person would see on it."""

from __future__ import annotations

import os
import re
import struct
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, TextIO
from unicodedata import east_asian_width

import pytest

_CONTROL: Final = re.compile(r"\r\n|\n|\r|\033\[(\??\d*)([A-Za-z])|\033\[[\d;]+m")
_SECOND_HALF: Final = "\0"
"""The second column of a wide character."""


def seen(written: str, columns: int, rows: int) -> list[str]:
    """The lines on the screen, including those that were scrolled off, after all of `written`.

    Lines that are too wide, and movements beyond the screen's upper end, are errors.
    """
    lines, row, column, position = [""], 0, 0, 0
    while position < len(written):
        control = _CONTROL.match(written, position)
        if control is None:
            assert written[position].isprintable()
            wide = east_asian_width(written[position]) in "WF"
            text = written[position] + _SECOND_HALF * wide
            lines[row] = lines[row][:column].ljust(column) + text + lines[row][column + len(text) :]
            column += len(text)
            assert column < columns, f"too wide: {lines[row]!r}"
            position += 1
            continue
        position = control.end()
        match control[2]:
            case None if control[0].endswith("\n"):
                row, column = row + 1, 0
                lines += [""] * (row + 1 - len(lines))
            case None | "m":
                column = 0 if control[0] == "\r" else column
            case "A":
                row -= int(control[1])
                assert row > len(lines) - 1 - rows, "above the screen"
            case "J":
                lines[row:] = [lines[row][:column]]
            case "K":
                lines[row] = "" if control[1] == "2" else lines[row][:column]
            case "h" | "l":  # the cursor is shown or hidden
                pass
            case other:
                raise AssertionError(f"unknown: {other}")
    return [line.replace(_SECOND_HALF, "").rstrip() for line in lines[:-1]]


def _open_pty(columns: int, rows: int) -> tuple[int, int]:
    """Open a pseudo-terminal of this size; return our end and the program's."""
    if sys.platform == "win32":
        pytest.skip("Windows has no pseudo-terminals of this kind")
    import fcntl
    import termios

    read, write = os.openpty()
    fcntl.ioctl(write, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    return read, write


class Pty:
    """A pseudo-terminal: `file` is the program's end, `text` is what was written to it so far."""

    def __init__(self, columns: int, rows: int, encoding: str) -> None:
        self._encoding = encoding
        self._read, write = _open_pty(columns, rows)
        self.columns, self.rows = columns, rows
        self.file: Final[TextIO] = os.fdopen(write, "w", encoding=encoding)
        self._pieces: list[bytes] = []
        self._reader = threading.Thread(target=self._collect, daemon=True)
        self._reader.start()

    def _collect(self) -> None:
        try:
            while piece := os.read(self._read, 4096):
                self._pieces.append(piece)
        except OSError:  # on Linux: the other end is closed
            pass

    def end(self) -> str:
        """Close the terminal and return everything that was written."""
        self.file.close()
        self._reader.join()
        os.close(self._read)
        return b"".join(self._pieces).decode(self._encoding)


@contextmanager
def pty(columns: int = 80, rows: int = 24, encoding: str = "utf-8") -> Iterator[Pty]:
    terminal = Pty(columns, rows, encoding)
    try:
        yield terminal
    finally:
        if not terminal.file.closed:
            terminal.end()
