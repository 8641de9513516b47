"""Connections from this process to its own server, without a port: a pair of connected sockets.

Invariants: the server serves such a connection as any other one. It ends when its client leaves the context.
"""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import trio

from spielleiter.client.player import Player
from spielleiter.client.transport import Transport
from spielleiter.protocol.dialect import Dialect
from spielleiter.server.app import Server
from spielleiter.server.net.wire import SocketWire


@asynccontextmanager
async def connect_player(server: Server, dialect: Dialect, label: str) -> AsyncIterator[Player]:
    """Connect a player that speaks `dialect` to `server`; `label` is the connection's name in the log."""
    near, far = socket.socketpair()
    with far, near:
        near.setblocking(False)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_serve, server, far, label)
            transport = Transport(trio.SocketStream(trio.socket.from_stdlib_socket(near)), dialect)
            try:
                yield Player(transport)
            finally:
                await transport.aclose()


async def _serve(server: Server, sock: socket.socket, label: str) -> None:
    await server.serve_wire(SocketWire(sock), "viewer", label=label)
