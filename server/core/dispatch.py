"""Who may send which request, and the handlers of all that the lobby does not answer itself.

Invariants: each packet that a client may send has an entry in the table for those who may send it. Other packets are
refused, and the reply names them. A request that cannot be granted raises RequestError and changes nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeAlias

from msgspec.structs import replace

from spielleiter.common.text import count_text
from spielleiter.game.api import GameError, State
from spielleiter.protocol.errors import RemoteProtocolError
from spielleiter.protocol.messages import (
    AuthenticateRequest,
    CancelRequest,
    FeedRequest,
    JoinPreparedRequest,
    JoinRequest,
    JoinRoomRequest,
    Message,
    MetricsRequest,
    MetricsText,
    ObserveRequest,
    PauseRequest,
    PlayerScore,
    Prepared,
    PrepareRequest,
    RoomMessage,
    ScoreForPlayerRequest,
    Status,
    StatusRequest,
    StepRequest,
    Testing,
    TestModeRequest,
    TimeoutRequest,
)
from spielleiter.server import events
from spielleiter.server.core.clock import UNLIMITED, Arrival
from spielleiter.server.core.error_packets import shortened
from spielleiter.server.core.lobby import ANYBODY, SEATS, Lobby
from spielleiter.server.core.policy import Edition
from spielleiter.server.core.room import Peer, Phase
from spielleiter.server.errors import Fault, RequestError

# -- administrators --------------------------------------------------------------------------------------------------


def prepare(lobby: Lobby, peer: Peer, request: PrepareRequest) -> None:
    """Open a room for the requested game and answer with its id and its reservation codes."""
    edition = lobby.find_edition(peer, request.game_type)
    request = complete_request(request, edition)
    state = None if request.position is None else starting_state(request.position, edition)
    room = lobby.open_prepared(edition, request.slots, state, is_paused=request.is_paused)
    if not peer.is_edition_chosen:
        lobby.choose_edition(peer, edition)
    codes = tuple(player_slot.reservation for player_slot in room.player_slots if player_slot.reservation is not None)
    peer.send(edition.dialect.encode(Prepared(room.id, codes)))


def complete_request(request: PrepareRequest, edition: Edition) -> PrepareRequest:
    """Return `request` with one complete slot for each seat; missing values are the edition's defaults.

    Raises RequestError for a wrong number of slots, a slot without a name, or an attribute of another season.
    """
    if len(request.slots) <= SEATS:  # a request with very many slots costs nothing
        try:
            request = edition.dialect.with_defaults(request)
        except RemoteProtocolError as error:
            raise RequestError(Fault.BAD_SLOTS, str(error)) from None
    slots = request.slots
    if len(slots) == 1 and edition.policy.accepts_single_slot:
        slots = (*slots, ANYBODY)
    if len(slots) != SEATS:
        text = f"A game is prepared with {SEATS} slots, this request has {len(request.slots)}"
        raise RequestError(Fault.BAD_SLOTS, text)
    for number, slot in enumerate(slots, 1):
        if slot.display_name is None:
            raise RequestError(Fault.BAD_SLOTS, f"Slot {number} of this request has no displayName")
    return replace(request, slots=slots)


def starting_state(document: str, edition: Edition) -> State:
    """Return the position in `document`, from which a game of this edition can start. Raises RequestError."""
    from spielleiter.protocol.positions import read_position

    try:
        state = edition.game.resume(read_position(edition.dialect, document).state)
    except (RemoteProtocolError, GameError) as error:
        raise RequestError(Fault.BAD_POSITION, f"The position cannot be read: {error}") from None
    if state.outcome() is not None:
        raise RequestError(Fault.BAD_POSITION, "The game is over in this position")
    if next(iter(state.generate_legal_moves()), None) is None:  # no game comes to such a position
        raise RequestError(Fault.BAD_POSITION, "No move is possible in this position")
    return state


def observe(lobby: Lobby, peer: Peer, request: ObserveRequest) -> None:
    """Let the peer observe a room."""
    room = lobby.find_room(peer, request.room_id)
    if len(room.observers) >= lobby.config.observers_per_room and room.id not in peer.observed:
        text = f"Room {room.id} has {count_text(len(room.observers), 'observer')}, as many as this server allows"
        raise RequestError(Fault.OBSERVERS_PER_ROOM, text)
    peer.observed[room.id] = room
    room.add_observer(peer)


def pause(lobby: Lobby, peer: Peer, request: PauseRequest) -> None:
    """Pause a game or resume it."""
    lobby.find_room(peer, request.room_id).pause(peer, is_paused=request.is_paused)


def step(lobby: Lobby, peer: Peer, request: StepRequest) -> None:
    """Request one move of a paused game."""
    lobby.find_room(peer, request.room_id).step(peer)


def cancel(lobby: Lobby, peer: Peer, request: CancelRequest) -> None:
    """End a game, started or not."""
    if request.room_id is None:
        raise RequestError(Fault.NO_ROOM_ID, peer.edition.dialect.texts.unknown_room(None))
    lobby.find_room(peer, request.room_id).cancel()


def set_timeout(lobby: Lobby, peer: Peer, request: TimeoutRequest) -> None:
    """Turn the time limits of one player on or off, from its next move request on."""
    room = lobby.find_room(peer, request.room_id)
    if not 0 <= request.slot < len(room.player_slots):
        raise RequestError(Fault.BAD_SLOTS, f"Room {room.id} has the slots 0 and 1, and no slot {request.slot}")
    limits = room.player_slots[request.slot].limits = lobby.limits if request.is_active else UNLIMITED
    lobby.publish(events.LimitsChanged(room.id, request.slot, limits.soft_timeout, limits.hard_timeout))


def set_test_mode(lobby: Lobby, peer: Peer, request: TestModeRequest) -> None:
    """Start or stop adding results to the score sheet."""
    _require_test_mode(peer)
    lobby.scores.is_enabled = request.is_enabled
    peer.send(peer.edition.dialect.encode(Testing(request.is_enabled)))


def send_score(lobby: Lobby, peer: Peer, request: ScoreForPlayerRequest) -> None:
    """Answer with a player's line of the score sheet."""
    _require_test_mode(peer)
    edition = peer.edition
    score = lobby.scores.of(request.display_name or "", edition.dialect.score_definition)
    if score is None and edition.policy.refuses_unknown_players:
        raise RequestError(Fault.UNKNOWN_PLAYER, edition.dialect.texts.unknown_player(request.display_name))
    peer.send(edition.dialect.encode(score or PlayerScore("", 0, ())))


