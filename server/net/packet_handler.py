"""Handles the packets of one connection and decides how it ends: the synchronous part of a session.

Invariants: errors become replies here and nowhere else. Every reply and every end of the stream goes through the
connection's outbox, so nothing here waits. The phase follows the table in `spielleiter.server.net.session_phase`.
"""

from __future__ import annotations

from typing import Final

import trio

from spielleiter.protocol.connection import Connection, ConnectionClosed, Event, StreamEnd
from spielleiter.protocol.errors import Refusal, RemoteProtocolError
from spielleiter.protocol.messages import CloseConnection, Departure, ErrorPacket, Message
from spielleiter.server import events
from spielleiter.server.config import Config
from spielleiter.server.core.clock import Arrival
from spielleiter.server.core.dispatch import dispatch
from spielleiter.server.core.error_packets import encoded_error, shortened_text
from spielleiter.server.core.lobby import Lobby, Member
from spielleiter.server.errors import Fault, RequestError
from spielleiter.server.net.outbox import Outbox
from spielleiter.server.net.packet_limits import limits_of
from spielleiter.server.net.password_guard import PasswordGuard
from spielleiter.server.net.processor_budget import ProcessorBudget
from spielleiter.server.net.session_phase import SERVING, SILENT, SessionState, Trigger

BUG = "bug"
"""The reason of a connection that ended because of a bug of this server."""
ENDED_BY_SERVER = "the server ended the stream"
"""The reason of a connection whose stream was ended by a room or by the lobby."""

_AFTER_PARSING: Final = frozenset({Refusal.INCOMPLETE_PACKET, Refusal.REFERENCE})
"""The refusals of what the official server's parser accepts."""


