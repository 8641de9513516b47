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
from typing import Any, Final

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
    Slot,
)
from spielleiter.server import events
from spielleiter.server.config import Config
from spielleiter.server.core.clock import UNLIMITED, MoveClock, TimeLimits, Timer, TimerService, TokenBucket
from spielleiter.server.core.policy import Edition
from spielleiter.server.core.room import Peer, Phase, PlayerSlot, Room
from spielleiter.server.core.scores import ScoreSheet
from spielleiter.server.errors import Fault, RequestError

SEATS: Final = 2
ANYBODY: Final = Slot("", can_timeout=True, is_reserved=False)
"""The second slot of a game that was prepared with one."""
NO_ADMINS: Final = (
    "this server can be reached from elsewhere and has the well-known password: choose another one (--password)"
)
"""Why a server that still has the default password accepts no administrators; part of the reply and of the log."""


def id_source(seed: int | None, *, seeds_ids: bool) -> Callable[[], str]:
    """Return the function that creates ids and reservation codes.

    They cannot be guessed, not even from other ids, unless the operator wants them from the seed (`seeds_ids`).
    """
    if seed is None or not seeds_ids:
        return lambda: str(uuid.UUID(bytes=secrets.token_bytes(16), version=4))
    ids = random.Random(f"{seed} ids")
    return lambda: str(uuid.UUID(int=ids.getrandbits(128), version=4))


def start_source(seed: int | None) -> Callable[[], random.Random]:
    """Return the function that creates a generator for each game; without a seed, every run is different.

    With a seed, the start of a game depends only on the seed and on the number of games before it.
    """
    if seed is None:
        return random.SystemRandom
    games = random.Random(f"{seed} games")
    return lambda: random.Random(games.getrandbits(64))


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


class Member:
    """A peer in the lobby, from its connection until it has left. Members are compared by identity.

    Only the lobby and the handlers of requests change a member.
    """

    def __init__(
        self, peer: Peer, dedicated_port: DedicatedPort | None = None, *, has_idle_timeout: bool = True
    ) -> None:
        self.peer = peer
        self.dedicated_port = dedicated_port
        """The port it connected to, if that port serves a single seat; None: it may make any request."""
        self.has_idle_timeout = has_idle_timeout
        """Whether it may be disconnected because it sends nothing after its last game."""
        self.idle_timer: Timer | None = None
        """The timer that does this."""
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

    def stop_idle_timer(self) -> None:
        if self.idle_timer is not None:
            self.idle_timer.cancel()
            self.idle_timer = None


