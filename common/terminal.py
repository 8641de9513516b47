"""Whether a stream is a terminal that acts on escape sequences, which colour text and move the cursor.

Invariants: no escape sequence may be written to a stream for which `understands_escapes` is False. A console of Windows
acts on them from Windows 10 on, once its mode "virtual terminal processing" is switched on; older ones show them as
text.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any, Final

_VIRTUAL_TERMINAL_PROCESSING: Final = 0x0004


def enable_escapes(descriptor: int, kernel32: Any = None, handle_of: Callable[[int], int] | None = None) -> bool:
    """Switch on virtual terminal processing for a console of Windows; return whether it is on.

    `kernel32` is the library of that name, and `handle_of` returns the handle of a descriptor; None for the real ones.
    """
    import ctypes

    try:
        if sys.platform == "win32":
            import msvcrt

            kernel32 = kernel32 or ctypes.WinDLL("kernel32")
            handle_of = handle_of or msvcrt.get_osfhandle
        assert handle_of is not None
        handle, mode = ctypes.c_void_p(handle_of(descriptor)), ctypes.c_uint32()
        if not kernel32.GetConsoleMode(handle, ctypes.byref(mode)):
            return False  # no console
        if mode.value & _VIRTUAL_TERMINAL_PROCESSING:
            return True
        return bool(kernel32.SetConsoleMode(handle, ctypes.c_uint32(mode.value | _VIRTUAL_TERMINAL_PROCESSING)))
    except OSError:
        return False


def understands_escapes(stream: Any, enable: Callable[[int], bool] | None = None) -> bool:
    """Return whether `stream`, a text file or None, is a terminal that acts on escape sequences.

    `enable` makes the console with a descriptor do so and returns whether it does; None: `enable_escapes` on Windows,
    while terminals of other systems do so from the start.
    """
    if stream is None or not stream.isatty() or os.environ.get("TERM") == "dumb":
        return False
    enable = enable or (enable_escapes if sys.platform == "win32" else None)
    if enable is None:
        return True
    try:
        return enable(stream.fileno())
    except (AttributeError, OSError, ValueError):  # no real file
        return False


def shows_colours(stream: Any) -> bool:
    """Return whether text on `stream` may be coloured: it acts on escape sequences, and NO_COLOR is not set."""
    return not os.environ.get("NO_COLOR") and understands_escapes(stream)
