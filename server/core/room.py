"""A room: one game, from the first player that joins to the result.

Invariants: every decision is made synchronously, within one call. At most one move request is pending: while it is,
neither resuming nor stepping requests another move. A room that is over sends nothing more, and its clocks are stopped.
Source: the sections Order, Time and Faults of the edition's specification, and the recordings.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from functools import partial
from typing import NoReturn

from spielleiter.game.api import IllegalMoveError, IncompleteMoveError, Seat, State
from spielleiter.protocol.messages import (
    Cause,
    Departure,
    ErrorMessage,
    Joined,
    Memento,
    MoveData,
    Observed,
    Paused,
    RoomData,
    RoomMessage,
    UnreadableData,
)
from spielleiter.protocol.texts import MoveRefusal
from spielleiter.server import events
from spielleiter.server.core.broadcaster import Broadcaster
from spielleiter.server.core.clock import Arrival
from spielleiter.server.core.ending import Ending, leaders
from spielleiter.server.core.error_packets import shortened
from spielleiter.server.core.peer import Peer
from spielleiter.server.core.pending_request import PendingRequest
from spielleiter.server.core.player_slot import PlayerSlot
from spielleiter.server.core.policy import Edition, TimeoutWinner
from spielleiter.server.core.room_host import RoomHost
from spielleiter.server.errors import Fault, RequestError
from spielleiter.server.think_stats import ThinkStats


class Phase(enum.Enum):
    """The phases of a game. A room starts as OPEN, and OVER is final."""

    OPEN = "open"  # a player is missing
    RUNNING = "running"
    OVER = "over"


class Room:
    """A game with its two player slots and its observers.

    Methods raise RequestError for faults of the sender, after the packets for all other peers have been sent.
    """

    def __init__(
        self,
        room_id: str,
        edition: Edition,
        host: RoomHost,
        state: State,
        player_slots: Sequence[PlayerSlot],
        *,
        is_prepared: bool,
        is_paused: bool,
    ) -> None:
        self.id = room_id
        self.edition = edition
        self.player_slots = tuple(player_slots)
        self.is_prepared = is_prepared
        self.is_paused = is_paused
        self.state = state
        self.phase = Phase.OPEN
        self._broadcaster = Broadcaster(room_id, edition.dialect, self.player_slots)
        self.observers = self._broadcaster.observers
        self.ply = 0
        self._texts = edition.dialect.texts
        self.record: list[RoomData] = []
        """The contents of the replay: every position once, errors, and the result."""
        self._host = host
        self._pending: PendingRequest | None = None

    # -- players and observers --------------------------------------------------------------------------------------

    @property
    def names(self) -> tuple[str, str]:
        return self.player_slots[0].name, self.player_slots[1].name

    @property
    def player_count(self) -> int:
        return sum(player_slot.peer is not None for player_slot in self.player_slots)

    def slot_of(self, peer: Peer) -> PlayerSlot | None:
        """Return the slot that `peer` occupies, if any."""
        for player_slot in self.player_slots:
            if player_slot.peer is peer:
                return player_slot
        return None

    def free_slot(self) -> PlayerSlot | None:
        """Return a slot that anyone may take; there is none unless the room is open."""
        if self.phase is not Phase.OPEN:
            return None
        return next(
            (
                player_slot
                for player_slot in self.player_slots
                if player_slot.peer is None and player_slot.reservation is None
            ),
            None,
        )

    def add_player(self, peer: Peer, player_slot: PlayerSlot) -> None:
        """Let `peer` occupy `player_slot`; the game starts when no slot is free any more."""
        player_slot.peer = peer
        player_slot.reservation = None
        player_slot.is_expected = True
        self._publish(events.PlayerJoined(self.id, peer.label, player_slot.seat, player_slot.name))
        is_complete = self.player_count == len(self.player_slots)
        if not (self.is_prepared and self.edition.policy.joins_reserved_together):
            peer.send(self.edition.dialect.encode(Joined(self.id)))
        elif is_complete:
            self._broadcaster.send_joined()
        if is_complete:
            self._start()

    def add_observer(self, peer: Peer) -> None:
        """Let `peer` observe from now on; a repeated call only sends another confirmation."""
        is_new = peer not in self.observers
        self.observers[peer] = None
        peer.send(self.edition.dialect.encode(Observed(self.id)))
        if not is_new:
            return
        self._publish(events.ObserverJoined(self.id, peer.label))
        if self.phase is Phase.RUNNING and self.edition.policy.observing_sends_state:
            self._broadcaster.send(peer, self._position())

    # -- playing ----------------------------------------------------------------------------------------------------

    def _start(self) -> None:
        self.phase = Phase.RUNNING
        self._publish(events.GameStarted(self.id, self.names, self.is_paused, self.state.turn))
        self._broadcaster.send_welcome()
        self._continue(self._record_position())

    def move(self, peer: Peer, message: RoomMessage, arrival: Arrival, now: float) -> None:
        """Handle a room packet of a player: play the move, or end the game because of it.

        `arrival` says when the packet arrived, `now` is the present instant in seconds. Raises RequestError if the
        sender is not a player of this room, if the packet is not a move, and for moves after which the edition ends the
        sender's stream.
        """
        data = message.data
        if not isinstance(data, MoveData | UnreadableData):
            raise RequestError(Fault.NOT_A_MOVE, self._texts.non_move(shortened(message)))
        player_slot = self.slot_of(peer)
        if player_slot is None:
            raise RequestError(Fault.NOT_A_MEMBER, self._texts.not_member(self.id))
        pending = self._pending
        if pending is None or pending.seat != player_slot.seat or not pending.is_answered_by(arrival):
            self._refuse_out_of_turn(peer, player_slot, shortened(data))
        elif self._is_too_slow(pending, player_slot, arrival, now):
            pass  # the game is over, regardless of the move
        elif isinstance(data, UnreadableData):
            self._refuse(
                peer, player_slot, Fault.UNREADABLE_MOVE, self._texts.unreadable(player_slot.name, shortened(data))
            )
        else:
            self._play(peer, player_slot, data)

    def _play(self, peer: Peer, player_slot: PlayerSlot, data: MoveData) -> None:
        try:
            self.state = self.state.play(data.move)
        except IllegalMoveError as error:
            refusal = self._texts.illegal(player_slot.name, error.mistake, shortened(data.move), self.state)
            self._refuse(peer, player_slot, Fault.ILLEGAL_MOVE, refusal, data.problem)
            return
        except IncompleteMoveError:
            self._publish_refused(player_slot, Fault.INCOMPLETE_MOVE, data.problem or "")
            raise RequestError(Fault.INCOMPLETE_MOVE, f"The move is incomplete: {data.problem}") from None
        think_time, turn = player_slot.clock.think_times[-1], self.state.turn
        self._publish(
            events.MovePlayed(
                self.id, player_slot.seat, player_slot.name, self.ply, turn, data.move, think_time, data.hints
            )
        )
        self.ply += 1
        position = self._record_position(data.hints)
        outcome = self.state.outcome()
        if outcome is not None:
            self._broadcaster.send_position(position, to_players=True)
            self._end(Ending.by_rules(outcome, self._texts.regular_reason(outcome)))
        else:
            self._continue(position)

    def _continue(self, position: Memento) -> None:
        """Send the position and request the next move; a paused game shows the position to observers only."""
        if self.is_paused:
            self._broadcaster.send_position(position, to_players=False)
        else:
            self._request_move(position)

    def _request_move(self, position: Memento) -> None:
        """Send the position to everybody, and the move request to the side to move."""
        player_slot = self.player_slots[self.state.seat_on_turn]
        assert player_slot.peer is not None, "a player that leaves ends the game"
        self._pending = pending = PendingRequest(self._host, player_slot, partial(self._hard_limit_passed, player_slot))
        self._broadcaster.request_move(player_slot.peer, position, pending.start_clock)
        if player_slot.peer.has_delivery_timeout:
            pending.start_delivery_timeout()

    # -- time limits ------------------------------------------------------------------------------------------------

    def _is_too_slow(self, pending: PendingRequest, player_slot: PlayerSlot, arrival: Arrival, now: float) -> bool:
        """Stop the clock of the pending request; end the game and return True if the answer was too slow."""
        self._pending = None
        clock = player_slot.clock
        think_time = pending.stop_clock(arrival)
        if clock.is_over_hard_limit(think_time):
            self._end_too_slow(player_slot, think_time, arrival, max(0.0, now - arrival.instant), is_hard=True)
        elif clock.is_over_soft_limit(think_time):
            self._end_too_slow(player_slot, think_time, arrival, max(0.0, now - arrival.instant), is_hard=False)
        return self.phase is Phase.OVER

    def _hard_limit_passed(self, player_slot: PlayerSlot, think_time: float, now: float, lateness: float) -> None:
        self._pending = None
        self._end_too_slow(player_slot, think_time, Arrival(now), lateness, is_hard=True)

    def _end_too_slow(
        self, player_slot: PlayerSlot, think_time: float, arrival: Arrival, loop_lag: float, *, is_hard: bool
    ) -> None:
        policy, texts, limits = self.edition.policy, self._texts, player_slot.clock.limits
        limit = limits.hard_timeout if is_hard else limits.soft_timeout
        assert limit is not None
        source = arrival.source.value
        where = (self.id, player_slot.seat, player_slot.name, self.ply, self.state.turn)
        self._publish(events.TimeVerdict(*where, think_time, limit, is_hard, source, loop_lag))
        cause = policy.hard_timeout_cause if is_hard else Cause.SOFT_TIMEOUT
        reason = texts.hard_timeout_reason(limit) if is_hard else texts.soft_timeout_reason(limit)
        winners = (1 - player_slot.seat,) if policy.timeout_winner is TimeoutWinner.OPPONENT else leaders(self.state)
        self._end(Ending.against(player_slot.seat, cause, reason, winners))

    def _cancel_request(self) -> None:
        if self._pending is not None:
            self._pending.cancel()
            self._pending = None

    # -- faults of players ------------------------------------------------------------------------------------------

    def _refuse_out_of_turn(self, peer: Peer, player_slot: PlayerSlot, data: MoveData | UnreadableData) -> None:
        """Send the error; then, depending on the edition, disconnect the sender or let it lose the game."""
        on_turn = self.state.seat_on_turn
        active = None if self.phase is Phase.OPEN else on_turn
        refusal = self._texts.out_of_turn(active, on_turn, player_slot.seat, self.names, data)
        self._publish_refused(player_slot, Fault.NOT_YOUR_TURN, "not on turn")
        self._broadcaster.send(peer, ErrorMessage(refusal.error, refusal.shown))
        cause = self.edition.policy.out_of_turn_cause
        if cause is not Cause.LEFT:
            self._end(self._lost_by(player_slot.seat, cause, refusal.reason))
        else:
            self._disconnect(Fault.NOT_YOUR_TURN, refusal)

    def _refuse(
        self, peer: Peer, player_slot: PlayerSlot, fault: Fault, refusal: MoveRefusal, problem: str | None = None
    ) -> None:
        """Send the sender and the observers an error, and end the game because of the move.

        `problem` is what the move lacks; the log adds it. The edition's answer does not depend on it.
        """
        if problem is None:
            self._publish_refused(player_slot, fault, refusal.reason)
        else:
            self._publish_refused(player_slot, Fault.INCOMPLETE_MOVE, f"{refusal.reason} ({problem})")
        self._broadcaster.send(peer, ErrorMessage(refusal.error, refusal.shown))
        for_observers = ErrorMessage(refusal.observer_error, refusal.shown)
        self.record.append(for_observers)
        self._broadcaster.send_to_observers(for_observers)
        ending = Ending.against(player_slot.seat, Cause.RULE_VIOLATION, refusal.reason, (1 - player_slot.seat,))
        if self.edition.policy.keeps_violators:
            self._end(ending)
            return
        self._end(ending, offender=peer)
        self._disconnect(fault, refusal)

    def _disconnect(self, fault: Fault, refusal: MoveRefusal) -> NoReturn:
        """Raise the error that makes the session end the sender's stream."""
        raise RequestError(fault, refusal.packet or refusal.reason, is_answered=refusal.packet is not None)

    def _publish_refused(self, player_slot: PlayerSlot, fault: Fault, text: str) -> None:
        self._publish(
            events.MoveRefused(self.id, player_slot.seat, player_slot.name, self.ply, self.state.turn, fault, text)
        )

    # -- commands of administrators ---------------------------------------------------------------------------------

    def pause(self, peer: Peer, *, is_paused: bool) -> None:
        """Stop or resume requesting moves; a pending request is not affected."""
        if is_paused == self.is_paused:
            why = "the game is paused already" if is_paused else "the game is not paused"
            self._publish_ignored(peer, "pause", why)
            return
        self.is_paused = is_paused
        self._publish(events.PauseChanged(self.id, is_paused))
        sends_first = self.edition.policy.tells_resuming_first
        if sends_first:
            self._broadcaster.send_to_observers(Paused(is_paused))
        if not is_paused and self.phase is Phase.RUNNING and self._pending is None:
            self._request_move(self._position())
        if not sends_first:
            self._broadcaster.send_to_observers(Paused(is_paused))

    def step(self, peer: Peer) -> None:
        """Request one move of a paused game."""
        if self.phase is not Phase.RUNNING:
            self._publish_ignored(peer, "step", "the game has not started")
        elif not self.is_paused:
            self._publish_ignored(peer, "step", "the game is not paused")
        elif self._pending is not None:
            self._publish_ignored(peer, "step", "a move request is pending")
        else:
            self._publish(events.GameStepped(self.id))
            self._request_move(self._position())

    def cancel(self) -> None:
        """End the game, started or not, without a fault of any player."""
        missing, seats = self._missing(), self._scored_seats()
        if missing:
            self._end(Ending.by_faults(missing, seats))
        else:
            self._end(Ending.by_command(self.edition.policy.cancel_winner, self.state, seats))

    def _publish_ignored(self, peer: Peer, command: str, why: str) -> None:
        self._publish(events.CommandIgnored(peer.label, self.id, command, why))

    # -- the end ----------------------------------------------------------------------------------------------------

    def leave(self, peer: Peer, departure: Departure = Departure.UNKNOWN) -> None:
        """Remove `peer`, which has left or counts as having left; the game ends if it was a player."""
        self.observers.pop(peer, None)
        player_slot = self.slot_of(peer)
        if player_slot is None:
            return
        self._publish(events.PlayerLeft(self.id, player_slot.seat, player_slot.name))
        player_slot.peer = None
        self._end(self._lost_by(player_slot.seat, Cause.LEFT, self._texts.departure_reason(departure)))

    def _lost_by(self, seat: Seat, cause: Cause, reason: str) -> Ending:
        """Return the ending of a game, started or not, that the player of `seat` has lost by a fault."""
        missing, seats = self._missing(), self._scored_seats()
        if missing or 1 - seat not in seats:
            return Ending.by_faults({**missing, seat: (cause, reason)}, seats)
        return Ending.against(seat, cause, reason, (1 - seat,))

    def _missing(self) -> dict[Seat, tuple[Cause, str]]:
        """Return the faults of players who have not come: in some editions they count as having left."""
        if self.phase is not Phase.OPEN or not self.edition.policy.absent_players_left:
            return {}
        fault = Cause.LEFT, self._texts.departure_reason(Departure.NOT_CONNECTED)
        return {slot.seat: fault for slot in self.player_slots if slot.is_expected and slot.peer is None}

    def _scored_seats(self) -> tuple[Seat, ...]:
        """Return the seats that have a score in the result."""
        is_scored = not self.edition.policy.scores_only_expected
        return tuple(slot.seat for slot in self.player_slots if is_scored or slot.is_expected)

    def _end(self, ending: Ending, offender: Peer | None = None) -> None:
        has_started = self.phase is Phase.RUNNING
        self.phase = Phase.OVER
        self._cancel_request()
        for player_slot in self.player_slots:
            player_slot.clock.abandon()
        policy, dialect = self.edition.policy, self.edition.dialect
        points = ending.points(self.state, zeroes_offenders=policy.zeroes_offenders)
        details = dialect.player_details(self.state)
        result = ending.result(dialect.score_definition, points, self.names, details, self._scored_seats())
        if has_started:  # published before the result is sent, so that every known result is also recorded
            think_times = tuple(self.player_slots[0].clock.think_times), tuple(self.player_slots[1].clock.think_times)
            self.record.append(result)
            self._publish(
                events.GameEnded(
                    self.id,
                    self.edition.name,
                    self.names,
                    tuple(score.cause.value for score in result.scores),
                    tuple(score.reason for score in result.scores),
                    tuple(score.parts for score in result.scores),
                    result.winners,
                    self.ply,
                    (ThinkStats.of(think_times[0]), ThinkStats.of(think_times[1])),
                    think_times,
                    result,
                    self.record,
                )
            )
        excluded = None if policy.tells_violators_the_result else offender
        self._broadcaster.send_end(result, excluded)
        self._publish(events.RoomClosed(self.id))
        self._host.room_closed(self.id, offender)

    # -- positions and events ---------------------------------------------------------------------------------------

    def _position(self) -> Memento:
        return Memento(self.state, self.names)

    def _record_position(self, hints: tuple[str, ...] = ()) -> Memento:
        """Record the position with the move's hints; return it without them, as it is sent."""
        position = self._position()
        self.record.append(Memento(self.state, self.names, hints) if hints else position)
        return position

    def _publish(self, event: events.ServerEvent) -> None:
        self._host.publish(event)
