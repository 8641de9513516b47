"""A room: one game, from the first player that joins to the result.

Invariants: every decision is made synchronously, within one call. At most one move request is pending: while it is,
neither resuming nor stepping requests another move. A room that is over sends nothing more, and has no pending request.
Source: the sections Order, Time and Faults of the edition's specification, and the recordings.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final, NoReturn, Protocol, TypeAlias

from msgspec import Struct, field

from spielleiter.game.api import IllegalMoveError, IncompleteMoveError, Move, Outcome, Seat, State
from spielleiter.protocol.dialect import RoomWriter
from spielleiter.protocol.messages import (
    Cause,
    Departure,
    ErrorMessage,
    Joined,
    Left,
    Memento,
    MoveData,
    MoveRequest,
    Observed,
    Paused,
    Result,
    RoomData,
    RoomMessage,
    Score,
    UnreadableData,
    WelcomeMessage,
)
from spielleiter.protocol.texts import MoveRefusal
from spielleiter.protocol.thinking import Thinking
from spielleiter.server import events
from spielleiter.server.core.clock import (
    SHORTEST,
    START_TOLERANCE,
    Arrival,
    TimeLimits,
    Timer,
    TimerService,
    TokenBucket,
)
from spielleiter.server.core.error_packets import shortened
from spielleiter.server.core.policy import CancelWinner, Edition, TimeoutWinner
from spielleiter.server.errors import Fault, RequestError
from spielleiter.server.events import ThinkStats

RECHECK_INTERVAL: Final = 0.01  # seconds until the verdict is tried again if unread bytes have arrived
LONGEST_RECHECK: Final = 1.0  # seconds after the first check; after that, a peer that keeps sending is judged anyway
SOFT_CHECK_DELAY: Final = 0.05
"""Seconds between the soft limit and the check of the input. The kernel may have stamped bytes in time that it has not
made readable yet."""

_ANSWERS: Final = (MoveData, UnreadableData)  # a union would be made anew for every move

SentCallback: TypeAlias = Callable[[float], None]
"""Called with the instant at which a packet was handed to the kernel, in seconds."""


class Sink(Protocol):
    """The destination of a peer's packets; for a network connection this is its outbox. No call waits."""

    def send_nowait(self, packet: bytes, on_sent: SentCallback | None = None) -> None:
        """Queue one encoded packet; it is dropped silently if the stream has ended."""
        ...

    def end_nowait(self, *, with_end_tag: bool = True) -> None:
        """End the stream after everything that is queued; further calls do nothing."""
        ...

    def has_unread_input(self) -> bool:
        """Return whether bytes of the peer have arrived that have not been read or not been answered yet."""
        ...


class DedicatedPort:
    """A port that serves a single seat of a room.

    A peer that connects there can take this seat and play, and nothing else (`AT_DEDICATED_PORT` in
    `spielleiter.server.core.dispatch`). All its connections share the rate limits `packets` and `received` (in bytes);
    a sender that exceeds them is delayed, not refused. Contest programs send a few hundred bytes in one packet for each
    move.
    """

    def __init__(
        self, room: Room, seat: Seat, packets: TokenBucket | None = None, received: TokenBucket | None = None
    ) -> None:
        self.room = room
        self.seat = seat
        self.packets = packets or TokenBucket(500, 500)
        self.received = received or TokenBucket(256 * 1024, 512 * 1024)
        self.code = room.player_slots[seat].reservation
        """The reservation code of the seat. The seat itself forgets its code when it is taken."""


