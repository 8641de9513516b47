"""`Texts`: every text of the official server that a client can receive, byte for byte.

Where the official server sends no text (because it does not answer), the text is this project's own, in the same style.
Sources: the recorded packets and, for texts that no recording shows, the `toString` methods of release 21.4.0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from spielleiter.game.api import Mistake, Move, Outcome, Seat, State
from spielleiter.protocol.messages import (
    AuthenticateRequest,
    CancelRequest,
    Departure,
    ErrorMessage,
    ErrorPacket,
    Fragment,
    Joined,
    JoinedGameRoom,
    JoinPreparedRequest,
    JoinRequest,
    JoinRoomRequest,
    Left,
    Memento,
    Message,
    MoveData,
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
    StatusRequest,
    StepRequest,
    Testing,
    TestModeRequest,
    TimeoutRequest,
    UnreadableData,
    WelcomeMessage,
)

_EXCEPTIONS: Final = "sc.api.plugins.exceptions"
_INVALID_FORMAT: Final = "Der Zug konnte nicht erkannt werden"

LEFT_REASON: Final = "Der Spieler hat das Spiel verlassen"

_TEAM_CONSTANTS: Final = ("ONE", "TWO")
_WRONG_PASSWORD: Final = "sc.server.network.AuthenticationFailedException: Failed to authenticate as administrator"  # noqa: S105 - a text

_JAVA_NAMES: Final[dict[type, str]] = {
    ErrorPacket: "sc.protocol.responses.ErrorPacket",
    Joined: "sc.protocol.responses.JoinedRoomResponse",
    JoinedGameRoom: "sc.protocol.responses.RoomWasJoinedEvent",
    Left: "sc.protocol.RemovedFromGame",
    Observed: "sc.protocol.responses.ObservationResponse",
    PlayerScore: "sc.protocol.responses.PlayerScoreResponse",
    Prepared: "sc.protocol.responses.GamePreparedResponse",
    Testing: "sc.protocol.responses.TestModeResponse",
}
"""The packets that only a server sends, with the names of their classes in the official server."""


@dataclass(frozen=True, slots=True)
class MoveRefusal:
    """All texts about one move that was not accepted."""

    reason: str
    """The reason in the score of the player who sent the move, if it loses the game because of it."""
    error: str
    """The text of the room's error for that player."""
    observer_error: str
    """The text of the room's error for the observers."""
    packet: str | None
    """The text of the errorpacket that follows the room's error; None if there is none."""
    shown: RoomData | None
    """The part of the refused data that the room's error repeats."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Texts:
    """The texts of one edition. A player is named by its team, followed by its name in brackets.

    The fields that are functions return a text. The docstrings below them name their arguments, in order.
    """

    mistake_texts: Mapping[Mistake, str]
    describe_move: Callable[[Move | None], str]
    describe_data: Callable[[RoomData | None], str]
    describe_request: Callable[[Message], str]

    # all texts of a refused move
    illegal: Callable[[str, Mistake, Move, State], MoveRefusal]
    """The player's name, the mistake, the move, and the position in which it was sent."""
    unreadable: Callable[[str, UnreadableData], MoveRefusal]
    """The player's name, and the data that it sent."""
    out_of_turn: Callable[[Seat | None, Seat, Seat, tuple[str, str], RoomData], MoveRefusal]
    """The player whose turn it is (None: the game has not begun), the seat that moves first or next, the seat of the
    sender, the names in the order of the seats, and the data that was sent."""

    # reasons in the scores of a result
    regular_reason: Callable[[Outcome], str]
    """The outcome of a game that was played to its end."""
    departure_reason: Callable[[Departure], str]
    soft_timeout_reason: Callable[[float], str]
    """The limit in seconds."""
    hard_timeout_reason: Callable[[float], str]
    """The limit in seconds."""

    # messages of an errorpacket
    non_move: Callable[[RoomMessage], str]
    """The room packet of a player that contains no move."""
    not_member: Callable[[str | None], str]
    """The room id."""
    room_full: Callable[[str | None], str]
    """The room id."""
    unknown_room: Callable[[str | None], str]
    """The room id."""
    unknown_reservation: str
    unknown_player: Callable[[str | None], str]
    """A display name under which no player has played."""
    unknown_game_type: Callable[[str | None, Sequence[str]], str]
    """The gameType that was asked for, and the known ones."""
    wrong_password: str
    unauthenticated: Callable[[Message], str]
    """A request that only an administrator may send."""
    server_packet: Callable[[Message], str]
    """A packet that only a server sends."""


