"""The dialect of Hase und Igel 2018: its texts, moves, positions, result, and the packets that differ.

A refused request is answered with an `error` packet (release 18.2.6 did not answer), and pauses are not announced.
Attributes are written in the order of the recordings. Sources: the seed document, packets of release 18.2.6, and the
verdicts of its rules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Final, NamedTuple

from msgspec.structs import replace

from spielleiter.game.api import Mistake, Move, Seat, State
from spielleiter.game.hase_und_igel.board import (
    Action,
    Advance,
    Board,
    Card,
    CardType,
    EatSalad,
    ExchangeCarrots,
    FallBack,
    FieldType,
    HaseUndIgelMove,
    Player,
    PlayerColor,
    Skip,
)
from spielleiter.game.hase_und_igel.rules import HaseUndIgelMistake
from spielleiter.game.hase_und_igel.state import GOAL, ROUND_LIMIT_REACHED, HaseUndIgelState
from spielleiter.protocol import messages as m
from spielleiter.protocol.dialect import Dialect, Reading, expected
from spielleiter.protocol.dialects import packets
from spielleiter.protocol.errors import LocalProtocolError
from spielleiter.protocol.texts import (
    LEFT_REASON,
    MoveRefusal,
    Texts,
    early_refusal,
    release_texts,
    unreadable_reason,
)
from spielleiter.protocol.values import (
    Element,
    UnreadableError,
    allowed,
    quote,
    read_count,
    read_enum,
    read_enum_text,
    read_integer,
)
from spielleiter.protocol.writer import Body, attribute, boolean, element, leaf

# -- texts ------------------------------------------------------------------------------------------------------------

_CARD: Final = "Das Ausspielen der {} Karte ist nicht möglich."

MISTAKE_TEXTS: Final[Mapping[Mistake, str]] = {
    HaseUndIgelMistake.NO_ACTION_LIST: "Aktionen sind null",
    HaseUndIgelMistake.NO_ACTIONS: "Keine Aktionen vorhanden.",
    HaseUndIgelMistake.WRONG_ORDER: "Das order Attribut wurde nicht richtig gesetzt.",
    HaseUndIgelMistake.ONLY_CARDS_FOLLOW: "Nach der ersten Aktion können nur noch Karten folgen.",
    HaseUndIgelMistake.CARD_REQUIRED: "Es muss eine Karte ausgespielt werden.",
    HaseUndIgelMistake.ADVANCE: "Vorwärtszug um {} Felder ist nicht möglich",
    HaseUndIgelMistake.EXCHANGE_CARROTS: "Es können nicht {} Karotten aufgenommen werden.",
    HaseUndIgelMistake.EAT_SALAD: "Es kann gerade kein Salat (mehr) gegessen werden.",
    HaseUndIgelMistake.FALL_BACK: "Es kann gerade kein Rückzug gemacht werden.",
    HaseUndIgelMistake.SKIP: "Spieler kann noch einen anderen Zug ausführen, aussetzen ist nicht erlaubt.",
    HaseUndIgelMistake.CARD_TAKE_OR_DROP_CARROTS: _CARD.format("TAKE_OR_DROP_CARROTS"),
    HaseUndIgelMistake.CARD_EAT_SALAD: _CARD.format("EAT_SALAD"),
    HaseUndIgelMistake.CARD_HURRY_AHEAD: _CARD.format("HURRY_AHEAD"),
    HaseUndIgelMistake.CARD_FALL_BACK: _CARD.format("FALL_BACK"),
}
"""The texts by mistake. `{}` stands for the distance or the number of carrots of the move's first action."""

OUTCOME_TEXTS: Final[Mapping[str, str]] = {
    GOAL: "Das Spiel ist beendet.\nEin Spieler ist im Ziel",
    ROUND_LIMIT_REACHED: "Das Rundenlimit wurde erreicht.",
}


def describe_mistake(mistake: Mistake, move: Move) -> str:
    """Return the text about `mistake`, which the rules have found in `move`."""
    assert isinstance(move, HaseUndIgelMove)
    first = move.first_action
    number = first.distance if isinstance(first, Advance) else first.value if isinstance(first, ExchangeCarrots) else ""
    return MISTAKE_TEXTS[mistake].format(number)


def _refuse_illegal(name: str, mistake: Mistake, move: Move, _state: State) -> MoveRefusal:
    """Refuse an illegal move. The error shows its actions in the order in which they were carried out."""
    assert isinstance(move, HaseUndIgelMove)
    shown = m.MoveData(move if move.actions is None else HaseUndIgelMove(move.in_order))
    return early_refusal(name, describe_mistake(mistake, move), shown)


