"""Every packet of the protocol as a frozen value, the same for all seasons.

Law: a message says what was meant, never how it is written; the written form belongs to a dialect. Requests are named
in the imperative (what somebody asks for), events in the past (what the server tells). A field is None where the
sender left the attribute out. They are made in C (msgspec), since every move makes some and every start defines them
all; three that hide or do not compare a field are dataclasses. Source: the seed documents' packets and those of the
official releases.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TypeAlias

from msgspec import Struct

from spielleiter.game.api import Move, Seat, State

# -- requests: client to server ---------------------------------------------------------------------------------------


class JoinRequest(Struct, frozen=True):
    """Take a seat in any open game of this type, or in a new one."""

    game_type: str | None = None


class JoinRoomRequest(Struct, frozen=True):
    """Take a free, unreserved seat in this room."""

    room_id: str | None = None


class JoinPreparedRequest(Struct, frozen=True):
    """Take the seat that this code reserves."""

    reservation_code: str | None = None


@dataclass(frozen=True, slots=True)
class AuthenticateRequest:
    """Become an administrator. `repr` hides the password, so that no log shows it."""

    password: str | None = field(default=None, repr=False)
    attribute: str = "password"
    """The attribute the password came in (`password` or `passphrase`)."""


@dataclass(frozen=True, slots=True)
class Slot:
    """One seat of a game to prepare. A slot without `display_name` came without one.

    `given` are the names of the attributes it came with, None if it never was on a wire.
    """

    display_name: str | None
    can_timeout: bool = True
    is_reserved: bool = True
    should_be_paused: bool = False
    given: frozenset[str] | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class PrepareRequest:
    """Open a room with these seats; `is_paused`: do not ask for moves until resumed or stepped. `given`: see Slot."""

    game_type: str | None
    slots: tuple[Slot, ...]
    is_paused: bool = False
    given: frozenset[str] | None = field(default=None, compare=False, repr=False)


class ObserveRequest(Struct, frozen=True):
    room_id: str | None = None


class PauseRequest(Struct, frozen=True):
    room_id: str | None
    is_paused: bool


class StepRequest(Struct, frozen=True):
    room_id: str | None
    is_forced: bool = False


class CancelRequest(Struct, frozen=True):
    room_id: str | None = None


class TimeoutRequest(Struct, frozen=True):
    """Switch one player's time limits on or off, from its next request on; `slot` is its place in the preparation."""

    room_id: str | None
    slot: int
    is_active: bool


class TestModeRequest(Struct, frozen=True):
    """Keep a score sheet of finished games, by display name."""

    __test__ = False  # a packet of the protocol, not a class of tests
    is_enabled: bool


class ScoreForPlayerRequest(Struct, frozen=True):
    display_name: str | None = None


class StatusRequest(Struct, frozen=True):
    """Tell what there is: rooms, connections, and how the last ones ended. An extension of this server's."""


class CloseConnection(Struct, frozen=True):
    """The regular goodbye, in either direction."""


# -- what a room packet carries ---------------------------------------------------------------------------------------


class MoveData(Struct, frozen=True):
    """A player's move, with the debug hints that came with it."""

    move: Move
    hints: tuple[str, ...] = ()


class UnreadableData(Struct, frozen=True):
    """Room data that was meant as a move but could not be read; `problem` says in German what exactly was wrong."""

    class_name: str | None
    problem: str


class WelcomeMessage(Struct, frozen=True):
    seat: Seat


class MoveRequest(Struct, frozen=True):
    pass


class Memento(Struct, frozen=True):
    """A position as players and observers see it. `names` by seat, empty where the player has none.

    `hints` are the last move's; the server fills them in for replays only (no client expects them).
    """

    state: State
    names: tuple[str, str] = ("", "")
    hints: tuple[str, ...] = ()


class Cause(enum.Enum):
    """Why the game ended for one player; the names are the wire's.

    PROCESS_VIOLATION (a move nobody had asked for) is a cause of its own in later seasons only; before, it is LEFT.
    """

    REGULAR = "REGULAR"
    LEFT = "LEFT"
    RULE_VIOLATION = "RULE_VIOLATION"
    PROCESS_VIOLATION = "PROCESS_VIOLATION"
    SOFT_TIMEOUT = "SOFT_TIMEOUT"
    HARD_TIMEOUT = "HARD_TIMEOUT"
    UNKNOWN = "UNKNOWN"


