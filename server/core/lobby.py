"""The lobby: connected peers, rooms, reservations and administrators.

Invariants: each peer knows in which rooms it is. Every request is decided synchronously, within one
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
from spielleiter.game.api import State
from spielleiter.protocol.all_seasons import reading_all_requests
from spielleiter.protocol.dialect import Dialect
from spielleiter.protocol.messages import (
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
from spielleiter.server.core.clock import UNLIMITED, TimeLimits, Timer, TimerService
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


def _are_equal(password: str | None, given: str | None) -> bool:
    """Return whether there is such a password and it was given; compares in constant time."""
    return password is not None and hmac.compare_digest(
        password.encode(), (given or "").encode("utf-8", "surrogatepass")
    )


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
        """The administrators' password; None: nobody can become one with it."""
        self.viewer_secret: str | None = None
        """Another password of administrators, for what shows the games of this server; never in a log."""
        self.limits = TimeLimits(config.soft_timeout, config.hard_timeout) if config.has_timeouts else UNLIMITED
        self.default_edition = default_edition
        self.rooms: dict[str, Room] = {}
        self.waiting: dict[str, Timer | None] = {}
        """The waiting rooms by id; a prepared one has a timer, which closes it if its seats are not taken."""
        self.reservations: dict[str, tuple[Room, PlayerSlot]] = {}
        self.admins: dict[Peer, None] = {}
        self.scores = ScoreSheet(is_enabled=config.is_test_mode)
        self.report: Callable[[], Mapping[str, Any]] = dict
        """Returns the server's status for administrators."""
        self.metrics: Callable[[], str] = str
        """Returns the server's figures for administrators."""
        self.follow: Callable[[Peer], None] = lambda _peer: None
        """Tells an administrator everything that happens in the rooms. Raises RequestError."""
        self.unfollow: Callable[[Peer], None] = lambda _peer: None
        """Tells a peer that has left nothing more."""
        self.timers = timers
        self.publish: Callable[[events.ServerEvent], None] = stream.publish
        self.delivery_timeout = config.delivery_timeout
        self.editions = editions
        """By gameType."""
        self._new_id = new_id
        self._new_rng = new_rng
        self._starting_states = starting_states or {}
        self._dialects: dict[tuple[str, bool], tuple[Dialect, Dialect]] = {}
        """By the name of an edition, and whether for administrators: for a peer that plays, and for one that does not.

        Only administrators have the requests that no official server knows, where an edition follows a release.
        """

    # -- peers ------------------------------------------------------------------------------------------------------

    def drop(self, peer: Peer, departure: Departure = Departure.UNKNOWN) -> None:
        """Remove a peer that has left, which every peer has to be at last. Dropping it twice does nothing."""
        self.admins.pop(peer, None)
        self.unfollow(peer)
        peer.stop_idle_timer()
        for room in [*peer.rooms.values(), *peer.observed.values()]:
            peer.rooms.pop(room.id, None)
            peer.observed.pop(room.id, None)
            room.leave(peer, departure)

    @property
    def initial_dialect(self) -> Dialect:
        """The dialect in which packets of a new connection are read."""
        return self._dialects_for(self.default_edition, is_admin=False)[1]

    def dialect_of(self, peer: Peer) -> Dialect:
        """The dialect in which the next packet is read.

        A player's packets are read in the dialect of its season, all others in the dialects of all seasons together.
        """
        playing, waiting = self._dialects_for(peer.edition, is_admin=peer.is_admin)
        return playing if peer.rooms else waiting

    def _dialects_for(self, edition: Edition, *, is_admin: bool) -> tuple[Dialect, Dialect]:
        key = edition.name, is_admin
        found = self._dialects.get(key)
        if found is None:
            playing = edition.dialect
            waiting = reading_all_requests(playing) if len(self.editions) > 1 else playing
            if not is_admin:
                playing, waiting = playing.without_own_requests(), waiting.without_own_requests()
            found = self._dialects[key] = playing, waiting
        return found

    def choose_edition(self, peer: Peer, edition: Edition) -> None:
        """Fix the edition of the peer: its answers have this edition's wire form from now on."""
        peer.edition = edition
        peer.is_edition_chosen = True

    def recognise_season(self, peer: Peer, kind: type) -> None:
        """Answer a peer that has not chosen an edition in the form of a season that has requests of the type `kind`.

        The peer keeps its edition if that has such requests, or if no edition has them. Otherwise it gets the newest
        one that does, since its client was written for that season or for an earlier one.
        """
        if not peer.is_edition_chosen and kind in peer.edition.policy.missing_requests:
            knowing = (edition for edition in self.editions.values() if kind not in edition.policy.missing_requests)
            peer.edition = next(knowing, peer.edition)

    # -- requests of any peer ---------------------------------------------------------------------------------------

    def join(self, peer: Peer, request: JoinRequest) -> None:
        """Join the first open game of this type, or a new one."""
        edition = self.find_edition(peer, request.game_type)
        self._require_vacancy(peer, edition)
        rooms = (self.rooms[room_id] for room_id in self.waiting)
        suitable = (room for room in rooms if room.edition is edition and room.slot_of(peer) is None)
        found = next(((room, slot) for room in suitable if (slot := room.free_slot()) is not None), None)
        if found is None:
            limits = self.limits if edition.policy.judges_joined_games else UNLIMITED
            player_slots = [
                PlayerSlot(seat, edition.dialect.unnamed, None, limits, is_expected=False) for seat in range(SEATS)
            ]
            room = self._open_room(edition, player_slots, is_prepared=False, is_paused=self.config.is_paused)
            player_slot = player_slots[0]
        else:
            room, player_slot = found
        self._add_player(peer, room, player_slot)
        notice = edition.dialect.encode(JoinedGameRoom(room.id, len(room.players), is_existing=found is not None))
        for admin in self.admins:
            admin.send(notice)

    def join_room(self, peer: Peer, request: JoinRoomRequest) -> None:
        """Join the room with this id."""
        room = self.find_room(peer, request.room_id)
        self._require_same_edition(peer, room.edition)
        player_slot = room.free_slot()
        if player_slot is None or room.id in peer.rooms:
            raise RequestError(Fault.ROOM_FULL, peer.edition.dialect.texts.room_full(room.id))
        self._require_vacancy(peer, room.edition)
        self._add_player(peer, room, player_slot)

    def join_prepared(self, peer: Peer, request: JoinPreparedRequest) -> None:
        """Take a reserved slot; the reservation code is invalid afterwards."""
        reserved = self.reservations.get(request.reservation_code or "")
        if reserved is None or reserved[0].id in peer.rooms:
            raise RequestError(Fault.UNKNOWN_RESERVATION, peer.edition.dialect.texts.unknown_reservation)
        room, player_slot = reserved
        self._require_vacancy(peer, room.edition)
        self.take_reserved_slot(peer, room, player_slot)

    def take_reserved_slot(self, peer: Peer, room: Room, player_slot: PlayerSlot) -> None:
        """Let the peer occupy a reserved slot; its reservation code is invalid afterwards."""
        self.reservations.pop(player_slot.reservation or "", None)
        self._add_player(peer, room, player_slot)

    def _add_player(self, peer: Peer, room: Room, player_slot: PlayerSlot) -> None:
        self.choose_edition(peer, room.edition)
        peer.rooms[room.id] = room
        room.add_player(peer, player_slot)
        if room.phase is not Phase.OPEN:
            self._stop_waiting(room)

    def is_password(self, given: str | None) -> bool:
        """Return whether this is a password of administrators; compares in constant time."""
        return _are_equal(self.password, given) or self.is_viewer(given)

    def is_viewer(self, given: str | None) -> bool:
        """Return whether this is the secret of the viewer; compares in constant time."""
        return _are_equal(self.viewer_secret, given)

    def authenticate(self, peer: Peer, request: AuthenticateRequest) -> None:
        """Make the peer an administrator; the protocol has no packet that confirms this."""
        if not self.is_password(request.password):
            text = peer.edition.dialect.texts.wrong_password
            raise RequestError(Fault.WRONG_PASSWORD, f"{text}; {NO_ADMINS}" if self.password is None else text)
        if not peer.is_admin:
            peer.is_admin = True
            self.admins[peer] = None
            # the viewer logs in for each seat and each request of its visitors, and says itself who logs in there
            if not self.is_viewer(request.password):
                self.publish(events.AdminAuthenticated(peer.label))

    # -- checks and look-ups ----------------------------------------------------------------------------------------

    def find_room(self, peer: Peer, room_id: str | None) -> Room:
        """Return the room with this id. Raises RequestError if there is none."""
        room = self.rooms.get(room_id or "")
        if room is None:
            raise RequestError(Fault.UNKNOWN_ROOM, peer.edition.dialect.texts.unknown_room(room_id))
        return room

    def find_edition(self, peer: Peer, game_type: str | None) -> Edition:
        """Return the edition for a requested game type. Raises RequestError if there is none."""
        edition = peer.edition
        if game_type is None:
            if not edition.policy.has_default_game:
                raise RequestError(Fault.NO_GAME_TYPE, "This request names no gameType")
            return self.default_edition
        requested = self.editions.get(game_type)
        if requested is None:
            text = edition.dialect.texts.unknown_game_type(game_type, tuple(self.editions))
            raise RequestError(Fault.UNKNOWN_GAME_TYPE, text)
        return requested

    def _require_same_edition(self, peer: Peer, edition: Edition) -> None:
        """Refuse a game of another edition to a peer that is playing: its packets are read in one dialect only."""
        other = next((room for room in peer.rooms.values() if room.edition is not edition), None)
        if other is not None:
            text = f"This connection plays {other.edition.game_type}; open another one for {edition.game_type}"
            raise RequestError(Fault.OTHER_GAME, text)

    def _require_vacancy(self, peer: Peer, edition: Edition) -> None:
        """Refuse a seat in a game of another edition, or beyond the maximum of one connection.

        The maximum is so low that the connections of one address cannot occupy all rooms that may wait.
        """
        self._require_same_edition(peer, edition)
        if len(peer.rooms) >= self.config.seats_per_connection and not peer.is_admin:
            seats = count_text(len(peer.rooms), "game")
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
                self.limits if slot.can_timeout else UNLIMITED,
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
            del observer.observed[room_id]
        for player_slot in room.player_slots:
            if player_slot.reservation is not None:
                self.reservations.pop(player_slot.reservation, None)
            peer = player_slot.peer
            if peer is None:
                continue
            del peer.rooms[room_id]
            if peer is offender or peer.rooms or peer.is_admin:
                continue
            if room.edition.policy.ends_players_streams:
                peer.end()
            elif room.edition.policy.ends_idle_players and peer.has_idle_timeout:
                self._start_idle_timer(peer)

    def _start_idle_timer(self, peer: Peer) -> None:
        """End the stream of `peer` unless it sends a packet or plays again in time."""
        packets_before = peer.packets_received

        def end_if_idle(_now: float) -> None:
            if peer.packets_received == packets_before and not peer.rooms:
                peer.end()

        peer.stop_idle_timer()
        peer.idle_timer = self.timers.call_after(self.config.idle_timeout, end_if_idle)
