"""Reading the outputs of a process in an event loop, on systems where an event loop can wait for pipes (POSIX)."""

from __future__ import annotations

import sys

assert sys.platform != "win32"  # before the imports, which other platforms lack

import os
from typing import IO

import trio


def open_pipe(stream: IO[bytes]) -> trio.abc.ReceiveStream:
    """Make an output of a process readable in an event loop; takes ownership of `stream`."""
    with stream:
        return trio.lowlevel.FdStream(os.dup(stream.fileno()))
