"""The packets that all seasons share, and the data of room packets that all games share.

Invariants: requests of clients and events of the server are in the same tables. Both sides read and write both, so a
server can name a packet that it should never have received. The class names of the official server are further tags of
the same packets. What is read from written values equals them. Sources: the seed documents, and release 21.4.0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, TypeAlias

from spielleiter.protocol.dialect import DataReader, Dialect, Reader, Reading, Writer
from spielleiter.protocol.messages import (
    Aggregation,
    AuthenticateRequest,
    CancelRequest,
    Cause,
    CloseConnection,
    ErrorMessage,
    ErrorPacket,
    Fragment,
    Joined,
    JoinedGameRoom,
    JoinPreparedRequest,
    JoinRequest,
    JoinRoomRequest,
    Left,
    Message,
    MoveRequest,
    Observed,
    ObserveRequest,
    Paused,
    PauseRequest,
    PlayerScore,
    Prepared,
    PrepareRequest,
    Result,
    RoomData,
    RoomMessage,
    Score,
    ScoreForPlayerRequest,
    ServerData,
    Slot,
    Status,
    StatusRequest,
    StepRequest,
    Testing,
    TestModeRequest,
    UnknownPacket,
    UnreadableData,
    WelcomeMessage,
)
from spielleiter.protocol.reading import (
    Element,
    UnreadableError,
    allowed,
    is_true,
    quote,
    read_boolean,
    read_decimal_text,
    read_enum,
    read_enum_text,
    read_integer,
    read_integer_text,
    read_text,
)
from spielleiter.protocol.writer import Body, attribute, boolean, element, escape_text, leaf, typed_element

# -- packets of a few attributes --------------------------------------------------------------------------------------


AnyReader: TypeAlias = Callable[[Element, Reading], Any]
"""A reader of a packet or of a room's data."""


def empty_reader(message: Callable[[], Any]) -> AnyReader:
    """Return a reader of elements without any content."""

    def read(element: Element, reading: Reading) -> Any:
        reading.skip_children(element)
        return message()

    return read


def empty_writer(name: str) -> Writer:
    """Return a writer of elements without any content; `name` is the tag or the class."""

    def write(_message: Any, _dialect: Dialect, _indent: str) -> Body:
        return Body(name)

    return write


def attribute_reader(message: Callable[[str | None], Any], name: str) -> AnyReader:
    """Return a reader of elements whose only content is the attribute `name`, a text that may be missing."""

    def read(element: Element, reading: Reading) -> Any:
        reading.skip_children(element)
        return message(element.get(name))

    return read


def attribute_writer(tag: str, name: str, field: str) -> Writer:
    """Return a writer of elements whose attribute `name` has the value of the message's text `field`."""

    def write(message: Any, _dialect: Dialect, _indent: str) -> Body:
        return Body(tag, attribute(name, getattr(message, field)))

    return write


def flag_reader(message: Callable[[bool], Any], name: str) -> AnyReader:
    """Return a reader of elements whose only content is the truth value `name`; without it, it is False."""

    def read(element: Element, reading: Reading) -> Any:
        reading.skip_children(element)
        return message(read_boolean(element, name, default=False))

    return read


def flag_writer(tag: str, name: str, field: str) -> Writer:
    """Return a writer of elements whose attribute `name` is the truth value of the message's `field`."""

    def write(message: Any, _dialect: Dialect, _indent: str) -> Body:
        return Body(tag, f' {name}="{boolean(value=getattr(message, field))}"')

    return write


def room_flag_reader(message: Callable[[str | None, bool], Any], name: str) -> AnyReader:
    """Return a reader of requests about a room: its id, and the truth value `name`, which is False if missing."""

    def read(element: Element, reading: Reading) -> Any:
        reading.skip_children(element)
        return message(element.get("roomId"), read_boolean(element, name, default=False))

    return read


def room_flag_writer(tag: str, name: str, field: str) -> Writer:
    """Return a writer of requests about a room: its id, and the truth value of the message's `field` as `name`."""

    def write(message: Any, _dialect: Dialect, _indent: str) -> Body:
        return Body(tag, attribute("roomId", message.room_id) + f' {name}="{boolean(value=getattr(message, field))}"')

    return write


# -- scores -----------------------------------------------------------------------------------------------------------


