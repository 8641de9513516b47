"""What programs write: keeping it in files, and finding in it why a program ended and whether it wanted a window.

Whatever a program writes, a file has a maximum size, and what is quoted from it is one line of limited length.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, Final

from spielleiter.protocol.thinking import may_be_thinking

OUTPUT_LIMIT: Final = 8 * 1024 * 1024
"""Bytes that are kept of each of a program's two outputs."""


class Output:
    """Writes to the file `path` once `open` was called.

    `is_lazy`: the file and its folder are made with the first byte, and not at all without one. Otherwise, `open` makes
    the file.
    """

    def __init__(self, path: Path, *, is_lazy: bool = False) -> None:
        self._path = path
        self._is_lazy = is_lazy
        self._is_open = False
        self._file: BinaryIO | None = None
        self._size = 0
        self._is_within_line = False
        self._is_paused = False
        self.listener: Callable[[bytes], None] | None = None
        """Called with each chunk that is kept, at least in part; None: nobody is interested."""
        self.total = 0
        """The bytes that were written to it, kept or not, in all files together."""

    def open(self) -> None:
        """Create the file, empty. Raises OSError."""
        self._is_open = True
        if not self._is_lazy:
            self._file = self._path.open("wb")

    def redirect_to(self, path: Path) -> None:
        """Continue in another file, which is created if the current one is open. Raises OSError."""
        was_open = self._is_open or self._is_paused
        self.close()
        self._path, self._size, self._is_within_line = path, 0, False
        if was_open:
            self.open()

    def pause(self) -> None:
        """Close the file, so that it can be removed, and drop what is written until `redirect_to` is called."""
        was_open = self._is_open
        self.close()
        self._is_paused = was_open

    def write(self, chunk: bytes, seconds: float) -> None:
        """Write a chunk that was read `seconds` after the program's start. Raises OSError."""
        self.total += len(chunk)
        if self._size >= OUTPUT_LIMIT or not self._is_open:
            return
        stamp = f"{seconds:9.3f}  ".encode()
        if self.listener is not None:
            self.listener(chunk)
        text = b"".join(
            (b"" if number == 0 and self._is_within_line else stamp) + line
            for number, line in enumerate(chunk.splitlines(keepends=True))
        )
        self._is_within_line = not text.endswith(b"\n")
        self._size += len(text)
        if self._size >= OUTPUT_LIMIT:
            text += b"\n(the rest was not kept)\n"
        if self._file is None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._file = self._path.open("wb")
        self._file.write(text)
        self._file.flush()

    def close(self) -> None:
        """Close the file; nothing more is written, even after `redirect_to`, until `open` is called."""
        self._is_open = self._is_paused = False
        if self._file is not None:
            self._file.close()
            self._file = None


# -- why a program ended ----------------------------------------------------------------------------------------------

STAMP_LENGTH: Final = 11
"""The length of the time stamp before each line of an output file, in characters."""

MAX_LENGTH: Final = 200
"""The maximum length of a result, in characters."""

_TAIL_SIZE: Final = 256 * 1024  # bytes; a stack overflow in Java writes 1,024 lines below the exception
_MAX_LINES_AFTER: Final = 20  # if more lines follow a report, it is not the reason why the program ended
_MAX_MESSAGE_LINES: Final = 10  # between the line with an exception and the first line of its stack trace
_MAX_REPORT_LINES: Final = 500  # searched for the rest of a report
_MAX_LINE_LENGTH: Final = 1000  # characters searched in each line, so that no output can make the search slow

