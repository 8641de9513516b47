"""The tasks of one connection: reading, writing, deadlines and the end.

Invariants: one task reads and one writes. No failure of this connection, not even a bug of this server, affects another
one. However a connection ends, the lobby forgets it before the socket is closed, and what was queued goes out first;
the server waits for the peer to close no longer than `close_timeout`, nor longer than `end` allows. The effect of a
packet is decided by `spielleiter.server.net.packet_handler`; whether it is handled at once or has to wait is decided by
`spielleiter.server.net.processor_budget`.
"""

from __future__ import annotations

from math import inf

import trio

from spielleiter.protocol.connection import Connection, Role
from spielleiter.protocol.messages import AuthenticateRequest, Departure
from spielleiter.server import events
from spielleiter.server.config import Config, is_loopback
from spielleiter.server.core.clock import Arrival, TokenBucket
from spielleiter.server.core.lobby import DedicatedPort, Lobby, Member
from spielleiter.server.core.room import Peer
from spielleiter.server.net.containment import BugsContained
from spielleiter.server.net.outbox import Outbox
from spielleiter.server.net.packet_handler import PacketHandler
from spielleiter.server.net.packet_limits import stranger_limits
from spielleiter.server.net.password_guard import PasswordGuard
from spielleiter.server.net.processor_budget import ProcessorBudget
from spielleiter.server.net.session_phase import SERVING, SILENT, Phase, SessionState, Trigger
from spielleiter.server.net.wire import Wire

DISCARDED_AT_ONCE = 32 * 1024
"""The bytes discarded without a pause after the end of our stream; few clients have more on the way."""
DISCARD_PAUSE = 1.0
"""Seconds between two reads after these bytes: a flood must not cost more after its refusal than before."""

