"""One connection from its first byte to its last.

Invariants: one task reads, one writes; whatever goes wrong on this connection is answered here and noticed by nobody
else. This is the one place where errors become replies; a bug of ours ends this connection and nothing else. However
a connection ends, the lobby forgets it before the socket is closed, what was queued goes out first, and nobody waits
longer than `close_timeout` for the peer to say goodbye, nor longer than `end` allows. Whether a packet is answered at
once or has to wait is decided by `spielleiter.server.net.processor_budget`.
"""

from __future__ import annotations

from math import inf

import trio

from spielleiter.protocol.connection import Connection, ConnectionClosed, Event, Role, StreamEnd
from spielleiter.protocol.errors import Refusal, RemoteProtocolError
from spielleiter.protocol.messages import AuthenticateRequest, CloseConnection, Departure, ErrorPacket, Message
from spielleiter.server import events
from spielleiter.server.config.config import Config
from spielleiter.server.core.clock import Arrival
from spielleiter.server.core.dispatch import dispatch
from spielleiter.server.core.error_packets import encoded_error, shortened_text
from spielleiter.server.core.lobby import Lobby
from spielleiter.server.core.peer import Peer
from spielleiter.server.core.seat_port import SeatPort
from spielleiter.server.core.token_bucket import TokenBucket
from spielleiter.server.errors import Fault, RequestError
from spielleiter.server.net.containment import BugsContained
from spielleiter.server.net.outbox import Outbox
from spielleiter.server.net.packet_limits import limits_of, stranger_limits
from spielleiter.server.net.password_guard import PasswordGuard
from spielleiter.server.net.processor_budget import ProcessorBudget
from spielleiter.server.net.wire import Wire

BUG = "bug"
"""Why a connection ended that met one of ours."""

DROPPED_AT_ONCE = 32 * 1024
"""So many bytes that come after the end of our stream are taken without a pause; few clients have more on the way."""
DROPPING_PAUSE = 1.0
"""Seconds between two pieces of what comes after that: a flood must not cost more after its refusal than before."""

GUESSES_WAITING = "Too many wrong passwords are being tried at this server; try again in a few seconds"
"""What those are told whose password is not looked at for that reason."""