def _refuse_out_of_turn(
    _active: Seat | None, on_turn: Seat, actual: Seat, _names: tuple[str, str], data: m.RoomData
) -> MoveRefusal:
    error = "We didn't request a data from you yet." if actual == on_turn else "It's not your turn yet."
    return MoveRefusal(LEFT_REASON, error, error, None, data)


TEXTS: Final[Texts] = replace(
    release_texts(
        mistake_texts=MISTAKE_TEXTS,
        mistakes_without_move=frozenset(MISTAKE_TEXTS),
        describe_move=lambda move: "null" if move is None else str(move),
        team_names=("RED", "BLUE"),
    ),
    illegal=_refuse_illegal,
    unreadable=lambda name, data: early_refusal(name, unreadable_reason(data.problem), data),
    out_of_turn=_refuse_out_of_turn,
    regular_reason=lambda outcome, _names: OUTCOME_TEXTS[outcome.reason],
)


MOVE_CLASS: Final = "move"

_CARDS: Final[dict[str, CardType]] = dict(CardType.__members__)
_FIELDS: Final[dict[str, FieldType]] = dict(FieldType.__members__)
_COLORS: Final[dict[str, PlayerColor]] = dict(PlayerColor.__members__)
_SIDES: Final = tuple(color.name.lower() for color in PlayerColor)
_CACHED_BOARDS: Final = 64

# -- actions and moves ------------------------------------------------------------------------------------------------


def _order(action: Element) -> int:
    """Read the order attribute, which a move of one action may leave out."""
    return read_integer(action, "order") if action.get("order") is not None else 0


_ACTIONS: Final[dict[str, Callable[[Element], Action]]] = {
    "advance": lambda action: Advance(read_integer(action, "distance"), _order(action)),
    "card": lambda action: Card(
        value=read_integer(action, "value") if action.get("value") is not None else 0,  # only one type needs it
        type=read_enum(action, "type", _CARDS),
        order=_order(action),
    ),
    "exchangeCarrots": lambda action: ExchangeCarrots(read_integer(action, "value"), _order(action)),
    "eatSalad": lambda action: EatSalad(_order(action)),
    "fallBack": lambda action: FallBack(_order(action)),
    "skip": lambda action: Skip(_order(action)),
}


def _write_action(action: Action) -> tuple[str, str]:
    """Return the name of an action, and its attributes as XML."""
    order = f' order="{action.order}"'
    match action:
        case Advance():
            return "advance", f'{order} distance="{action.distance}"'
        case Card():
            return "card", f'{order} type="{action.type.name}" value="{action.value}"'
        case ExchangeCarrots():
            return "exchangeCarrots", f'{order} value="{action.value}"'
        case EatSalad():
            return "eatSalad", order
        case FallBack():
            return "fallBack", order
    return "skip", order


def read_move(data: Element, reading: Reading) -> m.MoveData:
    """Read a move and its hints. Raises UnreadableError."""
    return m.MoveData(*_read_actions(data, reading))


def _read_actions(parent: Element, reading: Reading) -> tuple[HaseUndIgelMove, tuple[str, ...]]:
    """Return the move and its hints. A move without any action has no list of actions.

    Raises UnreadableError if there are only unknown actions.
    """
    actions: list[Action] = []
    hints: list[str] = []
    unknown = ""
    for child in parent:
        reader = _ACTIONS.get(child.tag)
        if reader is not None:
            reading.skip_children(child)
            actions.append(reader(child))
        elif child.tag == "hint":
            reading.skip_children(child)
            hints.append(child.get("content", ""))
        else:
            reading.skip(child, parent)
            unknown = child.tag
    if unknown and not actions:
        raise UnreadableError(f"eine Aktion {quote(unknown)} gibt es nicht; {allowed(_ACTIONS)}")
    return HaseUndIgelMove(tuple(actions) or None), tuple(hints)


def write_move(data: m.MoveData, _dialect: Dialect, indent: str) -> Body:
    """Write a move and its hints. Raises LocalProtocolError for a move of another game."""
    move = expected(data.move, HaseUndIgelMove)
    return Body(MOVE_CLASS, "", _actions(move, indent) + _hints(data.hints, indent))


def _actions(move: HaseUndIgelMove, indent: str) -> str:
    return "".join(element(indent, *_write_action(action)) for action in move.actions or ())


def _hints(hints: Iterable[str], indent: str) -> str:
    return "".join(element(indent, "hint", attribute("content", hint)) for hint in hints)