_NAME: Final = r"[A-Za-z_$][\w$]*"
_FRAME: Final = re.compile(r"\s+(?:at \S|from .+:\d+:in )")
_EXCEPTION: Final = re.compile(
    rf'(?:Exception in thread ".*?" |Unhandled exception\. |Uncaught )?'
    rf"((?:{_NAME}\.)+{_NAME}(?::.*)?|{_NAME}(?:Exception|Error)(?: \[\w+\])?(?::.*)?)$"
)
_NAMED: Final = re.compile(rf"(?:Uncaught )?({_NAME}: .*)$")
_RUBY: Final = re.compile(r"(.+?:\d+:in .+ \([A-Z]\w*(?:::\w+)*\))$|(.+?:\d+:in ['`].+?': .+)$")
_PYTHON: Final = re.compile(r"(?:  \+ Exception Group )?Traceback \(most recent call last\):")
_PYTHON_PART: Final = re.compile(r"\s+\| (\S.*)")
_SUB_EXCEPTIONS: Final = re.compile(r"\(\d+ sub-exceptions?\)$")
_RUST: Final = re.compile(r"thread '.*'(?: \(\d+\))? panicked at .+")
_GO: Final = re.compile(r"(?:panic|fatal error): .+")
_GOROUTINE: Final = re.compile(r"goroutine \d+ .*\[")
_CPP: Final = re.compile(r"terminate called .+|libc\+\+abi: .+|.+: Assertion [`'].+' failed\.$|==\d+==\s*ERROR: .+")
_WHAT: Final = re.compile(r"\s+what\(\):\s*(.+)")
_LAUNCHER: Final = re.compile(r"Error: (?:Could not find or load main class|LinkageError occurred) .+")
_CAUSE: Final = "Caused by: "


def last_words(*files: Path) -> str:
    """Return the message of the exception in the first of these output files that reports one.

    Without an exception, it is the last line of the first file that has one, apart from what the program says about its
    moves (docs/thinking.md), and without any output an empty text.
    The files have a time stamp before each line.
    """
    outputs = [_lines_at_end(file, _TAIL_SIZE) for file in files]
    for lines in outputs:
        if message := find_exception([_searched(line) for line in lines]):
            return _shortened(message)
    words = (line for lines in outputs for line in reversed(lines) if line.strip() and not may_be_thinking(line))
    return next((_shortened(_searched(line)) for line in words), "")


def read_tail(file: Path, size: int = _TAIL_SIZE) -> list[str]:
    """Return the last lines of an output file, without their time stamps.

    Reads at most `size` bytes; a line that this would cut is left out. Returns an empty list if the file cannot be
    read.
    """
    return [_searched(line) for line in _lines_at_end(file, size)]


def _lines_at_end(file: Path, size: int) -> list[bytes]:
    """Return the lines that `read_tail` returns, in full length."""
    with suppress(OSError), file.open("rb") as opened:
        start = max(0, opened.seek(0, os.SEEK_END) - size)
        opened.seek(start)
        lines = opened.read().split(b"\n")
        return [line[STAMP_LENGTH:] for line in (lines[1:] if start else lines)]
    return []


def _searched(line: bytes) -> str:
    """Return the part of a line that is searched."""
    return line.decode("utf-8", "replace")[:_MAX_LINE_LENGTH].rstrip()


def find_exception(lines: Sequence[str]) -> str | None:
    """Return the message of the last exception or panic that `lines` report; None if there is none.

    If more than a few other lines follow the report, it is not why the program ended.
    """
    for index in range(len(lines) - 1, -1, -1):
        for parse in _PARSERS:
            if message := parse(lines, index):
                is_recent = sum(bool(line) and not line[0].isspace() for line in lines[index + 1 :]) <= _MAX_LINES_AFTER
                return message if is_recent or parse is _parse_go else None
    return None


def _shortened(text: str) -> str:
    return " ".join(text.split())[:MAX_LENGTH]


# -- one function for each format: it returns the message if a report begins at this line ------------------------------


def _parse_stack_trace(lines: Sequence[str], index: int) -> str | None:
    """Parse the format of Java, Node.js, .NET and Ruby: an indented stack trace below the exception."""
    if _FRAME.match(lines[index]) is None or (index and _FRAME.match(lines[index - 1])):
        return None
    for position in range(index - 1, max(-1, index - 1 - _MAX_MESSAGE_LINES), -1):
        line = lines[position]
        if line.startswith(_CAUSE):
            # the outermost exception, which this one has caused directly or indirectly
            above = (
                each for each in reversed(lines[:position]) if not each.startswith(_CAUSE) and not each[:1].isspace()
            )
            effect = next((match[1] for each in above if (match := _EXCEPTION.match(each))), None)
            return f"{effect}; caused by {line.removeprefix(_CAUSE)}" if effect else line.removeprefix(_CAUSE)
        if match := _EXCEPTION.match(line) or _RUBY.match(line):
            return next(group for group in match.groups() if group)
    match = _NAMED.match(lines[index - 1]) if index else None
    return match[1] if match else None


