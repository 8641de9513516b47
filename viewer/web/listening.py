"""Opens the sockets of the pages, and says in one line where and for whom they are.

Invariants: a port that is taken is no reason not to start: the pages then get any free port of the same host. An
address that cannot be used at all is reported, and the server starts without pages.
"""

from __future__ import annotations

import socket
from dataclasses import dataclass

from spielleiter.server.config import Config, is_loopback
from spielleiter.server.errors import StartError
from spielleiter.server.net.sockets import listen
from spielleiter.server.setting import shown_address

FOR_THIS_MACHINE = "this machine only"
FOR_PASSWORD_HOLDERS = "everybody who can reach this address and knows the password of the viewer"  # noqa: S105
FOR_EVERYBODY = "everybody who can reach this address"
_FAR_AWAY = ("192.0.2.1", 9)  # reserved for documentation, so the way to it usually leads outside
EVERY_ADDRESS = frozenset({"0.0.0.0", "::"})  # noqa: S104 - compared with, not listened on


@dataclass(frozen=True, slots=True)
class ListeningPages:
    """The listening sockets of the pages.

    `url` is the address for the browser; `note` says why it is not the configured one, and is empty if it is. Without
    sockets, `note` says why there are none. `elsewhere` is the address for browsers on other machines, if the pages
    are served on every address of this machine and it is connected to a network; otherwise it is empty.
    """

    sockets: tuple[socket.socket, ...]
    url: str = ""
    note: str = ""
    elsewhere: str = ""

    @property
    def port(self) -> int:
        """The port on which the pages are served. There must be a socket."""
        port: int = self.sockets[0].getsockname()[1]
        return port

    def close(self) -> None:
        """Close all sockets."""
        for sock in self.sockets:
            sock.close()


def listen_for_pages(host: str, port: int) -> ListeningPages:
    """Return the listening sockets for `host` and `port`, or for another port of this host if that one is taken."""
    try:
        return _listening(host, port, "")
    except StartError as error:
        problem = str(error)
    try:
        return _listening(host, 0, problem.partition(";")[0])
    except StartError:
        return ListeningPages((), note=problem)


def _listening(host: str, port: int, note: str) -> ListeningPages:
    sockets = tuple(listen(host, port, option="--viewer"))
    found: int = sockets[0].getsockname()[1]
    if host not in EVERY_ADDRESS:
        return ListeningPages(sockets, _url(host, found), note)
    outside = network_address()
    return ListeningPages(sockets, _url("127.0.0.1", found), note, _url(outside, found) if outside else "")


def _url(host: str, port: int) -> str:
    return f"http://{shown_address((host, port))}/"


def network_address() -> str | None:
    """Return the IPv4 address from which this machine reaches other networks; None if it has none. Sends nothing."""
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            sock.connect(_FAR_AWAY)
            address: str = sock.getsockname()[0]
    except OSError:  # no such route, or no IPv4 at all
        return None
    return address


def access_to(config: Config) -> str:
    """Return in words who may look at the pages of a server with this configuration."""
    assert config.viewer is not None
    if config.viewer_password is not None:
        return FOR_PASSWORD_HOLDERS
    return FOR_THIS_MACHINE if is_loopback(config.viewer[0]) else FOR_EVERYBODY
