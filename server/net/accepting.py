"""Accepts connections, one after the other.

Invariants: the failure of one connection does not affect another. Only the listed errors are retried: those of a single
connection at once, and a lack of descriptors or memory after a pause. Every other error of the listening socket is
permanent, and is raised.
"""

from __future__ import annotations

import errno
import socket
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import trio

ACCEPT_PAUSE: Final = 0.1  # seconds until the next attempt if nothing can be accepted
EXHAUSTION_ERRORS: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
"""Temporary errors of the whole process or machine: no descriptor or no memory is left."""
CONNECTION_ERRORS: Final = frozenset(
    getattr(errno, name)
    for name in (
        "ECONNABORTED", "ECONNRESET", "EPROTO", "EPERM", "ETIMEDOUT", "ENETDOWN", "ENETUNREACH", "EHOSTDOWN",
        "EHOSTUNREACH", "ENONET", "ENOPROTOOPT", "EOPNOTSUPP",
    )
    if hasattr(errno, name)
)  # fmt: skip
"""Errors of a single connection that ended before it was accepted, which some systems report here (see accept(2))."""


class Accepted(NamedTuple):
    """An accepted connection; `has_waited`: no connection was pending when `accept` was called."""

    socket: socket.socket
    address: Any
    has_waited: bool


async def accept(listening: socket.socket, on_exhausted: Callable[[OSError], None] = lambda _: None) -> Accepted:
    """Return the next connection; if one is pending already, no other task runs in between.

    `on_exhausted` is called with the first temporary error, and not again for the same connection. Raises OSError for
    permanent errors of the listening socket.
    """
    has_waited = is_exhausted = False
    while True:
        try:
            return Accepted(*listening.accept(), has_waited)
        except BlockingIOError:
            has_waited = True
            await trio.lowlevel.wait_readable(listening)
        except OSError as error:
            if error.errno in CONNECTION_ERRORS:
                await trio.lowlevel.checkpoint()
                continue
            if error.errno not in EXHAUSTION_ERRORS:
                raise
            if not is_exhausted:
                is_exhausted = True
                on_exhausted(error)
            await trio.sleep(ACCEPT_PAUSE)
