"""The driver's connections to the server, one of which prepares the games.

Invariants: received data is kept only if it is searched for something.
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
"""The receive buffer of all connections; they are read one at a time."""


class Reader(Protocol):
    """Reads a file descriptor when something has arrived."""

    def receive(self) -> None: ...


class Driver(Protocol):
    """The part of the driver that its connections use."""

    @property
    def address(self) -> tuple[str, int]: ...

    @property
    def plan(self) -> Plan: ...

    @property
    def readers(self) -> MutableMapping[int, Reader]:
        """By file descriptor: the object that reads from it when data has arrived."""
        ...

    def register(self, fd: int) -> None:
        """Have the driver watch `fd` for data."""
        ...


class Game(Protocol):
    """A game that waits for a room."""

    @property
    def script_number(self) -> int: ...

    def join(self, room: bytes, codes: tuple[bytes, bytes]) -> None:
        """Join the room that was prepared, with the reservation codes of its two seats."""
        ...


class Peer:
    """One connection to the server. It sends `opening` at once, after the root's start tag.

    `receive_bytes` is the size of the kernel's receive buffer; 0 leaves the default.
    """

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
        """Discard everything that has arrived."""
        try:
            self.recv_into(BUFFER, 0, socket.MSG_TRUNC)
        except OSError:
            return

    def close(self) -> None:
        """Close the connection. It is drained first, so that the server sees the end of the stream and not a reset."""
        self.drain()
        self.sock.close()


class Administrator(Peer):
    """The connection that prepares rooms for the games, in the order in which they ask for one."""

    __slots__ = ("_data", "_game_type", "_waiting")

    def __init__(self, driver: Driver) -> None:
        super().__init__(driver, b'\n  <authenticate password="%s"/>' % PASSWORD.encode())
        self._data = b""
        self._waiting: deque[Game] = deque()
        self._game_type = driver.plan.game_type
        driver.readers[self.fd] = self

    def prepare(self, game: Game) -> None:
        """Ask for a room for `game`, whose method `join` is called when the room exists.

        The display name is the number of the script, for the bare wire, which cannot know it otherwise.
        """
        slot = f'<slot displayName="{game.script_number}" canTimeout="true" reserved="true"/>'
        self._waiting.append(game)
        self.send(f'\n  <prepare gameType="{self._game_type}">{slot * 2}</prepare>'.encode())

    def receive(self) -> None:
        """Read what has arrived. For each new room, the game that has waited longest joins it."""
        try:
            count = self.recv_into(BUFFER)
        except BlockingIOError:
            return
        self._data += BUFFER[:count]
        for prepared in list(PREPARED.finditer(self._data)):
            self._waiting.popleft().join(prepared[1], (prepared[2], prepared[3]))
        self._data = self._data[self._data.rfind(b"</prepared>") + 1 :]
