"""Listening sockets, accepting connections on them, and how many the system allows."""

from __future__ import annotations

import contextlib
import errno
import socket
import sys
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import trio

from spielleiter.server.config import is_loopback
from spielleiter.server.errors import StartError
from spielleiter.server.net.wire import stamp_arrivals

BACKLOG: Final = 1024
KEEPALIVE_IDLE: Final = 60  # seconds of silence before the first keep-alive probe
KEEPALIVE_INTERVAL: Final = 10  # seconds between two probes
KEEPALIVE_COUNT: Final = 6  # unanswered probes after which the connection is broken
ANY_IPV6: Final = "::"
ANY_IPV4: Final = "0.0.0.0"  # noqa: S104 - only if the operator asks for it
FIRST_FREE_PORT: Final = 1024  # those below need privileges
PORT_ATTEMPTS: Final = 10
"""Attempts to find a port that is free on every address; one fails only if another program takes it in between."""
ADDRESS_UNAVAILABLE: Final = frozenset({errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT})
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
RESERVE: Final = 64
"""Descriptors for everything except connections: files, the log, listening sockets, threads."""


def is_from_this_machine(accepted: socket.socket, host: str) -> bool:
    """Return whether the peer of an accepted connection, whose address is `host`, runs on this machine.

    Only there can it have the address to which it has connected.
    """
    return is_loopback(host) or accepted.getsockname()[:1] == (host,)


def listen(host: str, port: int, option: str = "--port") -> list[socket.socket]:
    """Return listening sockets for all addresses that `host` stands for; with port 0, the same free port on all.

    `option` is the option that the operator has to change if the port cannot be used. Raises StartError.

    ``::`` means every address of this machine, including those of IPv4. The latter get a socket of their own: not every
    system lets one socket serve both, and where it does, IPv4 peers have IPv6 addresses, for which the limits per
    address and the exemption of loopback would need extra code.

    An address that this machine does not have (often that of IPv6 in a container) is skipped if there is another one.
    """
    attempts_left = PORT_ATTEMPTS if port == 0 else 1
    while True:
        attempts_left -= 1
        try:
            return _listen(host, port)
        except (OSError, UnicodeError) as error:
            # the port that was free on the first address may be taken on another
            is_taken = isinstance(error, OSError) and error.errno == errno.EADDRINUSE
            if is_taken and attempts_left:
                continue
            where, advice = f"{host}:{port}", f"choose another {option} (0: any free one)"
            if isinstance(error, UnicodeError):
                problem = f"cannot listen on {where}: this is not a host name"
            elif is_taken:
                problem = f"{where} is in use already, perhaps by another server; {advice}"
            elif error.errno == errno.EACCES and port >= FIRST_FREE_PORT:  # Windows keeps some for virtual machines
                problem = f"{where} is reserved by the system; {advice}"
            elif error.errno == errno.EACCES:
                problem = f"{where} may not be used without privileges; choose a {option} above 1023"
            else:
                problem = f"cannot listen on {where}: {error.strerror or error}"
            raise StartError(problem) from None


def _listen(host: str, port: int) -> list[socket.socket]:
    """Open the sockets of all addresses, or leave none open. Raises OSError and UnicodeError."""
    sockets: list[socket.socket] = []
    missing: OSError | None = None
    try:
        found = [
            each
            for name in ((ANY_IPV6, ANY_IPV4) if host == ANY_IPV6 else (host,))
            for each in socket.getaddrinfo(name, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        ]
        for family, _, _, _, address in dict.fromkeys(found):
            shared_port = sockets[0].getsockname()[1] if sockets else port
            try:
                sockets.append(_listening_socket(family, (address[0], shared_port, *address[2:])))
            except OSError as error:
                if error.errno not in ADDRESS_UNAVAILABLE:
                    raise
                missing = error
        if missing is not None and not sockets:
            raise missing
    except (OSError, UnicodeError):
        for sock in sockets:
            sock.close()
        raise
    return sockets


def notice_vanished(sock: socket.socket | trio.socket.SocketType) -> None:
    """Let the kernel probe a silent peer, whose machine may have been switched off without closing the connection.

    Such a connection is broken after two minutes, as if the peer had left. A peer that answers may be silent without
    limit.
    """
    idle = "TCP_KEEPIDLE" if hasattr(socket, "TCP_KEEPIDLE") else "TCP_KEEPALIVE"  # its name on macOS
    values = {idle: KEEPALIVE_IDLE, "TCP_KEEPINTVL": KEEPALIVE_INTERVAL, "TCP_KEEPCNT": KEEPALIVE_COUNT}
    with contextlib.suppress(OSError):  # not TCP: the kernel notices by itself when such a peer is gone
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for option, value in values.items():
            if hasattr(socket, option):
                sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)


def _listening_socket(family: int, address: tuple[Any, ...]) -> socket.socket:
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setblocking(False)
        if sys.platform == "win32":  # where another program could take over a port otherwise
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_EXCLUSIVEADDRUSE, 1)
        else:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        stamp_arrivals(sock)
        sock.bind(address)
        sock.listen(BACKLOG)
    except OSError:
        sock.close()
        raise
    return sock


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


def connections_possible(wanted: int) -> int:
    """Raise the limit of open files for `wanted` connections; return the number of connections that are possible."""
    if sys.platform == "win32":  # which has no such limit
        return wanted
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = wanted + RESERVE
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return wanted
    raised = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (raised, hard))
    except (OSError, ValueError):
        raised = soft
    return max(1, min(wanted, raised - RESERVE))
