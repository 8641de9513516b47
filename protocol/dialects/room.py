"""The data of room packets that all games share: welcome messages, move requests, pauses, errors, results.

Invariants: the class of the data determines its form. Seats are written as the team names of the dialect. Positions and
moves belong to the dialects of the games. Sources: the seed documents, and release 21.4.0.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from spielleiter.protocol.dialect import DataReader, Dialect, Reading, Writer
from spielleiter.protocol.dialects.attribute_packets import empty_reader, empty_writer, flag_reader, flag_writer
from spielleiter.protocol.dialects.fragment import fragment, read_fragment
from spielleiter.protocol.messages import (
    Cause,
    ErrorMessage,
    Fragment,
    MoveRequest,
    Paused,
    Result,
    RoomData,
    Score,
    ServerData,
    UnreadableData,
    WelcomeMessage,
)
from spielleiter.protocol.reading import (
    Element,
    UnreadableError,
    allowed,
    quote,
    read_enum,
    read_integer_text,
    read_text,
)
from spielleiter.protocol.writer import Body, attribute, element, leaf, typed_element

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
