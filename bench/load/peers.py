"""The driver's connections to the server, and the one of them that prepares games.

Invariants: nothing that comes is kept unless somebody looks for it.
"""

from __future__ import annotations

import re
import socket
from collections import deque
from collections.abc import MutableMapping
from typing import Final, Protocol

from spielleiter.bench.load.plan import PASSWORD, Plan

RESERVATION: Final = rb"\s*<reservation>(.*?)</reservation>"
PREPARED: Final = re.compile(rb'<prepared roomId="([^"]*)">' + RESERVATION + RESERVATION)
BUFFER: Final = bytearray(1 << 20)


class Reader(Protocol):
    """Whoever is read when something has come."""

    def receive(self) -> None: ...


class Driver(Protocol):
    """What a connection needs from the driver that owns it."""

    @property
    def address(self) -> tuple[str, int]: ...

    @property
    def plan(self) -> Plan: ...

    @property
    def readers(self) -> MutableMapping[int, Reader]:
        """The connections that are read when something has come, by file descriptor."""
        ...

    def register(self, fd: int) -> None:
        """Have the driver notice when something has come for `fd`."""
        ...


class Game(Protocol):
    """A game that waits for a room."""

    @property
    def script_number(self) -> int: ...

    def sit_down(self, room: bytes, codes: tuple[bytes, bytes]) -> None:
        """Take the seats of the room that was prepared."""
        ...


class Peer:
    """One connection to the server."""

    __slots__ = ("fd", "recv_into", "send", "sock")

    def __init__(self, driver: Driver, opening: bytes, receive_bytes: int = 0) -> None:
        sock = socket.socket()
        if receive_bytes:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
        sock.connect(driver.address)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.setblocking(False)
        self.sock = sock
        self.fd = sock.fileno()
        self.recv_into = sock.recv_into
        self.send = sock.send
        driver.register(self.fd)
        self.send(b"<protocol>" + opening)

    def drain(self) -> None:
        """Throw away what has come."""
        try:
            self.recv_into(BUFFER, 0, socket.MSG_TRUNC)
        except OSError:
            return

    def close(self) -> None:
        """Empty it first, so that the server sees an end and not a reset."""
        self.drain()
        self.sock.close()


class Administrator(Peer):
    """The connection that prepares games, for whoever waits for one, in order."""

    __slots__ = ("_data", "_game_type", "_waiting")

    def __init__(self, driver: Driver) -> None:
        super().__init__(driver, b'\n  <authenticate password="%s"/>' % PASSWORD.encode())
        self._data = b""
        self._waiting: deque[Game] = deque()
        self._game_type = driver.plan.game_type
        driver.readers[self.fd] = self

    def prepare(self, game: Game) -> None:
        """A room for `game`, which is told. A display name says which script it is, to whoever cannot know."""
        slot = f'<slot displayName="{game.script_number}" canTimeout="true" reserved="true"/>'
        self._waiting.append(game)
        self.send(f'\n  <prepare gameType="{self._game_type}">{slot * 2}</prepare>'.encode())

    def receive(self) -> None:
        """Read what has come; whoever waited for a room sits down."""
        try:
            count = self.recv_into(BUFFER)
        except BlockingIOError:
            return
        self._data += BUFFER[:count]
        for prepared in list(PREPARED.finditer(self._data)):
            self._waiting.popleft().sit_down(prepared[1], (prepared[2], prepared[3]))
        self._data = self._data[self._data.rfind(b"</prepared>") + 1 :]