class Peer:
    """A connection, as lobby and rooms see it, until it has left. Peers are compared by identity.

    `label` is its name in the log, `address` its host and port; it is answered in the wire form of `edition`.
    `dedicated_port` is the port it connected to, if that port serves a single seat; None: it may make any request.
    `has_idle_timeout`: it may be disconnected because it sends nothing after its last game.
    """

    __slots__ = (
        "address",
        "dedicated_port",
        "edition",
        "has_delivery_timeout",
        "has_idle_timeout",
        "idle_timer",
        "is_admin",
        "is_edition_chosen",
        "label",
        "observed",
        "packets_received",
        "reads_packets",
        "rooms",
        "sink",
    )

    def __init__(
        self,
        label: str,
        sink: Sink,
        edition: Edition,
        dedicated_port: DedicatedPort | None = None,
        *,
        address: str = "",
        has_idle_timeout: bool = True,
    ) -> None:
        self.label = label
        self.address = address
        self.sink = sink
        self.edition = edition
        self.dedicated_port = dedicated_port
        self.reads_packets = True
        """False: its sink ignores the bytes, so an empty packet may be sent instead of a position."""
        self.has_delivery_timeout = True
        """False: its clock starts only when its sink reports a request as sent, however late that is."""
        self.has_idle_timeout = has_idle_timeout
        self.idle_timer: Timer | None = None
        """The timer that ends its stream if it is idle."""
        self.is_admin = False
        self.is_edition_chosen = False
        """Whether a join, joinPrepared or prepare has fixed its edition."""
        self.packets_received = 0
        self.rooms: dict[str, Room] = {}
        """The rooms in which it occupies a player slot, by id."""
        self.observed: dict[str, Room] = {}
        """The rooms that it observes, by id."""

    def __repr__(self) -> str:
        return f"<Peer {self.label}>"

    def send(self, packet: bytes, on_sent: SentCallback | None = None) -> None:
        """Queue one encoded packet."""
        self.sink.send_nowait(packet, on_sent)

    def end(self, *, with_end_tag: bool = True) -> None:
        """End the stream after everything that is queued."""
        self.sink.end_nowait(with_end_tag=with_end_tag)

    def stop_idle_timer(self) -> None:
        if self.idle_timer is not None:
            self.idle_timer.cancel()
            self.idle_timer = None


class PlayerSlot(Struct):
    """One of the two player slots of a room."""

    seat: Seat
    name: str
    reservation: str | None
    """The code that has not been used yet; None: anyone may take the slot, or it is occupied."""
    limits: TimeLimits
    """Those of its next move request."""
    peer: Peer | None = None
    address: str = ""
    """The host and port of the player that took the slot."""
    is_expected: bool = True
    """False until somebody takes a slot that was not prepared: it may remain without a player."""
    think_times: list[float] = field(default_factory=list)
    """The think time of every answered request in seconds, in order."""


class RoomHost(Protocol):
    """What a room needs from the lobby that owns it."""

    timers: TimerService
    publish: Callable[[events.ServerEvent], None]
    delivery_timeout: float
    """Seconds after which a move request counts as delivered, even if the player has not taken it."""

    def room_closed(self, room_id: str, offender: Peer | None) -> None:
        """Forget the room, which has sent its last packet.

        `offender` is the player whose move ended the game, if it is still to be sent a reply of its own.
        """
        ...


# -- the end of a game -----------------------------------------------------------------------------------------------