# -- players ----------------------------------------------------------------------------------------------------------


class NamedPlayer(NamedTuple):
    """A player as it is shown on the wire."""

    color: PlayerColor
    name: str
    player: Player


def write_player(indent: str, tag: str, shown: NamedPlayer, attributes: str = "") -> str:
    """Return a player as the element `tag`; `attributes` are written before the player's own."""
    color, name, player = shown
    inner = indent + "  "
    attributes += attribute("displayName", name)
    attributes += f' color="{color.name}" index="{player.index}" carrots="{player.carrots}" salads="{player.salads}"'
    lines = element(inner, "cards", "", "".join(leaf(inner + "  ", "type", card.name) for card in player.cards))
    if player.last_action is not None:
        name_of_action, written = _write_action(player.last_action)
        lines += element(inner, "lastNonSkipAction", attribute("class", name_of_action) + written)
    return element(indent, tag, attributes, lines)


def read_player(element_of_player: Element, reading: Reading) -> NamedPlayer:
    """Read a player. Raises UnreadableError."""
    parts = reading.children(element_of_player, "cards", "lastNonSkipAction")
    held = parts.get("cards")
    cards = () if held is None else tuple([read_enum_text(child, _CARDS) for child in reading.each(held, "type")])
    index, carrots, salads = (read_integer(element_of_player, name) for name in ("index", "carrots", "salads"))
    last_action: Action | None = None
    if (action := parts.get("lastNonSkipAction")) is not None:
        name = action.get("class", "")
        if name not in _ACTIONS:
            raise UnreadableError(f'lastNonSkipAction class="{quote(name)}" gibt es nicht; {allowed(_ACTIONS)}')
        last_action = _ACTIONS[name](action)
    color = read_enum(element_of_player, "color", _COLORS)
    player = Player(index, carrots, salads, cards, last_action)
    return NamedPlayer(color, element_of_player.get("displayName", ""), player)


# -- positions --------------------------------------------------------------------------------------------------------


def write_memento(memento: m.Memento, _dialect: Dialect, indent: str) -> Body:
    """Write a position. Raises LocalProtocolError for one of another game."""
    state = expected(memento.state, HaseUndIgelState)
    inner = indent + "  "
    lines = "".join(
        write_player(inner, side, NamedPlayer(color, name, player))
        for side, color, name, player in zip(_SIDES, PlayerColor, memento.names, state.players, strict=True)
    )
    lines += _board(state.board, inner)
    if state.last_move is not None:
        actions = _actions(state.last_move, inner + "  ") + _hints(memento.hints, inner + "  ")
        lines += element(inner, "lastMove", "", actions)
    attributes = (
        f' class="state" turn="{state.turn}"'
        f' startPlayer="{PlayerColor.RED.name}" currentPlayer="{state.color_on_turn.name}"'
    )
    return Body("memento", "", element(indent, "state", attributes, lines))


@lru_cache(maxsize=_CACHED_BOARDS)
def _board(board: Board, indent: str) -> str:
    inner = indent + "  "
    fields = "".join(
        f'{inner}<fields index="{index}" type="{field.name}"/>' for index, field in enumerate(board.fields)
    )
    return element(indent, "board", "", fields)


def read_memento(data: Element, reading: Reading) -> m.Memento:
    """Read a position. Raises UnreadableError."""
    state = reading.required(data, "state")["state"]
    parts = reading.required(state, *_SIDES, "board", optional=("lastMove", "condition"))
    red, blue = (read_player(parts[side], reading) for side in _SIDES)
    turn = read_count(state, "turn")
    move, hints = _read_actions(parts["lastMove"], reading) if "lastMove" in parts else (None, ())
    found: dict[int, FieldType] = {}
    for child in reading.each(parts["board"], "fields"):
        found[read_integer(child, "index")] = read_enum(child, "type", _FIELDS)
    if sorted(found) != list(range(len(found))):
        raise UnreadableError("im Element board fehlt ein Feld")
    board = Board(tuple(found[index] for index in range(len(found))))
    return m.Memento(
        HaseUndIgelState(board, (red.player, blue.player), turn, move),
        (red.name, blue.name),
        hints,
    )


# -- requests ---------------------------------------------------------------------------------------------------------


