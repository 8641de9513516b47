"""Dispatches packets to the request handlers.

Invariants: each packet that a client may send has an entry in the table for those who may send it. Other packets are
refused, and the reply names them. Peers of a dedicated port have a table of their own, without administration, and are
always answered in the form of their room's edition.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from spielleiter.protocol.messages import (
    AuthenticateRequest,
    CancelRequest,
    JoinPreparedRequest,
    JoinRequest,
    JoinRoomRequest,
    Message,
    ObserveRequest,
    PauseRequest,
    PrepareRequest,
    RoomMessage,
    ScoreForPlayerRequest,
    StatusRequest,
    StepRequest,
    TestModeRequest,
    TimeoutRequest,
)
from spielleiter.server.core import admin_requests
from spielleiter.server.core.clock import Arrival
from spielleiter.server.core.dedicated_port_requests import refuse_password, take_dedicated_seat
from spielleiter.server.core.error_packets import shortened
from spielleiter.server.core.lobby import Lobby
from spielleiter.server.core.member import Member
from spielleiter.server.errors import Fault, RequestError

Handler: TypeAlias = Callable[[Lobby, Member, Any], None]

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
    PrepareRequest: admin_requests.prepare,
    ObserveRequest: admin_requests.observe,
    PauseRequest: admin_requests.pause,
    StepRequest: admin_requests.step,
    CancelRequest: admin_requests.cancel,
    TimeoutRequest: admin_requests.set_timeout,
    TestModeRequest: admin_requests.set_test_mode,
    ScoreForPlayerRequest: admin_requests.send_score,
    StatusRequest: admin_requests.send_status,
}


def dispatch(lobby: Lobby, member: Member, message: Message, arrival: Arrival, now: float) -> None:
    """Handle `message`, which arrived at `arrival`; `now` is the present instant.

    Raises RequestError if the request cannot be granted.
    """
    if isinstance(message, RoomMessage):  # nearly every packet is a move
        lobby.room_message(member, message, arrival, now)
        return
    kind = type(message)
    if member.dedicated_port is None:
        lobby.recognise_season(member, kind)
    handler = (FOR_ANYONE if member.dedicated_port is None else AT_DEDICATED_PORT).get(kind)
    if handler is None:
        handler = FOR_ADMINS.get(kind)
        texts = member.peer.edition.dialect.texts
        if handler is None:
            raise RequestError(Fault.SERVER_PACKET, texts.server_packet(shortened(message)))
        if not member.is_admin:
            fault = Fault.UNAUTHENTICATED if member.dedicated_port is None else Fault.FORBIDDEN_HERE
            raise RequestError(fault, texts.unauthenticated(shortened(message)))
    handler(lobby, member, message)
