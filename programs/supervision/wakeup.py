"""Waiting for the end of child processes together with sockets, in one `poll`."""

from __future__ import annotations

import sys

assert sys.platform == "linux"  # before the imports, which other platforms lack

import contextlib
import signal
import socket

from .messages import READ_SIZE


def open_child_wakeup() -> socket.socket:
    """Return a non-blocking socket that becomes readable when a child of this process ends."""
    reading, writing = socket.socketpair()
    reading.setblocking(False)
    writing.setblocking(False)
    signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
    signal.set_wakeup_fd(writing.detach(), warn_on_full_buffer=False)
    return reading


def drain(sock: socket.socket) -> None:
    """Discard everything that can be read from a non-blocking socket."""
    with contextlib.suppress(BlockingIOError):
        while sock.recv(READ_SIZE):
            pass
