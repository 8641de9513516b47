"""What a program does when nobody reads its output any more, as after `| head`.

Invariants: a program whose standard output is a closed pipe ends at its next write, without a message, with the exit
code of a Unix program that SIGPIPE has ended. One whose standard error is closed goes on, since its results may be in
files. Sockets are not concerned: SIGPIPE stays ignored, and a peer that has left is an ordinary error.
"""

from __future__ import annotations

import atexit
import errno
import io
import os
import sys
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

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
    """Let this program end without a message when its standard output is closed; see above."""
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
