"""The protocol on one connection, without I/O: bytes in, events out; messages in, bytes out.

Invariants: nothing here uses a socket or a clock, or waits. Bytes are parsed only when `next_event` is called, packet
by packet, so the dialect may be replaced between two packets. Reading raises nothing but RemoteProtocolError, whatever
the reader or the dialect has raised. The caller has to send all returned bytes, each value in one write.

A client that joins a game, without its socket::

    connection = Connection(Role.CLIENT, dialect)
    sock.sendall(connection.send(JoinRequest()))
    while True:
        connection.receive_data(sock.recv(4096))
        while (event := connection.next_event()) is not None:
            if isinstance(event, ConnectionClosed):
                return
            handle(event)
"""

from __future__ import annotations

import enum
from typing import Final, TypeAlias

from msgspec import Struct

from spielleiter.protocol.dialect import Dialect
from spielleiter.protocol.errors import LocalProtocolError, Refusal, RemoteProtocolError
from spielleiter.protocol.limits import BEFORE_JOIN, FROM_SERVER, Limits
from spielleiter.protocol.messages import Message
from spielleiter.protocol.packet_reader import PacketReader


class InputPhase(enum.Enum):
    """The phases of the peer's stream. It starts as READING; CLOSED is final."""

    READING = "reading"  # packets are read as they arrive
    DRAINING = "draining"  # the input is over; packets that arrived before are still read
    ENDED = "ended"  # nothing more is read after the end tag or an error; the input is not over yet
    CLOSED = "closed"  # the input is over, and everything in it has been read


class OutputPhase(enum.Enum):
    """The phases of our stream. It starts as IDLE; CLOSED is final."""

    IDLE = "idle"  # nothing has been sent
    OPEN = "open"  # the root's start tag has been sent
    CLOSED = "closed"  # the end tag has been sent


_ROOT: Final = b"<protocol>"
_CLOSING: Final = {
    OutputPhase.IDLE: b"<protocol/>",
    OutputPhase.OPEN: b"\n</protocol>",
    OutputPhase.CLOSED: b"",
}
"""The bytes that end our stream, by the phase in which it ends."""
_MOST_IGNORED: Final = 32

# bound here for every packet: up to Python 3.11, looking up a member in its enum takes several times as long
_READING: Final = InputPhase.READING
_DRAINING: Final = InputPhase.DRAINING
_OPEN: Final = OutputPhase.OPEN
_BUG: Final = "This packet could not be read because of a bug in the program that reads it"


class Role(enum.Enum):
    """Which end of the connection this is."""

    SERVER = "server"
    CLIENT = "client"


_LIMITS: Final = {Role.SERVER: BEFORE_JOIN, Role.CLIENT: FROM_SERVER}


class StreamEnd(Struct, frozen=True):
    """The peer has sent its end tag and will send nothing more."""


class ConnectionClosed(Struct, frozen=True):
    """The input is over, with or without an end tag, and everything in it has been read."""


Event: TypeAlias = Message | StreamEnd | ConnectionClosed


