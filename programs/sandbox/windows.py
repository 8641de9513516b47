"""Noticing that a program wanted to open a window, from what it writes.

There is no screen in a sandbox, so every toolkit fails and says so on standard error, unless the program catches the
error. What is caught and not printed cannot be seen here. A program that asks first whether there is a screen, as Java
programs can, does nothing wrong and is not noticed.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from spielleiter.programs.last_words import read_tail

MAX_LINES: Final = 10
"""The most lines that are returned."""
_MAX_LINE_LENGTH: Final = 300

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
        " ".join(line.split())[:_MAX_LINE_LENGTH]
        for output in outputs
        for line in read_tail(output)
        if _PATTERN.search(line[:_MAX_LINE_LENGTH])
    )
    return tuple(lines)[:MAX_LINES]