def release_texts(
    *,
    mistake_texts: Mapping[Mistake, str],
    mistakes_without_move: frozenset[Mistake],
    describe_move: Callable[[Move | None], str],
    team_names: tuple[str, str],
    before_move: str = "bei Zug",
    move_request_name: str = "sc.framework.plugins.protocol.MoveRequest",
) -> Texts:
    """Return the official server's texts, for a game whose mistakes and moves are described as the arguments say.

    The official rules do not mention the move when they report one of `mistakes_without_move`. `team_names` are in the
    order of the seats. `before_move` is written before the move in a reason, and `move_request_name` is the class name
    of a move request.
    """

    def describe_player(seat: Seat | None, names: tuple[str, str]) -> str:
        return "null" if seat is None else f"{team_names[seat]}({names[seat]})"

    def describe_score(number: int, score: Score, definition: tuple[Fragment, ...]) -> str:
        parts = ", ".join(f"{part.name}={value}" for part, value in zip(definition, score.parts, strict=False))
        return f"Player{number}(cause={score.cause.value}, reason='{score.reason}', parts=[{parts}])"

    def describe_data(data: RoomData | None) -> str:
        match data:
            case None:
                return "null"
            case MoveData():
                return describe_move(data.move)
            case UnreadableData():
                return _text(data.class_name)
            case WelcomeMessage():
                return f"WelcomeMessage(color={_TEAM_CONSTANTS[data.seat]})"
            case MoveRequest():
                return move_request_name
            case Memento():
                return f"MementoMessage(state=GameState {data.state.round}/{data.state.turn}, perspective=null)"
            case Paused():
                return f"GamePaused(paused={_text(data.is_paused)})"
            case ErrorMessage():
                return f"ErrorMessage(originalMessage={describe_data(data.original)}, message={data.message})"
            case ServerData():
                values = (
                    f"{name}={value if isinstance(value, str) else describe_data(value)}" for name, value in data.values
                )
                return f"{data.java_name}({', '.join(values)})"
        return describe_result(data)

    def describe_result(result: Result) -> str:
        winners = ", ".join(describe_player(seat, result.names) for seat in result.winners)
        scores = ", ".join(describe_score(n, score, result.definition) for n, score in enumerate(result.scores, 1))
        return f"GameResult(winner=[{winners}], scores=[{scores}])"

    def invalid_move(mistake: Mistake, move: Move) -> str:
        blamed = None if mistake in mistakes_without_move else move
        return f"InvalidMoveException(mistake={mistake_texts[mistake]}, move={describe_move(blamed)})"

    def unreadable_move(problem: str) -> str:
        return f"InvalidMoveException(mistake={unreadable_reason(problem)}, move=null)"

    def violation_reason(mistake: Mistake, move: Move) -> str:
        text = mistake_texts[mistake]
        return text if mistake in mistakes_without_move else f"{text} {before_move} '{describe_move(move)}'"

    def illegal(name: str, mistake: Mistake, move: Move, _state: State) -> MoveRefusal:
        what = invalid_move(mistake, move)
        error = invalid_move_error(name, what)
        return MoveRefusal(violation_reason(mistake, move), error, error, invalid_move_packet(what), MoveData(move))

    def unreadable(name: str, data: UnreadableData) -> MoveRefusal:
        what = unreadable_move(data.problem)
        error = invalid_move_error(name, what)
        return MoveRefusal(unreadable_reason(data.problem), error, error, invalid_move_packet(what), data)

    def out_of_turn(
        active: Seat | None, _on_turn: Seat, actual: Seat, names: tuple[str, str], data: RoomData
    ) -> MoveRefusal:
        awaited, sender = describe_player(active, names), describe_player(actual, names)
        if active == actual:
            error = f"Move from {sender} has not been requested."
            return MoveRefusal(LEFT_REASON, error, error, f"{_EXCEPTIONS}.GameLogicException: {error}", data)
        sent = describe_data(data)
        error = f"It's not your turn yet; expected: {awaited}, got {sender} (msg was {sent})."
        packet = f"NotYourTurnException(expected={awaited}, actual={sender}, data={sent})"
        return MoveRefusal(LEFT_REASON, error, error, packet, data)

    def non_move(message: RoomMessage) -> str:
        packet = f"RoomPacket(roomId={_text(message.room_id)}, data={describe_data(message.data)})"
        return f"{_EXCEPTIONS}.GameRoomException: Received non-move packet: {packet}"

    return Texts(
        mistake_texts=mistake_texts,
        describe_move=describe_move,
        describe_data=describe_data,
        describe_request=describe_request,
        illegal=illegal,
        unreadable=unreadable,
        out_of_turn=out_of_turn,
        regular_reason=lambda _outcome: "",
        departure_reason=lambda _departure: LEFT_REASON,
        soft_timeout_reason=timeout_reason,
        hard_timeout_reason=timeout_reason,
        non_move=non_move,
        not_member=lambda room_id: f"{_EXCEPTIONS}.GameRoomException: Client is not a member of game {_text(room_id)}",
        room_full=lambda room_id: f"{_EXCEPTIONS}.GameRoomException: Room {_text(room_id)} is already full!",
        unknown_room=lambda room_id: f"{_EXCEPTIONS}.GameRoomException: Couldn't find a room with id {_text(room_id)}",
        unknown_reservation=(
            "sc.server.gaming.UnknownReservationException: Couldn't find a reservation for the provided token."
        ),
        unknown_player=lambda display_name: (
            f'java.lang.IllegalArgumentException: Score for "{_text(display_name)}" could not be found!'
        ),
        unknown_game_type=lambda game_type, known: (
            "sc.server.plugins.UnknownGameTypeException: "
            f"Unknown GameType UUID: {_text(game_type)} (available: {','.join(known)})"
        ),
        wrong_password=_WRONG_PASSWORD,
        unauthenticated=lambda request: (
            f"sc.server.network.UnauthenticatedException: Request {describe_request(request)} requires authentication"
        ),
        # a packet that the official server does not have keeps its Python name
        server_packet=lambda message: (
            f"{_EXCEPTIONS}.RescuableClientException: Unhandled Packet of type: class "
            f"{_JAVA_NAMES.get(type(message), type(message).__name__)}"
        ),
    )


