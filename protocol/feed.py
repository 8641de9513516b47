"""The feed: what happens on a server, as typed events that are the same for all seasons; an extension of this server.

An administrator that has sent `<feed/>` receives `<feed>` packets, each with a JSON array of these events. The first
ones tell the present state, as if everything in it had just happened; `Current` ends them. What belongs to one season
(a position, a move, a result) is in the XML of the room's dialect. Times are seconds. `docs/feed.md` is for those who
write a program that follows.

>>> from spielleiter.protocol.feed import GameStepped, decode_events, encode_event
>>> encode_event(GameStepped("a4b1"))
b'{"event":"gameStepped","room":"a4b1"}'
>>> decode_events('[{"event":"gameStepped","room":"a4b1"}]')
[GameStepped(room='a4b1')]
"""

from __future__ import annotations

from typing import Annotated, Final, TypeAlias

import msgspec
from msgspec import Struct

from spielleiter.game.api import Seat
from spielleiter.protocol.connection import Connection, Role
from spielleiter.protocol.dialect import Dialect
from spielleiter.protocol.errors import Refusal, RemoteProtocolError
from spielleiter.protocol.messages import RoomData, RoomMessage
from spielleiter.protocol.thinking import Thinking
from spielleiter.protocol.writer import typed_element

_SeatNumber = Annotated[Seat, msgspec.Meta(ge=0, le=1)]


class OfferedEdition(Struct, frozen=True, rename="camel"):
    """A season that the server offers: the name of the edition, and the game type that clients ask for."""

    edition: str
    game_type: str


class _Event(Struct, frozen=True, rename="camel", tag_field="event", tag=lambda name: f"{name[0].lower()}{name[1:]}"):
    """Base of all events. On the wire, each has its name as the field `event`."""


class ServerDescribed(_Event, frozen=True, tag="server"):
    """The first event: what the server offers, and since when it runs (a date and time with its zone).

    An element of `editions` has `edition` and `gameType`. `game_options` are those that differ from the usual ones, by
    name. `host` and `port` are where it listens. `default_game` is the game type of a `join` that names none.
    `has_admins` says whether people can become administrators.
    """

    version: str
    started_at: str
    editions: tuple[OfferedEdition, ...]
    game_options: dict[str, str]
    default_game: str
    has_admins: bool
    host: str
    port: int
    is_stopping: bool


class RoomOpened(_Event, frozen=True):
    """A room waits for its players; `names` and `soft_timeouts` (None: no limit) are by seat.

    `free_seats` is the number of seats that anyone may take, since nobody is there and they are not reserved.
    """

    room: str
    edition: str
    is_prepared: bool
    names: tuple[str, str]
    free_seats: int
    soft_timeouts: tuple[float | None, float | None]
    addresses: tuple[str, str] = ("", "")


class SeatsChanged(_Event, frozen=True):
    """A player has joined a room whose game has not started; `addresses` are as in `RoomOpened`."""

    room: str
    names: tuple[str, str]
    free_seats: int
    addresses: tuple[str, str] = ("", "")


class GameStarted(_Event, frozen=True):
    """A game has begun in `position`, a replay as XML that holds this position only. No move is requested yet."""

    room: str
    names: tuple[str, str]
    is_paused: bool
    soft_timeouts: tuple[float | None, float | None]
    position: str
    addresses: tuple[str, str] = ("", "")


class MovePlayed(_Event, frozen=True):
    """A move after which the game goes on, or which ends it by the rules. Now the other player's move is requested.

    `ply` is the number of moves that were played in this room before, `move` is the element `data` of the season, and
    `hints` are the player's debug texts. `position` is a document like that of `GameStarted`, with the position after
    the move, in seasons where a move may reveal what nobody knew before.
    """

    room: str
    ply: int
    seat: _SeatNumber
    move: str
    think_time: float
    hints: tuple[str, ...] = ()
    position: str | None = None


class ThinkingChanged(_Event, frozen=True):
    """What the program in `seat` has said about the move number `ply`, from 0: all of it so far.

    It is told in a match only, to the pages that show it. The move may not be played yet.
    """

    room: str
    ply: int
    seat: _SeatNumber
    thinking: Thinking


class ErrorSent(_Event, frozen=True):
    """A move was refused, which ends the game.

    `text` is the error that the observers were sent, and `original` the refused element `data` in it, if any.
    """

    room: str
    seat: _SeatNumber | None
    text: str
    original: str | None = None


class RequestChanged(_Event, frozen=True):
    """The move of `seat` is requested, and its clock has run for `elapsed` seconds.

    `seat` None: no move is requested, as in a paused game. `elapsed` None: the clock has not started yet, since the
    player has not taken the request. There is no such event if it only follows from a move: the move of the seat to
    move is requested, and its clock begins to run.
    """

    room: str
    seat: _SeatNumber | None
    elapsed: float | None


class PauseChanged(_Event, frozen=True):
    """A game, started or not, was paused or resumed."""

    room: str
    is_paused: bool


class LimitsChanged(_Event, frozen=True):
    """The time limits of a player were switched on or off, from its next move on; see `RoomOpened`."""

    room: str
    soft_timeouts: tuple[float | None, float | None]


class GameStepped(_Event, frozen=True):
    """One move of a paused game is requested."""

    room: str


class GameEnded(_Event, frozen=True):
    """A game that had started is over; no move is requested any more.

    `result` is the element `data` of the season; `think_times` are by seat and answer, also those that were not moves.
    """

    room: str
    result: str
    think_times: tuple[tuple[float, ...], tuple[float, ...]]


class RoomClosed(_Event, frozen=True):
    """The room is no more; if its game had not started, it has no result."""

    room: str


class Stopping(_Event, frozen=True):
    """The server has begun to stop: it accepts nobody any more, and cancels the games that do not end in time."""


class Current(_Event, frozen=True):
    """The state at the beginning has been told; from here on, events are news."""


FeedEvent: TypeAlias = (
    ServerDescribed
    | RoomOpened
    | SeatsChanged
    | GameStarted
    | MovePlayed
    | ThinkingChanged
    | ErrorSent
    | RequestChanged
    | PauseChanged
    | LimitsChanged
    | GameStepped
    | GameEnded
    | RoomClosed
    | Stopping
    | Current
)

_DECODER: Final = msgspec.json.Decoder(list[FeedEvent])
_ENCODER: Final = msgspec.json.Encoder()


def encode_event(event: FeedEvent) -> bytes:
    """Return `event` as JSON; the text of a packet is an array of such objects."""
    return _ENCODER.encode(event)


def decode_events(text: str) -> list[FeedEvent]:
    """Return the events in the text of a packet. Raises ValueError for any other text."""
    try:
        return _DECODER.decode(text)
    except msgspec.DecodeError as error:
        raise ValueError(str(error)) from None


def write_data(dialect: Dialect, data: RoomData) -> str:
    """Return a move, a result or refused data as XML: an element `data`. Raises LocalProtocolError."""
    return typed_element("", "data", dialect.data_body(data, ""))


def read_data(dialect: Dialect, text: str) -> RoomData:
    """Return the data in a text that `write_data` has written in the same `dialect`.

    What is no data of this dialect becomes UnreadableData. Raises RemoteProtocolError for a text that is not XML.
    """
    connection = Connection(Role.CLIENT, dialect)
    connection.receive_data(f"<protocol><room>{text}</room>".encode("utf-8", "surrogatepass"))
    event = connection.next_event()
    if not isinstance(event, RoomMessage) or event.data is None:
        raise RemoteProtocolError(Refusal.UNREADABLE_PACKET, "there is no data in it")
    return event.data
