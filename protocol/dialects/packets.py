"""The packets that all seasons share, and the data of room packets that all games share.

Requests of clients and events of the server are in the same tables. Both sides read and write both, so a server can
name a packet that it should never have received. Sources: the seed documents, and release 21.4.0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, TypeAlias, TypeVar

from spielleiter.protocol import messages as m
from spielleiter.protocol.attribute_packets import ATTRIBUTE_PACKETS
from spielleiter.protocol.dialect import DataReader, Dialect, Reader, Reading, Writer
from spielleiter.protocol.values import (
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
from spielleiter.protocol.writer import Body, attribute, boolean, element, escape_document, leaf, typed_element

_W = TypeVar("_W")

# -- packets of a few attributes --------------------------------------------------------------------------------------

AnyReader: TypeAlias = Callable[[Element, Reading], Any]
"""A reader of a packet or of a room's data."""


def attribute_reader(message: Callable[..., Any], texts: Iterable[str] = (), flags: Iterable[str] = ()) -> AnyReader:
    """Return a reader of elements that have only attributes, or nothing but their name.

    `message` is called with the attributes `texts`, each None if it is missing, and then with the truth values of the
    attributes `flags`, each False if it is missing.
    """
    texts, flags = tuple(texts), tuple(flags)

    def read(element: Element, reading: Reading) -> Any:
        reading.skip_children(element)
        return message(
            *[element.get(name) for name in texts],
            *[read_boolean(element, name, default=False) for name in flags],
        )

    return read


def attribute_writer(
    tag: str, texts: Mapping[str, str] | None = None, flags: Mapping[str, str] | None = None
) -> Writer:
    """Return a writer of what `attribute_reader` reads; `tag` is the tag or the class.

    `texts` and `flags` have for each attribute the name of the field of the message.
    """
    if not texts and not flags:
        body = Body(tag)
        return lambda _message, _dialect, _indent: body
    text_fields, flag_fields = dict(texts or {}), dict(flags or {})

    def write(message: Any, _dialect: Dialect, _indent: str) -> Body:
        written = "".join(attribute(name, getattr(message, field)) for name, field in text_fields.items())
        for name, field in flag_fields.items():
            written += f' {name}="{boolean(value=getattr(message, field))}"'
        return Body(tag, written)

    return write


# -- a score's definition, and the scores of test mode ----------------------------------------------------------------

_AGGREGATIONS: Final = {aggregation.value: aggregation for aggregation in m.Aggregation}


def _read_fragment(fragment: Element, reading: Reading) -> m.Fragment:
    parts = reading.children(fragment, "aggregation", "relevantForRanking")
    aggregation = parts.get("aggregation")
    if aggregation is None:
        raise UnreadableError(f"im Element fragment fehlt das Element aggregation; {allowed(_AGGREGATIONS)}")
    relevant = parts.get("relevantForRanking")
    return m.Fragment(
        fragment.get("name", ""),
        read_enum_text(aggregation, _AGGREGATIONS),
        relevant is None or is_true(read_text(relevant)),
    )


def _fragment(part: m.Fragment, indent: str) -> str:
    lines = leaf(indent + "  ", "aggregation", part.aggregation.value)
    lines += leaf(indent + "  ", "relevantForRanking", boolean(value=part.is_relevant_for_ranking))
    return element(indent, "fragment", attribute("name", part.name), lines)


def read_player_score(packet: Element, reading: Reading) -> m.PlayerScore:
    score = reading.children(packet, "score").get("score")
    if score is None:
        raise UnreadableError("im Element playerScore fehlt das Element score")
    values = []
    for child in reading.each(score, "values"):
        parts = reading.children(child, "fragment", "value")
        if len(parts) != len(("fragment", "value")):
            raise UnreadableError("im Element values fehlt fragment oder value")
        values.append((_read_fragment(parts["fragment"], reading), read_decimal_text(parts["value"])))
    return m.PlayerScore(score.get("displayName", ""), read_integer(score, "numberOfTests"), tuple(values))


