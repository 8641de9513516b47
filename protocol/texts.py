"""`Texts`: every text of the official server that a client can receive, byte for byte.

Where the official server sends no text (because it does not answer), the text is this project's own, in the same style.
Sources: the recorded packets and, for texts that no recording shows, the `toString` methods of release 21.4.0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from msgspec import Struct

from spielleiter.game.api import Mistake, Move, Outcome, Seat, State
from spielleiter.protocol import messages as m
from spielleiter.protocol.attribute_packets import ATTRIBUTE_PACKETS, AttributePacket

_EXCEPTIONS: Final = "sc.api.plugins.exceptions"
_INVALID_FORMAT: Final = "Der Zug konnte nicht erkannt werden"

LEFT_REASON: Final = "Der Spieler hat das Spiel verlassen"

_TEAM_CONSTANTS: Final = ("ONE", "TWO")
_WRONG_PASSWORD: Final = "sc.server.network.AuthenticationFailedException: Failed to authenticate as administrator"  # noqa: S105 - a text

_BY_MESSAGE: Final[Mapping[type, AttributePacket]] = {each.message: each for each in ATTRIBUTE_PACKETS.values()}
_CLASS_NAMES: Final[Mapping[type, str]] = {
    **{message: each.class_name for message, each in _BY_MESSAGE.items()},
    m.ErrorPacket: "sc.protocol.responses.ErrorPacket",
    m.JoinedGameRoom: "sc.protocol.responses.RoomWasJoinedEvent",
    m.PlayerScore: "sc.protocol.responses.PlayerScoreResponse",
    m.Prepared: "sc.protocol.responses.GamePreparedResponse",
}
"""The names of packets' classes in the official server."""


class MoveRefusal(Struct, frozen=True):
    """All texts about one move that was not accepted."""

    reason: str
    """The reason in the score of the player who sent the move, if it loses the game because of it."""
    error: str
    """The text of the room's error for that player."""
    observer_error: str
    """The text of the room's error for the observers."""
    packet: str | None
    """The text of the errorpacket that follows the room's error; None if there is none."""
    shown: m.RoomData | None
    """The part of the refused data that the room's error repeats."""


class Texts(Struct, frozen=True, kw_only=True):
    """The texts of one edition. A player is named by its team, followed by its name in brackets.

    The fields that are functions return a text. The docstrings below them name their arguments, in order.
    """

    mistake_texts: Mapping[Mistake, str]
    describe_move: Callable[[Move | None], str]
    describe_data: Callable[[m.RoomData | None], str]
    describe_request: Callable[[m.Message], str]

    # all texts of a refused move
    illegal: Callable[[str, Mistake, Move, State], MoveRefusal]
    """The player's name, the mistake, the move, and the position in which it was sent."""
    unreadable: Callable[[str, m.UnreadableData], MoveRefusal]
    """The player's name, and the data that it sent."""
    out_of_turn: Callable[[Seat | None, Seat, Seat, tuple[str, str], m.RoomData], MoveRefusal]
    """The player whose turn it is (None: the game has not begun), the seat that moves first or next, the seat of the
    sender, the names in the order of the seats, and the data that was sent."""

    # reasons in the scores of a result
    regular_reason: Callable[[Outcome, tuple[str, str]], str]
    """The outcome of a game that was played to its end, and the names in the order of the seats."""
    departure_reason: Callable[[m.Departure], str]
    soft_timeout_reason: Callable[[float], str]
    """The limit in seconds."""
    hard_timeout_reason: Callable[[float], str]
    """The limit in seconds."""

    # messages of an errorpacket
    non_move: Callable[[m.RoomMessage], str]
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
    unauthenticated: Callable[[m.Message], str]
    """A request that only an administrator may send."""
    server_packet: Callable[[m.Message], str]
    """A packet that only a server sends."""


