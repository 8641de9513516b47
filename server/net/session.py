"""One connection: its tasks, its packets and the replies to them, its deadlines and its end.

Invariants: one task reads and one writes. No failure of this connection, not even a bug of this server, affects another
one. Errors become replies here and nowhere else, through the outbox, so nothing waits while a packet is handled.
However a connection ends, the lobby forgets it before the socket is closed, and what was queued goes out first; the
server waits for the peer to close no longer than `close_timeout`, nor longer than `end` allows.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Final

import trio

from spielleiter.protocol.connection import Connection, ConnectionClosed, Event, Role, StreamEnd
from spielleiter.protocol.errors import Refusal, RemoteProtocolError
from spielleiter.protocol.limits import Limits
from spielleiter.protocol.messages import AuthenticateRequest, CloseConnection, Departure, ErrorPacket, Message
from spielleiter.server import events
from spielleiter.server.config import Config
from spielleiter.server.core.clock import Arrival, TokenBucket
from spielleiter.server.core.dispatch import dispatch
from spielleiter.server.core.error_packets import encoded_error, shortened_text
from spielleiter.server.core.lobby import Lobby
from spielleiter.server.core.room import DedicatedPort, Peer
from spielleiter.server.errors import RequestError
from spielleiter.server.net.fair_queue import ProcessorBudget
from spielleiter.server.net.outbox import Outbox
from spielleiter.server.net.password_guard import PasswordGuard
from spielleiter.server.net.wire import Wire

BUG: Final = "bug"
"""The reason of a connection that ended because of a bug of this server."""
ENDED_BY_SERVER: Final = "the server ended the stream"
"""The reason of a connection whose stream was ended by a room or by the lobby."""
LEFT_EARLY: Final = "left before its password was checked"
LEAVING_INTERVAL: Final = 0.25
"""Seconds between two looks whether a peer whose password waits has left."""
DISCARDED_AT_ONCE: Final = 32 * 1024
"""The bytes discarded without a pause after the end of our stream; few clients have more on the way."""
DISCARD_PAUSE: Final = 1.0
"""Seconds between two reads after these bytes: a flood must not cost more after its refusal than before."""
_AFTER_PARSING: Final = frozenset({Refusal.INCOMPLETE_PACKET, Refusal.REFERENCE})
"""The refusals of what the official server's parser accepts."""


def packet_limits(config: Config, *, is_player: bool = False, is_admin: bool = False) -> Limits:
    """Return the limits of what a connection may send. They only grow: whoever has joined remains a player.

    A player's longest packet is a move with hints; only administrators send longer ones.
    """
    packet_bytes = config.packet_bytes_player if is_player else config.packet_bytes_before
    return Limits(
        packet_bytes=config.packet_bytes if is_admin else packet_bytes,
        depth=config.packet_depth,
        attributes=config.packet_attributes,
        children=config.packet_children if is_admin else config.packet_children_player,
    )


class BugsContained:
    """A context manager that passes an exception to `note` instead of propagating it; a cancellation is propagated.

    It is not a generator with `contextlib.contextmanager`: from Python 3.12 on, the frame of its `__exit__` and the
    traceback of an exception that it suppressed refer to each other, which would keep the session in memory until the
    next garbage collection.
    """

    def __init__(self, note: Callable[[Exception], None]) -> None:
        self._note = note

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, where: object) -> bool:
        if not isinstance(error, Exception):
            return False
        self._note(error)
        return True


