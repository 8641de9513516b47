"""Which part of the lobby answers which packet.

Invariants: one table, one row a packet; rows marked so are for administrators only. A packet that only a server sends
is refused by name. On a port that is for one seat only there is a table of its own: administration does not exist.
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
from spielleiter.server.core.clock import Arrival
from spielleiter.server.core.error_packets import shortened
from spielleiter.server.core.lobby import Lobby
from spielleiter.server.core.peer import Peer
from spielleiter.server.core.seat_port import refuse_password, take_own_seat
from spielleiter.server.errors import Fault, RequestError

Handler: TypeAlias = Callable[[Lobby, Peer, Any], None]

FOR_ANYONE: dict[type, Handler] = {
    JoinRequest: Lobby.join,
    JoinRoomRequest: Lobby.join_room,
    JoinPreparedRequest: Lobby.join_prepared,
    AuthenticateRequest: Lobby.authenticate,
}

AT_SEAT_PORT: dict[type, Handler] = {
    JoinRequest: take_own_seat,
    JoinRoomRequest: take_own_seat,
    JoinPreparedRequest: take_own_seat,
    AuthenticateRequest: refuse_password,
}

FOR_ADMINS: dict[type, Handler] = {
    PrepareRequest: Lobby.prepare,
    ObserveRequest: Lobby.observe,
    PauseRequest: Lobby.pause,
    StepRequest: Lobby.step,
    CancelRequest: Lobby.cancel,
    TimeoutRequest: Lobby.set_timeout,
    TestModeRequest: Lobby.set_test_mode,
    ScoreForPlayerRequest: Lobby.score_for_player,
    StatusRequest: Lobby.status,
}


def dispatch(lobby: Lobby, peer: Peer, message: Message, arrival: Arrival, now: float) -> None:
    """Have `message` answered. Raises RequestError where it cannot be granted."""
    if isinstance(message, RoomMessage):  # nearly every packet is a move
        lobby.room_message(peer, message, arrival, now)
        return
    kind = type(message)
    handler = (FOR_ANYONE if peer.seat_port is None else AT_SEAT_PORT).get(kind)
    if handler is None:
        handler = FOR_ADMINS.get(kind)
        texts = peer.edition.dialect.texts
        if handler is None:
            raise RequestError(Fault.SERVER_PACKET, texts.server_packet(shortened(message)))
        if not peer.is_admin:
            fault = Fault.UNAUTHENTICATED if peer.seat_port is None else Fault.FORBIDDEN_HERE
            raise RequestError(fault, texts.unauthenticated(shortened(message)))
    handler(lobby, peer, message)
