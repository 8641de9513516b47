"""A port that is for one seat only, and how much may come in there.

Invariants: a peer of such a port can take its own seat and play, and nothing else; what it asks for beyond that is
refused as a stranger is refused, and told as `Fault.FORBIDDEN_HERE`. All connections of a port share its allowances: a
sender that is faster waits and is not refused.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from spielleiter.game.api import Seat
from spielleiter.protocol.messages import AuthenticateRequest, JoinPreparedRequest, JoinRequest, JoinRoomRequest
from spielleiter.server import events
from spielleiter.server.core.room import Phase, Room
from spielleiter.server.core.token_bucket import TokenBucket
from spielleiter.server.errors import Fault, RequestError

if TYPE_CHECKING:
    from spielleiter.server.core.lobby import Lobby
    from spielleiter.server.core.peer import Peer


@dataclass(frozen=True, slots=True)
class SeatPort:
    """The port of one seat. Programs of the contest send some hundred bytes and one packet for each move."""

    room: Room
    seat: Seat
    packets: TokenBucket = field(default_factory=lambda: TokenBucket(500, 500))
    received: TokenBucket = field(default_factory=lambda: TokenBucket(256 * 1024, 512 * 1024))
    """In bytes."""


def take_own_seat(lobby: Lobby, peer: Peer, request: JoinRequest | JoinRoomRequest | JoinPreparedRequest) -> None:
    """Sit down on the one seat that the peer's port is for; a plain join needs no code there. Raises RequestError."""
    port = peer.seat_port
    assert port is not None
    room, player_slot = port.room, port.room.player_slots[port.seat]
    texts = peer.edition.dialect.texts
    match request:
        case JoinRequest(game_type=str(asked)) if asked != room.edition.game_type:
            raise RequestError(Fault.OTHER_GAME, f"{room.edition.game_type} is played here, not {asked}")
        case JoinRoomRequest(room_id=asked):
            fault = Fault.FORBIDDEN_HERE if asked in lobby.rooms else Fault.UNKNOWN_ROOM
            raise RequestError(fault, texts.unknown_room(asked))
        case JoinPreparedRequest(reservation_code=code) if code is None or code != player_slot.reservation:
            fault = Fault.FORBIDDEN_HERE if code in lobby.reservations else Fault.UNKNOWN_RESERVATION
            raise RequestError(fault, texts.unknown_reservation)
        case _:
            pass
    if player_slot.reservation is None or room.phase is not Phase.OPEN:
        raise RequestError(Fault.ROOM_FULL, texts.room_full(room.id))
    if isinstance(request, JoinRequest):
        lobby.publish(events.SeatTakenPlainly(room.id, peer.label))
    lobby.redeem(peer, room, player_slot)


def refuse_password(_lobby: Lobby, peer: Peer, _request: AuthenticateRequest) -> None:
    """Where nobody can become an administrator, every password is wrong. Raises RequestError."""
    raise RequestError(Fault.FORBIDDEN_HERE, peer.edition.dialect.texts.wrong_password)