def invalid_move_error(name: str, what: str) -> str:
    """Return the text about an invalid move for the player `name` who sent it; `what` says what is wrong."""
    return f"Ungueltiger Zug von '{name}'.\n{what}"


def early_refusal(name: str, reason: str, shown: RoomData | None) -> MoveRefusal:
    """Return the texts of the early releases: only the player's error names the player, and no errorpacket follows."""
    return MoveRefusal(reason, invalid_move_error(name, reason), reason, None, shown)


def invalid_move_packet(what: str) -> str:
    """Return the text of the errorpacket about an invalid move."""
    return f"{_EXCEPTIONS}.GameLogicException: {what}"


def unreadable_reason(problem: str) -> str:
    """Return the reason for the loss of a player whose move could not be read."""
    return f"{_INVALID_FORMAT}: {problem}"


def timeout_reason(seconds: float) -> str:
    """Return the reason for the loss of a player who has exceeded a limit of `seconds`."""
    return f"Der Spieler hat innerhalb von {german_seconds(seconds)} Sekunden nach Aufforderung keinen Zug gesendet"


def german_seconds(seconds: float) -> str:
    """Return a time limit as a German number.

    >>> german_seconds(2.0), german_seconds(2.5)
    ('2', '2,5')
    """
    return f"{seconds:.3f}".rstrip("0").rstrip(".").replace(".", ",")


def describe_request(request: Message) -> str:
    """Return the description of a request that `toString` returns in the official server."""
    name, fields = _REQUEST_DESCRIPTIONS[type(request)](request)
    return f"{name}({', '.join(f'{key}={_text(value)}' for key, value in fields.items())})"


def _text(value: object) -> str:
    """Return a value as Java writes it."""
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _prepare(request: PrepareRequest) -> tuple[str, dict[str, object]]:
    slots = ", ".join(
        f"SlotDescriptor(displayName={_text(slot.display_name)}, canTimeout={_text(slot.can_timeout)}, "
        f"reserved={_text(slot.is_reserved)})"
        for slot in request.slots
    )
    return "PrepareGameRequest", {
        "gameType": request.game_type,
        "slotDescriptors": f"[{slots}]" if request.slots else None,
        "pause": request.is_paused,
    }


_REQUEST_DESCRIPTIONS: Final[dict[type, Callable[[Any], tuple[str, dict[str, object]]]]] = {
    AuthenticateRequest: lambda _: ("AuthenticateRequest", {}),  # without the password, which must stay secret
    CancelRequest: lambda request: ("CancelRequest", {"roomId": request.room_id}),
    JoinRequest: lambda request: ("JoinGameRequest", {"gameType": request.game_type}),
    JoinPreparedRequest: lambda request: ("JoinPreparedRoomRequest", {"reservationCode": request.reservation_code}),
    JoinRoomRequest: lambda request: ("JoinRoomRequest", {"roomId": request.room_id}),
    ObserveRequest: lambda request: ("ObservationRequest", {"roomId": request.room_id}),
    PauseRequest: lambda request: ("PauseGameRequest", {"roomId": request.room_id, "pause": request.is_paused}),
    PrepareRequest: _prepare,
    ScoreForPlayerRequest: lambda request: ("PlayerScoreRequest", {"displayName": request.display_name}),
    StatusRequest: lambda _: ("StatusRequest", {}),
    StepRequest: lambda request: ("StepRequest", {"roomId": request.room_id, "forced": request.is_forced}),
    TestModeRequest: lambda request: ("TestModeRequest", {"testMode": request.is_enabled}),
    TimeoutRequest: lambda request: (
        "ControlTimeoutRequest",
        {"roomId": request.room_id, "activate": request.is_active, "slot": request.slot},
    ),
}