def release_texts(
    *,
    mistake_texts: Mapping[Mistake, str],
    mistake_names: Mapping[Mistake, str] | None = None,
    mistakes_without_move: frozenset[Mistake],
    describe_move: Callable[[Move | None], str],
    team_names: tuple[str, str],
    before_move: str = "bei Zug",
    move_request_name: str = "sc.framework.plugins.protocol.MoveRequest",
) -> Texts:
    """Return the official server's texts, for a game whose mistakes and moves are described as the arguments say.

    `mistake_names` has the mistakes that are called something else than their text where a log would name them. The
    official rules do not mention the move when they report one of `mistakes_without_move`. `team_names` are in the
    order of the seats. `before_move` is written before the move in a reason, and `move_request_name` is the class name
    of a move request.
    """

    def describe_player(seat: Seat | None, names: tuple[str, str]) -> str:
        return "null" if seat is None else f"{team_names[seat]}({names[seat]})"

    def describe_data(data: m.RoomData | None) -> str:
        match data:
            case None:
                return "null"
            case m.MoveData():
                return describe_move(data.move)
            case m.UnreadableData():
                return _text(data.class_name)
            case m.WelcomeMessage():
                return f"WelcomeMessage(color={_TEAM_CONSTANTS[data.seat]})"
            case m.MoveRequest():
                return move_request_name
            case m.Memento():
                return f"MementoMessage(state=GameState {data.state.round}/{data.state.turn}, perspective=null)"
            case m.Paused():
                return f"GamePaused(paused={_text(data.is_paused)})"
            case m.ErrorMessage():
                return f"ErrorMessage(originalMessage={describe_data(data.original)}, message={data.message})"
            case m.ServerData():
                values = (
                    f"{name}={value if isinstance(value, str) else describe_data(value)}" for name, value in data.values
                )
                return f"{data.java_name}({', '.join(values)})"
        winners = ", ".join(describe_player(seat, data.names) for seat in data.winners)
        scores = ", ".join(
            f"Player{number}(cause={score.cause.value}, reason='{score.reason}', parts=["
            + ", ".join(f"{part.name}={value}" for part, value in zip(data.definition, score.parts, strict=False))
            + "])"
            for number, score in enumerate(data.scores, 1)
        )
        return f"GameResult(winner=[{winners}], scores=[{scores}])"

    def illegal(name: str, mistake: Mistake, move: Move, _state: State) -> MoveRefusal:
        text, is_named = mistake_texts[mistake], mistake not in mistakes_without_move
        reason = f"{text} {before_move} '{describe_move(move)}'" if is_named else text
        called = (mistake_names or {}).get(mistake, text)
        what = f"InvalidMoveException(mistake={called}, move={describe_move(move if is_named else None)})"
        return invalid_move(name, reason, what, m.MoveData(move))

    def unreadable(name: str, data: m.UnreadableData) -> MoveRefusal:
        reason = unreadable_reason(data.problem)
        return invalid_move(name, reason, f"InvalidMoveException(mistake={reason}, move=null)", data)

    def invalid_move(name: str, reason: str, what: str, shown: m.RoomData) -> MoveRefusal:
        error = _invalid_move_error(name, what)
        return MoveRefusal(reason, error, error, f"{_EXCEPTIONS}.GameLogicException: {what}", shown)

    def out_of_turn(
        active: Seat | None, _on_turn: Seat, actual: Seat, names: tuple[str, str], data: m.RoomData
    ) -> MoveRefusal:
        awaited, sender = describe_player(active, names), describe_player(actual, names)
        if active == actual:
            error = f"Move from {sender} has not been requested."
            return MoveRefusal(LEFT_REASON, error, error, f"{_EXCEPTIONS}.GameLogicException: {error}", data)
        sent = describe_data(data)
        error = f"It's not your turn yet; expected: {awaited}, got {sender} (msg was {sent})."
        packet = f"NotYourTurnException(expected={awaited}, actual={sender}, data={sent})"
        return MoveRefusal(LEFT_REASON, error, error, packet, data)

    def non_move(message: m.RoomMessage) -> str:
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
        regular_reason=lambda _outcome, _names: "",
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
            f"{_CLASS_NAMES.get(type(message), type(message).__name__)}"
        ),
    )


def _invalid_move_error(name: str, what: str) -> str:
    """Return the text about an invalid move for the player `name` who sent it; `what` says what is wrong."""
    return f"Ungueltiger Zug von '{name}'.\n{what}"


def early_refusal(name: str, reason: str, shown: m.RoomData | None) -> MoveRefusal:
    """Return the texts of the early releases: only the player's error names the player, and no errorpacket follows."""
    return MoveRefusal(reason, _invalid_move_error(name, reason), reason, None, shown)


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


def describe_request(request: m.Message) -> str:
    """Return the description of a request that `toString` returns in the official server."""
    match request:
        case m.AuthenticateRequest():  # without the password, which must stay secret
            return "AuthenticateRequest()"
        case m.StatusRequest() | m.FeedRequest() | m.MetricsRequest():  # which have no fields
            return f"{type(request).__name__}()"
        case m.TimeoutRequest():
            fields = {"roomId": request.room_id, "activate": request.is_active, "slot": request.slot}
            return _described("ControlTimeoutRequest", fields)
        case m.PrepareRequest():
            slots = ", ".join(
                f"SlotDescriptor(displayName={_text(slot.display_name)}, canTimeout={_text(slot.can_timeout)}, "
                f"reserved={_text(slot.is_reserved)})"
                for slot in request.slots
            )
            listed = f"[{slots}]" if slots else None
            fields = {"gameType": request.game_type, "slotDescriptors": listed, "pause": request.is_paused}
            return _described("PrepareGameRequest", fields)
    packet = _BY_MESSAGE[type(request)]
    names = {**packet.texts, **packet.flags}
    name = packet.class_name.rpartition(".")[2]
    return _described(name, {attribute: getattr(request, field) for attribute, field in names.items()})


def _described(name: str, fields: Mapping[str, object]) -> str:
    return f"{name}({', '.join(f'{field}={_text(value)}' for field, value in fields.items())})"


def _text(value: object) -> str:
    """Return a value as Java writes it."""
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else str(value)
