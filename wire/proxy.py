"""A proxy for any client and any server, which passes on every byte and can record the conversations.

Invariants: bytes are passed on as they are, as soon as they arrive, and nothing looks at them before that. The end of
one direction is passed on as such, and a broken connection as a broken one. For each direction there is at most one
read of `READ_BYTES` in memory: a receiver that does not read stops the sender. A trace never delays a byte.
"""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable
from dataclasses import dataclass, field
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


@dataclass(slots=True)
class _Pair:
    """Both sockets of a connection, and what is known of it."""

    client: socket.socket
    server: socket.socket
    trace: Trace | None
    is_broken: bool = False
    counts: dict[str, int] = field(default_factory=lambda: {TO_SERVER: 0, FROM_SERVER: 0})


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
            nursery.start_soon(self._serve, sock, peer)
            if not has_waited:
                await trio.lowlevel.checkpoint()  # a flood of connections must not keep the others waiting

    async def _serve(self, client: socket.socket, peer: str) -> None:
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
            with contextlib.closing(client):
                _prepare(client)
                try:
                    with trio.fail_after(CONNECT_TIMEOUT):
                        stream = await trio.open_tcp_stream(*self._address)
                except (OSError, UnicodeError, trio.TooSlowError) as error:
                    problem = server_problem(self._address, error)
                    self._say(f"{name} from {peer}: {problem}")
                    if trace is not None:
                        trace.event(NOTE, trio.current_time(), problem)
                    return
                family, kind = stream.socket.family, stream.socket.type
                server = socket.socket(family, kind, fileno=stream.socket.detach())
                with contextlib.closing(server):
                    _prepare(server)
                    await self._relay(_Pair(client, server, trace))
        finally:
            self._open -= 1
            if trace is not None:
                trace.close(trio.current_time())

    async def _relay(self, pair: _Pair) -> None:
        """Pass on both directions until both have ended, or the connection is broken."""
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._pass_on, pair, pair.client, pair.server, TO_SERVER, nursery)
                nursery.start_soon(self._pass_on, pair, pair.server, pair.client, FROM_SERVER, nursery)
        finally:
            if pair.is_broken:
                for sock in (pair.client, pair.server):
                    with contextlib.suppress(OSError):
                        reset_on_close(sock)
            for direction, count in pair.counts.items():
                self._totals[direction] += count

    async def _pass_on(
        self, pair: _Pair, source: socket.socket, target: socket.socket, direction: str, nursery: trio.Nursery
    ) -> None:
        trace, counts = pair.trace, pair.counts
        wait_readable, now = trio.lowlevel.wait_readable, trio.current_time
        while True:
            await wait_readable(source)
            try:
                data = source.recv(READ_BYTES)
            except BlockingIOError:
                continue
            except OSError:
                pair.is_broken = True
                if trace is not None:
                    trace.reset(direction, now())
                nursery.cancel_scope.cancel()
                return
            try:
                if data:
                    sent = target.send(data)
                else:
                    sent = 0
                    target.shutdown(socket.SHUT_WR)
            except BlockingIOError:
                sent = 0
            except OSError:  # what the receiver itself has sent before is still passed on, by the other task
                pair.is_broken = True
                return
            if trace is not None:
                trace.add(direction, now(), data)
            if not data:
                return
            counts[direction] += len(data)
            rest = memoryview(data)[sent:]
            while rest:  # wait until the receiver takes what is left
                await trio.lowlevel.wait_writable(target)
                try:
                    rest = rest[target.send(rest) :]
                except BlockingIOError:
                    continue
                except OSError:
                    pair.is_broken = True
                    return


def _prepare(sock: socket.socket) -> None:
    sock.setblocking(False)
    with contextlib.suppress(OSError):  # not TCP: there is no such option
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    notice_vanished(sock)