def write_player_score(message: m.PlayerScore, _dialect: Dialect, indent: str) -> Body:
    attributes = attribute("displayName", message.display_name) + f' numberOfTests="{message.number_of_tests}"'
    values_indent, value_indent = indent + "  ", indent + "    "
    values = "".join(
        element(values_indent, "values", "", _fragment(part, value_indent) + leaf(value_indent, "value", f"{value:f}"))
        for part, value in message.values
    )
    return Body("playerScore", "", element(indent, "score", attributes, values))


# -- requests and events ----------------------------------------------------------------------------------------------


def read_authenticate(packet: Element, reading: Reading) -> m.AuthenticateRequest:
    """Read the password from the attribute `password`, or else from `passphrase`."""
    reading.skip_children(packet)
    for name in ("password", "passphrase"):
        password = packet.get(name)
        if password is not None:
            return m.AuthenticateRequest(password, name)
    return m.AuthenticateRequest()


def write_authenticate(message: m.AuthenticateRequest, _dialect: Dialect, _indent: str) -> Body:
    return Body("authenticate", attribute(message.attribute, message.password))


def read_prepare(packet: Element, reading: Reading) -> m.PrepareRequest:
    defaults = reading.dialect.slot_defaults
    slots, position = [], None
    for slot in packet:
        if slot.tag == "position":
            position = read_text(slot)
            continue
        if slot.tag != "slot":
            reading.skip(slot, packet)
            continue
        reading.skip_children(slot)
        slots.append(
            m.Slot(
                slot.get("displayName"),
                can_timeout=read_boolean(slot, "canTimeout", default=defaults.can_timeout),
                is_reserved=read_boolean(slot, "reserved", default=defaults.is_reserved),
                should_be_paused=read_boolean(slot, "shouldBePaused", default=defaults.should_be_paused),
                given=_given(slot, ("displayName", "canTimeout", "reserved", "shouldBePaused")),
            )
        )
    is_paused = read_boolean(packet, "pause", default=False)
    given = _given(packet, ("gameType", "pause"))
    return m.PrepareRequest(packet.get("gameType"), tuple(slots), is_paused, position, given)


def position_element(position: str | None, indent: str) -> str:
    """Return the position of a prepared game as XML, without any if there is none."""
    return "" if position is None else f"{indent}<position>{escape_document(position)}</position>"


def _given(element: Element, names: Iterable[str]) -> frozenset[str]:
    return frozenset(name for name in names if element.get(name) is not None)


def write_prepare(message: m.PrepareRequest, _dialect: Dialect, indent: str) -> Body:
    attributes = attribute("gameType", message.game_type) + f' pause="{boolean(value=message.is_paused)}"'
    slots = "".join(
        element(
            indent,
            "slot",
            attribute("displayName", slot.display_name)
            + f' canTimeout="{boolean(value=slot.can_timeout)}" reserved="{boolean(value=slot.is_reserved)}"'
            + (' shouldBePaused="true"' if slot.should_be_paused else ""),
        )
        for slot in message.slots
    )
    return Body("prepare", attributes, slots + position_element(message.position, indent))


def text_reader(request: type[Any], answer: type[Any]) -> Reader:
    """Return a reader of a packet that is `request` if it has no text, and `answer` with the text if it has one."""

    def read(packet: Element, reading: Reading) -> Any:
        reading.skip_children(packet)
        text = read_text(packet)
        return answer(text) if text else request()

    return read


def text_writer(tag: str, field: str) -> Writer:
    """Return a writer of messages that have only a text, in `field`."""
    return lambda message, _dialect, _indent: Body(tag, "", escape_document(getattr(message, field)))


def read_joined_game_room(packet: Element, reading: Reading) -> m.JoinedGameRoom:
    reading.skip_children(packet)
    count = packet.get("playerCount")
    existing = packet.get("existing")
    return m.JoinedGameRoom(
        packet.get("roomId"),
        None if count is None else read_integer(packet, "playerCount"),
        None if existing is None else is_true(existing),
    )


