"""Handlers for the requests of peers that connected to a dedicated port, which serves a single seat.

Invariants: such a peer can take that seat and do nothing else. Other requests are refused with the texts that a
stranger would get, and are counted as `Fault.FORBIDDEN_HERE`; those for any other seat, or with any other reservation
code, whether it exists or not, as `Fault.FOREIGN_SEAT`.
"""

from __future__ import annotations

from spielleiter.protocol.messages import AuthenticateRequest, JoinPreparedRequest, JoinRequest, JoinRoomRequest
from spielleiter.server import events
from spielleiter.server.core.lobby import Lobby
from spielleiter.server.core.member import Member
from spielleiter.server.core.room import Phase
from spielleiter.server.errors import Fault, RequestError


def take_dedicated_seat(
    lobby: Lobby, member: Member, request: JoinRequest | JoinRoomRequest | JoinPreparedRequest
) -> None:
    """Give the peer the seat that its port serves; a plain join needs no reservation code there.

    Raises RequestError if the request asks for another game, another room or another seat, or if the seat is taken.
    """
    port = member.dedicated_port
    assert port is not None
    room, player_slot = port.room, port.room.player_slots[port.seat]
    texts = member.peer.edition.dialect.texts
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
        lobby.publish(events.SeatTakenPlainly(room.id, member.peer.label))
    lobby.take_reserved_slot(member, room, player_slot)


def refuse_password(_lobby: Lobby, member: Member, _request: AuthenticateRequest) -> None:
    """Refuse every password, since nobody can become an administrator through this port. Raises RequestError."""
    raise RequestError(Fault.FORBIDDEN_HERE, member.peer.edition.dialect.texts.wrong_password)
