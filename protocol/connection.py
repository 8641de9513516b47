"""One connection's stream in both directions: bytes in, events out; messages in, bytes out.

Invariants: no sockets, no clock, nothing waits. What arrives is only understood when `next_event` is called, packet by
packet, so the dialect may be replaced between two packets. Reading raises nothing but RemoteProtocolError, whatever the
reader or the dialect raised. The caller sends the bytes that it is given, each value in one write.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Final, TypeAlias

from spielleiter.protocol.dialect import Dialect
from spielleiter.protocol.errors import LocalProtocolError, Refusal, RemoteProtocolError
from spielleiter.protocol.limits import BEFORE_JOIN, FROM_SERVER, Limits
from spielleiter.protocol.messages import Message
from spielleiter.protocol.reader import PacketReader

_ROOT: Final = b"<protocol>"
_END: Final = b"\n</protocol>"
_NOTHING: Final = b"<protocol/>"
_MOST_IGNORED: Final = 32
_BUG: Final = "This packet could not be read because of a bug in the program that reads it"


class Role(enum.Enum):
    """Which end of the connection this is."""

    SERVER = "server"
    CLIENT = "client"


_LIMITS: Final = {Role.SERVER: BEFORE_JOIN, Role.CLIENT: FROM_SERVER}


@dataclass(frozen=True, slots=True)
class StreamEnd:
    """The peer's end tag has come: it will send nothing more."""


@dataclass(frozen=True, slots=True)
class ConnectionClosed:
    """The input is over, with or without an end tag."""


Event: TypeAlias = Message | StreamEnd | ConnectionClosed


class Connection:
    """The protocol's state on one connection.

    `limits` default to those of a peer that has not joined yet (server) or to what a server may send (client).
    """

    def __init__(self, role: Role, dialect: Dialect, limits: Limits | None = None) -> None:
        self.role = role
        self.dialect = dialect
        """May be replaced at any time; holds for the next packet."""
        self.ignored: tuple[str, ...] = ()
        """The unknown children met so far, each once (the first 32), for one line in a log."""
        self._reader = PacketReader(limits or _LIMITS[role])
        self._is_input_over = False
        self._is_broken = False
        self._is_stream_end_told = False
        self._has_sent = False
        self._is_closed = False

    @property
    def limits(self) -> Limits:
        """What the peer may send; may be replaced at any time."""
        return self._reader.limits

    @limits.setter
    def limits(self, limits: Limits) -> None:
        self._reader.limits = limits

    @property
    def has_partial_packet(self) -> bool:
        """The peer has begun a packet and not ended it yet; of interest once `next_event` has returned None."""
        return self._reader.has_partial_packet

    # -- in ---------------------------------------------------------------------------------------------------------

    def receive_data(self, data: bytes) -> None:
        """Take what has arrived; `b""` means that nothing more will. Understanding it is left to `next_event`."""
        if not data:
            self._is_input_over = True
        elif not (self._is_broken or self._reader.is_ended):
            self._reader.receive(data)

    def next_event(self) -> Event | None:
        """What the peer said next. None: call again after more data.

        After the end of input, ConnectionClosed, however often it is called. Raises RemoteProtocolError; after that
        nothing more is understood of this peer. If reading fails by a bug of this program, the refusal is BUG, the
        cause what was raised, and `data` what could not be read.
        """
        if not self._is_broken:
            try:
                message = self._next_message()
                if message is not None:
                    return message
            except RemoteProtocolError:
                self._is_broken = True
                raise
            except Exception as error:
                self._is_broken = True
                raise RemoteProtocolError(Refusal.BUG, _BUG, data=self._reader.remembered) from error
            if self._reader.is_ended and not self._is_stream_end_told:
                self._is_stream_end_told = True
                return StreamEnd()
        return ConnectionClosed() if self._is_input_over else None

    def _next_message(self) -> Message | None:
        reader = self._reader
        if reader.is_empty:
            return None
        for form in self.dialect.plain_forms:
            match = reader.match(form.pattern)
            if match is not None and form.fits(reader.limits):
                message = form.read(match)
                if message is not None:
                    reader.skip(match)
                    return message
        packet = reader.next_packet()
        return None if packet is None else self.dialect.decode(packet, self._note_ignored)

    def _note_ignored(self, text: str) -> None:
        if text not in self.ignored and len(self.ignored) < _MOST_IGNORED:
            self.ignored += (text,)

    # -- out --------------------------------------------------------------------------------------------------------

    def send(self, message: Message) -> bytes:
        """The bytes of one packet. Raises LocalProtocolError after `close`, or if the dialect has no such packet."""
        return self.send_encoded(self.dialect.encode(message))

    def send_encoded(self, packet: bytes) -> bytes:
        """A packet that `Dialect.encode` made, ready to be sent; the first one has the root's start tag before it."""
        if self._is_closed:
            raise LocalProtocolError("a packet was sent after the end of the stream")
        if self._has_sent:
            return packet
        self._has_sent = True
        return _ROOT + packet

    def close(self) -> bytes:
        """The end of our stream; nothing the second time."""
        if self._is_closed:
            return b""
        self._is_closed = True
        return _END if self._has_sent else _NOTHING
