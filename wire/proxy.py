"""A proxy for any client and any server, which passes on every byte and can record the conversations.

Invariants: bytes are passed on as they are, as soon as they arrive, and nothing looks at them before that. The end of
one direction is passed on as such, and a broken connection as a broken one. For each direction there is at most one
read of `READ_BYTES` in memory: a receiver that does not read stops the sender. A trace never delays a byte.
"""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import trio

from spielleiter.client.transport import connect_reason, reset_on_close
from spielleiter.common.text import count_text
from spielleiter.server.net.sockets import accept, notice_vanished
from spielleiter.server.setting import shown_address
from spielleiter.server.tracing import CONNECTS, FROM_SERVER, TO_SERVER
from spielleiter.wire.trace_lines import NOTE
from spielleiter.wire.trace_writer import Recorder, Trace

READ_BYTES: Final = 16 * 1024
"""The bytes of one read: more than a position and the request after it."""
CONNECT_TIMEOUT: Final = 10.0
"""Seconds within which the server must accept a connection."""
MOST_CONNECTIONS: Final = 4096
"""The number of connections at a time, if the system allows as many sockets."""


def server_problem(address: tuple[str, int], error: OSError | UnicodeError | trio.TooSlowError) -> str:
    """Return one line that says why a server cannot be reached, and what to do."""
    if isinstance(error, trio.TooSlowError):
        why = f"it does not answer within {CONNECT_TIMEOUT:g} s"
    else:
        why = "no such host" if isinstance(error, UnicodeError) else connect_reason(error)
    return f"the server at {shown_address(address)} cannot be reached ({why}); start it, or choose another with --to"


@dataclass(frozen=True, slots=True)
class ProxyCounts:
    """How much a proxy has done."""

    connections: int
    to_server: int
    from_server: int

    def __str__(self) -> str:
        connections = count_text(self.connections, "connection")
        return f"{connections}, {self.to_server} bytes to the server, {self.from_server} bytes from it"


class Proxy:
    """Passes connections on to `address`.

    `recorder` gets the conversations, if there is one. `say` gets a line for people when something goes wrong. At most
    `most_connections` are open at a time; each takes two sockets.
    """

    def __init__(
        self,
        address: tuple[str, int],
        recorder: Recorder | None = None,
        say: Callable[[str], None] = lambda _: None,
        most_connections: int = MOST_CONNECTIONS,
    ) -> None:
        self._address = address
        self._most_connections = most_connections
        self._recorder = recorder
        self._say = say
        self._accepted = 0
        self._open = 0
        self._totals = {TO_SERVER: 0, FROM_SERVER: 0}

    @property
    def counts(self) -> ProxyCounts:
        """What has been passed on until now."""
        return ProxyCounts(self._accepted, self._totals[TO_SERVER], self._totals[FROM_SERVER])

    async def run(self, listening: list[socket.socket]) -> None:
        """Accept and serve connections until cancelled."""
        async with trio.open_nursery() as nursery:
            for sock in listening:
                nursery.start_soon(self._accept, sock, nursery)

    async def _accept(self, listening: socket.socket, nursery: trio.Nursery) -> None:
        def say_exhausted(error: OSError) -> None:
            self._say(f"cannot accept a connection: {error.strerror or error}")

        while True:
            sock, address, has_waited = await accept(listening, say_exhausted)
            peer = shown_address(address[:2])
            if self._open >= self._most_connections:
                sock.close()
                self._say(f"refused {peer}: there are {self._most_connections} connections already")
                await trio.lowlevel.checkpoint()
                continue
            self._open += 1
            sock.setblocking(False)
            nursery.start_soon(self._serve, trio.SocketStream(trio.socket.from_stdlib_socket(sock)), peer)
            if not has_waited:
                await trio.lowlevel.checkpoint()  # a flood of connections must not keep the others waiting

    async def _serve(self, client: trio.SocketStream, peer: str) -> None:
        self._accepted += 1
        name = f"c{self._accepted}"
        trace: Trace | None = None
        if self._recorder is not None:
            title = (f"connection {name} from {peer}", f"recorded by a proxy to {shown_address(self._address)}")
            began = trio.current_time()
            trace = self._recorder.open(name, title, began)
            if trace is not None:
                trace.event(TO_SERVER, began, CONNECTS)
        try:
            async with client:
                try:
                    with trio.fail_after(CONNECT_TIMEOUT):
                        server = await trio.open_tcp_stream(*self._address)
                except (OSError, UnicodeError, trio.TooSlowError) as error:
                    problem = server_problem(self._address, error)
                    self._say(f"{name} from {peer}: {problem}")
                    if trace is not None:
                        trace.event(NOTE, trio.current_time(), problem)
                    return
                async with server, trio.open_nursery() as nursery:
                    notice_vanished(client.socket)
                    notice_vanished(server.socket)
                    nursery.start_soon(self._pass_on, client, server, TO_SERVER, trace, nursery)
                    nursery.start_soon(self._pass_on, server, client, FROM_SERVER, trace, nursery)
        finally:
            self._open -= 1
            if trace is not None:
                trace.close(trio.current_time())

    async def _pass_on(
        self,
        source: trio.SocketStream,
        target: trio.SocketStream,
        direction: str,
        trace: Trace | None,
        nursery: trio.Nursery,
    ) -> None:
        """Pass on one direction to its end. If one side breaks the connection, the other one sees that, too."""
        try:
            while True:
                try:
                    data = bytes(await source.receive_some(READ_BYTES))
                except trio.BrokenResourceError:
                    if trace is not None:
                        trace.reset(direction, trio.current_time())
                    nursery.cancel_scope.cancel()
                    raise
                if trace is not None:
                    trace.add(direction, trio.current_time(), data)  # it is only queued
                if not data:
                    await target.send_eof()
                    return
                await target.send_all(data)
                self._totals[direction] += len(data)
        except trio.BrokenResourceError:
            # if it was the target, what that has sent before is still passed on, by the other task
            for each in (source, target):
                with contextlib.suppress(OSError):
                    reset_on_close(each.socket)