class Connection:
    """The state of the protocol on one connection."""

    def __init__(self, role: Role, dialect: Dialect, limits: Limits | None = None) -> None:
        """Start a connection on which nothing has been sent or received.

        `role` is our end of the connection. `dialect` reads and writes the packets. `limits` bound what the peer may
        send; by default, a server allows what a peer may send before it has joined, and a client what a server may
        send.
        """
        self.role = role
        self.dialect = dialect
        """May be replaced at any time; applies from the next packet on."""
        self.ignored: tuple[str, ...] = ()
        """Descriptions of the unknown elements found so far, each once, and no more than 32."""
        self._reader = PacketReader(limits or _LIMITS[role], must_begin_at_once=self._is_strict)
        self._input_phase = InputPhase.READING
        self._output_phase = OutputPhase.IDLE

    @property
    def output_phase(self) -> OutputPhase:
        """The phase of our stream."""
        return self._output_phase

    @property
    def limits(self) -> Limits:
        """The bounds of what the peer may send; may be replaced at any time."""
        return self._reader.limits

    @limits.setter
    def limits(self, limits: Limits) -> None:
        self._reader.limits = limits

    @property
    def has_partial_packet(self) -> bool:
        """Whether an incomplete packet has arrived. Meaningful after `next_event` has returned None."""
        return self._reader.has_partial_packet

    @property
    def has_partial_markup(self) -> bool:
        """Whether an incomplete tag or reference has arrived. Meaningful after `next_event` has returned None."""
        return self._reader.has_partial_markup

    @property
    def _is_strict(self) -> bool:
        """Whether packets are read exactly as the official server reads those of its clients."""
        return self.dialect.is_strict and self.role is Role.SERVER

    # -- input ------------------------------------------------------------------------------------------------------

    def receive_data(self, data: bytes) -> None:
        """Take bytes that have arrived; `next_event` parses them.

        `b""` means that nothing more will arrive. Bytes after that, after the end tag or after an error are ignored.
        Never raises.
        """
        if not data:
            if self._is_strict and self._input_phase is _READING:
                self._reader.complete()
            if self._input_phase is _READING:
                self._input_phase = _DRAINING
            elif self._input_phase is InputPhase.ENDED:
                self._input_phase = InputPhase.CLOSED
        elif self._input_phase is _READING:
            self._reader.receive(data)

    def next_event(self) -> Event | None:
        """Return the peer's next message, or the end of its stream; None: call again after more data.

        After the end of input, every call returns ConnectionClosed. Raises RemoteProtocolError for input that cannot be
        understood; nothing more is read from this peer after that. If reading fails because of a bug of this program,
        the refusal is BUG, the cause is the original exception, and `data` holds the bytes that could not be read.
        """
        phase = self._input_phase
        if phase is _READING or phase is _DRAINING:
            try:
                message = self._next_message()
            except RemoteProtocolError:
                self._end_input()
                raise
            except Exception as error:
                self._end_input()
                raise RemoteProtocolError(Refusal.BUG, _BUG, data=self._reader.remembered) from error
            if message is not None:
                return message
            if self._reader.is_ended:
                self._end_input()
                return StreamEnd()
            if phase is _READING:
                return None
            self._input_phase = InputPhase.CLOSED
        return ConnectionClosed() if self._input_phase is InputPhase.CLOSED else None

    def _end_input(self) -> None:
        """Read nothing more, after the end tag or an error."""
        self._input_phase = InputPhase.ENDED if self._input_phase is _READING else InputPhase.CLOSED

    def _next_message(self) -> Message | None:
        reader = self._reader
        if not reader.unread_bytes:
            return None
        message = reader.read_plain(self.dialect.plain_forms)
        if message is not None:
            return message
        reader.expect(self.dialect.readers if self._is_strict else None)
        packet = reader.next_packet()
        if packet is None:
            return None
        return self.dialect.decode(packet, self._note_ignored, is_from_server=self.role is Role.CLIENT)

    def _note_ignored(self, text: str) -> None:
        if text not in self.ignored and len(self.ignored) < _MOST_IGNORED:
            self.ignored += (text,)

    # -- output -----------------------------------------------------------------------------------------------------

    def send(self, message: Message) -> bytes:
        """Return the bytes that send `message`.

        Raises LocalProtocolError after `close`, or if the dialect has no such packet.
        """
        return self.send_encoded(self.dialect.encode(message))

    def send_encoded(self, packet: bytes) -> bytes:
        """Return the bytes that send a packet made by `Dialect.encode`; the root's start tag precedes the first one.

        Raises LocalProtocolError after `close`.
        """
        phase = self._output_phase
        if phase is _OPEN:
            return packet
        if phase is OutputPhase.CLOSED:
            raise LocalProtocolError("a packet was sent after the end of the stream")
        self._output_phase = _OPEN
        return _ROOT + packet

    def close(self) -> bytes:
        """Return the bytes that end our stream; none if it has ended already."""
        phase, self._output_phase = self._output_phase, OutputPhase.CLOSED
        return _CLOSING[phase]
