"""Recognising in the last lines of a program's output why it cannot run in the contest.

The verdict on a game says that a program crashed; these patterns say that it crashed because it wanted a terminal,
the network, another server than the one that it was given, or a file that is not there. Windows are noticed in
`spielleiter.match.sandbox.windows`.

Invariants: only the last lines of a program that failed are searched, so that a message which harmed nothing is not
taken for a cause. A result quotes the line that was recognised.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from spielleiter.match.programs.last_words import MAX_LENGTH, read_tail

_SEARCHED_LINES: Final = 60


@dataclass(frozen=True, slots=True)
class CrashCause:
    """Why a program failed: the code of a fault in `package_faults`, and the line of its output that says so."""

    code: str
    line: str


_MESSAGES: Final[Mapping[str, Sequence[str]]] = {
    "needs-input": (
        r"\bEOFError\b",
        r"NoSuchElementException: No line found",
        r"(?i:inappropriate ioctl for device)",
        r"\btermios\.error\b",
        r"(?i:\bnot a (?:tty|terminal)\b)",
        r"/dev/tty: No such device",
        r"cannot open /dev/tty",
        r"setupterm: could not find terminal",
        r"Error opening terminal",
    ),
    "needs-network": (
        r"(?i:name or service not known)",
        r"(?i:temporary failure in name resolution)",
        r"(?i:network is unreachable)",
        r"\bUnknownHostException\b",
        r"getaddrinfo (?:ENOTFOUND|EAI_AGAIN)",
        r"(?i:could not resolve host)",
        r"No address associated with hostname",
    ),
    "wrong-server": (r"(?i:connection (?:was )?refused)", r"\bECONNREFUSED\b", r"\bConnectionRefused"),
    "out-of-memory": (
        r"\bOutOfMemoryError\b",
        r"^MemoryError\b",
        r"\bstd::bad_alloc\b",
        r"(?i:cannot allocate memory)",
        r"heap out of memory",
        r"memory allocation of \d+ bytes failed",
        r"fatal error: runtime: out of memory",
        r"Could not reserve enough space for .*heap",
    ),
    "writes-elsewhere": (
        r"Read-only file system",
        r"No space left on device",
        r"PermissionError: \[Errno 13\] Permission denied: '/",
        r"FileNotFoundException: /.* \(Permission denied\)",
        r"cannot create /.*: Permission denied",
    ),
    "missing-when-run": (
        r"\bModuleNotFoundError\b",
        r"^ImportError\b",
        r"\b(?:NoClassDefFoundError|ClassNotFoundException|UnsupportedClassVersionError)\b",
        r"Cannot find module",
        r"cannot open shared object file",
        r"version `GLIBC\w*_[\d.]+' not found",
        r"(?:: |command )not found$",
        r"Unable to access jarfile",
        r"Could not find or load main class",
        r"cannot load such file",
        r"(?i:no such file or directory)",
        r"\bNoSuchFileException\b",
    ),
    "not-executable-when-run": (r"^[^ ]*: .*(?:\d: |/).*: Permission denied$",),
}
_PATTERNS: Final = {code: re.compile("|".join(messages)) for code, messages in _MESSAGES.items()}


def crash_cause(*files: Path) -> CrashCause | None:
    """Return the cause that the last lines of these output files name; None if they name none that is known.

    The files have a time stamp before each line, as `Output` writes them.
    """
    return find_cause([line for file in files for line in read_tail(file)[-_SEARCHED_LINES:]])


def find_cause(lines: Sequence[str]) -> CrashCause | None:
    """Return the cause that the last of these `lines` with a known message names."""
    for line in reversed(lines):
        for code, pattern in _PATTERNS.items():
            if pattern.search(line):
                return CrashCause(code, " ".join(line.split())[:MAX_LENGTH])
    return None
