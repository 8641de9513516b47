"""The packets around a game: joining, preparing, observing, and the room packet that wraps everything inside a game.

Invariants: requests of clients and events of the server are in the same tables. Both sides read and write both, so a
server can name a packet that it should never have received. The class names of the official server are further tags of
the same packets. Sources: the seed documents, and release 21.4.0.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from spielleiter.protocol.dialect import Dialect, Reader, Reading, Writer
from spielleiter.protocol.dialects.attribute_packets import (
    attribute_reader,
    attribute_writer,
    empty_reader,
    empty_writer,
    flag_reader,
    flag_writer,
    room_flag_reader,
    room_flag_writer,
)
from spielleiter.protocol.dialects.player_score import read_player_score, write_player_score
from spielleiter.protocol.messages import (
    AuthenticateRequest,
    CancelRequest,
    CloseConnection,
    ErrorPacket,
    Joined,
    JoinedGameRoom,
    JoinPreparedRequest,
    JoinRequest,
    JoinRoomRequest,
    Left,
    Message,
    Observed,
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
    UnknownPacket,
)
from spielleiter.protocol.reading import (
    Element,
    is_true,
    read_boolean,
    read_integer,
    read_text,
)
from spielleiter.protocol.writer import Body, attribute, boolean, element, escape_text, leaf, typed_element

# -- requests ---------------------------------------------------------------------------------------------------------


def read_authenticate(packet: Element, reading: Reading) -> AuthenticateRequest:
    """Read the password from the attribute `password`, or else from `passphrase`."""
    reading.skip_children(packet)
    for name in ("password", "passphrase"):
        password = packet.get(name)
        if password is not None:
            return AuthenticateRequest(password, name)
    return AuthenticateRequest()


def write_authenticate(message: AuthenticateRequest, _dialect: Dialect, _indent: str) -> Body:
    """Write the password in the attribute in which it was read."""
    return Body("authenticate", attribute(message.attribute, message.password))


def read_prepare(packet: Element, reading: Reading) -> PrepareRequest:
    """Read a request with its slots; missing attributes get the defaults of the dialect."""
    slots = []
    for child in packet:
        if child.tag == "slot":
            slots.append(_read_slot(child, reading))
        else:
            reading.skip(child, packet)
    is_paused = read_boolean(packet, "pause", default=False)
    return PrepareRequest(packet.get("gameType"), tuple(slots), is_paused, _given(packet, ("gameType", "pause")))


def _given(element: Element, names: Iterable[str]) -> frozenset[str]:
    return frozenset(name for name in names if element.get(name) is not None)


def _read_slot(slot: Element, reading: Reading) -> Slot:
    reading.skip_children(slot)
    defaults = reading.dialect.slot_defaults
    return Slot(
        slot.get("displayName"),
        can_timeout=read_boolean(slot, "canTimeout", default=defaults.can_timeout),
        is_reserved=read_boolean(slot, "reserved", default=defaults.is_reserved),
        should_be_paused=read_boolean(slot, "shouldBePaused", default=defaults.should_be_paused),
        given=_given(slot, ("displayName", "canTimeout", "reserved", "shouldBePaused")),
    )


def write_prepare(message: PrepareRequest, _dialect: Dialect, indent: str) -> Body:
    """Write a request with one element for each slot."""
    attributes = attribute("gameType", message.game_type) + f' pause="{boolean(value=message.is_paused)}"'
    return Body("prepare", attributes, "".join(element(indent, "slot", _slot(slot)) for slot in message.slots))


def _slot(slot: Slot) -> str:
    return (
        attribute("displayName", slot.display_name)
        + f' canTimeout="{boolean(value=slot.can_timeout)}" reserved="{boolean(value=slot.is_reserved)}"'
        + (' shouldBePaused="true"' if slot.should_be_paused else "")
    )


def read_status(packet: Element, reading: Reading) -> StatusRequest | Status:
    """Read a status packet. Without a report it is the request, with a report it is the answer."""
    reading.skip_children(packet)
    report = read_text(packet)
    return Status(report) if report else StatusRequest()


def write_status_request(_message: StatusRequest, _dialect: Dialect, _indent: str) -> Body:
    return Body("status")


def write_status(message: Status, _dialect: Dialect, _indent: str) -> Body:
    """Write a status. Quotes are not escaped: the text of an element may contain them, and JSON has many."""
    return Body("status", "", escape_text(message.report).replace("&quot;", '"'))


# -- events -----------------------------------------------------------------------------------------------------------


def read_joined_game_room(packet: Element, reading: Reading) -> JoinedGameRoom:
    """Read both attributes, each of which may be missing. Raises UnreadableError."""
    reading.skip_children(packet)
    count = packet.get("playerCount")
    existing = packet.get("existing")
    return JoinedGameRoom(
        packet.get("roomId"),
        None if count is None else read_integer(packet, "playerCount"),
        None if existing is None else is_true(existing),
    )


def write_joined_game_room(message: JoinedGameRoom, dialect: Dialect, indent: str) -> Body:
    """Write both the attribute of the release and the documented one."""
    body = write_joined_game_room_count(message, dialect, indent)
    if message.is_existing is None:
        return body
    return body._replace(attributes=f'{body.attributes} existing="{boolean(value=message.is_existing)}"')


def write_joined_game_room_count(message: JoinedGameRoom, _dialect: Dialect, _indent: str) -> Body:
    """Write only the attribute of the release."""
    count = None if message.player_count is None else str(message.player_count)
    return Body("joinedGameRoom", attribute("roomId", message.room_id) + attribute("playerCount", count))


def write_joined_game_room_existing(message: JoinedGameRoom, _dialect: Dialect, _indent: str) -> Body:
    """Write only the documented attribute."""
    existing = None if message.is_existing is None else boolean(value=message.is_existing)
    return Body("joinedGameRoom", attribute("roomId", message.room_id) + attribute("existing", existing))


def read_prepared(packet: Element, reading: Reading) -> Prepared:
    """Read the id of a prepared room and its reservation codes."""
    reservations = []
    for child in packet:
        if child.tag == "reservation":
            reading.skip_children(child)
            reservations.append(read_text(child))
        else:
            reading.skip(child, packet)
    return Prepared(packet.get("roomId"), tuple(reservations))


def write_prepared(message: Prepared, _dialect: Dialect, indent: str) -> Body:
    lines = "".join(leaf(indent, "reservation", code) for code in message.reservations)
    return Body("prepared", attribute("roomId", message.room_id), lines)


def read_error_packet(packet: Element, reading: Reading) -> ErrorPacket:
    """Read an error and the request that it repeats, if any. Raises UnreadableError."""
    original = reading.children(packet, "originalRequest").get("originalRequest")
    return ErrorPacket(packet.get("message", ""), None if original is None else _read_original(original, reading))


def _read_original(original: Element, reading: Reading) -> Message:
    class_name = original.get("class", "")
    reader = reading.dialect.readers.get(class_name)
    return UnknownPacket(class_name) if reader is None else reader(original, reading)


def write_error_packet(message: ErrorPacket, dialect: Dialect, indent: str) -> Body:
    """Write an error. It always has an end tag, since some clients wait for one."""
    original = ""
    if message.original_request is not None:
        original = typed_element(indent, "originalRequest", dialect.body(message.original_request, indent + "  "))
    return Body("errorpacket", attribute("message", message.message), original, has_end_tag=True)


def write_unknown_packet(message: UnknownPacket, _dialect: Dialect, _indent: str) -> Body:
    """Write an unknown packet as far as it was understood: its tag."""
    return Body(message.tag)


# -- the room packet --------------------------------------------------------------------------------------------------


def read_room(packet: Element, reading: Reading) -> RoomMessage:
    """Read a room packet. Unreadable data becomes UnreadableData."""
    element_of_data = reading.children(packet, "data").get("data")
    room_id = packet.get("roomId")
    if element_of_data is None:
        return RoomMessage(room_id, None)
    return RoomMessage(room_id, reading.dialect.read_data(element_of_data, reading))


def write_room(message: RoomMessage, dialect: Dialect, indent: str) -> Body:
    """Write a room packet. Raises LocalProtocolError for data that the dialect cannot write."""
    data = ""
    if message.data is not None:
        data = typed_element(indent, "data", dialect.data_body(message.data, indent + "  "))
    return Body("room", attribute("roomId", message.room_id), data)


# -- the tables -------------------------------------------------------------------------------------------------------

OWN_REQUESTS: Final = ("status",)
"""The tags of requests that no official server knows."""

_READERS: Final[dict[str, Reader]] = {
    "authenticate": read_authenticate,
    "cancel": attribute_reader(CancelRequest, "roomId"),
    "errorpacket": read_error_packet,
    "join": attribute_reader(JoinRequest, "gameType"),
    "joinPrepared": attribute_reader(JoinPreparedRequest, "reservationCode"),
    "joinRoom": attribute_reader(JoinRoomRequest, "roomId"),
    "joined": attribute_reader(Joined, "roomId"),
    "joinedGameRoom": read_joined_game_room,
    "left": attribute_reader(Left, "roomId"),
    "observe": attribute_reader(ObserveRequest, "roomId"),
    "observed": attribute_reader(Observed, "roomId"),
    "pause": room_flag_reader(PauseRequest, "pause"),
    "playerScore": read_player_score,
    "prepare": read_prepare,
    "prepared": read_prepared,
    "room": read_room,
    "scoreForPlayer": attribute_reader(ScoreForPlayerRequest, "displayName"),
    "status": read_status,
    "step": room_flag_reader(StepRequest, "forced"),
    "testMode": flag_reader(TestModeRequest, "testMode"),
    "testing": flag_reader(Testing, "testMode"),
}

_CLASS_NAMES: Final = {
    "sc.protocol.RemovedFromGame": "left",
    "sc.protocol.requests.AuthenticateRequest": "authenticate",
    "sc.protocol.requests.CancelRequest": "cancel",
    "sc.protocol.requests.JoinGameRequest": "join",
    "sc.protocol.requests.JoinPreparedRoomRequest": "joinPrepared",
    "sc.protocol.requests.JoinRoomRequest": "joinRoom",
    "sc.protocol.requests.ObservationRequest": "observe",
    "sc.protocol.requests.PauseGameRequest": "pause",
    "sc.protocol.requests.PlayerScoreRequest": "scoreForPlayer",
    "sc.protocol.requests.PrepareGameRequest": "prepare",
    "sc.protocol.requests.StepRequest": "step",
    "sc.protocol.requests.TestModeRequest": "testMode",
    "sc.protocol.responses.ErrorPacket": "errorpacket",
    "sc.protocol.responses.GamePreparedResponse": "prepared",
    "sc.protocol.responses.JoinedRoomResponse": "joined",
    "sc.protocol.responses.ObservationResponse": "observed",
    "sc.protocol.responses.PlayerScoreResponse": "playerScore",
    "sc.protocol.responses.RoomWasJoinedEvent": "joinedGameRoom",
    "sc.protocol.responses.TestModeResponse": "testing",
    "sc.protocol.room.RoomPacket": "room",
}
"""The class names of the official server, which it also accepts as tags, and the tag that each of them stands for."""

CLOSE: Final = "sc.protocol.CloseConnection"
CLOSE_RESPONSE: Final = "sc.protocol.responses.CloseConnection"

read_close: Final = empty_reader(CloseConnection)

READERS: Final[Mapping[str, Reader]] = {
    **_READERS,
    **{class_name: _READERS[tag] for class_name, tag in _CLASS_NAMES.items()},
    "close": read_close,
    CLOSE: read_close,
    CLOSE_RESPONSE: read_close,
}

WRITERS: Final[Mapping[type, Writer]] = {
    AuthenticateRequest: write_authenticate,
    CancelRequest: attribute_writer("cancel", "roomId", "room_id"),
    CloseConnection: empty_writer(CLOSE),
    ErrorPacket: write_error_packet,
    JoinRequest: attribute_writer("join", "gameType", "game_type"),
    JoinPreparedRequest: attribute_writer("joinPrepared", "reservationCode", "reservation_code"),
    JoinRoomRequest: attribute_writer("joinRoom", "roomId", "room_id"),
    Joined: attribute_writer("joined", "roomId", "room_id"),
    JoinedGameRoom: write_joined_game_room,
    Left: attribute_writer("left", "roomId", "room_id"),
    ObserveRequest: attribute_writer("observe", "roomId", "room_id"),
    Observed: attribute_writer("observed", "roomId", "room_id"),
    PauseRequest: room_flag_writer("pause", "pause", "is_paused"),
    PlayerScore: write_player_score,
    PrepareRequest: write_prepare,
    Prepared: write_prepared,
    RoomMessage: write_room,
    ScoreForPlayerRequest: attribute_writer("scoreForPlayer", "displayName", "display_name"),
    Status: write_status,
    StatusRequest: write_status_request,
    StepRequest: room_flag_writer("step", "forced", "is_forced"),
    TestModeRequest: flag_writer("testMode", "testMode", "is_enabled"),
    Testing: flag_writer("testing", "testMode", "is_enabled"),
    UnknownPacket: write_unknown_packet,
}