def joined_game_room_writer(*, has_count: bool = False, has_existing: bool = False) -> Writer:
    """Return a writer of the attribute of the last releases (the count), the documented one, or both."""

    def write(message: m.JoinedGameRoom, _dialect: Dialect, _indent: str) -> Body:
        attributes = attribute("roomId", message.room_id)
        if has_count and message.player_count is not None:
            attributes += f' playerCount="{message.player_count}"'
        if has_existing and message.is_existing is not None:
            attributes += f' existing="{boolean(value=message.is_existing)}"'
        return Body("joinedGameRoom", attributes)

    return write


def read_prepared(packet: Element, reading: Reading) -> m.Prepared:
    reservations = []
    for child in reading.each(packet, "reservation"):
        reading.skip_children(child)
        reservations.append(read_text(child))
    return m.Prepared(packet.get("roomId"), tuple(reservations))


def write_prepared(message: m.Prepared, _dialect: Dialect, indent: str) -> Body:
    lines = "".join(leaf(indent, "reservation", code) for code in message.reservations)
    return Body("prepared", attribute("roomId", message.room_id), lines)


def read_error_packet(packet: Element, reading: Reading) -> m.ErrorPacket:
    original = reading.children(packet, "originalRequest").get("originalRequest")
    request: m.Message | None = None
    if original is not None:
        class_name = original.get("class", "")
        reader = reading.dialect.readers.get(class_name)
        request = m.UnknownPacket(class_name) if reader is None else reader(original, reading)
    return m.ErrorPacket(packet.get("message", ""), request)


def write_error_packet(message: m.ErrorPacket, dialect: Dialect, indent: str) -> Body:
    """Write an error. It always has an end tag, since some clients wait for one."""
    original = ""
    if message.original_request is not None:
        original = typed_element(indent, "originalRequest", dialect.body(message.original_request, indent + "  "))
    return Body("errorpacket", attribute("message", message.message), original, has_end_tag=True)


# -- the room packet --------------------------------------------------------------------------------------------------


def read_room(packet: Element, reading: Reading) -> m.RoomMessage:
    """Read a room packet. Unreadable data becomes UnreadableData."""
    element_of_data = reading.children(packet, "data").get("data")
    room_id = packet.get("roomId")
    if element_of_data is None:
        return m.RoomMessage(room_id, None)
    return m.RoomMessage(room_id, reading.dialect.read_data(element_of_data, reading))


def write_room(message: m.RoomMessage, dialect: Dialect, indent: str) -> Body:
    data = ""
    if message.data is not None:
        data = typed_element(indent, "data", dialect.data_body(message.data, indent + "  "))
    return Body("room", attribute("roomId", message.room_id), data)


def _read_timeout(packet: Element, reading: Reading) -> m.TimeoutRequest:
    reading.skip_children(packet)
    is_active = read_boolean(packet, "activate", default=False)
    return m.TimeoutRequest(packet.get("roomId"), read_integer(packet, "slot"), is_active)


def write_timeout(message: m.TimeoutRequest, _dialect: Dialect, _indent: str) -> Body:
    """Write a request that only seasons up to 2018 have."""
    attributes = attribute("roomId", message.room_id)
    return Body("timeout", f'{attributes} activate="{boolean(value=message.is_active)}" slot="{message.slot}"')


# -- the tables of packets --------------------------------------------------------------------------------------------

OWN_REQUESTS: Final = ("feed", "metrics", "status")
"""The tags of requests that no official server knows."""
CLOSE: Final = "sc.protocol.CloseConnection"
CLOSE_RESPONSE: Final = "sc.protocol.responses.CloseConnection"

_READERS: Final[Mapping[str, Reader]] = {
    **{tag: attribute_reader(each.message, each.texts, each.flags) for tag, each in ATTRIBUTE_PACKETS.items()},
    "authenticate": read_authenticate,
    "close": attribute_reader(m.CloseConnection),
    "errorpacket": read_error_packet,
    "feed": text_reader(m.FeedRequest, m.FeedUpdate),
    "joinedGameRoom": read_joined_game_room,
    "metrics": text_reader(m.MetricsRequest, m.MetricsText),
    "playerScore": read_player_score,
    "prepare": read_prepare,
    "prepared": read_prepared,
    "room": read_room,
    "status": text_reader(m.StatusRequest, m.Status),
}