def _require_test_mode(peer: Peer) -> None:
    edition = peer.edition
    if not edition.dialect.has_packet(Testing):
        raise RequestError(Fault.NO_TEST_MODE, f"{edition.name} has no test mode")


def send_status(lobby: Lobby, peer: Peer, _request: StatusRequest) -> None:
    """Answer with the server's status as JSON."""
    report = json.dumps(lobby.report(), ensure_ascii=False, separators=(",", ":"))
    peer.send(peer.edition.dialect.encode(Status(report)))


def send_metrics(lobby: Lobby, peer: Peer, _request: MetricsRequest) -> None:
    """Answer with the server's figures in the text format of Prometheus."""
    peer.send(peer.edition.dialect.encode(MetricsText(lobby.metrics())))


def follow(lobby: Lobby, peer: Peer, _request: FeedRequest) -> None:
    """Tell the peer everything that happens in the rooms from now on."""
    lobby.follow(peer)


# -- dedicated ports -------------------------------------------------------------------------------------------------


def take_dedicated_seat(lobby: Lobby, peer: Peer, request: JoinRequest | JoinRoomRequest | JoinPreparedRequest) -> None:
    """Give the peer the seat that its port serves; a plain join needs no reservation code there.

    Requests for any other game, room or seat are refused with the texts that a stranger would get, and counted as
    `Fault.FOREIGN_SEAT`, whether such a room or reservation code exists or not.
    """
    port = peer.dedicated_port
    assert port is not None
    room, player_slot = port.room, port.room.player_slots[port.seat]
    texts = peer.edition.dialect.texts
    match request:
        case JoinRequest(game_type=str(requested)) if requested != room.edition.game_type:
            raise RequestError(Fault.OTHER_GAME, f"{room.edition.game_type} is played here, not {requested}")
        case JoinRoomRequest(room_id=requested):
            fault = Fault.FOREIGN_SEAT if requested else Fault.UNKNOWN_ROOM
            raise RequestError(fault, texts.unknown_room(requested))
        case JoinPreparedRequest(reservation_code=code) if not code or code != player_slot.reservation:
            is_foreign = code and code != port.code
            fault = Fault.FOREIGN_SEAT if is_foreign else Fault.UNKNOWN_RESERVATION
            raise RequestError(fault, texts.unknown_reservation)
        case _:
            pass
    if player_slot.reservation is None or room.phase is not Phase.OPEN:
        raise RequestError(Fault.ROOM_FULL, texts.room_full(room.id))
    if isinstance(request, JoinRequest):
        lobby.publish(events.SeatTakenPlainly(room.id, peer.label))
    lobby.take_reserved_slot(peer, room, player_slot)


