"""Accepting connections, one after the other.

Invariants: what was wrong with one connection harms no other one. Where nothing can be accepted for the moment, because
no descriptor or no memory is left, it is tried again; a socket that will never accept anything again is an error.
"""

from __future__ import annotations

import errno
import socket
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import trio

ACCEPT_PAUSE: Final = 0.1  # seconds until the next try when nothing can be accepted
EXHAUSTED: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
"""Why nothing can be accepted for the moment: no descriptor or no memory is left."""
GONE: Final = frozenset(
    getattr(errno, name)
    for name in (
        "ECONNABORTED", "ECONNRESET", "EPROTO", "EPERM", "ETIMEDOUT", "ENETDOWN", "ENETUNREACH", "EHOSTDOWN",
        "EHOSTUNREACH", "ENONET", "ENOPROTOOPT", "EOPNOTSUPP",
    )
    if hasattr(errno, name)
)  # fmt: skip
"""What was wrong with one connection before it was accepted, which some systems tell here; others may come."""


class Accepted(NamedTuple):
    """A connection; `has_waited`: nobody else was waiting to be accepted."""

    socket: socket.socket
    address: Any
    has_waited: bool


async def accept(listening: socket.socket, tell: Callable[[OSError], None] = lambda _: None) -> Accepted:
    """The next connection; does not let other tasks run if there is one already.

    `tell` is called if nothing can be accepted for the moment, once until something is. Raises OSError if nothing will
    ever be accepted again.
    """
    has_waited = has_told = False
    while True:
        try:
            return Accepted(*listening.accept(), has_waited)
        except BlockingIOError:
            has_waited = True
            await trio.lowlevel.wait_readable(listening)
        except OSError as error:
            if error.errno in GONE:
                await trio.lowlevel.checkpoint()
                continue
            if error.errno not in EXHAUSTED:
                raise  # nothing will ever be accepted again, which is a bug
            if not has_told:
                has_told = True
                tell(error)
            await trio.sleep(ACCEPT_PAUSE)
