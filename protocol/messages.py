"""All messages of the protocol, as frozen values that are the same for all seasons.

The written form belongs to the dialects. Requests are named in the imperative (join, pause), events in the past tense
(joined, paused). A field is None if the sender left the attribute out. Messages are msgspec structs, whose classes and
instances are made in C, since every move creates some of them and every start of a program defines them all. Sources:
the packets in the seed documents and those of the official releases.
"""

from __future__ import annotations

import enum
from decimal import Decimal
from typing import Final, TypeAlias, get_args

from msgspec import Struct

from spielleiter.game.api import Move, Seat, State

# -- requests: client to server ---------------------------------------------------------------------------------------


class JoinRequest(Struct, frozen=True):
    """Join any open game of this type, or a new one."""

    game_type: str | None = None


class JoinRoomRequest(Struct, frozen=True):
    """Take a free seat in this room that is not reserved."""

    room_id: str | None = None


class JoinPreparedRequest(Struct, frozen=True):
    """Take the seat that is reserved under this code."""

    reservation_code: str | None = None


class AuthenticateRequest(Struct, frozen=True):
    """Become an administrator. `repr` does not show the password, so that it cannot get into a log."""

    password: str | None = None
    attribute: str = "password"
    """The attribute that contained the password: `password` or `passphrase`."""

    def __repr__(self) -> str:
        return f"AuthenticateRequest(attribute={self.attribute!r})"


class _WithGiven(Struct, frozen=True):
    """Base of what is compared and shown without the field `given`, which only says how it was written."""

    def _shown(self) -> dict[str, object]:
        return {name: getattr(self, name) for name in self.__struct_fields__ if name != "given"}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _WithGiven) and type(other) is type(self) and other._shown() == self._shown()

    def __hash__(self) -> int:
        return hash(tuple(self._shown().values()))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self._shown().items())})"


class Slot(_WithGiven, frozen=True):
    """One seat of a game to be prepared. `display_name` is None if the slot has no name.

    `given` are the attributes that the slot had on the wire; None for a slot that was not read from the wire.
    """

    display_name: str | None
    can_timeout: bool = True
    is_reserved: bool = True
    should_be_paused: bool = False
    given: frozenset[str] | None = None


class PrepareRequest(_WithGiven, frozen=True):
    """Open a room with these seats. If `is_paused`, no move is requested until the game is resumed or stepped.

    `position` is where the game starts, as `spielleiter.protocol.positions` writes it; None: at its beginning. It is an
    extension of this server. `given` are the attributes that the packet had on the wire; None for a request that was
    not read from the wire.
    """

    game_type: str | None
    slots: tuple[Slot, ...]
    is_paused: bool = False
    position: str | None = None
    given: frozenset[str] | None = None


class ObserveRequest(Struct, frozen=True):
    """Receive the positions and the result of this room."""

    room_id: str | None = None


class PauseRequest(Struct, frozen=True):
    """Pause the game in this room, or resume it."""

    room_id: str | None
    is_paused: bool


class StepRequest(Struct, frozen=True):
    """Let one move be made in a paused game."""

    room_id: str | None
    is_forced: bool = False


class CancelRequest(Struct, frozen=True):
    """End the game in this room."""

    room_id: str | None = None


class TimeoutRequest(Struct, frozen=True):
    """Switch the time limits of one player on or off, from its next move request on.

    `slot` is the index of the player's slot in the `PrepareRequest`.
    """

    room_id: str | None
    slot: int
    is_active: bool


class TestModeRequest(Struct, frozen=True):
    """Switch test mode on or off: in test mode the server keeps the scores of finished games, by display name."""

    __test__ = False  # a message, which pytest must not collect as a class of tests
    is_enabled: bool


class ScoreForPlayerRequest(Struct, frozen=True):
    """Ask for the scores of a player in test mode."""

    display_name: str | None = None


class StatusRequest(Struct, frozen=True):
    """Ask for a report on the rooms and connections, and how the last ones ended. An extension of this server."""