class Lobby:
    """Handles the requests of all peers.

    `editions` maps gameTypes to editions; `default_edition` is used for a `join` without a gameType. `starting_states`,
    by edition name, are the positions of games that do not start from the beginning. `new_id` and `new_rng` are the
    only sources of randomness.
    """

    def __init__(
        self,
        config: Config,
        editions: Mapping[str, Edition],
        default_edition: Edition,
        stream: events.EventStream,
        timers: TimerService,
        new_id: Callable[[], str],
        new_rng: Callable[[], random.Random],
        starting_states: Mapping[str, State] | None = None,
    ) -> None:
        self.config = config
        self.password = None if config.has_public_password else config.password
        """The administrators' password; None: nobody can become one."""
        self.limits = TimeLimits(config.soft_timeout, config.hard_timeout) if config.has_timeouts else UNLIMITED
        self.default_edition = default_edition
        self.rooms: dict[str, Room] = {}
        self.waiting: dict[str, Timer | None] = {}
        """The waiting rooms by id; a prepared one has a timer, which closes it if its seats are not taken."""
        self.reservations: dict[str, tuple[Room, PlayerSlot]] = {}
        self.members: dict[Peer, Member] = {}
        """All connected peers."""
        self.admins: dict[Member, None] = {}
        self.scores = ScoreSheet(is_enabled=config.is_test_mode)
        self.report: Callable[[], Mapping[str, Any]] = dict
        """Returns the server's status for administrators."""
        self.timers = timers
        self.publish: Callable[[events.ServerEvent], None] = stream.publish
        self.delivery_timeout = config.delivery_timeout
        self.editions = editions
        """By gameType."""
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
        """Register `peer`, which must be dropped later; see `Member` for the arguments."""
        member = self.members[peer] = Member(peer, dedicated_port, has_idle_timeout=has_idle_timeout)
        return member

    def drop(self, member: Member, departure: Departure = Departure.UNKNOWN) -> None:
        """Remove a peer that has left from the lobby and from its rooms. Dropping it twice does nothing."""
        self.admins.pop(member, None)
        member.stop_idle_timer()
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
            knowing = (edition for edition in self.editions.values() if edition.dialect.has_packet(kind))
            peer.edition = next(knowing, peer.edition)

    # -- requests of any peer ---------------------------------------------------------------------------------------

    def join(self, member: Member, request: JoinRequest) -> None:
        """Join the first open game of this type, or a new one."""
        edition = self.find_edition(member, request.game_type)
        self._require_vacancy(member, edition)
        rooms = (self.rooms[room_id] for room_id in self.waiting)
        suitable = (room for room in rooms if room.edition is edition and room.slot_of(member.peer) is None)
        found = next(((room, slot) for room in suitable if (slot := room.free_slot()) is not None), None)
        if found is None:
            limits = self.limits if edition.policy.judges_joined_games else UNLIMITED
            player_slots = [
                PlayerSlot(seat, edition.dialect.unnamed, None, MoveClock(limits), is_expected=False)
                for seat in range(SEATS)
            ]
            room = self._open_room(edition, player_slots, is_prepared=False, is_paused=self.config.is_paused)
            player_slot = player_slots[0]
        else:
            room, player_slot = found
        self._add_player(member, room, player_slot)
        notice = edition.dialect.encode(JoinedGameRoom(room.id, len(room.players), is_existing=found is not None))
        for admin in self.admins:
            admin.peer.send(notice)

    def join_room(self, member: Member, request: JoinRoomRequest) -> None:
        """Join the room with this id."""
        room = self.find_room(member, request.room_id)
        self._require_same_edition(member, room.edition)
        player_slot = room.free_slot()
        if player_slot is None or room.id in member.rooms:
            raise RequestError(Fault.ROOM_FULL, member.peer.edition.dialect.texts.room_full(room.id))
        self._require_vacancy(member, room.edition)
        self._add_player(member, room, player_slot)

    def join_prepared(self, member: Member, request: JoinPreparedRequest) -> None:
        """Take a reserved slot; the reservation code is invalid afterwards."""
        reserved = self.reservations.get(request.reservation_code or "")
        if reserved is None or reserved[0].id in member.rooms:
            raise RequestError(Fault.UNKNOWN_RESERVATION, member.peer.edition.dialect.texts.unknown_reservation)
        room, player_slot = reserved
        self._require_vacancy(member, room.edition)
        self.take_reserved_slot(member, room, player_slot)

    def take_reserved_slot(self, member: Member, room: Room, player_slot: PlayerSlot) -> None:
        """Let the peer occupy a reserved slot; its reservation code is invalid afterwards."""
        self.reservations.pop(player_slot.reservation or "", None)
        self._add_player(member, room, player_slot)

    def _add_player(self, member: Member, room: Room, player_slot: PlayerSlot) -> None:
        self.choose_edition(member, room.edition)
        member.rooms[room.id] = room
        room.add_player(member.peer, player_slot)
        if room.phase is not Phase.OPEN:
            self._stop_waiting(room)

    def is_password(self, given: str | None) -> bool:
        """Return whether this is the administrators' password; compares in constant time."""
        return self.password is not None and hmac.compare_digest(
            self.password.encode(), (given or "").encode("utf-8", "surrogatepass")
        )

    def authenticate(self, member: Member, request: AuthenticateRequest) -> None:
        """Make the peer an administrator; the protocol has no packet that confirms this."""
        if not self.is_password(request.password):
            text = member.peer.edition.dialect.texts.wrong_password
            raise RequestError(Fault.WRONG_PASSWORD, f"{text}; {NO_ADMINS}" if self.password is None else text)
        if not member.is_admin:
            member.is_admin = True
            self.admins[member] = None
            self.publish(events.AdminAuthenticated(member.peer.label))

    # -- checks and look-ups ----------------------------------------------------------------------------------------

    def find_room(self, member: Member, room_id: str | None) -> Room:
        """Return the room with this id. Raises RequestError if there is none."""
        room = self.rooms.get(room_id or "")
        if room is None:
            raise RequestError(Fault.UNKNOWN_ROOM, member.peer.edition.dialect.texts.unknown_room(room_id))
        return room

    def find_edition(self, member: Member, game_type: str | None) -> Edition:
        """Return the edition for a requested game type. Raises RequestError if there is none."""
        edition = member.peer.edition
        if game_type is None:
            if not edition.policy.has_default_game:
                raise RequestError(Fault.NO_GAME_TYPE, "This request names no gameType")
            return self.default_edition
        requested = self.editions.get(game_type)
        if requested is None:
            text = edition.dialect.texts.unknown_game_type(game_type, tuple(self.editions))
            raise RequestError(Fault.UNKNOWN_GAME_TYPE, text)
        return requested

    def _require_same_edition(self, member: Member, edition: Edition) -> None:
        """Refuse a game of another edition to a peer that is playing: its packets are read in one dialect only."""
        other = next((room for room in member.rooms.values() if room.edition is not edition), None)
        if other is not None:
            text = f"This connection plays {other.edition.game_type}; open another one for {edition.game_type}"
            raise RequestError(Fault.OTHER_GAME, text)

    def _require_vacancy(self, member: Member, edition: Edition) -> None:
        """Refuse a seat in a game of another edition, or beyond the maximum of one connection.

        The maximum is so low that the connections of one address cannot occupy all rooms that may wait.
        """
        self._require_same_edition(member, edition)
        if len(member.rooms) >= self.config.seats_per_connection and not member.is_admin:
            seats = count_text(len(member.rooms), "game")
            text = f"This connection has a seat in {seats}, as many as this server allows"
            raise RequestError(Fault.SEATS_PER_CONNECTION, text)

    # -- rooms ------------------------------------------------------------------------------------------------------

    def open_prepared(
        self, edition: Edition, slots: Sequence[Slot], state: State | None = None, *, is_paused: bool = False
    ) -> Room:
        """Open a room whose two player slots have the names, the time limits and the reservations of `slots`.

        `state` is the starting position; None: that of the game. Raises RequestError if too many rooms are waiting.
        """
        player_slots = [
            PlayerSlot(
                seat,
                slot.display_name or edition.dialect.unnamed,
                self._new_id() if slot.is_reserved else None,
                MoveClock(self.limits if slot.can_timeout else UNLIMITED),
                is_expected=slot is not ANYBODY,
            )
            for seat, slot in enumerate(slots)
        ]
        is_paused = is_paused or any(slot.should_be_paused for slot in slots)
        room = self._open_room(edition, player_slots, state, is_prepared=True, is_paused=is_paused)
        for player_slot in player_slots:
            if player_slot.reservation is not None:
                self.reservations[player_slot.reservation] = room, player_slot
        return room

    def _open_room(
        self,
        edition: Edition,
        player_slots: list[PlayerSlot],
        state: State | None = None,
        *,
        is_prepared: bool,
        is_paused: bool,
    ) -> Room:
        if len(self.waiting) >= self.config.rooms_waiting:
            waiting = count_text(len(self.waiting), "room waits", "rooms wait")
            raise RequestError(Fault.ROOMS_WAITING, f"{waiting} for players, as many as this server allows")
        state = state or self._starting_states.get(edition.name) or edition.game.new_state(self._new_rng())
        room = Room(self._new_id(), edition, self, state, player_slots, is_prepared=is_prepared, is_paused=is_paused)

        def expire(_now: float) -> None:
            self.publish(events.ReservationExpired(room.id))
            room.cancel()

        self.rooms[room.id] = room
        self.waiting[room.id] = self.timers.call_after(self.config.reservation_timeout, expire) if is_prepared else None
        self.publish(events.RoomOpened(room.id, edition.name, is_prepared))
        return room

    def _stop_waiting(self, room: Room) -> None:
        timer = self.waiting.pop(room.id, None)
        if timer is not None:
            timer.cancel()

    def room_closed(self, room_id: str, offender: Peer | None) -> None:
        """Forget the room, and disconnect its players if the edition requires it; see `RoomHost`."""
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
            if player_slot.peer is offender or member.rooms or member.is_admin:
                continue
            if room.edition.policy.ends_players_streams:
                member.peer.end()
            elif room.edition.policy.ends_idle_players and member.has_idle_timeout:
                self._start_idle_timer(member)

    def _start_idle_timer(self, member: Member) -> None:
        """End the stream of `member` unless it sends a packet or plays again in time."""
        packets_before = member.packets_received

        def end_if_idle(_now: float) -> None:
            if member.packets_received == packets_before and not member.rooms:
                member.peer.end()

        member.stop_idle_timer()
        member.idle_timer = self.timers.call_after(self.config.idle_timeout, end_if_idle)
