"""Connections that do nothing: strangers, administrators, and players of games that are paused.

Law: everybody has been answered when the `with` statement begins, so that the server has done with them what it does.
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


class Visitor:
    """A connection; what is waited for is looked for in all that has come."""

    def __init__(self, port: int, opening: bytes) -> None:
        self.sock = socket.create_connection(("127.0.0.1", port), TIMEOUT)
        self._data = b""
        self.sock.sendall(b"<protocol>" + opening)

    def read_until(self, end: bytes) -> bytes:
        """All that has come, `end` at its end or nearer. Raises ConnectionError if the server has closed."""
        while end not in self._data:
            data = self.sock.recv(65536)
            if not data:
                raise ConnectionError(f"the server has closed a connection before {end!r} came")
            self._data += data
        data, self._data = self._data, b""
        return data


@contextmanager
def visitors(port: int, count: int, opening: bytes) -> Iterator[None]:
    """So many that have said no more than `opening`."""
    with ExitStack() as stack:
        for _ in range(count):
            stack.enter_context(Visitor(port, opening).sock)
        last = Visitor(port, AUTHENTICATE + ASK)
        last.read_until(ANSWER)  # who came before is known by then
        last.sock.close()
        yield


strangers = partial(visitors, opening=b"")
administrators = partial(visitors, opening=AUTHENTICATE)


@contextmanager
def idle_rooms(port: int, game_type: str, count: int) -> Iterator[None]:
    """Games that both players have joined, and that are paused from the beginning."""
    slot = '<slot displayName="" canTimeout="true" reserved="true"/>'
    prepare = f'\n  <prepare gameType="{game_type}" pause="true">{slot * 2}</prepare>'.encode()
    with ExitStack() as stack:
        admin = Visitor(port, AUTHENTICATE)
        stack.enter_context(admin.sock)
        for _ in range(count):
            admin.sock.sendall(prepare)
            codes = CODE.findall(admin.read_until(b"</prepared>"))
            players = [Visitor(port, b'\n  <joinPrepared reservationCode="%s"/>' % code) for code in codes]
            for player in players:
                stack.enter_context(player.sock)
                player.read_until(b"<joined")
        yield