AGGREGATIONS: Final = {aggregation.value: aggregation for aggregation in Aggregation}


def read_fragment(fragment: Element, reading: Reading) -> Fragment:
    """Read one part of a score definition. Raises UnreadableError."""
    parts = reading.children(fragment, "aggregation", "relevantForRanking")
    aggregation = parts.get("aggregation")
    if aggregation is None:
        raise UnreadableError(f"im Element fragment fehlt das Element aggregation; {allowed(AGGREGATIONS)}")
    relevant = parts.get("relevantForRanking")
    return Fragment(
        fragment.get("name", ""),
        read_enum_text(aggregation, AGGREGATIONS),
        relevant is None or is_true(read_text(relevant)),
    )


def fragment(part: Fragment, indent: str) -> str:
    """Return one part of a score definition as XML."""
    lines = leaf(indent + "  ", "aggregation", part.aggregation.value)
    lines += leaf(indent + "  ", "relevantForRanking", boolean(value=part.is_relevant_for_ranking))
    return element(indent, "fragment", attribute("name", part.name), lines)


def read_player_score(packet: Element, reading: Reading) -> PlayerScore:
    """Read the scores of a player. Raises UnreadableError."""
    score = reading.children(packet, "score").get("score")
    if score is None:
        raise UnreadableError("im Element playerScore fehlt das Element score")
    values = []
    for child in score:
        if child.tag != "values":
            reading.skip(child, score)
            continue
        parts = reading.children(child, "fragment", "value")
        if len(parts) != len(("fragment", "value")):
            raise UnreadableError("im Element values fehlt fragment oder value")
        values.append((read_fragment(parts["fragment"], reading), read_decimal_text(parts["value"])))
    return PlayerScore(score.get("displayName", ""), read_integer(score, "numberOfTests"), tuple(values))


def write_player_score(message: PlayerScore, _dialect: Dialect, indent: str) -> Body:
    """Write the scores of a player."""
    attributes = attribute("displayName", message.display_name) + f' numberOfTests="{message.number_of_tests}"'
    values_indent, value_indent = indent + "  ", indent + "    "
    values = "".join(
        element(values_indent, "values", "", fragment(part, value_indent) + leaf(value_indent, "value", f"{value:f}"))
        for part, value in message.values
    )
    return Body("playerScore", "", element(indent, "score", attributes, values))


# -- requests ---------------------------------------------------------------------------------------------------------


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


CAUSES: Final = {cause.value: cause for cause in Cause}


def read_welcome(data: Element, reading: Reading) -> WelcomeMessage:
    """Read the receiver's seat from its team name. Raises UnreadableError."""
    reading.skip_children(data)
    return WelcomeMessage(seat_named(data.get("color", ""), reading.dialect.welcome_names, "welcomeMessage color"))


def write_welcome(message: WelcomeMessage, dialect: Dialect, _indent: str) -> Body:
    return Body("welcomeMessage", attribute("color", dialect.welcome_names[message.seat]))


def error_reader(tag: str) -> DataReader:
    """Return a reader of errors that repeat the refused data in the element `tag`."""

    def read(data: Element, reading: Reading) -> ErrorMessage:
        original = reading.children(data, tag).get(tag)
        return ErrorMessage(
            data.get("message", ""), None if original is None else reading.dialect.read_data(original, reading)
        )

    return read


def error_writer(tag: str) -> Writer:
    """Return a writer of errors that repeat the refused data in the element `tag`."""

    def write(message: ErrorMessage, dialect: Dialect, indent: str) -> Body:
        original = ""
        if message.original is not None:
            original = typed_element(indent, tag, dialect.data_body(message.original, indent + "  "))
        return Body("error", attribute("message", message.message), original)

    return write


def write_unreadable(message: UnreadableData, _dialect: Dialect, _indent: str) -> Body:
    """Write unreadable data as far as it was understood: its class."""
    return Body(message.class_name or "")


def write_server_data(message: ServerData, dialect: Dialect, indent: str) -> Body:
    """Write data that a client must not send, to repeat it: texts as attributes, data as child elements."""
    attributes = "".join(attribute(name, value) for name, value in message.values if isinstance(value, str))
    children = "".join(
        typed_element(indent, name, dialect.data_body(value, indent + "  "))
        for name, value in message.values
        if value is not None and not isinstance(value, str)
    )
    return Body(message.class_name, attributes, children)


