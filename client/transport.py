"""A connection to a server: sends and receives messages over any stream of bytes.

Invariants: this is the only module of the package that uses a stream. One task may read and one may write at a time.
Errors of the network and of the protocol are raised as ClientError; after such an error, and after the end of the
server's stream, nothing more is read.
"""

from __future__ import annotations

import errno
import os
import socket
import struct
import sys
from collections.abc import Callable
from typing import Any, Final

import trio

from spielleiter.client.client_errors import (
    CannotConnectError,
    ConnectionLostError,
    ServerProtocolError,
    UnspeakableError,
)
from spielleiter.common.errors import first_error
from spielleiter.protocol.connection import Connection, ConnectionClosed, Role, StreamEnd
from spielleiter.protocol.dialect import Dialect
from spielleiter.protocol.errors import LocalProtocolError, RemoteProtocolError
from spielleiter.protocol.limits import Limits
from spielleiter.protocol.messages import CloseConnection, Message

CLOSE_TIMEOUT: Final = 5.0
"""Seconds to wait for the end of the server's stream after a goodbye."""

_READ_SIZE: Final = 64 * 1024
_RETRY_INTERVAL: Final = 0.1  # seconds
_NO_LINGER: Final = struct.pack("hh" if sys.platform == "win32" else "ii", 1, 0)

Tap = Callable[[bytes], None]
"""A function that is called with all received bytes, before they are parsed."""


class Transport:
    """A connection over `stream`. An `async for` loop gives the received messages until the server's stream ends.

    `dialect` is the edition's wire form, `tap` a function that is called with all received bytes.
    """

    def __init__(self, stream: trio.abc.Stream, dialect: Dialect, *, tap: Tap | None = None) -> None:
        self._stream = stream
        self.dialect = dialect
        self._connection = Connection(Role.CLIENT, dialect)
        self._tap = tap
        self._has_ended = False
        self.is_closed = False
        """Whether this side has said goodbye or aborted; then nothing more may be sent."""

    def accept(self, limits: Limits) -> None:
        """Accept messages within these `limits` from now on."""
        self._connection.limits = limits

    def encode(self, message: Message) -> bytes:
        """Return the bytes of one packet, to be sent next. Raises UnspeakableError if it cannot be encoded."""
        try:
            return self._connection.send(message)
        except LocalProtocolError as error:
            raise UnspeakableError(str(error)) from error
        except UnicodeEncodeError as error:
            raise UnspeakableError("text that is not UTF-8 cannot be sent, expected no lone surrogates") from error

    async def send(self, message: Message) -> None:
        """Send one packet. Raises ConnectionLostError, and UnspeakableError if it cannot be encoded."""
        await self.send_bytes(self.encode(message))

    async def send_bytes(self, data: bytes) -> None:
        """Send bytes as they are, whether or not they are packets. Raises ConnectionLostError."""
        try:
            await self._stream.send_all(data)
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            raise ConnectionLostError("the connection to the server is lost") from None

    async def receive(self) -> Message | None:
        """Return the next packet, None at the end of the stream. Raises ConnectionLostError and ServerProtocolError."""
        while not self._has_ended:
            try:
                event = self._connection.next_event()
            except RemoteProtocolError as error:
                self._has_ended = True
                raise ServerProtocolError(f"the server sent something unreadable: {error}") from error
            if isinstance(event, StreamEnd | ConnectionClosed):
                self._has_ended = True
            elif event is not None:
                return event
            else:
                try:
                    data = bytes(await self._stream.receive_some(_READ_SIZE))
                except (trio.BrokenResourceError, trio.ClosedResourceError):
                    self._has_ended = True
                    raise ConnectionLostError("the connection to the server is lost") from None
                if self._tap:
                    self._tap(data)
                self._connection.receive_data(data)
        return None

    def __aiter__(self) -> Transport:
        return self

    async def __anext__(self) -> Message:
        message = await self.receive()
        if message is None:
            raise StopAsyncIteration
        return message

    async def say_goodbye(self) -> None:
        """Send the packet that ends the connection, and the end tag, once. A lost connection is not an error here."""
        if self.is_closed:
            return
        self.is_closed = True
        try:
            await self.send(CloseConnection())
            await self.send_bytes(self._connection.close())
        except ConnectionLostError:
            self._has_ended = True

    async def aclose(self) -> None:
        """Say goodbye, wait at most CLOSE_TIMEOUT seconds for the server's end of stream, and close.

        Messages that arrive in the meantime are dropped.
        """
        try:
            with trio.move_on_after(CLOSE_TIMEOUT):
                await self.say_goodbye()
                while await self.receive() is not None:
                    pass
        except (ConnectionLostError, ServerProtocolError):
            pass
        finally:
            await trio.aclose_forcefully(self._stream)

    async def abort(self) -> None:
        """Close without a goodbye, as a crashing program does; over TCP, the server sees a reset."""
        self.is_closed = self._has_ended = True
        if isinstance(self._stream, trio.SocketStream):
            reset_on_close(self._stream.socket)
        await trio.aclose_forcefully(self._stream)


def reset_on_close(sock: Any) -> None:
    """Let the socket break its connection when it is closed, so that the other side sees a reset. Raises OSError."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)


async def open_transport(
    host: str, port: int, dialect: Dialect, *, wait_timeout: float = 0.0, tap: Tap | None = None
) -> Transport:
    """Connect to `host` and `port` over TCP, retrying for `wait_timeout` seconds while no server listens there.

    Raises CannotConnectError.
    """
    deadline = trio.current_time() + wait_timeout
    while True:
        try:
            stream = await trio.open_tcp_stream(host, port)
        except OSError as error:
            if trio.current_time() >= deadline:
                raise CannotConnectError(f"cannot connect to {host}:{port} ({connect_reason(error)})") from error
            await trio.sleep(_RETRY_INTERVAL)
        except UnicodeError:  # it cannot be encoded as a host name
            raise CannotConnectError(f"cannot connect to {host!a}, port {port} (no such host)") from None
        else:
            return Transport(stream, dialect, tap=tap)


def connect_reason(error: OSError) -> str:
    """Return why connecting failed; trio raises one error, whose cause holds those of all attempts."""
    if isinstance(error, socket.gaierror):
        return "no such host"
    first = first_error(error.__cause__ or error)
    number = first.errno if isinstance(first, OSError) else error.errno
    return "nobody listens there" if number == errno.ECONNREFUSED else os.strerror(number or errno.EIO)