class Departure(enum.Enum):
    """How a player came to be gone; the names are the wire's, in the seasons that tell."""

    LOST_CONNECTION = "LOST_CONNECTION"
    """Its connection broke or ended without a word."""
    RECEIVED_DISCONNECT = "RECEIVED_DISCONNECT"
    """It said goodbye."""
    PROTOCOL_ERROR = "PROTOCOL_ERROR"
    """It sent what nobody can read."""
    TIMEOUT = "TIMEOUT"
    """It took nothing that it was sent."""
    NOT_CONNECTED = "NOT_CONNECTED"
    """It never came."""
    UNKNOWN = "UNKNOWN"


class Aggregation(enum.Enum):
    SUM = "SUM"
    AVERAGE = "AVERAGE"


class Fragment(Struct, frozen=True):
    """What one part of a score means and how a league adds it up."""

    name: str
    aggregation: Aggregation
    is_relevant_for_ranking: bool = True


class Score(Struct, frozen=True):
    """One player's line in a result; `parts` in the order of the definition's fragments."""

    cause: Cause
    reason: str
    parts: tuple[int, ...]


class Result(Struct, frozen=True):
    """The end of a game. Everything by seat; `winners` holds nobody, one seat, or both (a draw).

    `details`: what a game shows of a player beside the score, a value of its own; see `Dialect.player_details`.
    """

    definition: tuple[Fragment, ...]
    scores: tuple[Score, ...]
    winners: tuple[Seat, ...]
    names: tuple[str, str] = ("", "")
    details: tuple[object, object] = (None, None)


class ErrorMessage(Struct, frozen=True):
    """A room's word on a move it did not accept; `original` is that move's data."""

    message: str
    original: RoomData | None = None


class Paused(Struct, frozen=True):
    is_paused: bool


RoomData: TypeAlias = (
    MoveData | UnreadableData | WelcomeMessage | MoveRequest | Memento | Result | ErrorMessage | Paused
)


class RoomMessage(Struct, frozen=True):
    """A packet that belongs to one game. `data` is None where the sender put none in."""

    room_id: str | None
    data: RoomData | None


# -- events: server to client -----------------------------------------------------------------------------------------


class Joined(Struct, frozen=True):
    room_id: str | None


class JoinedGameRoom(Struct, frozen=True):
    """Somebody joined without a reservation; told to administrators."""

    room_id: str | None
    player_count: int | None = None
    is_existing: bool | None = None


class Left(Struct, frozen=True):
    """The receiver no longer belongs to the room: the game is over."""

    room_id: str | None


class Prepared(Struct, frozen=True):
    """A room was opened; a reservation code for each reserved slot, in the slots' order."""

    room_id: str | None
    reservations: tuple[str, ...] = ()


class Observed(Struct, frozen=True):
    room_id: str | None


class Testing(Struct, frozen=True):
    __test__ = False  # as above
    is_enabled: bool


class PlayerScore(Struct, frozen=True):
    """What a player has earned since test mode was switched on: a value for each fragment of its games.

    No tests and no values: nobody of that name has played (where the edition says so instead of refusing).
    """

    display_name: str
    number_of_tests: int
    values: tuple[tuple[Fragment, Decimal], ...]


class Status(Struct, frozen=True):
    """The answer to a StatusRequest: an object of JSON, never empty."""

    report: str


class UnknownPacket(Struct, frozen=True):
    """A packet with a name the dialect does not know; only ever seen as an error's original request."""

    tag: str


class ErrorPacket(Struct, frozen=True):
    """A request was refused. `original_request` is None where nothing readable had come."""

    message: str
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
)
Event: TypeAlias = Joined | JoinedGameRoom | Left | Prepared | Observed | Testing | PlayerScore | Status | ErrorPacket
Message: TypeAlias = Request | Event | RoomMessage | CloseConnection | UnknownPacket
