"""Recognising in the last lines of a program's output why it cannot run in the contest.

The verdict on a game says that a program crashed; these patterns say that it crashed because it wanted a terminal,
the network, another server than the one that it was given, another Python, or a file that is not there. Windows are
noticed in `spielleiter.programs.outputs`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

from spielleiter.programs.outputs import MAX_LENGTH, read_tail

_SEARCHED_LINES: Final = 60  # the last ones; a message before them has harmed nothing
_OF_MODULES: Final = frozenset({"", ".py", ".class", ".js"})  # suffixes that messages about modules leave out


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
    "wheel-for-other-python": (r"-cp3\d+-\S*\.whl is not a supported wheel on this platform",),
    "other-python": (r"^SyntaxError: ", r"^ImportError: cannot import name .* \(\S*/python3\.\d+/[^/]+\.py\)"),
    "missing-when-run": (
        r"\bModuleNotFoundError\b",
        r"^ImportError\b",
        r"\b(?:NoClassDefFoundError|ClassNotFoundException|UnsupportedClassVersionError)\b",
        r"Cannot find module",
        r"cannot open shared object file",
        r"version `GLIBC\w*_[\d.]+' not found",
        r"(?:: |command )not found$",
        r": can't cd to ",
        r"Unable to access jarfile",
        r"Could not find or load main class",
        r"cannot load such file",
        r"(?i:no such file or directory)",
        r"\bNoSuchFileException\b",
    ),
    "not-executable-when-run": (
        r"^[^ ]*: .*(?:\d: |/).*: Permission denied$",
        r"PermissionError: \[Errno 13\] Permission denied: '(?!/)",
        r"\berror=13, Permission denied",
        r"\bspawn \S+ EACCES\b",
    ),
    "wrong-format-when-run": (r"(?i:exec format error)", r"cannot execute binary file"),
}
_NAMES: Final = re.compile(
    r"No module named '?(?P<module>[\w.]+)|"
    r"(?i:(?:no such file or directory:?|can't open file|cannot find module|jarfile|main class|NoSuchFileException:|"
    r", open|can't cd to|permission denied:)) ['\"]?(?P<after>[^\s'\"]+)|"
    r"(?P<before>[^\s'\":]+):? (?:command )?\(?(?=(?i:no such file or directory|not found$|permission denied$))"
)
"""What a message says is missing, or may not be executed."""
_WHEEL: Final = re.compile(r"-cp3(\d+)-")
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


def wheel_version(line: str) -> str:
    """Return the version of Python that the wheel in a message of pip is for, such as ``3.12``.

    Empty if a long name has made the message too long to be quoted up to there.
    """
    found = _WHEEL.search(line)
    return f"3.{found[1]}" if found else ""


def fault_of_name(cause: CrashCause, folder: Path) -> tuple[str, str, str] | None:
    """Return what is wrong with the name of a file in a message: the code of the fault, the name, and what is there.

    What is there is a file or folder below `folder`, that of the unpacked package: one that differs in case alone, one
    that the program looks for in another place, or one that it may not execute. None if there is no such file. Blocks
    for a moment.
    """
    named = list(_NAMES.finditer(cause.line))
    paths = [path.relative_to(folder) for path in sorted(folder.rglob("*"))] if named else []
    files = {path.name: path for path in paths}
    by_stem = {path.stem: path for path in paths if path.suffix in _OF_MODULES}
    for found in named:
        text = found["after"] or found["before"] or ""
        name = PurePosixPath(text).name
        same = [path.as_posix() for path in paths if path.name == name]
        if cause.code != "missing-when-run":
            if same:  # the files of a package may be written, so that this one was to be executed
                # without a path, a shell looks in the folders of the PATH, and one of them may be closed to this user
                code = "not-executable-when-run" if "/" in text else "other-place"
                return code, text, same[0]
            continue
        # a path may be the right one: the loader of a program may be missing, for example
        is_there = any(
            text.endswith(f"/{each}") if text.startswith("/") else "/" in text and text.removeprefix("./") == each
            for each in same
        )
        if same and not is_there:
            return "other-place", text, same[0]
        for wanted in found["module"].split(".") if found["module"] else [name]:
            for known in (files, by_stem):
                if wanted in known:
                    break
                for other, path in known.items():
                    if other.casefold() == wanted.casefold():
                        return "other-spelling", wanted, path.as_posix()
    return None
