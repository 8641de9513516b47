"""Why a program ended, in its own words: the exception or panic in its outputs, or else the last line.

The ends of outputs are read as runtimes write them: Java (and other languages on its machine), Python, Rust, Go, C++,
Ruby, Node.js and .NET. A report of an exception is several lines, and its last one is seldom the one that says what
happened.

Invariants: whatever a program wrote, the answer is one line of limited length, made of words of the program. Nothing is
raised for a file that is missing.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

STAMP_LENGTH: Final = 11
"""Characters of the time before each line in a file of outputs."""

LONGEST: Final = 200
"""Characters of an answer."""

_TAIL: Final = 256 * 1024  # bytes; a Java program that runs out of stack writes 1,024 lines below the exception
_AFTERWORDS: Final = 20  # lines that may follow a report which still tells the end
_MESSAGE_LINES: Final = 10  # that a message may have between its exception and the first call
_REPORT_LINES: Final = 500  # that are looked at for the rest of a report
_LINE: Final = 1000  # characters of a line that are looked at, so that no output makes the search slow

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
    """The exception that the first of these files of outputs tells of, or else the last line of the first that has one.

    The files hold a time before each line. Empty if nothing was written.
    """
    outputs = [read_tail(file) for file in files]
    for lines in outputs:
        if told := find_exception(lines):
            return _short(told)
    return next((_short(line) for lines in outputs for line in reversed(lines) if line.strip()), "")


def read_tail(file: Path, size: int = _TAIL) -> list[str]:
    """The last lines of a file of outputs, at most `size` bytes, without their times; a line that is cut is left out.

    Empty if the file cannot be read.
    """
    with suppress(OSError), file.open("rb") as opened:
        start = max(0, opened.seek(0, os.SEEK_END) - size)
        opened.seek(start)
        lines = opened.read().decode("utf-8", "replace").split("\n")
        return [line[STAMP_LENGTH : STAMP_LENGTH + _LINE].rstrip() for line in (lines[1:] if start else lines)]
    return []


def find_exception(lines: Sequence[str]) -> str | None:
    """What the last report of an exception or panic in `lines` says; None if nothing tells of one.

    A report that more than a few other lines follow does not tell why a program ended.
    """
    for index in range(len(lines) - 1, -1, -1):
        for tell in _TELLERS:
            if told := tell(lines, index):
                is_recent = sum(bool(line) and not line[0].isspace() for line in lines[index + 1 :]) <= _AFTERWORDS
                return told if is_recent or tell is _tell_go else None
    return None


def _short(text: str) -> str:
    return " ".join(text.split())[:LONGEST]


# -- one function for each way to report: what is told, if the report begins at this line -----------------------------


def _tell_calls(lines: Sequence[str], index: int) -> str | None:
    """Java, Node.js, .NET and Ruby: the calls stand indented below the exception."""
    if _FRAME.match(lines[index]) is None or (index and _FRAME.match(lines[index - 1])):
        return None
    above = range(index - 1, max(-1, index - 1 - _MESSAGE_LINES), -1)
    for place in above:
        line = lines[place]
        if line.startswith(_CAUSE):
            told = _tell_above(lines, place)
            return f"{told}; caused by {line.removeprefix(_CAUSE)}" if told else line.removeprefix(_CAUSE)
        if found := _EXCEPTION.match(line) or _RUBY.match(line):
            return next(group for group in found.groups() if group)
    found = _NAMED.match(lines[index - 1]) if index else None
    return found[1] if found else None


def _tell_above(lines: Sequence[str], index: int) -> str | None:
    """The exception that the one at `index` has caused, directly or not."""
    for place in range(index - 1, -1, -1):
        line = lines[place]
        if not line.startswith(_CAUSE) and not line[:1].isspace() and (found := _EXCEPTION.match(line)):
            return found[1]
    return None


def _tell_python(lines: Sequence[str], index: int) -> str | None:
    if _PYTHON.match(lines[index]) is None:
        return None
    if lines[index].startswith("T"):
        return next((line for line in _after(lines, index) if line and not line[0].isspace()), None)
    parts = [found[1] for line in _after(lines, index) if (found := _PYTHON_PART.match(line))]
    told = [part for part in parts if _PYTHON.match(part) is None]
    return next((part for part in told if not _SUB_EXCEPTIONS.search(part)), None)


def _after(lines: Sequence[str], index: int) -> Sequence[str]:
    return lines[index + 1 : index + 1 + _REPORT_LINES]


def _tell_rust(lines: Sequence[str], index: int) -> str | None:
    line = lines[index]
    if _RUST.match(line) is None:
        return None
    return f"{line} {lines[index + 1]}" if line.endswith(":") and index + 1 < len(lines) else line


def _tell_go(lines: Sequence[str], index: int) -> str | None:
    if _GO.match(lines[index]) and any(_GOROUTINE.match(line) for line in _after(lines, index)):
        return lines[index]
    return None


def _tell_cpp(lines: Sequence[str], index: int) -> str | None:
    if _CPP.match(lines[index]) is None:
        return None
    what = _WHAT.match(lines[index + 1]) if index + 1 < len(lines) else None
    return f"{lines[index]}: {what[1]}" if what else lines[index]


def _tell_launcher(lines: Sequence[str], index: int) -> str | None:
    """Java's own command, which has not come to the program."""
    return lines[index] if _LAUNCHER.match(lines[index]) else None


_TELLERS: Final[tuple[Callable[[Sequence[str], int], str | None], ...]] = (
    _tell_calls,
    _tell_python,
    _tell_rust,
    _tell_go,
    _tell_cpp,
    _tell_launcher,
)