# -- results ----------------------------------------------------------------------------------------------------------


def read_result(data: Element, reading: Reading) -> Result:
    """Read a result; only winners have names in it. Raises UnreadableError."""
    definition: tuple[Fragment, ...] = ()
    scores: list[Score] = []
    winners: list[tuple[int, str]] = []
    for child in data:
        if child.tag == "definition":
            definition = read_definition(child, reading)
        elif child.tag == "score":
            scores.append(read_score(child, reading))
        elif child.tag == "winner":
            winners.append(read_player(child, reading))
        else:
            reading.skip(child, data)
    names = dict(winners)
    return Result(definition, tuple(scores), tuple(seat for seat, _ in winners), (names.get(0, ""), names.get(1, "")))


def read_definition(definition: Element, reading: Reading) -> tuple[Fragment, ...]:
    """Read the definition of a score. Raises UnreadableError."""
    parts = []
    for child in definition:
        if child.tag == "fragment":
            parts.append(read_fragment(child, reading))
        else:
            reading.skip(child, definition)
    return tuple(parts)


def read_score(score: Element, reading: Reading) -> Score:
    """Read the score of one player. Raises UnreadableError."""
    parts = []
    for child in score:
        if child.tag == "part":
            parts.append(read_integer_text(child))
        else:
            reading.skip(child, score)
    return Score(read_enum(score, "cause", CAUSES), score.get("reason", ""), tuple(parts))


def write_result(message: Result, dialect: Dialect, indent: str) -> Body:
    """Write a result: the definition of the score, the scores, and an element for each winner."""
    inner = indent + "  "
    parts = "".join(fragment(part, inner) for part in message.definition)
    lines = [element(indent, "definition", "", parts)]
    for score in message.scores:
        attributes = attribute("cause", score.cause.value) + attribute("reason", score.reason)
        lines.append(element(indent, "score", attributes, "".join(leaf(inner, "part", str(n)) for n in score.parts)))
    lines += [
        player_element(indent, "winner", message.names[seat], dialect.team_names[seat]) for seat in message.winners
    ]
    return Body("result", "", "".join(lines))


def read_player(player: Element, reading: Reading) -> tuple[int, str]:
    """Return the seat and the name of a player. Raises UnreadableError."""
    color, team_names = reading.children(player, "color").get("color"), reading.dialect.team_names
    if color is None:
        raise UnreadableError(f"im Element {player.tag} fehlt das Element color; {allowed(team_names)}")
    return seat_named(read_text(color), team_names, f"{player.tag} color"), player.get("displayName", "")


def player_element(indent: str, tag: str, name: str, team_name: str) -> str:
    """Return a player's name and team as the element `tag`."""
    return element(
        indent, tag, attribute("displayName", name), leaf(indent + "  ", "color", team_name, ' class="team"')
    )


def seat_named(name: str, names: tuple[str, str], where: str) -> int:
    """Return the index of `name` in `names`. Raises UnreadableError, whose text says `where` the name was found."""
    if name not in names:
        raise UnreadableError(f'{where}="{quote(name)}" gibt es nicht; {allowed(names)}')
    return names.index(name)


# -- the tables -------------------------------------------------------------------------------------------------------

MOVE_REQUEST: Final = "sc.framework.plugins.protocol.MoveRequest"

read_error: Final = error_reader("originalMessage")
read_move_request: Final = empty_reader(MoveRequest)
read_paused: Final = flag_reader(Paused, "paused")

DATA_READERS: Final[Mapping[str, DataReader]] = {
    "error": read_error,
    "paused": read_paused,
    "result": read_result,
    "welcomeMessage": read_welcome,
    MOVE_REQUEST: read_move_request,
    "sc.protocol.room.ErrorMessage": read_error,
    "sc.protocol.room.GamePaused": read_paused,
    "sc.shared.GameResult": read_result,
    "sc.shared.WelcomeMessage": read_welcome,
}

DATA_WRITERS: Final[Mapping[type[RoomData], Writer]] = {
    ErrorMessage: error_writer("originalMessage"),
    MoveRequest: empty_writer(MOVE_REQUEST),
    Paused: flag_writer("paused", "paused", "is_paused"),
    Result: write_result,
    ServerData: write_server_data,
    UnreadableData: write_unreadable,
    WelcomeMessage: write_welcome,
}