def _write_prepare(message: m.PrepareRequest, _dialect: Dialect, indent: str) -> Body:
    """Write a pause as an attribute of the slots, since a game has none in this season. All slots are reserved."""
    slots = "".join(
        element(
            indent,
            "slot",
            attribute("displayName", slot.display_name)
            + f' canTimeout="{boolean(value=slot.can_timeout)}"'
            + f' shouldBePaused="{boolean(value=slot.should_be_paused or message.is_paused)}"',
        )
        for slot in message.slots
    )
    children = slots + packets.position_element(message.position, indent)
    return Body("prepare", attribute("gameType", message.game_type), children)


# -- the result -------------------------------------------------------------------------------------------------------


def _player_details(state: State) -> tuple[object, object]:
    assert isinstance(state, HaseUndIgelState)
    return state.players


def _write_result(message: m.Result, _dialect: Dialect, indent: str) -> Body:
    """Write a result. Raises LocalProtocolError for a winner without details."""
    lines = [
        packets.definition_element(message.definition, indent),
        *(packets.score_element(score, score.reason or None, indent) for score in message.scores),
    ]
    for seat in message.winners:
        player = message.details[seat]
        if not isinstance(player, Player):
            raise LocalProtocolError(f"the result shows nothing of its winner: {player!r}")
        winner = NamedPlayer(PlayerColor(seat), message.names[seat], player)
        lines.append(write_player(indent, "winner", winner, attribute("class", "player")))
    return Body("result", "", "".join(lines))


def _read_result(data: Element, reading: Reading) -> m.Result:
    """Read a result. It contains neither the name nor the details of the loser."""
    definition, scores, shown = packets.read_result_parts(data, reading, read_player)
    winners = {int(each.color): each for each in shown}
    first, second = (winners.get(color) for color in PlayerColor)
    return m.Result(
        definition,
        scores,
        tuple(winners),
        ("" if first is None else first.name, "" if second is None else second.name),
        (None if first is None else first.player, None if second is None else second.player),
    )


# -- the dialect ------------------------------------------------------------------------------------------------------

HASE_UND_IGEL_2018: Final = Dialect(
    name="hase-und-igel-2018",
    texts=TEXTS,
    score_definition=(
        m.Fragment("Gewinner", m.Aggregation.SUM),
        m.Fragment("∅ Feldnummer", m.Aggregation.AVERAGE),
        m.Fragment("∅ Karotten", m.Aggregation.AVERAGE),
    ),
    readers={
        **{
            tag: reader
            for tag, reader in packets.READERS.items()
            if "." not in tag and tag not in {"errorpacket", "joinRoom"}
        },
        **dict.fromkeys((packets.CLOSE, packets.CLOSE_RESPONSE), packets.READERS["close"]),
        # an empty packet means that no player of that name has played
        "playerScore": lambda packet, reading: (
            packets.read_player_score(packet, reading) if len(packet) else m.PlayerScore("", 0, ())
        ),
        **packets.EARLIER_READERS,
    },
    data_readers={
        MOVE_CLASS: read_move,
        "memento": read_memento,
        "result": _read_result,
        "error": packets.error_reader("originalRequest"),
        "welcomeMessage": packets.read_welcome,
        packets.MOVE_REQUEST: packets.read_move_request,
    },
    writers={
        **{kind: writer for kind, writer in packets.WRITERS.items() if kind is not m.JoinRoomRequest},
        # the only attribute that release 18.2.6 understands
        m.AuthenticateRequest: lambda message, _dialect, _indent: Body(
            "authenticate", attribute("passphrase", message.password)
        ),
        m.CloseConnection: packets.attribute_writer(packets.CLOSE_RESPONSE),
        m.ErrorPacket: lambda message, dialect, indent: replace(
            packets.write_error_packet(message, dialect, indent), name="error", has_end_tag=False
        ),
        m.JoinedGameRoom: packets.joined_game_room_writer(has_existing=True),
        m.PlayerScore: lambda message, dialect, indent: (
            packets.write_player_score(message, dialect, indent) if message.number_of_tests else Body("playerScore")
        ),
        m.PrepareRequest: _write_prepare,
        m.TimeoutRequest: packets.write_timeout,
    },
    data_writers={
        **{kind: writer for kind, writer in packets.DATA_WRITERS.items() if kind is not m.Paused},
        m.ErrorMessage: packets.error_writer("originalRequest"),
        m.Memento: write_memento,
        m.MoveData: write_move,
        m.Result: _write_result,
    },
    move_classes=(MOVE_CLASS,),
    team_names=("RED", "BLUE"),
    welcome_names=("red", "blue"),
    slot_attributes=("displayName", "canTimeout", "shouldBePaused"),
    prepare_attributes=("gameType",),
    unnamed="Unknown",
    player_details=_player_details,
)