class Ending(Struct, frozen=True):
    """How a game ended; all values are by seat."""

    causes: tuple[Cause, Cause]
    reasons: tuple[str, str]
    first_parts: tuple[int, int]
    """The first part of each score: 2 for a win, 1 for a draw, 0 for a loss. The others are the points."""
    winners: tuple[Seat, ...]
    """No seat, one, or both, which is a draw."""

    @classmethod
    def by_rules(cls, outcome: Outcome, edition: Edition, names: tuple[str, str]) -> Ending:
        """Return the ending of a game that was played to its end."""
        winners = (0, 1) if outcome.winner is None else (outcome.winner,)
        return cls.won_by(winners, edition.dialect.texts.regular_reason(outcome, names))

    @classmethod
    def won_by(cls, winners: tuple[Seat, ...], reason: str = "") -> Ending:
        """Return the ending of a game that one player has won, or that is drawn if both are `winners`.

        Both players' scores get `reason`.
        """
        first_parts = (1, 1) if len(winners) > 1 else (2, 0) if winners == (0,) else (0, 2)
        return cls((Cause.REGULAR, Cause.REGULAR), (reason, reason), first_parts, winners)

    @classmethod
    def by_faults(
        cls,
        faults: Mapping[Seat, tuple[Cause, str]],
        seats: tuple[Seat, ...] = (0, 1),
        winners: tuple[Seat, ...] | None = None,
    ) -> Ending:
        """Return the ending of a game, started or not, of the players of `seats` because of `faults` by seat.

        A fault is its cause and the reason. The player without a fault has won, if there is one, regardless of the
        points; `winners` are named in the result instead of it.
        """
        faultless = tuple(seat for seat in seats if seat not in faults)
        first, second = (2 if seat in faultless else 0 for seat in (0, 1))
        one, two = (faults.get(seat, (Cause.REGULAR, "")) for seat in (0, 1))
        return cls((one[0], two[0]), (one[1], two[1]), (first, second), faultless if winners is None else winners)

    @classmethod
    def by_command(
        cls, state: State, edition: Edition, names: tuple[str, str], seats: tuple[Seat, ...] = (0, 1)
    ) -> Ending:
        """Return the ending of a game that an administrator cancelled in the position `state`.

        `seats` are those of the players.
        """
        winner = edition.policy.cancel_winner
        if winner is CancelWinner.BY_RULES:
            return cls.by_rules(standing(state), edition, names)
        leading = tuple(seat for seat in leaders(state) if seat in seats)
        return cls.cancelled(leading if winner is CancelWinner.LEADER else ())

    @classmethod
    def cancelled(cls, winners: tuple[Seat, ...]) -> Ending:
        """Return the ending of a cancelled game: both players score a loss; `winners` are only named in the result."""
        return cls((Cause.REGULAR, Cause.REGULAR), ("", ""), (0, 0), winners)

    def result(
        self, edition: Edition, state: State, names: tuple[str, str], seats: tuple[Seat, ...] = (0, 1)
    ) -> Result:
        """Return the result packet of a game that ended in the position `state`, with the scores of `seats`."""
        scores = []
        for seat in seats:
            points = state.points(seat)
            if edition.policy.zeroes_offenders and self.causes[seat] is not Cause.REGULAR:
                points = tuple(0 for _ in points)
            scores.append(Score(self.causes[seat], self.reasons[seat], (self.first_parts[seat], *points)))
        dialect = edition.dialect
        return Result(dialect.score_definition, tuple(scores), self.winners, names, dialect.player_details(state))


def leaders(state: State) -> tuple[Seat, ...]:
    """Return the seat with more points in this position, or both seats if the points are equal."""
    first, second = state.points(0), state.points(1)
    return (0, 1) if first == second else (0,) if first > second else (1,)


def standing(state: State) -> Outcome:
    """Return who would have won if the game ended in this position: by the rules, or by points if they do not say."""
    by_rules: Callable[[], Outcome] | None = getattr(state, "standing", None)
    if by_rules is not None:
        return by_rules()
    leading = leaders(state)
    return Outcome(leading[0] if len(leading) == 1 else None, "points")


# -- a move request --------------------------------------------------------------------------------------------------