class FeedRequest(Struct, frozen=True):
    """Ask to be told of all rooms and moves from now on. An extension of this server."""


class MetricsRequest(Struct, frozen=True):
    """Ask for the figures of the server. An extension of this server."""


class CloseConnection(Struct, frozen=True):
    """Announce the regular end of the connection, in either direction."""


# -- the data of room packets -----------------------------------------------------------------------------------------


class MoveData(Struct, frozen=True):
    """A player's move, with the debug hints that the player sent with it.

    `problem` is a German text that says what is missing in an incomplete move; None for any other move.
    """

    move: Move
    hints: tuple[str, ...] = ()
    problem: str | None = None


class UnreadableData(Struct, frozen=True):
    """Room data that could not be read. `problem` is a German text that says exactly what was wrong.

    `class_name` is the class of the data on the wire; None if it has none. `is_incomplete` is as in `UnreadableError`.
    """

    class_name: str | None
    problem: str
    is_incomplete: bool = False


class WelcomeMessage(Struct, frozen=True):
    """Tells a player its seat."""

    seat: Seat


class MoveRequest(Struct, frozen=True):
    """Asks a player for its move."""


class Memento(Struct, frozen=True):
    """A position, as players and observers receive it.

    `names` are the players' names in the order of the seats, empty for a player without a name. `hints` are those of
    the last move; the server sets them only in replays, since no client expects them.
    """

    state: State
    names: tuple[str, str] = ("", "")
    hints: tuple[str, ...] = ()


class Cause(enum.Enum):
    """Why the game ended for one player. The names are those on the wire.

    PROCESS_VIOLATION (a move that was not requested) is a separate cause only in later seasons; before, it was LEFT.
    """

    REGULAR = "REGULAR"
    LEFT = "LEFT"
    RULE_VIOLATION = "RULE_VIOLATION"
    PROCESS_VIOLATION = "PROCESS_VIOLATION"
    SOFT_TIMEOUT = "SOFT_TIMEOUT"
    HARD_TIMEOUT = "HARD_TIMEOUT"
    UNKNOWN = "UNKNOWN"


class Departure(enum.Enum):
    """How a player left the game. The names are those on the wire, in the seasons that report it."""

    LOST_CONNECTION = "LOST_CONNECTION"
    """Its connection broke, or ended without CloseConnection."""
    RECEIVED_DISCONNECT = "RECEIVED_DISCONNECT"
    """It sent CloseConnection."""
    PROTOCOL_ERROR = "PROTOCOL_ERROR"
    """It sent something that could not be read."""
    TIMEOUT = "TIMEOUT"
    """It did not read what it was sent."""
    NOT_CONNECTED = "NOT_CONNECTED"
    """It never connected."""
    UNKNOWN = "UNKNOWN"


class Aggregation(enum.Enum):
    """How a part of a score is combined over several games."""

    SUM = "SUM"
    AVERAGE = "AVERAGE"


class Fragment(Struct, frozen=True):
    """The definition of one part of a score: what it means, and how it is combined over several games."""

    name: str
    aggregation: Aggregation
    is_relevant_for_ranking: bool = True


class Score(Struct, frozen=True):
    """The score of one player in a result. `parts` has one value for each fragment of the definition, in that order."""

    cause: Cause
    reason: str
    parts: tuple[int, ...]


class Result(Struct, frozen=True):
    """The result of a game.

    `scores`, `names` and `details` are in the order of the seats. There is only the score of the first seat if the game
    ended before anybody had taken or prepared the second one. `winners` contains no seat, one seat, or both (a
    draw). `details` are what the game shows about a player besides the score, as a value of the game; see
    `Dialect.player_details`.
    """

    definition: tuple[Fragment, ...]
    scores: tuple[Score, ...]
    winners: tuple[Seat, ...]
    names: tuple[str, str] = ("", "")
    details: tuple[object, object] = (None, None)

    def score_of(self, seat: Seat | None) -> Score | None:
        """Return the score of `seat`; None if it has none, or if the seat is not known."""
        return self.scores[seat] if seat is not None and seat < len(self.scores) else None


