"""Opens the sockets of the pages, and says in one line where and for whom they are.

Invariants: a port that is taken is no reason not to start: the pages then get any free port of the same host. An
address that cannot be used at all is reported, and the server starts without pages.
"""

from __future__ import annotations

import socket
from dataclasses import dataclass

from spielleiter.server.config.config import Config, is_loopback
from spielleiter.server.config.setting import shown_address
from spielleiter.server.errors import StartError
from spielleiter.server.net.sockets import listen

FOR_THIS_MACHINE = "this machine only"
FOR_PASSWORD_HOLDERS = "everybody who can reach this address and knows the password of the viewer"  # noqa: S105
FOR_EVERYBODY = "everybody who can reach this address"
EVERY_ADDRESS = frozenset({"0.0.0.0", "::"})  # noqa: S104 - compared with, not listened on


@dataclass(frozen=True, slots=True)
class ListeningPages:
    """The listening sockets of the pages.

    `url` is the address for the browser; `note` says why it is not the configured one, and is empty if it is. Without
    sockets, `note` says why there are none.
    """

    sockets: tuple[socket.socket, ...]
    url: str = ""
    note: str = ""

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
    shown_host = "127.0.0.1" if host in EVERY_ADDRESS else host
    return ListeningPages(sockets, f"http://{shown_address((shown_host, found))}/", note)


def access_to(config: Config) -> str:
    """Return in words who may look at the pages of a server with this configuration."""
    assert config.viewer is not None
    if config.viewer_password is not None:
        return FOR_PASSWORD_HOLDERS
    return FOR_THIS_MACHINE if is_loopback(config.viewer[0]) else FOR_EVERYBODY