def refuse_password(_lobby: Lobby, peer: Peer, _request: AuthenticateRequest) -> None:
    """Refuse every password, since nobody can become an administrator through a dedicated port."""
    raise RequestError(Fault.FORBIDDEN_HERE, peer.edition.dialect.texts.wrong_password)


# -- who may send what -----------------------------------------------------------------------------------------------

Handler: TypeAlias = Callable[[Lobby, Peer, Any], None]

FOR_ANYONE: dict[type, Handler] = {
    JoinRequest: Lobby.join,
    JoinRoomRequest: Lobby.join_room,
    JoinPreparedRequest: Lobby.join_prepared,
    AuthenticateRequest: Lobby.authenticate,
}

AT_DEDICATED_PORT: dict[type, Handler] = {
    JoinRequest: take_dedicated_seat,
    JoinRoomRequest: take_dedicated_seat,
    JoinPreparedRequest: take_dedicated_seat,
    AuthenticateRequest: refuse_password,
}

FOR_ADMINS: dict[type, Handler] = {
    PrepareRequest: prepare,
    ObserveRequest: observe,
    PauseRequest: pause,
    StepRequest: step,
    CancelRequest: cancel,
    TimeoutRequest: set_timeout,
    TestModeRequest: set_test_mode,
    ScoreForPlayerRequest: send_score,
    StatusRequest: send_status,
    MetricsRequest: send_metrics,
    FeedRequest: follow,
}


def dispatch(lobby: Lobby, peer: Peer, message: Message, arrival: Arrival, now: float) -> None:
    """Handle `message`, which arrived at `arrival`; `now` is the present instant.

    Raises RequestError if the request cannot be granted.
    """
    if isinstance(message, RoomMessage):  # nearly every packet is a move
        lobby.find_room(peer, message.room_id).move(peer, message, arrival, now)
        return
    kind = type(message)
    if peer.dedicated_port is None:
        lobby.recognise_season(peer, kind)
    handler = (FOR_ANYONE if peer.dedicated_port is None else AT_DEDICATED_PORT).get(kind)
    if handler is None:
        handler = FOR_ADMINS.get(kind)
        texts = peer.edition.dialect.texts
        if handler is None:
            raise RequestError(Fault.SERVER_PACKET, texts.server_packet(shortened(message)))
        if not peer.is_admin:
            fault = Fault.UNAUTHENTICATED if peer.dedicated_port is None else Fault.FORBIDDEN_HERE
            raise RequestError(fault, texts.unauthenticated(shortened(message)))
    handler(lobby, peer, message)