class ErrorMessage(Struct, frozen=True):
    """Says why a move was not accepted; `original` is the data of that move."""

    message: str
    original: RoomData | None = None


class Paused(Struct, frozen=True):
    """Says whether the game is paused."""

    is_paused: bool


class ServerData(Struct, frozen=True):
    """Data that only a server sends, from a client: to be named and repeated in the refusal, and nothing else.

    `class_name` is its class on the wire, `java_name` that in the official server's texts. `values` are its fields with
    their names: an attribute, the data in a child element, or None if it has none.
    """

    class_name: str
    java_name: str
    values: tuple[tuple[str, str | RoomData | None], ...]


RoomData: TypeAlias = (
    MoveData | UnreadableData | WelcomeMessage | MoveRequest | Memento | Result | ErrorMessage | Paused | ServerData
)


class RoomMessage(Struct, frozen=True):
    """A packet that belongs to one game. `data` is None if the packet has none."""

    room_id: str | None
    data: RoomData | None


# -- events: server to client -----------------------------------------------------------------------------------------


class Joined(Struct, frozen=True):
    """The receiver has joined this room."""

    room_id: str | None


class JoinedGameRoom(Struct, frozen=True):
    """A player has joined this room without a reservation; sent to administrators."""

    room_id: str | None
    player_count: int | None = None
    is_existing: bool | None = None


class Left(Struct, frozen=True):
    """The receiver no longer belongs to this room: the game is over."""

    room_id: str | None


class Prepared(Struct, frozen=True):
    """A room was opened. `reservations` has a code for each reserved slot, in the order of the slots."""

    room_id: str | None
    reservations: tuple[str, ...] = ()


class Observed(Struct, frozen=True):
    """The receiver observes this room from now on."""

    room_id: str | None


class Testing(Struct, frozen=True):
    """Test mode has been switched on or off."""

    __test__ = False  # as in TestModeRequest
    is_enabled: bool


class PlayerScore(Struct, frozen=True):
    """The scores of a player since test mode was switched on.

    `number_of_tests` is the number of games, `values` has an entry for each fragment of their scores. An edition that
    does not refuse the request for an unknown name answers it with zero games and no values.
    """

    display_name: str
    number_of_tests: int
    values: tuple[tuple[Fragment, Decimal], ...]


class Status(Struct, frozen=True):
    """The answer to a StatusRequest: a JSON object as text, never empty."""

    report: str


class FeedUpdate(Struct, frozen=True):
    """What has happened since the last one: a JSON array as text, never empty; see `spielleiter.protocol.feed`."""

    text: str


class MetricsText(Struct, frozen=True):
    """The answer to a MetricsRequest: the figures in the text format of Prometheus, never empty."""

    text: str


class UnknownPacket(Struct, frozen=True):
    """A packet whose name the dialect does not know. It occurs only as the original request of an error."""

    tag: str


class ErrorPacket(Struct, frozen=True):
    """A request was refused. `original_request` is None if nothing readable had arrived.

    `message` is None only in a packet of a client that has none.
    """

    message: str | None
    original_request: Message | None = None


Request: TypeAlias = (
    JoinRequest
    | JoinRoomRequest
    | JoinPreparedRequest
    | AuthenticateRequest
    | PrepareRequest
    | ObserveRequest
    | PauseRequest
    | StepRequest
    | CancelRequest
    | TimeoutRequest
    | TestModeRequest
    | ScoreForPlayerRequest
    | StatusRequest
    | FeedRequest
    | MetricsRequest
)
REQUEST_TYPES: Final = frozenset(get_args(Request))
"""Every type of request of any season."""
Event: TypeAlias = (
    Joined
    | JoinedGameRoom
    | Left
    | Prepared
    | Observed
    | Testing
    | PlayerScore
    | Status
    | FeedUpdate
    | MetricsText
    | ErrorPacket
)
Message: TypeAlias = Request | Event | RoomMessage | CloseConnection | UnknownPacket