class PendingRequest:
    """One move request to the player of `player_slot`, from the moment it is queued until its answer or its time limit.

    It measures the think time, from the moment it was handed to the kernel to the moment the answer's last byte reached
    this machine. If it cannot be handed over because the player does not read, the clock starts when it is queued
    (`spielleiter.server.net.outbox`). Where this cannot be told from a slow network, the clock starts at the latest
    some time after the request was queued (`note_queued`).

    The player's input is checked before the request is sent, when the clock starts (unless that is at once) and when a
    limit has passed: no verdict is made while bytes are unread, and if a check found nothing, bytes that come later
    cannot count as an answer in time, nor as sent before the request. Bytes of the player can delay the verdict by one
    second at most, and this delay is not reported as lag of the server's event loop.

    `on_expired` is called once if the hard limit passes without an answer: with the think time, the instant of the
    verdict and the lag of the server's event loop, all in seconds. After `cancel`, a request does nothing.
    """

    __slots__ = (
        "_had_input",
        "_is_closed",
        "_is_queued",
        "_on_expired",
        "_timer",
        "_timers",
        "limits",
        "player_slot",
        "started_at",
    )

    def __init__(
        self, timers: TimerService, player_slot: PlayerSlot, on_expired: Callable[[float, float, float], None]
    ) -> None:
        self._timers = timers
        self.player_slot = player_slot
        self.limits = player_slot.limits
        self._on_expired = on_expired
        self._timer: Timer | None = None
        self.started_at: float | None = None
        """The instant at which the clock was started; None until then."""
        self._is_closed = False
        """Whether the request was answered, has expired or was cancelled."""
        self._is_queued = False
        """Whether the kernel did not take the request at once."""
        self._had_input = self._has_unread_input()  # before the request is sent

    def note_queued(self, delivery_timeout: float | None) -> None:
        """Note that the request has been queued; this changes nothing if the kernel has taken it at once.

        The clock starts after `delivery_timeout` seconds at the latest (None: only when the kernel takes the request).
        """
        if self.started_at is None and not self._is_closed:
            self._is_queued = True
            if delivery_timeout is not None:
                self._timer = self._timers.call_after(delivery_timeout, self.start_clock)

    def start_clock(self, now: float) -> None:
        """Start the clock: the request was handed to the kernel at `now`, or should have been.

        Only the first call counts.
        """
        if self.started_at is not None or self._is_closed:
            return
        self.started_at = now
        if self._is_queued:  # otherwise, it has been checked just now
            self._has_unread_input()
        soft, hard = self.limits.soft_timeout, self.limits.hard_timeout
        if soft is not None and (hard is None or soft + SOFT_CHECK_DELAY < hard):
            self._call_at(now + soft + SOFT_CHECK_DELAY, self._soft_limit_passed)
        elif hard is not None:
            self._start_hard_limit(now + hard)

    def is_answered_by(self, arrival: Arrival) -> bool:
        """Return whether bytes that arrived then can be an answer; False if they came before the request was sent."""
        if self.started_at is None or not self._had_input:  # a stamp alone is not exact enough to blame anybody
            return True
        return arrival.instant >= self.started_at - START_TOLERANCE

    def elapsed(self, now: float) -> float | None:
        """Return the seconds from the start of the clock to `now`; None if it does not run."""
        return None if self.started_at is None or self._is_closed else max(SHORTEST, now - self.started_at)

    def stop_clock(self, now: float) -> float:
        """Close the request, whose answer arrived at `now`; return the think time in seconds, which the slot keeps.

        The think time is 0 if the answer came before the request was delivered.
        """
        think_time = self.elapsed(now) or 0.0
        self.cancel()
        self.player_slot.think_times.append(think_time)
        return think_time

    def cancel(self) -> None:
        """Close the request without an answer."""
        self._is_closed = True
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _has_unread_input(self) -> bool:
        """Return whether the player has unread input; if it has none, its wire remembers the instant of this check."""
        peer = self.player_slot.peer
        return peer is not None and peer.sink.has_unread_input()

    def _call_at(self, deadline: float, callback: Callable[[float], None]) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._timers.call_at(deadline, callback)

    def _soft_limit_passed(self, _now: float) -> None:
        self._has_unread_input()
        if self.started_at is not None and self.limits.hard_timeout is not None:
            self._start_hard_limit(self.started_at + self.limits.hard_timeout)

    def _start_hard_limit(self, deadline: float) -> None:
        self._call_at(deadline, lambda now: self._hard_limit_passed(now - deadline, now, now))

    def _hard_limit_passed(self, loop_lag: float, first_check: float, now: float) -> None:
        """End the request, unless bytes have arrived that this server has not read yet.

        The input is checked no matter how late the server itself is (the machine may have been suspended). `loop_lag`
        is the sum of the delays of the checks, in seconds. The time between the checks is not part of it: it is caused
        by the player, whose bytes keep coming or whose flood is being slowed down.
        """
        if self._has_unread_input() and now < first_check + LONGEST_RECHECK:
            due = now + RECHECK_INTERVAL
            self._call_at(due, lambda later: self._hard_limit_passed(loop_lag + later - due, first_check, later))
            return
        self._on_expired(self.stop_clock(now), now, max(0.0, loop_lag))


