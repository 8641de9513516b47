"""Terminals and the standard streams: who acts on escape sequences, and what a program does when nobody reads it."""

from __future__ import annotations

import atexit
import errno
import io
import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

_VIRTUAL_TERMINAL_PROCESSING: Final = 0x0004


def enable_escapes(descriptor: int, kernel32: Any = None, handle_of: Callable[[int], int] | None = None) -> bool:
    """Switch on virtual terminal processing for a console of Windows; return whether it is on.

    Consoles have it from Windows 10 on; older ones show escape sequences as text.
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
    """Return whether `stream`, a text file or None, is a terminal that acts on escape sequences, and may be sent some.

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


# -- outputs that nobody reads ----------------------------------------------------------------------------------------

EXIT_NOBODY_READS: Final = 141
"""The exit code of such a program: 128 and the number of SIGPIPE."""

_CLOSED: Final = {errno.EPIPE, errno.EINVAL} if sys.platform == "win32" else {errno.EPIPE}


class _Output(io.FileIO):
    """The file descriptor of an output; `is_result` says whether the program has nothing to do without it."""

    def __init__(self, descriptor: int, *, is_result: bool) -> None:
        super().__init__(descriptor, "wb", closefd=False)
        self._is_result = is_result
        atexit.register(self._be_silent)

    def _be_silent(self) -> None:
        """Raise nothing when Python writes what is left in a buffer, since it would show that as an error."""
        self._is_result = False

    def write(self, data: ReadableBuffer, /) -> int:
        """Write like FileIO. Raises SystemExit if nobody reads the result of the program any more."""
        try:
            return super().write(data)
        except OSError as error:
            if error.errno not in _CLOSED:
                raise
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, self.fileno())  # takes the rest, also what Python itself flushes at its end
        os.close(null)
        if self._is_result:
            raise SystemExit(EXIT_NOBODY_READS)  # not an OSError: a command reports those as failures of the machine
        return memoryview(data).nbytes


def end_quietly_without_readers() -> None:
    """Let this program end without a message at its next write when its standard output is closed, as after `| head`.

    The exit code is that of a program that SIGPIPE has ended. A closed standard error ends nothing, since results may
    be in files. Sockets are not concerned: SIGPIPE stays ignored, and a peer that has left is an ordinary error.
    """
    for name, is_result in (("stdout", True), ("stderr", False)):
        stream = getattr(sys, name)
        if stream is not getattr(sys, f"__{name}__") or not isinstance(stream, io.TextIOWrapper):
            continue  # a replacement, or there is none
        raw = getattr(stream.buffer, "raw", stream.buffer)  # with `python -u`, there is no buffer
        if not isinstance(raw, io.FileIO):
            continue  # a console of Windows
        stream.flush()
        output = _Output(stream.fileno(), is_result=is_result)
        text = io.TextIOWrapper(
            output if raw is stream.buffer else io.BufferedWriter(output),
            encoding=stream.encoding,
            errors=stream.errors,
            line_buffering=stream.line_buffering,
            write_through=stream.write_through,
        )
        setattr(sys, name, text)
