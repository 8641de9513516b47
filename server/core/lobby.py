"""The lobby: connected peers, rooms, reservations and administrators.

Invariants: the lobby knows which peer is in which rooms (`Member`). Every request is decided synchronously, within one
call. A request that cannot be granted raises RequestError and changes nothing. When a room is over, the lobby keeps
nothing of it: no room, no reservation, no membership.
"""

from __future__ import annotations

import hmac
import random
import secrets
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from spielleiter.common.text import count_text
from spielleiter.game.api import Seat, State
from spielleiter.protocol.dialect import Dialect
from spielleiter.protocol.messages import (
    REQUEST_TYPES,
    AuthenticateRequest,
    Departure,
    JoinedGameRoom,
    JoinPreparedRequest,
    JoinRequest,
    JoinRoomRequest,
    RoomMessage,
    Slot,
)
from spielleiter.server import events
from spielleiter.server.core.clock import UNLIMITED, Arrival, MoveClock, TimeLimits, Timer, TimerService, TokenBucket
from spielleiter.server.core.policy import Edition, Policy
from spielleiter.server.core.room import Peer, Phase, PlayerSlot, Room
from spielleiter.server.core.scores import ScoreSheet
from spielleiter.server.errors import Fault, RequestError

NewId: TypeAlias = Callable[[], str]
NewRng: TypeAlias = Callable[[], random.Random]


def id_source(seed: int | None, *, seeds_ids: bool) -> NewId:
    """Return the function that creates ids and reservation codes; it uses the seed only if `seeds_ids`."""
    if seed is None or not seeds_ids:
        return secret_id
    ids = random.Random(f"{seed} ids")
    return lambda: str(uuid.UUID(int=ids.getrandbits(128), version=4))


def secret_id() -> str:
    """Return an id that cannot be guessed, not even from other ids."""
    return str(uuid.UUID(bytes=secrets.token_bytes(16), version=4))


def start_source(seed: int | None) -> NewRng:
    """Return the function that creates a generator for each game; without a seed, every run is different."""
    if seed is None:
        return random.SystemRandom
    games = random.Random(f"{seed} games")
    return lambda: random.Random(games.getrandbits(64))


SEATS: Final = 2
ANYBODY: Final = Slot("", can_timeout=True, is_reserved=False)
"""The second slot of a game that was prepared with one."""
NO_ADMINS: Final = (
    "this server can be reached from elsewhere and has the well-known password: choose another one (--password)"
)
"""Why a server that still has the default password accepts no administrators; part of the reply and of the log."""


@dataclass(frozen=True, slots=True)
class LobbySettings:
    """The settings of `spielleiter.server.core.lobby.Lobby` and its rooms; times are in seconds."""

    password: str | None = field(repr=False)
    """None: nobody can become an administrator."""
    limits: TimeLimits
    starts_paused: bool = False
    """Whether games opened by `join` start paused."""
    rooms_waiting: int = 1024
    seats_per_connection: int = 3
    """Low enough that the connections of one address cannot occupy all rooms that may wait."""
    observers_per_room: int = 64
    reservation_timeout: float = 600.0
    idle_timeout: float = 60.0
    delivery_timeout: float = 1.0
    """Seconds after which a move request counts as delivered, even if the player has not taken it."""


@dataclass(frozen=True, slots=True)
class DedicatedPort:
    """The port of one seat. Contest programs send a few hundred bytes in one packet for each move."""

    room: Room
    seat: Seat
    packets: TokenBucket = field(default_factory=lambda: TokenBucket(500, 500))
    """The packet rate limit, in packets."""
    received: TokenBucket = field(default_factory=lambda: TokenBucket(256 * 1024, 512 * 1024))
    """The data rate limit, in bytes."""
    code: str | None = field(init=False)
    """The reservation code of the seat. The seat itself forgets its code when it is taken."""

    def __post_init__(self) -> None:
        """Remember the code."""
        object.__setattr__(self, "code", self.room.player_slots[self.seat].reservation)