class Session:
    """Serves one connection (`run`); `label` is its name in the log."""

    def __init__(
        self,
        label: str,
        address: str,
        wire: Wire,
        lobby: Lobby,
        stream: events.EventStream,
        config: Config,
        guard: PasswordGuard,
        budget: ProcessorBudget,
        seat_port: SeatPort | None = None,
    ) -> None:
        self._guard = guard
        self._budget = budget
        self._label = label
        self._address = address
        self._wire = wire
        self._lobby = lobby
        self._stream = stream
        self._config = config
        self._connection = Connection(Role.SERVER, lobby.opening_dialect, stranger_limits(config))
        self._reading = trio.CancelScope()
        self._packet_deadline = inf
        self._written = trio.Event()
        self._farewell = trio.CancelScope()
        self._outbox = Outbox(
            wire,
            self._connection,
            max_bytes=config.outbox_bytes,
            progress_timeout=config.outbox_timeout,
            on_ended=self._reading.cancel,
        )
        edition = lobby.default_edition if seat_port is None else seat_port.room.edition
        self._peer = Peer(label, self._outbox, edition, seat_port)
        self._seat_port = seat_port
        self._connection.dialect = lobby.dialect_of(self._peer)
        self._reason = "the server ended the stream"
        self._is_input_over = False
        self._has_received = False
        self._was_silent = False
        self._ignored_seen = 0
        self._had_packet = False
        self._is_looked_at = True
        """Whether the last password was compared with the right one."""
        self._held_until = -inf
        """When this sender last stopped waiting because it had sent too much."""
        self._departure = Departure.UNKNOWN

    @property
    def label(self) -> str:
        return self._label

    @property
    def address(self) -> str:
        return self._address

    @property
    def peer(self) -> Peer:
        return self._peer

    @property
    def queued_bytes(self) -> int:
        """What the peer has not taken yet."""
        return self._outbox.queued_bytes

    async def run(self) -> None:
        """Serve until both sides are done; closes the wire in any case."""
        with self._budget:
            self._stream.publish(events.ConnectionOpened(self._label, self._address))
        self._packet_deadline = trio.current_time() + self._config.first_packet_timeout
        try:
            with self._bugs_contained():
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(self._write)
                    await self._read()
                    self._was_silent = self._is_input_over and not self._has_received
                    self._lobby.drop(self._peer, self._departure)
                    self._outbox.end_nowait()
                    await self._say_goodbye()
                    nursery.cancel_scope.cancel()
        except* trio.Cancelled:  # the server as a whole ends at once: nobody has left
            with self._bugs_contained():
                self._call_off_games()
            raise
        finally:
            with self._budget, self._bugs_contained():
                self._lobby.drop(self._peer)
            with trio.CancelScope(shield=True):
                await self._wire.aclose()
            self._stream.publish(events.ConnectionClosed(self._label, self._reason, self._was_silent))

    def _call_off_games(self) -> None:
        for room in list(self._peer.rooms.values()):
            room.cancel()

    def _bugs_contained(self) -> BugsContained:
        return BugsContained(self._note_bug)

    def _note_bug(self, error: Exception) -> None:
        self._reason = BUG
        self._stream.publish(events.InternalError.of(error, self._label))

    def end(self, reason: str, within: float = inf) -> None:
        """End our side of the stream behind what is queued; the peer is given time to close, but no more than `within`.

        Also a peer that is being given time already.
        """
        self._farewell.deadline = trio.current_time() + within
        if not self._outbox.is_ended:
            self._end(reason)

    # -- reading ----------------------------------------------------------------------------------------------------

    async def _read(self) -> None:
        """Answer packets until either side ends its stream."""
        with self._reading:
            while not self._outbox.is_ended:
                try:
                    piece = await self._receive()
                except (trio.BrokenResourceError, trio.ClosedResourceError) as error:
                    self._is_input_over = True
                    self._end(f"connection lost: {error}", Departure.LOST_CONNECTION)
                    return
                if piece is None:
                    self._refuse_slow_packet()
                    return
                data, arrival = piece
                self._has_received |= bool(data)
                try:
                    await self._answer_all(data, arrival)
                except Exception as error:
                    self._stream.publish(events.InternalError.of(error, self._label))
                    self._reply_error("The server failed to answer this request; this is not your fault", None, BUG)

    async def _receive(self) -> tuple[bytes, Arrival] | None:
        """The next piece, or None if the packet that is awaited has not come in time."""
        if self._packet_deadline == inf:
            return await self._wire.receive()
        with trio.move_on_at(self._packet_deadline):
            return await self._wire.receive()
        if self._wire.has_unread_input():  # it came, and this server was too slow to read it
            return await self._wire.receive()
        return None

    async def _answer_all(self, data: bytes, arrival: Arrival) -> None:
        """Answer every packet that is complete with `data`; what a packet changes holds for the next one.

        Whoever sends many at once gets a turn for each, as others do.
        """
        has_ended_packet = False
        with self._budget:
            if self._seat_port is not None:
                await self._slow_down(self._seat_port.received, len(data))
            if self._budget.has_to_wait(trio.current_time()):
                await self._wait_for_turn()
            self._connection.receive_data(data)
            while not self._outbox.is_ended:
                event = self._next_event()
                if event is None:
                    break
                if has_ended_packet:
                    await self._wait_for_turn()
                has_ended_packet = True
                if self._seat_port is not None:
                    await self._slow_down(self._seat_port.packets, 1)
                if isinstance(event, AuthenticateRequest):
                    await self._slow_down_guessing(event)
                self._answer(event, arrival)
        self._outbox.holds_input = False
        self._set_deadline(has_ended_packet=has_ended_packet)

    def _next_event(self) -> Event | None:
        try:
            return self._connection.next_event()
        except RemoteProtocolError as error:
            self._refuse_bytes(error)
            return None

    async def _wait_for_turn(self) -> None:
        """What has been read is not answered yet, and nobody is called too slow meanwhile."""
        self._outbox.holds_input = True
        with self._budget.interrupted():
            had_to_wait = await self._budget.wait()
        if had_to_wait:
            self._held_until = trio.current_time()

    async def _slow_down(self, allowance: TokenBucket, amount: int) -> None:
        """Keep a sender waiting that sends more than its port is meant for."""
        delay = allowance.take(amount, trio.current_time())
        if delay > 0.0:
            self._outbox.holds_input = True
            with self._budget.interrupted():
                await trio.sleep(delay)
            self._held_until = trio.current_time()

    async def _slow_down_guessing(self, request: AuthenticateRequest) -> None:
        """A wrong password is answered late if too many came before it, and not looked at while too many wait."""
        now = trio.current_time()
        self._is_looked_at = self._guard.admits(self._host, now)
        if not self._is_looked_at or self._lobby.is_password(request.password):
            return
        delay = self._guard.delay(self._host, now)
        if delay > 0.0:
            self._stream.publish(events.AnswerDelayed(self._label, delay))
            with self._budget.interrupted(), self._guard.waiting(self._host):
                await trio.sleep(delay)

    def _require_look(self) -> None:
        """Raises RequestError if the password that has come is not to be looked at."""
        if not self._is_looked_at:
            raise RequestError(Fault.GUESSES_WAITING, GUESSES_WAITING)

    @property
    def _host(self) -> str:
        return self._address.rpartition(":")[0]

    def _answer(self, event: Message | StreamEnd | ConnectionClosed, arrival: Arrival) -> None:
        policy = self._peer.edition.policy
        self._had_packet = True
        self._peer.heard += 1
        if isinstance(event, CloseConnection):
            self._end("goodbye", Departure.RECEIVED_DISCONNECT)
        elif isinstance(event, StreamEnd):
            self._end("end tag", Departure.LOST_CONNECTION, with_end_tag=policy.answers_end_tag)
        elif isinstance(event, ConnectionClosed):
            self._is_input_over = True
            self._end("end of input", Departure.LOST_CONNECTION, with_end_tag=policy.answers_end_tag)
        else:
            self._dispatch(event, arrival)

    def _dispatch(self, message: Message, arrival: Arrival) -> None:
        budget = self._budget
        try:
            if isinstance(message, AuthenticateRequest):
                self._require_look()
            # what a sender waited for its own flood is no lateness of ours
            held = max(0.0, self._held_until - arrival.instant)
            dispatch(self._lobby, self._peer, message, arrival, trio.current_time() - held)
            budget.has_granted = True
        except RequestError as error:
            self._refuse_request(error, message)
        self._connection.dialect = self._lobby.dialect_of(self._peer)
        if self._peer.is_admin > budget.is_admin or (self._peer.rooms and not budget.plays):
            budget.plays = True
            budget.is_admin = self._peer.is_admin
            self._connection.limits = limits_of(self._peer, self._config)
        ignored = self._connection.ignored
        if len(ignored) > self._ignored_seen:
            self._stream.publish(events.ContentIgnored(self._label, tuple(ignored[self._ignored_seen :])))
            self._ignored_seen = len(ignored)

    def _set_deadline(self, *, has_ended_packet: bool) -> None:
        """A packet begun must be completed in time, each in its own; between packets a peer may be silent."""
        if not self._connection.has_partial_packet:
            if self._had_packet:
                self._packet_deadline = inf
        elif has_ended_packet or self._packet_deadline == inf:
            self._packet_deadline = trio.current_time() + self._config.packet_timeout

    # -- refusing ---------------------------------------------------------------------------------------------------

    def _refuse_request(self, error: RequestError, message: Message) -> None:
        policy = self._peer.edition.policy
        text = shortened_text(str(error))
        self._budget.note_refusal(trio.current_time())
        self._stream.publish(events.RequestRefused(self._label, error.fault, text))
        if error.fault is Fault.WRONG_PASSWORD:
            self._guard.has_failed(self._host, trio.current_time())
        if error.fault in policy.unanswered_faults:
            self._end(error.fault.value, with_end_tag=False)
        elif policy.keeps_refused:
            self._tell_error(text, message)
        elif error.is_answered:
            self._reply_error(text, message, error.fault.value)
        else:
            self._say_goodbye_nowait(error.fault.value, Departure.UNKNOWN)

    def _refuse_bytes(self, error: RemoteProtocolError) -> None:
        if error.refusal is Refusal.BUG:
            self._stream.publish(events.InternalError.of(error.__cause__ or error, self._label, error.data))
        text = shortened_text(str(error))
        self._stream.publish(events.ProtocolBroken(self._label, error.refusal.value, text))
        if self._peer.edition.policy.explains_protocol_errors:
            self._reply_error(text, error.original, error.refusal.value, Departure.PROTOCOL_ERROR)
        else:
            self._end(error.refusal.value, Departure.PROTOCOL_ERROR, with_end_tag=False)

    def _refuse_slow_packet(self) -> None:
        if self._had_packet:
            refusal, text = "packet_timeout", f"A packet was begun and not ended in {self._config.packet_timeout:g} s"
        else:
            refusal, text = "first_packet", f"No packet came within {self._config.first_packet_timeout:g} s"
        self._stream.publish(events.ProtocolBroken(self._label, refusal, text))
        if self._peer.edition.policy.explains_protocol_errors:
            self._reply_error(text, None, refusal, Departure.PROTOCOL_ERROR)
        else:
            self._end(refusal, Departure.PROTOCOL_ERROR, with_end_tag=False)

    def _reply_error(
        self, text: str, original: Message | None, reason: str, departure: Departure = Departure.UNKNOWN
    ) -> None:
        """Tell the sender what was wrong and end its stream."""
        self._tell_error(text, original)
        self._say_goodbye_nowait(reason, departure)

    def _tell_error(self, text: str, original: Message | None) -> None:
        """An error packet, in the editions that have one; what it repeats may be a packet that they do not have."""
        dialect = self._connection.dialect
        if dialect.has_packet(ErrorPacket):
            repeated = original if dialect.has_packet(type(original)) else None
            self._outbox.send_nowait(encoded_error(dialect, text, repeated))

    def _say_goodbye_nowait(self, reason: str, departure: Departure) -> None:
        self._outbox.send_nowait(self._peer.edition.dialect.encode(CloseConnection()))
        self._end(reason, departure)

    def _end(self, reason: str, departure: Departure = Departure.UNKNOWN, *, with_end_tag: bool = True) -> None:
        self._reason = reason
        self._departure = departure
        self._outbox.end_nowait(with_end_tag=with_end_tag)

    # -- writing and the end ----------------------------------------------------------------------------------------

    async def _write(self) -> None:
        failure = await self._outbox.run()
        if failure is not None:
            self._give_up_writing(failure.why, failure.bound)
        self._written.set()

    def _give_up_writing(self, why: str, bound: str | None) -> None:
        self._is_input_over = True
        if bound is not None:
            self._stream.publish(events.PeerTooSlow(self._label, bound, self._outbox.queued_bytes, why))
        if not self._outbox.is_ended:
            self._end(why, Departure.LOST_CONNECTION if bound is None else Departure.TIMEOUT, with_end_tag=False)

    async def _say_goodbye(self) -> None:
        """Let what is queued go out, then wait for the peer to close; unread input would make it a reset."""
        with self._farewell:
            with trio.move_on_after(self._config.outbox_timeout):
                await self._written.wait()
            if not self._written.is_set():
                return
            dropped = 0
            with trio.move_on_after(self._config.close_timeout):
                while not self._is_input_over:
                    try:
                        data, _ = await self._wire.receive()
                    except (trio.BrokenResourceError, trio.ClosedResourceError):
                        return
                    self._is_input_over = not data
                    dropped += len(data)
                    if dropped > DROPPED_AT_ONCE:
                        await trio.sleep(DROPPING_PAUSE)