# -- the room --------------------------------------------------------------------------------------------------------


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
        self.observers: dict[Peer, None] = {}
        """In the order in which they arrived. They get a position before the players, and what ends a game after."""
        self.is_prepared = is_prepared
        self.is_paused = is_paused
        self.state = state
        self.phase = Phase.OPEN
        self.ply = 0
        self.record: list[RoomData] = []
        """The contents of the replay: every position once, errors, and the result."""
        self.moves: list[Move] = []
        """The moves that were played in this room, each of which led to the next position of the record."""
        self.thinking: dict[int, tuple[Seat, Thinking]] = {}
        """By the number of a move, from 0: what the program in that seat has said about it, where a match tells it."""
        self._host = host
        self._publish = host.publish
        self._texts = edition.dialect.texts
        self._writer = RoomWriter(edition.dialect, room_id)
        self._encoded_request: bytes | None = None
        self.pending: PendingRequest | None = None
        """The move request that has not been answered yet."""

    # -- players and observers --------------------------------------------------------------------------------------

    @property
    def names(self) -> tuple[str, str]:
        return self.player_slots[0].name, self.player_slots[1].name

    @property
    def addresses(self) -> tuple[str, str]:
        """The hosts and ports of those who have taken a seat, also of those who have left."""
        return self.player_slots[0].address, self.player_slots[1].address

    @property
    def players(self) -> list[Peer]:
        """The peers that occupy a player slot, in seat order."""
        return [player_slot.peer for player_slot in self.player_slots if player_slot.peer is not None]

    def slot_of(self, peer: Peer) -> PlayerSlot | None:
        """Return the slot that `peer` occupies, if any."""
        for player_slot in self.player_slots:
            if player_slot.peer is peer:
                return player_slot
        return None

    def free_slot(self) -> PlayerSlot | None:
        """Return a slot that anyone may take; there is none unless the room is open."""
        if self.phase is Phase.OPEN:
            for player_slot in self.player_slots:
                if player_slot.peer is None and player_slot.reservation is None:
                    return player_slot
        return None

    def add_player(self, peer: Peer, player_slot: PlayerSlot) -> None:
        """Let `peer` occupy `player_slot`; the game starts when no slot is free any more."""
        player_slot.peer = peer
        player_slot.address = peer.address
        player_slot.reservation = None
        player_slot.is_expected = True
        self._publish(events.PlayerJoined(self.id, peer.label, player_slot.seat, player_slot.name))
        players = self.players
        is_complete = len(players) == len(self.player_slots)
        joined = self.edition.dialect.encode(Joined(self.id))
        if not (self.is_prepared and self.edition.policy.joins_reserved_together):
            peer.send(joined)
        elif is_complete:
            for each in players:
                each.send(joined)
        if is_complete:
            self.phase = Phase.RUNNING
            self._publish(events.GameStarted(self.id, self.names, self.is_paused, self.state.turn))
            for seat, player in enumerate(players):
                player.send(self._writer.encode(WelcomeMessage(seat)))
            self._continue(self._record_position())

    def add_observer(self, peer: Peer) -> None:
        """Let `peer` observe from now on; a repeated call only sends another confirmation."""
        is_new = peer not in self.observers
        self.observers[peer] = None
        peer.send(self.edition.dialect.encode(Observed(self.id)))
        if not is_new:
            return
        self._publish(events.ObserverJoined(self.id, peer.label))
        if self.phase is Phase.RUNNING and self.edition.policy.observing_sends_state:
            peer.send(self._writer.encode(Memento(self.state, self.names)))

    def _send(self, peers: Collection[Peer], data: RoomData) -> None:
        """Send the same bytes to all `peers`; nothing is sent if none of them reads."""
        packet = self._encode_for(peers, data)
        if packet:
            for peer in peers:
                peer.send(packet)

    def _encode_for(self, peers: Collection[Peer], data: RoomData) -> bytes:
        """Return the packet for `peers`; nothing is encoded without a reader."""
        for peer in peers:
            if peer.reads_packets:
                return self._writer.encode(data)
        return b""

    # -- playing ----------------------------------------------------------------------------------------------------

    def move(self, peer: Peer, message: RoomMessage, arrival: Arrival, now: float) -> None:
        """Handle a room packet of a player: play the move, or end the game because of it.

        `arrival` says when the packet arrived, `now` is the present instant in seconds. Raises RequestError if the
        sender is not a player of this room, if the packet is not a move, and for moves after which the edition ends the
        sender's stream.
        """
        data = message.data
        if not isinstance(data, _ANSWERS):
            raise RequestError(Fault.NOT_A_MOVE, self._texts.non_move(shortened(message)))
        player_slot = self.slot_of(peer)
        if player_slot is None:
            raise RequestError(Fault.NOT_A_MEMBER, self._texts.not_member(self.id))
        pending = self.pending
        if pending is None or pending.player_slot is not player_slot or not pending.is_answered_by(arrival):
            on_turn = self.state.seat_on_turn
            active = None if self.phase is Phase.OPEN else on_turn
            refusal = self._texts.out_of_turn(active, on_turn, player_slot.seat, self.names, shortened(data))
            self._publish_refused(player_slot, Fault.NOT_YOUR_TURN, "not on turn")
            peer.send(self._writer.encode(ErrorMessage(refusal.error, refusal.shown)))
            # depending on the edition, the sender is disconnected or loses the game
            cause = self.edition.policy.out_of_turn_cause
            if cause is Cause.LEFT:
                self._disconnect(Fault.NOT_YOUR_TURN, refusal)
            self._end(self._lost_by(player_slot.seat, cause, refusal.reason))
            return
        self.pending = None
        think_time = pending.stop_clock(arrival.instant)
        is_hard = pending.limits.is_over_hard_limit(think_time)
        if is_hard or pending.limits.is_over_soft_limit(think_time):  # the game is over, regardless of the move
            self._end_too_slow(pending, think_time, arrival, max(0.0, now - arrival.instant), is_hard=is_hard)
        elif isinstance(data, UnreadableData):
            refusal = self._texts.unreadable(player_slot.name, shortened(data))
            self._refuse(peer, player_slot, Fault.UNREADABLE_MOVE, refusal)
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
        think_time, turn = player_slot.think_times[-1], self.state.turn
        self._publish(
            events.MovePlayed(
                self.id, player_slot.seat, player_slot.name, self.ply, turn, data.move, think_time, data.hints
            )
        )
        self.ply += 1
        self.moves.append(data.move)
        position = self._record_position(data.hints)
        outcome = self.state.outcome()
        if outcome is not None:
            self._send((*self.observers, *self.players), position)
            self._end(Ending.by_rules(outcome, self.edition, self.names))
        else:
            self._continue(position)

    def _record_position(self, hints: tuple[str, ...] = ()) -> Memento:
        """Record the position with the move's hints; return it without them, as it is sent."""
        position = Memento(self.state, self.names)
        self.record.append(Memento(self.state, self.names, hints) if hints else position)
        return position

    def _continue(self, position: Memento) -> None:
        """Send the position and request the next move; a paused game shows the position to observers only."""
        if self.is_paused:
            self._send(self.observers, position)
        else:
            self._request_move(position)

    def _request_move(self, position: Memento) -> None:
        """Send the position to everybody; the side to move gets it last, with the move request in the same write.

        Writes dominate the cost of a move, both here and at the receiver, which each write wakes up. The bytes of the
        request are always the same, so they are encoded once.
        """
        player_slot = self.player_slots[self.state.seat_on_turn]
        player, opponent = player_slot.peer, self.player_slots[1 - player_slot.seat].peer
        assert player is not None, "a player that leaves ends the game"
        assert opponent is not None, "a player that leaves ends the game"
        self.pending = pending = PendingRequest(self._host.timers, player_slot, self._request_expired)
        if self._encoded_request is None:
            self._encoded_request = self._writer.encode(MoveRequest())
        packet = self._encode_for((player, opponent, *self.observers), position)
        for observer in self.observers:
            observer.send(packet)
        opponent.send(packet)
        player.send(packet + self._encoded_request, pending.start_clock)
        if pending.started_at is None:
            pending.note_queued(self._host.delivery_timeout if player.has_delivery_timeout else None)

    # -- time limits ------------------------------------------------------------------------------------------------

    def _request_expired(self, think_time: float, now: float, loop_lag: float) -> None:
        pending, self.pending = self.pending, None
        assert pending is not None, "a request that is no longer pending is cancelled"
        self._end_too_slow(pending, think_time, Arrival(now), loop_lag, is_hard=True)

    def _end_too_slow(
        self, pending: PendingRequest, think_time: float, arrival: Arrival, loop_lag: float, *, is_hard: bool
    ) -> None:
        policy, texts, player_slot, limits = self.edition.policy, self._texts, pending.player_slot, pending.limits
        limit = limits.hard_timeout if is_hard else limits.soft_timeout
        assert limit is not None
        source = arrival.source.value
        where = (self.id, player_slot.seat, player_slot.name, self.ply, self.state.turn)
        self._publish(events.TimeVerdict(*where, think_time, limit, is_hard, source, loop_lag))
        cause = policy.hard_timeout_cause if is_hard else Cause.SOFT_TIMEOUT
        reason = texts.hard_timeout_reason(limit) if is_hard else texts.soft_timeout_reason(limit)
        winners: tuple[Seat, ...] = ()
        if policy.timeout_winner is TimeoutWinner.OPPONENT:
            winners = (1 - player_slot.seat,)
        elif policy.timeout_winner is TimeoutWinner.LEADER:
            winners = leaders(self.state)
        self._end(Ending.by_faults({player_slot.seat: (cause, reason)}, winners=winners))

    # -- faults of players ------------------------------------------------------------------------------------------

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
        peer.send(self._writer.encode(ErrorMessage(refusal.error, refusal.shown)))
        for_observers = ErrorMessage(refusal.observer_error, refusal.shown)
        self.record.append(for_observers)
        self._send(self.observers, for_observers)
        ending = Ending.by_faults({player_slot.seat: (Cause.RULE_VIOLATION, refusal.reason)})
        if self.edition.policy.keeps_violators:
            self._end(ending)
            return
        self._end(ending, offender=peer)
        self._disconnect(fault, refusal)

    def _disconnect(self, fault: Fault, refusal: MoveRefusal) -> NoReturn:
        """Raise the error that makes the session end the sender's stream."""
        raise RequestError(fault, refusal.packet or refusal.reason, needs_reply=refusal.packet is not None)

    def _publish_refused(self, player_slot: PlayerSlot, fault: Fault, text: str) -> None:
        where = (self.id, player_slot.seat, player_slot.name, self.ply, self.state.turn)
        self._publish(events.MoveRefused(*where, fault, text))

    # -- commands of administrators ---------------------------------------------------------------------------------

    def pause(self, peer: Peer, *, is_paused: bool) -> None:
        """Stop or resume requesting moves; a pending request is not affected."""
        if is_paused == self.is_paused:
            why = "the game is paused already" if is_paused else "the game is not paused"
            self._publish(events.CommandIgnored(peer.label, self.id, "pause", why))
            return
        self.is_paused = is_paused
        self._publish(events.PauseChanged(self.id, is_paused))
        told = self.observers if self.edition.dialect.has_packet(Paused) else {}
        sends_first = self.edition.policy.tells_resuming_first
        if sends_first:
            self._send(told, Paused(is_paused))
        if not is_paused and self.phase is Phase.RUNNING and self.pending is None:
            self._request_move(Memento(self.state, self.names))
        if not sends_first:
            self._send(told, Paused(is_paused))

    def step(self, peer: Peer) -> None:
        """Request one move of a paused game."""
        if self.phase is not Phase.RUNNING:
            why = "the game has not started"
        elif not self.is_paused:
            why = "the game is not paused"
        elif self.pending is not None:
            why = "a move request is pending"
        else:
            self._publish(events.GameStepped(self.id))
            self._request_move(Memento(self.state, self.names))
            return
        self._publish(events.CommandIgnored(peer.label, self.id, "step", why))

    def cancel(self) -> None:
        """End the game, started or not, without a fault of any player."""
        missing, seats = self._missing(), self._scored_seats()
        if missing:
            self._end(Ending.by_faults(missing, seats))
        else:
            self._end(Ending.by_command(self.state, self.edition, self.names, seats))

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
        return Ending.by_faults({**self._missing(), seat: (cause, reason)}, self._scored_seats())

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
        if self.pending is not None:
            self.pending.cancel()
            self.pending = None
        result = ending.result(self.edition, self.state, self.names, self._scored_seats())
        if has_started:  # published before the result is sent, so that every known result is also recorded
            think_times = tuple(self.player_slots[0].think_times), tuple(self.player_slots[1].think_times)
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
                    self.addresses,
                )
            )
        excluded = None if self.edition.policy.tells_violators_the_result else offender
        recipients = [peer for peer in (*self.players, *self.observers) if peer is not excluded]
        self._send(recipients, result)
        left = self.edition.dialect.encode(Left(self.id))
        for peer in recipients:
            peer.send(left)
        self._publish(events.RoomClosed(self.id))
        self._host.room_closed(self.id, offender)
