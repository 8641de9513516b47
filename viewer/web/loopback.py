"""Connections from this process to its own server, without a port: pairs of connected sockets.

Invariants: the server serves such a connection as any other one. Its session outlives the client's task, so a client
that is cancelled has left like a client whose program has ended, and its opponent wins.
"""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import trio

from spielleiter.client.player import Player
from spielleiter.client.transport import Transport
from spielleiter.protocol.dialect import Dialect
from spielleiter.server import events
from spielleiter.server.app import Server
from spielleiter.server.net.wire import SocketWire

ADDRESS = "viewer"
"""The address of these connections in the log and in the status."""


class Loopback:
    """Makes connections to `server` while `run` runs."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._nursery: trio.Nursery | None = None

    async def run(self) -> None:
        """Own the server's side of all connections; runs until cancelled."""
        async with trio.open_nursery() as self._nursery:
            await trio.sleep_forever()

    @asynccontextmanager
    async def connect(self, dialect: Dialect, label: str) -> AsyncIterator[Player]:
        """Connect a player that speaks `dialect`; `label` is the connection's name in the log."""
        assert self._nursery is not None, "connections are made while `run` runs"
        near, far = socket.socketpair()
        near.setblocking(False)
        try:
            self._nursery.start_soon(self._serve, far, label)
        except RuntimeError:  # `run` has ended, so the server stops, which cancels this task as well
            near.close()
            far.close()
            await trio.sleep_forever()
        transport = Transport(trio.SocketStream(trio.socket.from_stdlib_socket(near)), dialect)
        try:
            yield Player(transport)
        finally:
            await transport.aclose()

    async def _serve(self, sock: socket.socket, label: str) -> None:
        try:
            with sock:
                await self._server.serve_wire(SocketWire(sock), ADDRESS, label=label)
        except Exception as error:
            self._server.stream.publish(events.InternalError.of(error, label))