def _parse_python(lines: Sequence[str], index: int) -> str | None:
    if _PYTHON.match(lines[index]) is None:
        return None
    if lines[index].startswith("T"):
        return next((line for line in _after(lines, index) if line and not line[0].isspace()), None)
    parts = [match[1] for line in _after(lines, index) if (match := _PYTHON_PART.match(line))]
    messages = [part for part in parts if _PYTHON.match(part) is None]
    return next((message for message in messages if not _SUB_EXCEPTIONS.search(message)), None)


def _after(lines: Sequence[str], index: int) -> Sequence[str]:
    return lines[index + 1 : index + 1 + _MAX_REPORT_LINES]


def _parse_rust(lines: Sequence[str], index: int) -> str | None:
    line = lines[index]
    if _RUST.match(line) is None:
        return None
    return f"{line} {lines[index + 1]}" if line.endswith(":") and index + 1 < len(lines) else line


def _parse_go(lines: Sequence[str], index: int) -> str | None:
    if _GO.match(lines[index]) and any(_GOROUTINE.match(line) for line in _after(lines, index)):
        return lines[index]
    return None


def _parse_cpp(lines: Sequence[str], index: int) -> str | None:
    if _CPP.match(lines[index]) is None:
        return None
    what = _WHAT.match(lines[index + 1]) if index + 1 < len(lines) else None
    return f"{lines[index]}: {what[1]}" if what else lines[index]


def _parse_launcher(lines: Sequence[str], index: int) -> str | None:
    """Parse an error of the command ``java`` itself, which could not start the program."""
    return lines[index] if _LAUNCHER.match(lines[index]) else None


_PARSERS: Final[tuple[Callable[[Sequence[str], int], str | None], ...]] = (
    _parse_stack_trace,
    _parse_python,
    _parse_rust,
    _parse_go,
    _parse_cpp,
    _parse_launcher,
)


# -- windows that could not be opened ---------------------------------------------------------------------------------

MAX_WINDOW_LINES: Final = 10
"""The most lines that are returned."""
_MAX_WINDOW_LINE: Final = 300

_PATTERNS: Final = (
    r"java\.awt\.HeadlessException",
    r"No X11 DISPLAY variable was set",
    r"Can't connect to X11 window server",
    r"Unable to open DISPLAY",  # JavaFX
    r"_tkinter\.TclError: .*\bdisplay\b",
    r"couldn't connect to display",  # Tk
    r"(?:cannot|can't) open display",  # X11 programs, GTK
    r"could not connect to display",  # Qt
    r"[Cc]annot connect to X server",
    r"no Qt platform plugin could be initialized",
    r"pygame\.error: .*\b(?:video|display|x11)\b",
    r"No available video device",  # SDL
    r"X11: (?:Failed to open display|The DISPLAY environment variable is missing)",  # GLFW
    r"(?:Failed|Unable) to open (?:X )?display",
    r"Unable to init server: Could not connect",  # GDK
    r"NoSuchDisplayException",  # pyglet
    r"neither WAYLAND_DISPLAY nor (?:WAYLAND_SOCKET nor )?DISPLAY is set",  # winit
    r"Missing X server or \$DISPLAY",  # Chromium, Electron
    r"XOpenDisplay failed",
)
_PATTERN: Final = re.compile("|".join(_PATTERNS), re.IGNORECASE)


def find_window_attempts(*outputs: Path) -> tuple[str, ...]:
    """Return the lines of these output files that report a window that could not be opened, each once.

    The files have a time stamp before each line, which is left out. A missing file has no lines.
    """
    lines = dict.fromkeys(
        " ".join(line.split())[:_MAX_WINDOW_LINE]
        for output in outputs
        for line in read_tail(output)
        if _PATTERN.search(line[:_MAX_WINDOW_LINE])
    )
    return tuple(lines)[:MAX_WINDOW_LINES]