class PacketHandler:
    """Handles the packets of `member` and sends the replies through `outbox`.

    Wrong passwords are reported to `guard`; `host` is the peer's address without its port. `budget` records refusals
    and the rights of the peer.
    """

    def __init__(
        self,
        member: Member,
        lobby: Lobby,
        connection: Connection,
        outbox: Outbox,
        stream: events.EventStream,
        config: Config,
        budget: ProcessorBudget,
        guard: PasswordGuard,
        host: str,
        state: SessionState,
    ) -> None:
        self.reason = ENDED_BY_SERVER
        """Why the connection ended, for the log."""
        self.departure = Departure.UNKNOWN
        """How the peer left, for its rooms."""
        self.was_silent = False
        """Whether the peer's input ended before it had sent anything."""
        self._member = member
        self._peer = member.peer
        self._lobby = lobby
        self._connection = connection
        self._outbox = outbox
        self._stream = stream
        self._config = config
        self._budget = budget
        self._guard = guard
        self._host = host
        self._state = state
        self._published_ignored = 0

    # -- packets ----------------------------------------------------------------------------------------------------

    def next_event(self) -> Event | None:
        """Return the next complete packet, or None; bytes that cannot be understood are refused."""
        try:
            return self._connection.next_event()
        except RemoteProtocolError as error:
            self._refuse_bytes(error)
            return None

    def handle(self, event: Event, arrival: Arrival, now: float) -> None:
        """Handle a packet that arrived at `arrival`, or the end of the peer's stream.

        `now` is the present instant in seconds, less the time for which the sender was made to wait.
        """
        policy = self._peer.edition.policy
        self._note_packet()
        if isinstance(event, CloseConnection):
            self.end("goodbye", Departure.RECEIVED_DISCONNECT)
        elif isinstance(event, StreamEnd):
            self.end("end tag", Departure.LOST_CONNECTION, with_end_tag=policy.answers_end_tag)
        elif isinstance(event, ConnectionClosed):
            # to the official server, an end of input is an error of its parser if it comes within a tag
            departure = Departure.PROTOCOL_ERROR if self._connection.has_partial_markup else Departure.LOST_CONNECTION
            self.end_lost("end of input", departure, with_end_tag=policy.answers_end_tag)
        else:
            self._dispatch(event, arrival, now)

    def _note_packet(self) -> None:
        self._member.packets_received += 1
        if self._state.phase is not SERVING:
            self._state.advance(Trigger.PACKET)

    def _dispatch(self, message: Message, arrival: Arrival, now: float) -> None:
        member, budget = self._member, self._budget
        try:
            dispatch(self._lobby, member, message, arrival, now)
            budget.has_granted = True
        except RequestError as error:
            self._connection.dialect = self._lobby.dialect_of(member)  # the refusal is written in it
            self._refuse_request(error, message)
        else:
            self._connection.dialect = self._lobby.dialect_of(member)
        if member.is_admin > budget.is_admin or (member.rooms and not budget.plays):
            budget.plays = True
            budget.is_admin = member.is_admin
            self._connection.limits = limits_of(member, self._config)
        ignored = self._connection.ignored
        if len(ignored) > self._published_ignored:
            self._stream.publish(events.ContentIgnored(self._peer.label, tuple(ignored[self._published_ignored :])))
            self._published_ignored = len(ignored)

    # -- refusals ---------------------------------------------------------------------------------------------------

    def _refuse_request(self, error: RequestError, message: Message) -> None:
        policy = self._peer.edition.policy
        text = shortened_text(str(error))
        self._budget.note_refusal(trio.current_time())
        self._stream.publish(events.RequestRefused(self._peer.label, error.fault, text))
        if error.fault is Fault.WRONG_PASSWORD:
            self._guard.note_failure(self._host, trio.current_time())
        if error.fault in policy.unanswered_faults:
            self.end(error.fault.value, with_end_tag=False)
        elif policy.keeps_refused and error.fault not in policy.ending_faults:
            self._send_error(text, message)
        elif error.is_answered:
            self._end_with_error(text, message, error.fault.value)
        else:
            self._end_with_close(error.fault.value, Departure.UNKNOWN)

    def _refuse_bytes(self, error: RemoteProtocolError) -> None:
        if error.refusal is Refusal.BUG:
            cause = error.__cause__ or error
            self._stream.publish(events.InternalError.of(cause, self._peer.label, error.data))
        # the official server counts as the departure's cause what failed: its parser, or the code after it
        departure = Departure.UNKNOWN if error.refusal in _AFTER_PARSING else Departure.PROTOCOL_ERROR
        self._break_protocol(error.refusal.value, shortened_text(str(error)), error.original, departure, error.position)

    def refuse_slow_packet(self) -> None:
        """End the stream of a peer whose packet was not complete in time."""
        if self._state.phase is SERVING:
            refusal, text = "packet_timeout", f"A packet was begun and not ended in {self._config.packet_timeout:g} s"
        else:
            refusal, text = "first_packet", f"No packet came within {self._config.first_packet_timeout:g} s"
        self._break_protocol(refusal, text, None)

    def _break_protocol(
        self,
        refusal: str,
        text: str,
        original: Message | None,
        departure: Departure = Departure.PROTOCOL_ERROR,
        position: int | None = None,
    ) -> None:
        self._stream.publish(events.ProtocolBroken(self._peer.label, refusal, text, position))
        if self._peer.edition.policy.explains_protocol_errors:
            self._end_with_error(text, original, refusal, departure)
        else:
            self.end(refusal, departure, with_end_tag=False)

    def note_bug(self, error: Exception) -> None:
        """Publish a bug of this server, which ends the connection."""
        self.reason = BUG
        self._stream.publish(events.InternalError.of(error, self._peer.label))

    def end_after_bug(self, error: Exception) -> None:
        """Publish a bug of this server, tell the peer and end its stream."""
        self.note_bug(error)
        self._end_with_error("The server failed to answer this request; this is not your fault", None, BUG)

    # -- the end of the stream --------------------------------------------------------------------------------------

    def _end_with_error(
        self, text: str, original: Message | None, reason: str, departure: Departure = Departure.UNKNOWN
    ) -> None:
        self._send_error(text, original)
        self._end_with_close(reason, departure)

    def _send_error(self, text: str, original: Message | None) -> None:
        """Send an error packet, if the edition has one; it repeats `original` only if the edition has that packet."""
        dialect = self._connection.dialect
        if dialect.has_packet(ErrorPacket):
            repeated = original if dialect.has_packet(type(original)) else None
            self._outbox.send_nowait(encoded_error(dialect, text, repeated))

    def _end_with_close(self, reason: str, departure: Departure) -> None:
        self._outbox.send_nowait(self._peer.edition.dialect.encode(CloseConnection()))
        self.end(reason, departure)

    def end(self, reason: str, departure: Departure = Departure.UNKNOWN, *, with_end_tag: bool = True) -> None:
        """End our side of the stream after everything that is queued."""
        self.reason = reason
        self.departure = departure
        self._outbox.end_nowait(with_end_tag=with_end_tag)

    def end_lost(
        self, reason: str, departure: Departure = Departure.LOST_CONNECTION, *, with_end_tag: bool = True
    ) -> None:
        """End both sides of the stream, since nothing more will arrive. The first reason for an end is kept."""
        if not self._outbox.is_ended:
            self.was_silent = self._state.phase is SILENT
            self.end(reason, departure, with_end_tag=with_end_tag)
        self._state.advance(Trigger.INPUT_ENDED)
