"""Rooms, reservations and administrators: who may do what, and with whom somebody plays.

Law: every request is decided at once, without waiting. A request that cannot be granted raises RequestError and has
changed nothing. Once a room is over, nothing of it is left here: no room, no reservation, no seat.
"""

from __future__ import annotations

import hmac
import json
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from spielleiter.game.api import State
from spielleiter.protocol.dialect import Dialect
from spielleiter.protocol.messages import (
    AuthenticateRequest,
    CancelRequest,
    Departure,
    JoinedGameRoom,
    JoinPreparedRequest,
    JoinRequest,
    JoinRoomRequest,
    ObserveRequest,
    PauseRequest,
    PlayerScore,
    Prepared,
    PrepareRequest,
    RoomMessage,
    ScoreForPlayerRequest,
    Slot,
    Status,
    StatusRequest,
    StepRequest,
    Testing,
    TestModeRequest,
    TimeoutRequest,
)
from spielleiter.server import events
from spielleiter.server.core.clock import UNLIMITED, Arrival, MoveClock
from spielleiter.server.core.host import Timer
from spielleiter.server.core.idle_peers import IdlePeers, TimerService
from spielleiter.server.core.lobby_settings import NO_ADMINS, LobbySettings
from spielleiter.server.core.peer import Peer
from spielleiter.server.core.player_slot import PlayerSlot
from spielleiter.server.core.policy import Edition, Policy
from spielleiter.server.core.reservations import SEATS, settled
from spielleiter.server.core.room import Phase, Room
from spielleiter.server.core.scores import ScoreSheet
from spielleiter.server.errors import Fault, RequestError
from spielleiter.server.text.counting import count_text