class Member:
    """A peer in the lobby. Members are compared by identity."""

    __slots__ = (
        "dedicated_port",
        "has_idle_timeout",
        "is_admin",
        "is_edition_chosen",
        "observed",
        "packets_received",
        "peer",
        "rooms",
    )

    def __init__(
        self, peer: Peer, dedicated_port: DedicatedPort | None = None, *, has_idle_timeout: bool = True
    ) -> None:
        self.peer = peer
        self.dedicated_port = dedicated_port
        """The port it connected to, if that port serves a single seat; None: it may make any request."""
        self.has_idle_timeout = has_idle_timeout
        """Whether it may be disconnected because it sends nothing after its last game."""
        self.is_admin = False
        self.is_edition_chosen = False
        """Whether a join, joinPrepared or prepare has fixed the peer's edition."""
        self.packets_received = 0
        self.rooms: dict[str, Room] = {}
        """The rooms in which it occupies a player slot, by id."""
        self.observed: dict[str, Room] = {}
        """The rooms that it observes, by id."""

    def __repr__(self) -> str:
        return f"<Member {self.peer.label}>"


class IdleTimeouts:
    """The running idle timeouts, one for each member that has one."""

    def __init__(self, timers: TimerService) -> None:
        self._timers = timers
        self._running: dict[Member, Timer] = {}

    def start(self, member: Member, timeout: float) -> None:
        """End the stream of `member` unless it sends a packet or plays again within `timeout` seconds.

        Replaces the timeout that is running for `member`, if any.
        """
        packets_before = member.packets_received
        self.cancel(member)
        self._running[member] = self._timers.call_after(timeout, lambda _: self._end_if_idle(member, packets_before))

    def cancel(self, member: Member) -> None:
        """Cancel the timeout of `member`, if one is running."""
        timer = self._running.pop(member, None)
        if timer is not None:
            timer.cancel()

    def _end_if_idle(self, member: Member, packets_before: int) -> None:
        del self._running[member]
        if member.packets_received == packets_before and not member.rooms:
            member.peer.end()


