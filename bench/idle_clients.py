"""Clients that stay connected and do nothing: unauthenticated ones, administrators, and the players of paused games.

Invariants: when the body of the `with` statement begins, the server has handled everything that they have sent.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Final

from spielleiter.bench.load.plan import PASSWORD

TIMEOUT: Final = 30.0
AUTHENTICATE: Final = f'\n  <authenticate password="{PASSWORD}"/>'.encode()
ASK: Final = b"\n  <status/>"
ANSWER: Final = b"</status>"
CODE: Final = re.compile(rb"<reservation>([^<]*)</reservation>")


class IdleClient:
    """A connection that has sent `opening`."""

    def __init__(self, port: int, opening: bytes) -> None:
        self.sock = socket.create_connection(("127.0.0.1", port), TIMEOUT)
        self._data = b""
        self.sock.sendall(b"<protocol>" + opening)

    def read_until(self, end: bytes) -> bytes:
        """Return the data received up to and including `end`, and possibly more.

        Raises ConnectionError if the server closes the connection before that.
        """
        while end not in self._data:
            data = self.sock.recv(65536)
            if not data:
                raise ConnectionError(f"the server has closed a connection before {end!r} came")
            self._data += data
        data, self._data = self._data, b""
        return data


@contextmanager
def idle_clients(port: int, count: int, opening: bytes) -> Iterator[None]:
    """Keep `count` clients connected that have sent only `opening`."""
    with ExitStack() as stack:
        for _ in range(count):
            stack.enter_context(IdleClient(port, opening).sock)
        last = IdleClient(port, AUTHENTICATE + ASK)
        last.read_until(ANSWER)  # by then the server has handled the clients before it, too
        last.sock.close()
        yield


unauthenticated_clients = partial(idle_clients, opening=b"")
authenticated_clients = partial(idle_clients, opening=AUTHENTICATE)


@contextmanager
def idle_rooms(port: int, game_type: str, count: int) -> Iterator[None]:
    """Keep `count` games of `game_type` open that both players have joined, and that are paused from the beginning."""
    slot = '<slot displayName="" canTimeout="true" reserved="true"/>'
    prepare = f'\n  <prepare gameType="{game_type}" pause="true">{slot * 2}</prepare>'.encode()
    with ExitStack() as stack:
        admin = IdleClient(port, AUTHENTICATE)
        stack.enter_context(admin.sock)
        for _ in range(count):
            admin.sock.sendall(prepare)
            codes = CODE.findall(admin.read_until(b"</prepared>"))
            players = [IdleClient(port, b'\n  <joinPrepared reservationCode="%s"/>' % code) for code in codes]
            for player in players:
                stack.enter_context(player.sock)
                player.read_until(b"<joined")
        yield
