"""The packets that have only attributes, with their names and fields in the official server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from spielleiter.protocol import messages as m


class AttributePacket(NamedTuple):
    """The class in the official server, the message, and for each attribute (a text or a flag) the message's field."""

    class_name: str
    message: type[Any]
    texts: Mapping[str, str] = {}
    flags: Mapping[str, str] = {}


_ROOM_ID: Final = {"roomId": "room_id"}
ATTRIBUTE_PACKETS: Final = {
    "cancel": AttributePacket("sc.protocol.requests.CancelRequest", m.CancelRequest, _ROOM_ID),
    "join": AttributePacket("sc.protocol.requests.JoinGameRequest", m.JoinRequest, {"gameType": "game_type"}),
    "joinPrepared": AttributePacket(
        "sc.protocol.requests.JoinPreparedRoomRequest", m.JoinPreparedRequest, {"reservationCode": "reservation_code"}
    ),
    "joinRoom": AttributePacket("sc.protocol.requests.JoinRoomRequest", m.JoinRoomRequest, _ROOM_ID),
    "joined": AttributePacket("sc.protocol.responses.JoinedRoomResponse", m.Joined, _ROOM_ID),
    "left": AttributePacket("sc.protocol.RemovedFromGame", m.Left, _ROOM_ID),
    "observe": AttributePacket("sc.protocol.requests.ObservationRequest", m.ObserveRequest, _ROOM_ID),
    "observed": AttributePacket("sc.protocol.responses.ObservationResponse", m.Observed, _ROOM_ID),
    "pause": AttributePacket("sc.protocol.requests.PauseGameRequest", m.PauseRequest, _ROOM_ID, {"pause": "is_paused"}),
    "scoreForPlayer": AttributePacket(
        "sc.protocol.requests.PlayerScoreRequest", m.ScoreForPlayerRequest, {"displayName": "display_name"}
    ),
    "step": AttributePacket("sc.protocol.requests.StepRequest", m.StepRequest, _ROOM_ID, {"forced": "is_forced"}),
    "testMode": AttributePacket(
        "sc.protocol.requests.TestModeRequest", m.TestModeRequest, flags={"testMode": "is_enabled"}
    ),
    "testing": AttributePacket("sc.protocol.responses.TestModeResponse", m.Testing, flags={"testMode": "is_enabled"}),
}
"""By tag."""