READERS: Final[Mapping[str, Reader]] = {
    **_READERS,
    **{each.class_name: _READERS[tag] for tag, each in ATTRIBUTE_PACKETS.items()},
    CLOSE: _READERS["close"],
    CLOSE_RESPONSE: _READERS["close"],
    "sc.protocol.requests.AuthenticateRequest": read_authenticate,
    "sc.protocol.requests.PrepareGameRequest": read_prepare,
    "sc.protocol.responses.ErrorPacket": read_error_packet,
    "sc.protocol.responses.GamePreparedResponse": read_prepared,
    "sc.protocol.responses.PlayerScoreResponse": read_player_score,
    "sc.protocol.responses.RoomWasJoinedEvent": read_joined_game_room,
    "sc.protocol.room.RoomPacket": read_room,
}
"""By tag. The official server also accepts the name of a packet's class as its tag."""

EARLIER_READERS: Final[Mapping[str, Reader]] = {"error": read_error_packet, "timeout": _read_timeout}
"""The packets that only seasons up to 2018 have."""

WRITERS: Final[Mapping[type, Writer]] = {
    **{each.message: attribute_writer(tag, each.texts, each.flags) for tag, each in ATTRIBUTE_PACKETS.items()},
    m.AuthenticateRequest: write_authenticate,
    m.CloseConnection: attribute_writer(CLOSE),
    m.ErrorPacket: write_error_packet,
    m.FeedRequest: attribute_writer("feed"),
    m.FeedUpdate: text_writer("feed", "text"),
    m.JoinedGameRoom: joined_game_room_writer(has_count=True, has_existing=True),
    m.MetricsRequest: attribute_writer("metrics"),
    m.MetricsText: text_writer("metrics", "text"),
    m.PlayerScore: write_player_score,
    m.PrepareRequest: write_prepare,
    m.Prepared: write_prepared,
    m.RoomMessage: write_room,
    m.Status: text_writer("status", "report"),
    m.StatusRequest: attribute_writer("status"),
    # an unknown packet is written as far as it was understood
    m.UnknownPacket: lambda message, _dialect, _indent: Body(message.tag),
}

# -- the data of rooms ------------------------------------------------------------------------------------------------

_CAUSES: Final = {cause.value: cause for cause in m.Cause}


def read_welcome(data: Element, reading: Reading) -> m.WelcomeMessage:
    """Read the receiver's seat from its team name. Raises UnreadableError."""
    reading.skip_children(data)
    return m.WelcomeMessage(seat_named(data.get("color", ""), reading.dialect.welcome_names, "welcomeMessage color"))


def error_reader(tag: str) -> DataReader:
    """Return a reader of errors that repeat the refused data in the element `tag`."""

    def read(data: Element, reading: Reading) -> m.ErrorMessage:
        original = reading.children(data, tag).get(tag)
        return m.ErrorMessage(
            data.get("message", ""), None if original is None else reading.dialect.read_data(original, reading)
        )

    return read


def error_writer(tag: str) -> Writer:
    """Return a writer of errors that repeat the refused data in the element `tag`."""

    def write(message: m.ErrorMessage, dialect: Dialect, indent: str) -> Body:
        original = ""
        if message.original is not None:
            original = typed_element(indent, tag, dialect.data_body(message.original, indent + "  "))
        return Body("error", attribute("message", message.message), original)

    return write


def _write_server_data(message: m.ServerData, dialect: Dialect, indent: str) -> Body:
    """Write data that a client must not send, to repeat it: texts as attributes, data as child elements."""
    attributes = "".join(attribute(name, value) for name, value in message.values if isinstance(value, str))
    children = "".join(
        typed_element(indent, name, dialect.data_body(value, indent + "  "))
        for name, value in message.values
        if value is not None and not isinstance(value, str)
    )
    return Body(message.class_name, attributes, children)


# -- results ----------------------------------------------------------------------------------------------------------