LEAVING_INTERVAL = 0.25
"""Seconds between two looks whether a peer whose password waits has left."""
LEFT_EARLY = "left before its password was checked"


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
    ) -> None:
        self._label = label
        self._address = address
        self._host = address.rpartition(":")[0]
        self._wire = wire
        self._lobby = lobby
        self._stream = stream
        self._config = config
        self._guard = guard
        self._budget = budget
        self._dedicated_port = dedicated_port
        self._state = SessionState()
        self._closing = trio.CancelScope()
        """The scope of `_close`; its deadline can be set before it is entered."""
        self._written = trio.Event()
        """Set when the queue has been flushed."""
        self._is_local = not config.bounds_loopback and is_loopback(self._host)
        """Whether the peer is on this machine and may therefore be silent as long as with the official server."""
        self._packet_deadline = inf
        self._held_until = -inf
        """The end of the last wait that was imposed on this sender because it had sent too much."""
        connection = Connection(Role.SERVER, lobby.initial_dialect, stranger_limits(config))
        self._connection = connection
        self._outbox = Outbox(
            wire,
            connection,
            max_bytes=config.outbox_bytes,
            progress_timeout=config.outbox_timeout,
            on_ended=self._state.end_stream,
        )
        edition = lobby.default_edition if dedicated_port is None else dedicated_port.room.edition
        self._member = lobby.connect(
            Peer(label, self._outbox, edition), dedicated_port, has_idle_timeout=not self._is_local
        )
        connection.dialect = lobby.dialect_of(self._member)
        self._handler = PacketHandler(
            self._member, lobby, connection, self._outbox, stream, config, budget, guard, self._host, self._state
        )

    @property
    def label(self) -> str:
        return self._label

    @property
    def address(self) -> str:
        return self._address

    @property
    def member(self) -> Member:
        return self._member

    @property
    def queued_bytes(self) -> int:
        """The number of bytes that the peer has not taken yet."""
        return self._outbox.queued_bytes

    # -- the life of a connection -----------------------------------------------------------------------------------

    async def run(self) -> None:
        """Serve until both sides have ended their streams; the wire is closed in every case."""
        handler = self._handler
        with self._budget:
            self._stream.publish(events.ConnectionOpened(self._label, self._address))
        if not self._is_local:
            self._packet_deadline = trio.current_time() + self._config.first_packet_timeout
        try:
            with self._bugs_contained():
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(self._write)
                    await self._read()
                    self._lobby.drop(self._member, handler.departure)
                    self._outbox.end_nowait()
                    await self._close()
                    nursery.cancel_scope.cancel()
        except* trio.Cancelled:  # the whole server is ending at once: no player has left
            with self._bugs_contained():
                self._cancel_games()
            raise
        finally:
            with self._budget, self._bugs_contained():
                self._lobby.drop(self._member)
            with trio.CancelScope(shield=True):
                await self._wire.aclose()
            self._stream.publish(events.ConnectionClosed(self._label, handler.reason, handler.was_silent))

    def end(self, reason: str, within: float = inf) -> None:
        """End our side of the stream after everything that is queued.

        The peer then has at most `within` seconds to take it and to close, even if its stream has been ended before.
        """
        self._closing.deadline = trio.current_time() + within
        if not self._outbox.is_ended:
            self._handler.end(reason)

    def _cancel_games(self) -> None:
        for room in list(self._member.rooms.values()):
            room.cancel()

    def _bugs_contained(self) -> BugsContained:
        return BugsContained(self._handler.note_bug)

    # -- reading ----------------------------------------------------------------------------------------------------

    async def _read(self) -> None:
        """Handle packets until either side ends its stream."""
        handler = self._handler
        with self._state.reading:
            while not self._outbox.is_ended:
                try:
                    received = await self._receive()
                except (trio.BrokenResourceError, trio.ClosedResourceError) as error:
                    handler.end_lost(f"connection lost: {error}")
                    return
                if received is None:
                    handler.refuse_slow_packet()
                    return
                data, arrival = received
                if data and self._state.phase is SILENT:
                    self._state.advance(Trigger.DATA)
                try:
                    await self._handle_packets(data, arrival)
                except Exception as error:
                    handler.end_after_bug(error)

    async def _receive(self) -> tuple[bytes, Arrival] | None:
        """Return what arrives next, or None if the expected packet was not complete in time."""
        if self._packet_deadline == inf:
            return await self._wire.receive()
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
        handler = self._handler
        has_handled = False
        with self._budget:
            if self._dedicated_port is not None:
                await self._slow_down(self._dedicated_port.received, len(data))
            if self._budget.has_to_wait(trio.current_time()):
                await self._wait_for_turn()
            self._connection.receive_data(data)
            while not self._outbox.is_ended:
                event = handler.next_event()
                if event is None:
                    break
                if has_handled:
                    await self._wait_for_turn()
                has_handled = True
                if self._dedicated_port is not None:
                    await self._slow_down(self._dedicated_port.packets, 1)
                if isinstance(event, AuthenticateRequest) and not await self._check_password(event):
                    handler.end_lost(LEFT_EARLY)
                    break
                # a wait that the sender caused by its own flood does not count as lateness of the server
                held = max(0.0, self._held_until - arrival.instant)
                handler.handle(event, arrival, trio.current_time() - held)
        self._outbox.holds_input = False
        self._set_deadline(has_handled=has_handled)

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
        with self._budget.interrupted():
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._cancel_when_left, nursery.cancel_scope)
                await self._guard.wait_for_turn(self._host)
                is_checked = True
                if self._lobby.is_password(request.password):
                    self._guard.note_success()
                elif delay := self._guard.delay(self._host, trio.current_time()):
                    self._stream.publish(events.AnswerDelayed(self._label, delay))
                    with self._guard.waiting(self._host):
                        await trio.sleep(delay)
                nursery.cancel_scope.cancel()
        return is_checked

    async def _cancel_when_left(self, scope: trio.CancelScope) -> None:
        """Cancel `scope` when the peer has left: it must not take up a connection, nor keep others waiting."""
        while True:
            await trio.sleep(LEAVING_INTERVAL)
            if self._wire.has_left():
                scope.cancel()

    def _set_deadline(self, *, has_handled: bool) -> None:
        """Set the deadline for a packet that has begun; between two packets, a peer may be silent without limit.

        So may a player or an administrator within a packet: it could as well send nothing.
        """
        if self._state.phase is not SERVING:
            return  # the deadline is that of the first packet
        if self._is_local or self._member.rooms or self._member.is_admin or not self._connection.has_partial_packet:
            self._packet_deadline = inf
        elif has_handled or self._packet_deadline == inf:
            self._packet_deadline = trio.current_time() + self._config.packet_timeout

    # -- writing and closing ----------------------------------------------------------------------------------------

    async def _write(self) -> None:
        failure = await self._outbox.run()
        if failure is not None:
            departure = Departure.LOST_CONNECTION
            if failure.bound is not None:
                departure = Departure.TIMEOUT
                queued = self._outbox.queued_bytes
                self._stream.publish(events.PeerTooSlow(self._label, failure.bound, queued, failure.why))
            self._handler.end_lost(failure.why, departure, with_end_tag=False)
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
                while self._state.phase is not Phase.CLOSED:
                    try:
                        data, _ = await self._wire.receive()
                    except (trio.BrokenResourceError, trio.ClosedResourceError):
                        return
                    if not data:
                        self._state.advance(Trigger.INPUT_ENDED)
                    discarded += len(data)
                    if discarded > DISCARDED_AT_ONCE:
                        await trio.sleep(DISCARD_PAUSE)
