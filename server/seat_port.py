"""A port that is for one seat only, and how much may come in there.

Invariants: a peer of such a port can take its own seat and play, and nothing else; what it asks for beyond that is
refused as a stranger is refused, and told as `Fault.FORBIDDEN_HERE`. All connections of a port share its allowances: a
sender that is faster waits and is not refused.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from game.api import Seat
from protocol.messages import AuthenticateRequest, JoinPreparedRequest, JoinRequest, JoinRoomRequest
from server import events
from server.allowance import Allowance
from server.errors import Fault, RequestError
from server.room import Phase, Room

if TYPE_CHECKING:
    from server.lobby import Lobby
    from server.peer import Peer


@dataclass(frozen=True, slots=True)
class SeatPort:
    """The port of one seat. Programs of the contest send some hundred bytes and one packet for each move."""

    room: Room
    seat: Seat
    packets: Allowance = field(default_factory=lambda: Allowance(500, 500))
    received: Allowance = field(default_factory=lambda: Allowance(256 * 1024, 512 * 1024))
    """In bytes."""


def take_own_seat(lobby: Lobby, peer: Peer, request: JoinRequest | JoinRoomRequest | JoinPreparedRequest) -> None:
    """Sit down on the one seat that the peer's port is for; a plain join needs no code there. Raises RequestError."""
    port = peer.seat_port
    assert port is not None
    room, chair = port.room, port.room.chairs[port.seat]
    texts = peer.edition.dialect.texts
    match request:
        case JoinRequest(game_type=str(asked)) if asked != room.edition.game_type:
            raise RequestError(Fault.OTHER_GAME, f"{room.edition.game_type} is played here, not {asked}")
        case JoinRoomRequest(room_id=asked):
            fault = Fault.FORBIDDEN_HERE if asked in lobby.rooms else Fault.UNKNOWN_ROOM
            raise RequestError(fault, texts.unknown_room(asked))
        case JoinPreparedRequest(reservation_code=code) if code is None or code != chair.reservation:
            fault = Fault.FORBIDDEN_HERE if code in lobby.reservations else Fault.UNKNOWN_RESERVATION
            raise RequestError(fault, texts.unknown_reservation)
        case _:
            pass
    if chair.reservation is None or room.phase is not Phase.OPEN:
        raise RequestError(Fault.ROOM_FULL, texts.room_full(room.id))
    if isinstance(request, JoinRequest):
        lobby.publish(events.SeatTakenPlainly(room.id, peer.label))
    lobby.redeem(peer, room, chair)


def refuse_password(_lobby: Lobby, peer: Peer, _request: AuthenticateRequest) -> None:
    """Where nobody can become an administrator, every password is wrong. Raises RequestError."""
    raise RequestError(Fault.FORBIDDEN_HERE, peer.edition.dialect.texts.wrong_password)