def read_result(data: Element, reading: Reading) -> m.Result:
    """Read a result; only winners have names in it. Raises UnreadableError."""
    definition, scores, winners = read_result_parts(data, reading, _read_player)
    names = dict(winners)
    return m.Result(definition, scores, tuple(seat for seat, _ in winners), (names.get(0, ""), names.get(1, "")))


def read_result_parts(
    data: Element, reading: Reading, read_winner: Callable[[Element, Reading], _W]
) -> tuple[tuple[m.Fragment, ...], tuple[m.Score, ...], list[_W]]:
    """Return the definition of the score, the scores, and the winners. Raises UnreadableError."""
    definition: tuple[m.Fragment, ...] = ()
    scores: list[m.Score] = []
    winners: list[_W] = []
    for child in data:
        if child.tag == "definition":
            definition = read_definition(child, reading)
        elif child.tag == "score":
            parts = tuple([read_integer_text(part) for part in reading.each(child, "part")])
            scores.append(m.Score(*read_cause(child), parts))
        elif child.tag == "winner":
            winners.append(read_winner(child, reading))
        else:
            reading.skip(child, data)
    return definition, tuple(scores), winners


def read_cause(score: Element) -> tuple[m.Cause, str]:
    """Return the cause and the reason of a score. Raises UnreadableError."""
    return read_enum(score, "cause", _CAUSES), score.get("reason", "")


def read_definition(definition: Element, reading: Reading) -> tuple[m.Fragment, ...]:
    """Read the definition of a score. Raises UnreadableError."""
    return tuple([_read_fragment(child, reading) for child in reading.each(definition, "fragment")])


def definition_element(definition: Iterable[m.Fragment], indent: str) -> str:
    """Return the definition of a score as XML."""
    return element(indent, "definition", "", "".join(_fragment(part, indent + "  ") for part in definition))


def score_element(score: m.Score, reason: str | None, indent: str) -> str:
    """Return the score of one player as XML, without the attribute `reason` if it is None."""
    attributes = attribute("cause", score.cause.value) + attribute("reason", reason)
    return element(indent, "score", attributes, "".join(leaf(indent + "  ", "part", str(n)) for n in score.parts))


def write_result(message: m.Result, dialect: Dialect, indent: str) -> Body:
    """Write a result: the definition of the score, the scores, and an element for each winner."""
    lines = [definition_element(message.definition, indent)]
    lines += [score_element(score, score.reason, indent) for score in message.scores]
    lines += [
        player_element(indent, "winner", message.names[seat], dialect.team_names[seat]) for seat in message.winners
    ]
    return Body("result", "", "".join(lines))


def _read_player(player: Element, reading: Reading) -> tuple[int, str]:
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


# -- the tables of data -----------------------------------------------------------------------------------------------

MOVE_REQUEST: Final = "sc.framework.plugins.protocol.MoveRequest"

_READ_ERROR: Final = error_reader("originalMessage")
_READ_PAUSED: Final = attribute_reader(m.Paused, flags=("paused",))
read_move_request: Final = attribute_reader(m.MoveRequest)

DATA_READERS: Final[Mapping[str, DataReader]] = {
    "error": _READ_ERROR,
    "paused": _READ_PAUSED,
    "result": read_result,
    "welcomeMessage": read_welcome,
    MOVE_REQUEST: read_move_request,
    "sc.protocol.room.ErrorMessage": _READ_ERROR,
    "sc.protocol.room.GamePaused": _READ_PAUSED,
    "sc.shared.GameResult": read_result,
    "sc.shared.WelcomeMessage": read_welcome,
}

DATA_WRITERS: Final[Mapping[type[m.RoomData], Writer]] = {
    m.ErrorMessage: error_writer("originalMessage"),
    m.MoveRequest: attribute_writer(MOVE_REQUEST),
    m.Paused: attribute_writer("paused", flags={"paused": "is_paused"}),
    m.Result: write_result,
    m.ServerData: _write_server_data,
    # as far as it was understood
    m.UnreadableData: lambda message, _dialect, _indent: Body(message.class_name or ""),
    m.WelcomeMessage: lambda message, dialect, _indent: Body(
        "welcomeMessage", attribute("color", dialect.welcome_names[message.seat])
    ),
}