class Lobby:
    """The synchronous heart of the server.

    `editions` by game type, `default_edition` for a `join` without one; `starting_states` by edition name for games
    that do not start from the beginning; `new_id` and `new_rng` are where all chance comes from; `report` is what an
    administrator is told who asks for the server's status.
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
        """The rooms that have a player slot free, by id, with the timer that gives up on a prepared one."""
        self.reservations: dict[str, tuple[Room, PlayerSlot]] = {}
        self.admins: dict[Peer, None] = {}
        self._idle = IdlePeers(timers)
        self.scores = scores or ScoreSheet()
        self._report = report
        self._timers = timers
        self._editions = editions
        self._stream = stream
        self._new_id = new_id
        self._new_rng = new_rng
        self._starting_states = starting_states or {}
        everybody = [edition.dialect for edition in editions.values()]
        self._open_dialects = {
            edition.name: edition.dialect.also_reading(*everybody)
            for edition in {id(each): each for each in (default_edition, *editions.values())}.values()
        }

    # -- what anyone may ask ----------------------------------------------------------------------------------------

    def join(self, peer: Peer, request: JoinRequest) -> None:
        """Sit down in the first open game of this type, or in a new one."""
        edition = self._edition_for(peer, request.game_type)
        self._require_free_hands(peer)
        found = self._open_slot(peer, edition)
        if found is None:
            clocks = [self._clock(can_timeout=edition.policy.judges_joined_games) for _ in range(SEATS)]
            player_slots = [PlayerSlot(seat, edition.dialect.unnamed, None, clock) for seat, clock in enumerate(clocks)]
            room = self._open_room(edition, player_slots, is_prepared=False, is_paused=self.settings.starts_paused)
            player_slot = player_slots[0]
        else:
            room, player_slot = found
        self._seat(peer, room, player_slot)
        notice = edition.dialect.encode(JoinedGameRoom(room.id, room.player_count, is_existing=found is not None))
        for admin in self.admins:
            admin.send(notice)

    def join_room(self, peer: Peer, request: JoinRoomRequest) -> None:
        room = self._room(peer, request.room_id)
        self._require_same_game(peer, room.edition)
        player_slot = room.free_slot()
        if player_slot is None or room.slot_of(peer) is not None:
            raise RequestError(Fault.ROOM_FULL, peer.edition.dialect.texts.room_full(room.id))
        self._require_free_hands(peer)
        self._seat(peer, room, player_slot)

    def join_prepared(self, peer: Peer, request: JoinPreparedRequest) -> None:
        """Redeem a reservation; the code is worth nothing afterwards."""
        reserved = self.reservations.get(request.reservation_code or "")
        if reserved is None or reserved[0].slot_of(peer) is not None:
            raise RequestError(Fault.UNKNOWN_RESERVATION, peer.edition.dialect.texts.unknown_reservation)
        room, player_slot = reserved
        self._require_same_game(peer, room.edition)
        self._require_free_hands(peer)
        self.redeem(peer, room, player_slot)

    def redeem(self, peer: Peer, room: Room, player_slot: PlayerSlot) -> None:
        """Let `peer` sit down on a reserved player slot."""
        self.reservations.pop(player_slot.reservation or "", None)
        self._seat(peer, room, player_slot)

    def is_password(self, given: str | None) -> bool:
        """Whether this is the administrators' password, compared in constant time."""
        password = self.settings.password
        return password is not None and hmac.compare_digest(
            password.encode(), (given or "").encode("utf-8", "surrogatepass")
        )

    def authenticate(self, peer: Peer, request: AuthenticateRequest) -> None:
        """The answer to the right password is that commands work."""
        if not self.is_password(request.password):
            text = peer.edition.dialect.texts.wrong_password
            raise RequestError(Fault.WRONG_PASSWORD, f"{text}; {NO_ADMINS}" if self.settings.password is None else text)
        if not peer.is_admin:
            peer.is_admin = True
            self.admins[peer] = None
            self.publish(events.AdminAuthenticated(peer.label))

    def room_message(self, peer: Peer, message: RoomMessage, arrival: Arrival, now: float) -> None:
        self._room(peer, message.room_id).move(peer, message, arrival, now)

    # -- what administrators may ask --------------------------------------------------------------------------------

    def prepare(self, peer: Peer, request: PrepareRequest) -> None:
        edition = self._edition(peer, request.game_type)
        request = settled(request, edition)
        room = self.open_prepared(edition, request.slots, is_paused=request.is_paused)
        if not peer.is_edition_chosen:
            self._choose_edition(peer, edition)
        codes = tuple(
            player_slot.reservation for player_slot in room.player_slots if player_slot.reservation is not None
        )
        peer.send(edition.dialect.encode(Prepared(room.id, codes)))

    def open_prepared(
        self, edition: Edition, slots: Sequence[Slot], state: State | None = None, *, is_paused: bool = False
    ) -> Room:
        """A room with a name, a clock and, where one is wanted, a reservation for each of two `slots`.

        `state` is the start; None: the game's own. Raises RequestError if too many rooms wait already.
        """
        codes = [self._new_id() if slot.is_reserved else None for slot in slots]
        player_slots = [
            PlayerSlot(
                seat, slot.display_name or edition.dialect.unnamed, code, self._clock(can_timeout=slot.can_timeout)
            )
            for seat, (slot, code) in enumerate(zip(slots, codes, strict=True))
        ]
        is_paused = is_paused or any(slot.should_be_paused for slot in slots)
        room = self._open_room(edition, player_slots, state, is_prepared=True, is_paused=is_paused)
        for player_slot in player_slots:
            if player_slot.reservation is not None:
                self.reservations[player_slot.reservation] = room, player_slot
        return room

    def observe(self, peer: Peer, request: ObserveRequest) -> None:
        room = self._room(peer, request.room_id)
        if len(room.observers) >= self.settings.observers_per_room and peer not in room.observers:
            text = f"Room {room.id} has {count_text(len(room.observers), 'observer')}, as many as this server allows"
            raise RequestError(Fault.OBSERVERS_PER_ROOM, text)
        room.observe(peer)

    def pause(self, peer: Peer, request: PauseRequest) -> None:
        self._room(peer, request.room_id).pause(peer, is_paused=request.is_paused)

    def step(self, peer: Peer, request: StepRequest) -> None:
        self._room(peer, request.room_id).step(peer)

    def cancel(self, peer: Peer, request: CancelRequest) -> None:
        self._room(peer, request.room_id).cancel()

    def set_timeout(self, peer: Peer, request: TimeoutRequest) -> None:
        """One player's limits hold, or do not, from its next request on."""
        room = self._room(peer, request.room_id)
        if not 0 <= request.slot < len(room.player_slots):
            raise RequestError(Fault.BAD_SLOTS, f"Room {room.id} has the slots 0 and 1, and no slot {request.slot}")
        room.player_slots[request.slot].clock.next_limits = self.settings.limits if request.is_active else UNLIMITED

    def set_test_mode(self, peer: Peer, request: TestModeRequest) -> None:
        self._require_test_mode(peer)
        self.scores.is_enabled = request.is_enabled
        peer.send(peer.edition.dialect.encode(Testing(request.is_enabled)))

    def score_for_player(self, peer: Peer, request: ScoreForPlayerRequest) -> None:
        self._require_test_mode(peer)
        score = self.scores.of(request.display_name or "")
        if score is None:
            if peer.edition.policy.refuses_unknown_players:
                text = peer.edition.dialect.texts.unknown_player(request.display_name)
                raise RequestError(Fault.UNKNOWN_PLAYER, text)
            score = PlayerScore("", 0, ())
        peer.send(peer.edition.dialect.encode(score))

    def status(self, peer: Peer, _request: StatusRequest) -> None:
        report = json.dumps(self._report(), ensure_ascii=False, separators=(",", ":"))
        peer.send(peer.edition.dialect.encode(Status(report)))

    def _require_test_mode(self, peer: Peer) -> None:
        if not peer.edition.dialect.has_packet(Testing):
            raise RequestError(Fault.NO_TEST_MODE, f"{peer.edition.name} has no test mode")

    # -- leaving ----------------------------------------------------------------------------------------------------

    def drop(self, peer: Peer, departure: Departure = Departure.UNKNOWN) -> None:
        """`peer` is gone: it leaves every room it sits in or observes. Dropping it twice does nothing."""
        self.admins.pop(peer, None)
        self._idle.forget(peer)
        for room in [*peer.rooms.values(), *peer.observed.values()]:
            room.leave(peer, departure)

    @property
    def opening_dialect(self) -> Dialect:
        """How somebody is understood who has said nothing yet."""
        return self._open_dialects[self.default_edition.name]

    def dialect_of(self, peer: Peer) -> Dialect:
        """How `peer` is understood: a player in its season's words, anybody else in those of all seasons."""
        return peer.edition.dialect if peer.rooms else self._open_dialects[peer.edition.name]

    # -- what rooms need of the house (RoomHost) --------------------------------------------------------------------

    @property
    def delivery_timeout(self) -> float:
        return self.settings.delivery_timeout

    def call_at(self, deadline: float, callback: Callable[[float], None]) -> Timer:
        return self._timers.call_at(deadline, callback)

    def call_after(self, delay: float, callback: Callable[[float], None]) -> Timer:
        return self._timers.call_after(delay, callback)

    def publish(self, event: events.ServerEvent) -> None:
        self._stream.publish(event)

    def room_over(self, room: Room, offender: Peer | None) -> None:
        """Forget the room; its players' streams end where the edition wants it."""
        del self.rooms[room.id]
        self._stop_waiting(room)
        for observer in room.observers:
            del observer.observed[room.id]
        for player_slot in room.player_slots:
            if player_slot.reservation is not None:
                self.reservations.pop(player_slot.reservation, None)
            if player_slot.peer is None:
                continue
            del player_slot.peer.rooms[room.id]
            if player_slot.peer is not offender and not player_slot.peer.rooms and not player_slot.peer.is_admin:
                self._send_home(player_slot.peer, room.edition.policy)

    def _send_home(self, peer: Peer, policy: Policy) -> None:
        """A player that was in its last game; administrators stay."""
        if policy.ends_players_streams:
            peer.end()
        elif policy.idle_timeout is not None:
            self._idle.watch(peer, policy.idle_timeout)

    # -- finding things ---------------------------------------------------------------------------------------------

    def _edition(self, peer: Peer, game_type: str | None) -> Edition:
        if game_type is None:
            if not peer.edition.policy.has_default_game:
                raise RequestError(Fault.NO_GAME_TYPE, "This request names no gameType")
            return self.default_edition
        edition = self._editions.get(game_type)
        if edition is None:
            texts = peer.edition.dialect.texts
            text = texts.unknown_game_type(game_type, tuple(self._editions))
            raise RequestError(Fault.UNKNOWN_GAME_TYPE, text)
        return edition

    def _edition_for(self, peer: Peer, game_type: str | None) -> Edition:
        edition = self._edition(peer, game_type)
        self._require_same_game(peer, edition)
        return edition

    def _require_same_game(self, peer: Peer, edition: Edition) -> None:
        """A connection that plays one season's game is understood in that season's words only."""
        other = next((room for room in peer.rooms.values() if room.edition is not edition), None)
        if other is not None:
            text = f"This connection plays {other.edition.game_type}; open another one for {edition.game_type}"
            raise RequestError(Fault.OTHER_GAME, text)

    def _require_free_hands(self, peer: Peer) -> None:
        """One connection cannot take all the rooms there may be."""
        if len(peer.rooms) >= self.settings.seats_per_connection and not peer.is_admin:
            text = f"This connection has a seat in {count_text(len(peer.rooms), 'game')}, as many as this server allows"
            raise RequestError(Fault.SEATS_PER_CONNECTION, text)

    def _clock(self, *, can_timeout: bool) -> MoveClock:
        return MoveClock(self.settings.limits if can_timeout else UNLIMITED)

    def _seat(self, peer: Peer, room: Room, player_slot: PlayerSlot) -> None:
        self._choose_edition(peer, room.edition)
        room.seat(peer, player_slot)
        if room.phase is not Phase.OPEN:
            self._stop_waiting(room)

    def _stop_waiting(self, room: Room) -> None:
        timer = self.waiting.pop(room.id, None)
        if timer is not None:
            timer.cancel()

    def _choose_edition(self, peer: Peer, edition: Edition) -> None:
        peer.edition = edition
        peer.is_edition_chosen = True

    def _room(self, peer: Peer, room_id: str | None) -> Room:
        room = self.rooms.get(room_id or "")
        if room is None:
            raise RequestError(Fault.UNKNOWN_ROOM, peer.edition.dialect.texts.unknown_room(room_id))
        return room

    def _open_slot(self, peer: Peer, edition: Edition) -> tuple[Room, PlayerSlot] | None:
        for room_id in self.waiting:
            room = self.rooms[room_id]
            if room.edition is edition and room.slot_of(peer) is None:
                player_slot = room.free_slot()
                if player_slot is not None:
                    return room, player_slot
        return None

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