class Lobby:
    """Handles the requests of all peers.

    `editions` maps gameTypes to editions; `default_edition` is used for a `join` without a gameType. `starting_states`,
    by edition name, are the positions of games that do not start from the beginning. `new_id` and `new_rng` are the
    only sources of randomness. `report` returns the server's status for administrators.
    """

    def __init__(
        self,
        settings: LobbySettings,
        editions: Mapping[str, Edition],
        default_edition: Edition,
        stream: events.EventStream,
        timers: TimerService,
        new_id: Callable[[], str],
        new_rng: Callable[[], random.Random],
        starting_states: Mapping[str, State] | None = None,
        scores: ScoreSheet | None = None,
        report: Callable[[], Mapping[str, Any]] = dict,
    ) -> None:
        self.settings = settings
        self.default_edition = default_edition
        self.rooms: dict[str, Room] = {}
        self.waiting: dict[str, Timer | None] = {}
        """The waiting rooms by id; a prepared one has a timer, which closes it if its seats are not taken."""
        self.reservations: dict[str, tuple[Room, PlayerSlot]] = {}
        self.members: dict[Peer, Member] = {}
        """All connected peers."""
        self.admins: dict[Member, None] = {}
        self._idle_timeouts = IdleTimeouts(timers)
        self.scores = scores or ScoreSheet()
        self.report = report
        self._timers = timers
        self._editions = editions
        self._stream = stream
        self._new_id = new_id
        self._new_rng = new_rng
        self._starting_states = starting_states or {}
        all_dialects = [edition.dialect for edition in editions.values()]
        self._admin_dialects = {
            edition.name: (edition.dialect, edition.dialect.also_reading(*all_dialects))
            for edition in {id(each): each for each in (default_edition, *editions.values())}.values()
        }
        """By the name of an edition, the dialects for a peer that plays and for one that does not."""
        self._dialects = {
            name: (playing.without_own_requests(), waiting.without_own_requests())
            for name, (playing, waiting) in self._admin_dialects.items()
        }
        """The same for peers that are no administrators."""

    # -- connecting and leaving -------------------------------------------------------------------------------------

    def connect(
        self, peer: Peer, dedicated_port: DedicatedPort | None = None, *, has_idle_timeout: bool = True
    ) -> Member:
        """Register `peer`, which must be dropped later; `dedicated_port` restricts it to one seat.

        `has_idle_timeout`: it may be disconnected if it sends nothing after its last game.
        """
        member = self.members[peer] = Member(peer, dedicated_port, has_idle_timeout=has_idle_timeout)
        return member

    def drop(self, member: Member, departure: Departure = Departure.UNKNOWN) -> None:
        """Remove a peer that has left from the lobby and from its rooms. Dropping it twice does nothing."""
        self.admins.pop(member, None)
        self._idle_timeouts.cancel(member)
        for room in [*member.rooms.values(), *member.observed.values()]:
            member.rooms.pop(room.id, None)
            member.observed.pop(room.id, None)
            room.leave(member.peer, departure)
        self.members.pop(member.peer, None)

    @property
    def initial_dialect(self) -> Dialect:
        """The dialect in which packets of a new connection are read."""
        return self._dialects[self.default_edition.name][1]

    def dialect_of(self, member: Member) -> Dialect:
        """The dialect in which the next packet is read.

        A player's packets are read in the dialect of its season, all others in the dialects of all seasons together.
        Only administrators have the requests that no official server knows, where an edition follows a release.
        """
        playing, waiting = (self._admin_dialects if member.is_admin else self._dialects)[member.peer.edition.name]
        return playing if member.rooms else waiting

    # -- requests of any peer ---------------------------------------------------------------------------------------

    def join(self, member: Member, request: JoinRequest) -> None:
        """Join the first open game of this type, or a new one."""
        edition = self.find_edition(member, request.game_type)
        self._require_same_edition(member, edition)
        self._require_seat_quota(member)
        found = self._find_free_slot(member.peer, edition)
        if found is None:
            clocks = [self._clock(can_timeout=edition.policy.judges_joined_games) for _ in range(SEATS)]
            player_slots = [
                PlayerSlot(seat, edition.dialect.unnamed, None, clock, is_expected=False)
                for seat, clock in enumerate(clocks)
            ]
            room = self._open_room(edition, player_slots, is_prepared=False, is_paused=self.settings.starts_paused)
            player_slot = player_slots[0]
        else:
            room, player_slot = found
        self._add_player(member, room, player_slot)
        notice = edition.dialect.encode(JoinedGameRoom(room.id, room.player_count, is_existing=found is not None))
        for admin in self.admins:
            admin.peer.send(notice)

    def join_room(self, member: Member, request: JoinRoomRequest) -> None:
        """Join the room with this id."""
        room = self.find_room(member, request.room_id)
        self._require_same_edition(member, room.edition)
        player_slot = room.free_slot()
        if player_slot is None or room.id in member.rooms:
            raise RequestError(Fault.ROOM_FULL, member.peer.edition.dialect.texts.room_full(room.id))
        self._require_seat_quota(member)
        self._add_player(member, room, player_slot)

    def join_prepared(self, member: Member, request: JoinPreparedRequest) -> None:
        """Take a reserved slot; the reservation code is invalid afterwards."""
        reserved = self.reservations.get(request.reservation_code or "")
        if reserved is None or reserved[0].id in member.rooms:
            raise RequestError(Fault.UNKNOWN_RESERVATION, member.peer.edition.dialect.texts.unknown_reservation)
        room, player_slot = reserved
        self._require_same_edition(member, room.edition)
        self._require_seat_quota(member)
        self.take_reserved_slot(member, room, player_slot)

    def take_reserved_slot(self, member: Member, room: Room, player_slot: PlayerSlot) -> None:
        """Let the peer occupy a reserved slot; its reservation code is invalid afterwards."""
        self.reservations.pop(player_slot.reservation or "", None)
        self._add_player(member, room, player_slot)

    def is_password(self, given: str | None) -> bool:
        """Return whether this is the administrators' password; compares in constant time."""
        password = self.settings.password
        return password is not None and hmac.compare_digest(
            password.encode(), (given or "").encode("utf-8", "surrogatepass")
        )

    def authenticate(self, member: Member, request: AuthenticateRequest) -> None:
        """Make the peer an administrator; the protocol has no packet that confirms this."""
        if not self.is_password(request.password):
            text = member.peer.edition.dialect.texts.wrong_password
            raise RequestError(Fault.WRONG_PASSWORD, f"{text}; {NO_ADMINS}" if self.settings.password is None else text)
        if not member.is_admin:
            member.is_admin = True
            self.admins[member] = None
            self.publish(events.AdminAuthenticated(member.peer.label))

    def room_message(self, member: Member, message: RoomMessage, arrival: Arrival, now: float) -> None:
        """Pass a room packet to its room."""
        self.find_room(member, message.room_id).move(member.peer, message, arrival, now)

    # -- rooms ------------------------------------------------------------------------------------------------------

    def open_prepared(
        self, edition: Edition, slots: Sequence[Slot], state: State | None = None, *, is_paused: bool = False
    ) -> Room:
        """Open a room whose two player slots have the names, the time limits and the reservations of `slots`.

        `state` is the starting position; None: that of the game. Raises RequestError if too many rooms are waiting.
        """
        codes = [self._new_id() if slot.is_reserved else None for slot in slots]
        player_slots = [
            PlayerSlot(
                seat,
                slot.display_name or edition.dialect.unnamed,
                code,
                self._clock(can_timeout=slot.can_timeout),
                is_expected=slot is not ANYBODY,
            )
            for seat, (slot, code) in enumerate(zip(slots, codes, strict=True))
        ]
        is_paused = is_paused or any(slot.should_be_paused for slot in slots)
        room = self._open_room(edition, player_slots, state, is_prepared=True, is_paused=is_paused)
        for player_slot in player_slots:
            if player_slot.reservation is not None:
                self.reservations[player_slot.reservation] = room, player_slot
        return room

    def _add_player(self, member: Member, room: Room, player_slot: PlayerSlot) -> None:
        self.choose_edition(member, room.edition)
        member.rooms[room.id] = room
        room.add_player(member.peer, player_slot)
        if room.phase is not Phase.OPEN:
            self._stop_waiting(room)

    def choose_edition(self, member: Member, edition: Edition) -> None:
        """Fix the edition of the peer: its answers have this edition's wire form from now on."""
        member.peer.edition = edition
        member.is_edition_chosen = True

    def recognise_season(self, member: Member, kind: type) -> None:
        """Answer a peer that has not chosen an edition in the form of a season that has requests of the type `kind`.

        The peer keeps its edition if that has such requests, or if no edition has them. Otherwise it gets the newest
        one that does, since its client was written for that season or for an earlier one.
        """
        peer = member.peer
        if not member.is_edition_chosen and kind in REQUEST_TYPES and not peer.edition.dialect.has_packet(kind):
            knowing = (edition for edition in self._editions.values() if edition.dialect.has_packet(kind))
            peer.edition = next(knowing, peer.edition)

    def _open_room(
        self,
        edition: Edition,
        player_slots: list[PlayerSlot],
        state: State | None = None,
        *,
        is_prepared: bool,
        is_paused: bool,
    ) -> Room:
        if len(self.waiting) >= self.settings.rooms_waiting:
            waiting = count_text(len(self.waiting), "room waits", "rooms wait")
            text = f"{waiting} for players, as many as this server allows"
            raise RequestError(Fault.ROOMS_WAITING, text)
        state = state or self._starting_states.get(edition.name) or edition.game.new_state(self._new_rng())
        room = Room(self._new_id(), edition, self, state, player_slots, is_prepared=is_prepared, is_paused=is_paused)
        self.rooms[room.id] = room
        self.waiting[room.id] = (
            self._timers.call_after(self.settings.reservation_timeout, lambda _: self._expire(room))
            if is_prepared
            else None
        )
        self.publish(events.RoomOpened(room.id, edition.name, is_prepared))
        return room

    def _expire(self, room: Room) -> None:
        self.publish(events.ReservationExpired(room.id))
        room.cancel()

    def _stop_waiting(self, room: Room) -> None:
        timer = self.waiting.pop(room.id, None)
        if timer is not None:
            timer.cancel()

    def _clock(self, *, can_timeout: bool) -> MoveClock:
        return MoveClock(self.settings.limits if can_timeout else UNLIMITED)

    # -- RoomHost ---------------------------------------------------------------------------------------------------

    @property
    def delivery_timeout(self) -> float:
        return self.settings.delivery_timeout

    def call_at(self, deadline: float, callback: Callable[[float], None]) -> Timer:
        return self._timers.call_at(deadline, callback)

    def call_after(self, delay: float, callback: Callable[[float], None]) -> Timer:
        return self._timers.call_after(delay, callback)

    def publish(self, event: events.ServerEvent) -> None:
        self._stream.publish(event)

    def room_closed(self, room_id: str, offender: Peer | None) -> None:
        """Forget the room, and disconnect its players if the edition requires it."""
        room = self.rooms.pop(room_id)
        self._stop_waiting(room)
        for observer in room.observers:
            del self.members[observer].observed[room_id]
        for player_slot in room.player_slots:
            if player_slot.reservation is not None:
                self.reservations.pop(player_slot.reservation, None)
            if player_slot.peer is None:
                continue
            member = self.members[player_slot.peer]
            del member.rooms[room_id]
            if player_slot.peer is not offender and not member.rooms and not member.is_admin:
                self._finish_player(member, room.edition.policy)

    def _finish_player(self, member: Member, policy: Policy) -> None:
        """End the stream of a player that has no other game, or start its idle timeout, as the edition prescribes."""
        if policy.ends_players_streams:
            member.peer.end()
        elif policy.ends_idle_players and member.has_idle_timeout:
            self._idle_timeouts.start(member, self.settings.idle_timeout)

    # -- checks and look-ups ----------------------------------------------------------------------------------------

    def find_edition(self, member: Member, game_type: str | None) -> Edition:
        """Return the edition for a requested game type. Raises RequestError if there is none."""
        edition = member.peer.edition
        if game_type is None:
            if not edition.policy.has_default_game:
                raise RequestError(Fault.NO_GAME_TYPE, "This request names no gameType")
            return self.default_edition
        requested = self._editions.get(game_type)
        if requested is None:
            text = edition.dialect.texts.unknown_game_type(game_type, tuple(self._editions))
            raise RequestError(Fault.UNKNOWN_GAME_TYPE, text)
        return requested

    def _require_same_edition(self, member: Member, edition: Edition) -> None:
        """Refuse a game of another edition to a peer that is playing: its packets are read in one dialect only."""
        other = next((room for room in member.rooms.values() if room.edition is not edition), None)
        if other is not None:
            text = f"This connection plays {other.edition.game_type}; open another one for {edition.game_type}"
            raise RequestError(Fault.OTHER_GAME, text)

    def _require_seat_quota(self, member: Member) -> None:
        """Refuse another game to a peer that has its maximum, so that one connection cannot occupy every room."""
        if len(member.rooms) >= self.settings.seats_per_connection and not member.is_admin:
            seats = count_text(len(member.rooms), "game")
            text = f"This connection has a seat in {seats}, as many as this server allows"
            raise RequestError(Fault.SEATS_PER_CONNECTION, text)

    def find_room(self, member: Member, room_id: str | None) -> Room:
        """Return the room with this id. Raises RequestError if there is none."""
        room = self.rooms.get(room_id or "")
        if room is None:
            raise RequestError(Fault.UNKNOWN_ROOM, member.peer.edition.dialect.texts.unknown_room(room_id))
        return room

    def _find_free_slot(self, peer: Peer, edition: Edition) -> tuple[Room, PlayerSlot] | None:
        """Return the first free slot of a waiting room of `edition` in which `peer` has none, with its room."""
        for room_id in self.waiting:
            room = self.rooms[room_id]
            if room.edition is edition and room.slot_of(peer) is None:
                player_slot = room.free_slot()
                if player_slot is not None:
                    return room, player_slot
        return None
