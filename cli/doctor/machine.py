"""What `spielleiter doctor` finds out about Python, the system, the processor, the memory and the terminal.

Invariants: nothing is changed, and nothing outside of this process is started. What the system says is an argument with
the real value as its default.
"""

from __future__ import annotations

import os
import platform
import sys
import webbrowser
from collections.abc import Callable
from contextlib import suppress
from typing import Final, TextIO

import psutil

from spielleiter.cli.doctor.finding import Finding, Level
from spielleiter.common.own_python import is_frozen
from spielleiter.programs.sandbox.sandbox import MEMORY_LIMIT

OLDEST: Final = (3, 11)
NEWEST: Final = (3, 14)
"""The versions of Python that the tests run on."""

_GB: Final = 1024**3
_SHOWN: Final = "·äß„“±∞"
"""Characters that the commands print."""


def find_python(version: tuple[int, ...] = sys.version_info[:3]) -> Finding:
    """Return which Python runs this program, and whether it is one of those that the tests run on."""
    where = "part of this program" if is_frozen() else sys.executable
    state = f"{'.'.join(map(str, version))} ({platform.python_implementation()}), {where}"
    if version[:2] < OLDEST:
        return Finding("python", "Python", Level.MISSING, state, f"Install Python {_dotted(OLDEST)} or newer.")
    if version[:2] > NEWEST:
        meaning = f"Newer than what the tests run on; if something fails, try Python {_dotted(NEWEST)}."
        return Finding("python", "Python", Level.LIMITED, state, meaning)
    return Finding("python", "Python", Level.OK, state, "Nothing else is needed for `serve`, `play` and `demo`.")


def find_system(system: str = sys.platform) -> Finding:
    """Return the operating system; `system` is a value of `sys.platform`."""
    state = f"{platform.system()} {platform.release()} on {platform.machine()}"
    if system == "linux":
        return Finding(
            "system",
            "system",
            Level.OK,
            state,
            "All parts of spielleiter exist here; the lines below say what is set up.",
        )
    meaning = (
        "Servers, players and matches work. Some conditions of the contest can be kept on Linux only: to test with "
        "them, use a Linux machine, or the Windows Subsystem for Linux."
    )
    return Finding("system", "system", Level.LIMITED, state, meaning)


def usable_cores() -> int:
    """Return the number of processor cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def find_cores(cores: int | None = None) -> Finding:
    """Return the number of processor cores, and how many games a match should play at once."""
    cores = cores or usable_cores()
    if cores == 1:
        meaning = "The server and the players share it, so think times vary; play one game at a time (--concurrency 1)."
        return Finding("cores", "cores", Level.LIMITED, "1", meaning)
    games = "one game at a time" if cores < 4 else f"up to {cores // 2} games at a time"
    meaning = f"A match can play {games} (--concurrency) without slowing programs down."
    return Finding("cores", "cores", Level.OK, str(cores), meaning)


def available_memory() -> int | None:
    """Return the memory in bytes that programs can still use; None if the system does not tell."""
    with suppress(OSError, psutil.Error):
        return psutil.virtual_memory().available
    return None


def find_memory(memory: Callable[[], int | None] = available_memory) -> Finding:
    """Return the free memory, compared with what a program may use in the contest."""
    found, limit = memory(), f"{MEMORY_LIMIT / _GB:.1f} GB"
    if found is None:
        meaning = f"A program may use {limit} in the contest; make sure that so much is free."
        return Finding("memory", "memory", Level.OK, "not told by this system", meaning)
    state = f"{found / _GB:.1f} GB free"
    if found < MEMORY_LIMIT:
        meaning = f"A program may use {limit} in the contest; close other programs before a match."
        return Finding("memory", "memory", Level.LIMITED, state, meaning)
    return Finding("memory", "memory", Level.OK, state, f"A program may use {limit} in the contest.")


def find_terminal(stream: TextIO | None = None, system: str = sys.platform) -> Finding:
    """Return what the output can show; `stream` is standard output unless it is given."""
    stream = stream or sys.stdout
    encoding = stream.encoding or "ascii"
    kind = "a terminal" if stream.isatty() else "no terminal"
    state = f"{kind}, encoding {encoding}"
    try:
        _SHOWN.encode(encoding)
    except UnicodeEncodeError:
        meaning = f"Some characters are replaced by similar ones; to see all of them, {_encoding_advice(system)}."
        return Finding("terminal", "terminal", Level.LIMITED, state, meaning)
    meaning = "Every character can be shown."
    if not stream.isatty():
        meaning += " Boards and progress are drawn on terminals only."
    return Finding("terminal", "terminal", Level.OK, state, meaning)


def _encoding_advice(system: str) -> str:
    if system != "win32":
        return "set LANG=C.UTF-8"
    # a window shows every character, whatever its code page is; the build reads no variables for Python
    return "look at them in a window" if is_frozen() else "set the variable PYTHONUTF8 to 1"


def find_browser(get: Callable[[], object] = webbrowser.get) -> Finding:
    """Return whether `spielleiter replay` can open a browser."""
    try:
        get()
    except webbrowser.Error:
        meaning = "`spielleiter replay` cannot open a page; use its --text or --html, or open the printed address."
        return Finding("browser", "browser", Level.LIMITED, "not found", meaning)
    return Finding("browser", "browser", Level.OK, "found", "`spielleiter replay` opens games in it.")


def _dotted(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))
