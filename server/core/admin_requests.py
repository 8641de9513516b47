"""Handlers for the requests of administrators.

Invariants: like the lobby's own handlers, they decide synchronously; a request that cannot be granted raises
RequestError and changes nothing. `dispatch` calls them for administrators only.
"""

from __future__ import annotations

import json

from spielleiter.common.text import count_text
from spielleiter.protocol.messages import (
    CancelRequest,
    ObserveRequest,
    PauseRequest,
    PlayerScore,
    Prepared,
    PrepareRequest,
    ScoreForPlayerRequest,
    Status,
    StatusRequest,
    StepRequest,
    Testing,
    TestModeRequest,
    TimeoutRequest,
)
from spielleiter.server.core.clock import UNLIMITED
from spielleiter.server.core.lobby import Lobby
from spielleiter.server.core.member import Member
from spielleiter.server.core.prepare_request import complete_request
from spielleiter.server.errors import Fault, RequestError


def prepare(lobby: Lobby, member: Member, request: PrepareRequest) -> None:
    """Open a room for the requested game and answer with its id and its reservation codes."""
    edition = lobby.find_edition(member, request.game_type)
    request = complete_request(request, edition)
    room = lobby.open_prepared(edition, request.slots, is_paused=request.is_paused)
    if not member.is_edition_chosen:
        lobby.choose_edition(member, edition)
    codes = tuple(player_slot.reservation for player_slot in room.player_slots if player_slot.reservation is not None)
    member.peer.send(edition.dialect.encode(Prepared(room.id, codes)))


def observe(lobby: Lobby, member: Member, request: ObserveRequest) -> None:
    """Let the peer observe a room."""
    room = lobby.find_room(member, request.room_id)
    if len(room.observers) >= lobby.settings.observers_per_room and room.id not in member.observed:
        text = f"Room {room.id} has {count_text(len(room.observers), 'observer')}, as many as this server allows"
        raise RequestError(Fault.OBSERVERS_PER_ROOM, text)
    member.observed[room.id] = room
    room.add_observer(member.peer)


def pause(lobby: Lobby, member: Member, request: PauseRequest) -> None:
    """Pause a game or resume it."""
    lobby.find_room(member, request.room_id).pause(member.peer, is_paused=request.is_paused)


def step(lobby: Lobby, member: Member, request: StepRequest) -> None:
    """Request one move of a paused game."""
    lobby.find_room(member, request.room_id).step(member.peer)


def cancel(lobby: Lobby, member: Member, request: CancelRequest) -> None:
    """End a game, started or not."""
    if request.room_id is None:
        raise RequestError(Fault.NO_ROOM_ID, member.peer.edition.dialect.texts.unknown_room(None))
    lobby.find_room(member, request.room_id).cancel()


def set_timeout(lobby: Lobby, member: Member, request: TimeoutRequest) -> None:
    """Turn the time limits of one player on or off, from its next move request on."""
    room = lobby.find_room(member, request.room_id)
    if not 0 <= request.slot < len(room.player_slots):
        raise RequestError(Fault.BAD_SLOTS, f"Room {room.id} has the slots 0 and 1, and no slot {request.slot}")
    room.player_slots[request.slot].clock.next_limits = lobby.settings.limits if request.is_active else UNLIMITED


def set_test_mode(lobby: Lobby, member: Member, request: TestModeRequest) -> None:
    """Start or stop adding results to the score sheet."""
    _require_test_mode(member)
    lobby.scores.is_enabled = request.is_enabled
    member.peer.send(member.peer.edition.dialect.encode(Testing(request.is_enabled)))


def send_score(lobby: Lobby, member: Member, request: ScoreForPlayerRequest) -> None:
    """Answer with a player's line of the score sheet."""
    _require_test_mode(member)
    edition = member.peer.edition
    score = lobby.scores.of(request.display_name or "", edition.dialect.score_definition)
    if score is None:
        if edition.policy.refuses_unknown_players:
            text = edition.dialect.texts.unknown_player(request.display_name)
            raise RequestError(Fault.UNKNOWN_PLAYER, text)
        score = PlayerScore("", 0, ())
    member.peer.send(edition.dialect.encode(score))


def send_status(lobby: Lobby, member: Member, _request: StatusRequest) -> None:
    """Answer with the server's status as JSON."""
    report = json.dumps(lobby.report(), ensure_ascii=False, separators=(",", ":"))
    member.peer.send(member.peer.edition.dialect.encode(Status(report)))


def _require_test_mode(member: Member) -> None:
    edition = member.peer.edition
    if not edition.dialect.has_packet(Testing):
        raise RequestError(Fault.NO_TEST_MODE, f"{edition.name} has no test mode")