class Session:
    """Serves one connection (`run`); `label` is its name in the log, `address` the peer's host and port."""

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
        dedicated_port: DedicatedPort | None = None,
        *,
        is_local: bool,
    ) -> None:
        self.label = label
        self.address = address
        self._host = address.rpartition(":")[0]
        self._wire = wire
        self._lobby = lobby
        self._stream = stream
        self._config = config
        self._guard = guard
        self._budget = budget
        self._now = trio.lowlevel.current_clock().current_time  # half the cost of trio.current_time
        self._reading = trio.CancelScope()
        """The scope in which packets are read and handled. The outbox cancels it when our stream has ended."""
        self._has_data = False
        """Whether the peer has sent anything."""
        self._is_serving = False
        """Whether a packet, or the end of the stream, has been understood."""
        self._has_input_ended = False
        """Whether nothing more will arrive; our stream has ended then, too."""
        self._reason = ENDED_BY_SERVER
        """Why the connection ended, for the log."""
        self._departure = Departure.UNKNOWN
        """How the peer left, for its rooms."""
        self._was_silent = False
        """Whether the peer's input ended before it had sent anything."""
        self._published_ignored = 0
        self._closing = trio.CancelScope()
        """The scope of `_close`; its deadline can be set before it is entered."""
        self._written = trio.Event()
        """Set when the queue has been flushed."""
        self._is_local = not config.bounds_loopback and is_local
        """Whether the peer is on this machine and may therefore be silent as long as with the official server."""
        self._packet_deadline = inf
        self._held_until = -inf
        """The end of the last wait that was imposed on this sender because it had sent too much."""
        connection = self._connection = Connection(Role.SERVER, lobby.initial_dialect, packet_limits(config))
        self._outbox = Outbox(
            wire,
            connection,
            max_bytes=config.outbox_bytes,
            progress_timeout=config.outbox_timeout,
            on_ended=self._reading.cancel,  # not a method of this object: a cycle would keep it in memory
        )
        edition = lobby.default_edition if dedicated_port is None else dedicated_port.room.edition
        self.peer = Peer(
            label, self._outbox, edition, dedicated_port, address=address, has_idle_timeout=not self._is_local
        )
        connection.dialect = lobby.dialect_of(self.peer)

    @property
    def queued_bytes(self) -> int:
        """The number of bytes that the peer has not taken yet."""
        return self._outbox.queued_bytes

    # -- the life of a connection -----------------------------------------------------------------------------------

    async def run(self) -> None:
        """Serve until both sides have ended their streams; the wire is closed in every case."""
        with self._budget:
            self._stream.publish(events.ConnectionOpened(self.label, self.address))
        if not self._is_local:
            self._packet_deadline = trio.current_time() + self._config.first_packet_timeout
        try:
            with BugsContained(self._note_bug):
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(self._write)
                    await self._read()
                    self._lobby.drop(self.peer, self._departure)
                    self._outbox.end_nowait()
                    await self._close()
                    nursery.cancel_scope.cancel()
        except* trio.Cancelled:  # the whole server is ending at once: no player has left
            with BugsContained(self._note_bug):
                for room in list(self.peer.rooms.values()):
                    room.cancel()
            raise
        finally:
            with self._budget, BugsContained(self._note_bug):
                self._lobby.drop(self.peer)
            with trio.CancelScope(shield=True):
                await self._wire.aclose()
            self._stream.publish(events.ConnectionClosed(self.label, self._reason, self._was_silent))

    def end(self, reason: str, within: float = inf) -> None:
        """End our side of the stream after everything that is queued.

        The peer then has at most `within` seconds to take it and to close, even if its stream has been ended before.
        """
        self._closing.deadline = trio.current_time() + within
        if not self._outbox.is_ended:
            self._end(reason)

    # -- reading ----------------------------------------------------------------------------------------------------

    async def _read(self) -> None:
        """Handle packets until either side ends its stream."""
        with self._reading:
            while not self._outbox.is_ended:
                try:
                    is_due = self._packet_deadline != inf
                    received = await (self._receive_in_time() if is_due else self._wire.receive())
                except (trio.BrokenResourceError, trio.ClosedResourceError) as error:
                    self._end_lost(f"connection lost: {error}")
                    return
                if received is None:
                    refusal, text = "first_packet", f"No packet came within {self._config.first_packet_timeout:g} s"
                    if self._is_serving:
                        refusal = "packet_timeout"
                        text = f"A packet was begun and not ended in {self._config.packet_timeout:g} s"
                    self._break_protocol(refusal, text, None)
                    return
                data, arrival = received
                self._has_data = self._has_data or bool(data)
                try:
                    await self._handle_packets(data, arrival)
                except Exception as error:
                    self._note_bug(error)
                    text = "The server failed to answer this request; this is not your fault"
                    self._end_with_error(text, None, BUG)

    async def _receive_in_time(self) -> tuple[bytes, Arrival] | None:
        """Return what arrives next, or None if the expected packet was not complete in time."""
        with trio.move_on_at(self._packet_deadline):
            return await self._wire.receive()
        if self._wire.has_unread_input():  # it arrived in time, and this server was too slow to read it
            return await self._wire.receive()
        return None

    async def _handle_packets(self, data: bytes, arrival: Arrival) -> None:
        """Handle every packet that `data` completes.

        Each packet takes effect before the next one is read. A sender of many packets at once waits for its turn before
        each of them, like everybody else.
        """
        has_handled, port = False, self.peer.dedicated_port
        with self._budget:
            if port is not None:
                await self._slow_down(port.received, len(data))
            if self._budget.has_to_wait_first:
                await self._wait_for_turn()
            self._connection.receive_data(data)
            while not self._outbox.is_ended:
                try:
                    event = self._connection.next_event()
                except RemoteProtocolError as error:
                    if error.refusal is Refusal.BUG:  # no local variable for the cause: that would be a cycle
                        bug = events.InternalError.of(error.__cause__ or error, self.label, error.data)
                        self._stream.publish(bug)
                    # the official server counts as the departure's cause what failed: its parser, or the code after it
                    departure = Departure.UNKNOWN if error.refusal in _AFTER_PARSING else Departure.PROTOCOL_ERROR
                    text = shortened_text(str(error))
                    self._break_protocol(error.refusal.value, text, error.original, departure, error.position)
                    break
                if event is None:
                    break
                if has_handled:
                    await self._wait_for_turn()
                has_handled = True
                if port is not None:  # on which nobody can authenticate
                    await self._slow_down(port.packets, 1)
                elif isinstance(event, AuthenticateRequest) and not await self._check_password(event):
                    self._end_lost(LEFT_EARLY)
                    break
                now = self._now()
                if self._held_until > arrival.instant:
                    # a wait that the sender caused by its own flood does not count as lag of the event loop
                    now -= self._held_until - arrival.instant
                self._handle(event, arrival, now)
        self._outbox.holds_input = False
        if not self._is_serving:
            return  # the deadline is that of the first packet
        # Between two packets, a peer may be silent without limit. So may a player or an administrator within a packet:
        # it could as well send nothing.
        if self._is_local or self.peer.rooms or self.peer.is_admin or not self._connection.has_partial_packet:
            self._packet_deadline = inf
        elif has_handled or self._packet_deadline == inf:
            self._packet_deadline = trio.current_time() + self._config.packet_timeout

    async def _wait_for_turn(self) -> None:
        """Wait in the fair queue. Input that has been read counts as unread meanwhile, so no time limit is judged."""
        self._outbox.holds_input = True
        with self._budget.interrupted():
            had_to_wait = await self._budget.wait()
        if had_to_wait:
            self._held_until = trio.current_time()

    async def _slow_down(self, bucket: TokenBucket, amount: int) -> None:
        """Delay a sender that exceeds the rate limit of its port; `amount` is in the units of `bucket`."""
        delay = bucket.take(amount, trio.current_time())
        if delay > 0.0:
            self._outbox.holds_input = True
            with self._budget.interrupted():
                await trio.sleep(delay)
            self._held_until = trio.current_time()

    async def _check_password(self, request: AuthenticateRequest) -> bool:
        """Wait until the password may be checked and, if it is wrong and others were before, until it is answered.

        Return whether it may be handled; False if the peer has left before it was checked.
        """
        is_checked = False

        def note_wrong(delay: float) -> None:
            nonlocal is_checked
            is_checked = True
            if delay:
                self._stream.publish(events.AnswerDelayed(self.label, delay))

        async def cancel_when_left(scope: trio.CancelScope) -> None:
            # a peer that has left must not take up a connection, nor keep others waiting
            while True:
                await trio.sleep(LEAVING_INTERVAL)
                if self._wire.has_left():
                    scope.cancel()

        with self._budget.interrupted():
            async with trio.open_nursery() as nursery:
                nursery.start_soon(cancel_when_left, nursery.cancel_scope)
                is_right = self._lobby.is_password(request.password)
                await self._guard.wait_to_answer(self._host, note_wrong, is_right=is_right)
                is_checked = True
                nursery.cancel_scope.cancel()
        return is_checked

    # -- packets ----------------------------------------------------------------------------------------------------

    def _handle(self, event: Event, arrival: Arrival, now: float) -> None:
        """Handle a packet that arrived at `arrival`, or the end of the peer's stream.

        `now` is the present instant in seconds, less the time for which the sender was made to wait.
        """
        policy = self.peer.edition.policy
        self.peer.packets_received += 1
        self._is_serving = self._has_data
        if isinstance(event, CloseConnection):
            self._end("goodbye", Departure.RECEIVED_DISCONNECT)
        elif isinstance(event, StreamEnd):
            self._end("end tag", Departure.LOST_CONNECTION, with_end_tag=policy.answers_end_tag)
        elif isinstance(event, ConnectionClosed):
            # to the official server, an end of input is an error of its parser if it comes within a tag
            departure = Departure.PROTOCOL_ERROR if self._connection.has_partial_markup else Departure.LOST_CONNECTION
            self._end_lost("end of input", departure, with_end_tag=policy.answers_end_tag)
        else:
            peer, budget = self.peer, self._budget
            try:
                dispatch(self._lobby, peer, event, arrival, now)
                budget.has_granted = True
            except RequestError as error:
                self._connection.dialect = self._lobby.dialect_of(peer)  # the refusal is written in it
                self._refuse_request(error, event)
            else:
                self._connection.dialect = self._lobby.dialect_of(peer)
            if peer.is_admin > budget.is_admin or (peer.rooms and not budget.plays):
                budget.plays = True
                budget.is_admin = peer.is_admin
                self._connection.limits = packet_limits(self._config, is_player=True, is_admin=peer.is_admin)
            ignored = self._connection.ignored
            if len(ignored) > self._published_ignored:
                self._stream.publish(events.ContentIgnored(self.label, tuple(ignored[self._published_ignored :])))
                self._published_ignored = len(ignored)

    # -- refusals ---------------------------------------------------------------------------------------------------

    def _refuse_request(self, error: RequestError, message: Message) -> None:
        policy = self.peer.edition.policy
        text = shortened_text(str(error))
        self._budget.note_refusal(trio.current_time())
        self._stream.publish(events.RequestRefused(self.label, error.fault, text))
        if error.fault in policy.unanswered_faults:
            self._end(error.fault.value, with_end_tag=False)
        elif policy.keeps_refused and error.fault not in policy.ending_faults:
            self._send_error(text, message)
        elif error.needs_reply:
            self._end_with_error(text, message, error.fault.value)
        else:
            self._end_with_close(error.fault.value, Departure.UNKNOWN)

    def _break_protocol(
        self,
        refusal: str,
        text: str,
        original: Message | None,
        departure: Departure = Departure.PROTOCOL_ERROR,
        position: int | None = None,
    ) -> None:
        self._stream.publish(events.ProtocolBroken(self.label, refusal, text, position))
        if self.peer.edition.policy.explains_protocol_errors:
            self._end_with_error(text, original, refusal, departure)
        else:
            self._end(refusal, departure, with_end_tag=False)

    def _note_bug(self, error: Exception) -> None:
        """Publish a bug of this server, which ends the connection."""
        self._reason = BUG
        self._stream.publish(events.InternalError.of(error, self.label))

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
        self._outbox.send_nowait(self.peer.edition.dialect.encode(CloseConnection()))
        self._end(reason, departure)

    def _end(self, reason: str, departure: Departure = Departure.UNKNOWN, *, with_end_tag: bool = True) -> None:
        """End our side of the stream after everything that is queued."""
        self._reason = reason
        self._departure = departure
        self._outbox.end_nowait(with_end_tag=with_end_tag)

    def _end_lost(
        self, reason: str, departure: Departure = Departure.LOST_CONNECTION, *, with_end_tag: bool = True
    ) -> None:
        """End both sides of the stream, since nothing more will arrive. The first reason for an end is kept."""
        if not self._outbox.is_ended:
            self._was_silent = not self._has_data
            self._end(reason, departure, with_end_tag=with_end_tag)
        self._has_input_ended = True

    # -- writing and closing ----------------------------------------------------------------------------------------

    async def _write(self) -> None:
        failure = await self._outbox.run()
        if failure is not None:
            departure = Departure.LOST_CONNECTION
            if failure.bound is not None:
                departure = Departure.TIMEOUT
                queued = self._outbox.queued_bytes
                self._stream.publish(events.PeerTooSlow(self.label, failure.bound, queued, failure.why))
            self._end_lost(failure.why, departure, with_end_tag=False)
        self._written.set()

    async def _close(self) -> None:
        """Flush the queue, then wait for the peer to close: closing a socket with unread input would reset it."""
        with self._closing:
            with trio.move_on_after(self._config.outbox_timeout):
                await self._written.wait()
            if not self._written.is_set():
                return
            discarded = 0
            with trio.move_on_after(self._config.close_timeout):
                while not self._has_input_ended:
                    try:
                        data, _ = await self._wire.receive()
                    except (trio.BrokenResourceError, trio.ClosedResourceError):
                        return
                    self._has_input_ended = not data
                    discarded += len(data)
                    if discarded > DISCARDED_AT_ONCE:
                        await trio.sleep(DISCARD_PAUSE)
