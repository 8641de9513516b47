"""The sockets that a server listens on, and what every socket it accepts is set to.

Law: a host may stand for several addresses, all of which get the same port; either they all listen, or none is left
open. What cannot be had is said in one line that names the option to change.
"""

from __future__ import annotations

import contextlib
import errno
import socket
import sys
from typing import Any, Final

from spielleiter.server.errors import StartError
from spielleiter.server.net.wire import stamp_arrivals

BACKLOG: Final = 1024
KEEPALIVE_IDLE: Final = 60  # seconds of silence after which a peer is asked whether it is still there
KEEPALIVE_INTERVAL: Final = 10  # seconds between two such questions
KEEPALIVE_COUNT: Final = 6  # unanswered questions after which it is gone
ANY_IPV6: Final = "::"
ANY_IPV4: Final = "0.0.0.0"  # noqa: S104 - only where it is asked for
PORT_TRIES: Final = 10
"""So often a port that is free on every address is looked for; each try fails only if somebody took it meanwhile."""
NOT_HERE: Final = frozenset({errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT})


def listen(host: str, port: int, option: str = "--port") -> list[socket.socket]:
    """Listening sockets for every address `host` stands for; with port 0 the same free port on all of them.

    `option` is what to change where the port cannot be had. Raises StartError.

    ``::`` is every address of this machine, those of IPv4 too. They get a socket of their own: not every system lets
    one socket serve both, and where it does, a peer of IPv4 would have an address of IPv6, which limits per address and
    the exemption of loopback would have to see through.

    An address that this machine does not have (that of IPv6 in many a container) is passed over if there is another.
    """
    tries_left = PORT_TRIES if port == 0 else 1
    while True:
        tries_left -= 1
        try:
            return _listen(host, port)
        except (OSError, UnicodeError) as error:
            # a port that was free on one address may be taken on another
            is_taken = isinstance(error, OSError) and error.errno == errno.EADDRINUSE
            if not is_taken or not tries_left:
                raise StartError(_bind_problem(host, port, error, option)) from None


def _listen(host: str, port: int) -> list[socket.socket]:
    """All sockets or none. Raises OSError and UnicodeError."""
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
                if error.errno not in NOT_HERE:
                    raise
                missing = error
        if missing is not None and not sockets:
            raise missing
    except (OSError, UnicodeError):
        for sock in sockets:
            sock.close()
        raise
    return sockets


def notice_vanished(sock: socket.socket) -> None:
    """Have the kernel ask silent peers whether they are there: a machine that was switched off says no goodbye.

    Two minutes later the connection is broken, as if the peer had left. A peer that answers may be silent for ever.
    """
    idle = "TCP_KEEPIDLE" if hasattr(socket, "TCP_KEEPIDLE") else "TCP_KEEPALIVE"  # the same by its name on macOS
    values = {idle: KEEPALIVE_IDLE, "TCP_KEEPINTVL": KEEPALIVE_INTERVAL, "TCP_KEEPCNT": KEEPALIVE_COUNT}
    with contextlib.suppress(OSError):  # no TCP: whoever is gone is known to be gone
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for option, value in values.items():
            if hasattr(socket, option):
                sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)


def _listening_socket(family: int, address: tuple[Any, ...]) -> socket.socket:
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setblocking(False)
        if sys.platform != "win32":
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


def _bind_problem(host: str, port: int, error: OSError | UnicodeError, option: str) -> str:
    if isinstance(error, UnicodeError):
        return f"cannot listen on {host}:{port}: this is no name of a host"
    if error.errno == errno.EADDRINUSE:
        return f"{host}:{port} is in use already, perhaps by another server; choose another {option} (0: any free one)"
    if error.errno == errno.EACCES:
        return f"{host}:{port} may not be used without privileges; choose a {option} above 1023"
    return f"cannot listen on {host}:{port}: {error.strerror or error}"
