"""Reads and writes the moves, players and positions of Hase und Igel.

Invariants: attributes are written in the order of the recordings, actions in the order of the move. Sources: the seed
document, and packets of release 18.2.6.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Final, NamedTuple

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
from spielleiter.game.hase_und_igel.state import HaseUndIgelState
from spielleiter.protocol.dialect import Dialect, Reading
from spielleiter.protocol.errors import LocalProtocolError
from spielleiter.protocol.messages import Memento, MoveData
from spielleiter.protocol.reading import (
    Element,
    UnreadableError,
    allowed,
    quote,
    read_enum,
    read_enum_text,
    read_integer,
)
from spielleiter.protocol.writer import Body, attribute, element, leaf

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


def _read_advance(action: Element) -> Action:
    return Advance(read_integer(action, "distance"), _order(action))


def _read_card(action: Element) -> Action:
    """Read a card. The value may be missing, since only one type of card needs it."""
    value = read_integer(action, "value") if action.get("value") is not None else 0
    return Card(read_enum(action, "type", _CARDS), value, _order(action))


def _read_exchange(action: Element) -> Action:
    return ExchangeCarrots(read_integer(action, "value"), _order(action))


_ACTIONS: Final[dict[str, Callable[[Element], Action]]] = {
    "advance": _read_advance,
    "card": _read_card,
    "exchangeCarrots": _read_exchange,
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


def read_move(data: Element, reading: Reading) -> MoveData:
    """Read a move and its hints. Raises UnreadableError."""
    return MoveData(*_read_actions(data, reading))


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


def write_move(data: MoveData, _dialect: Dialect, indent: str) -> Body:
    """Write a move and its hints. Raises LocalProtocolError for a move of another game."""
    if not isinstance(data.move, HaseUndIgelMove):
        raise LocalProtocolError(f"not a move of Hase und Igel: {data.move!r}")
    return Body(MOVE_CLASS, "", _actions(data.move, indent) + _hints(data.hints, indent))


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
    cards = []
    for child in parts.get("cards", ()):
        if child.tag == "type":
            cards.append(read_enum_text(child, _CARDS))
        else:
            reading.skip(child, parts["cards"])
    player = Player(
        read_integer(element_of_player, "index"),
        read_integer(element_of_player, "carrots"),
        read_integer(element_of_player, "salads"),
        tuple(cards),
        _read_last_action(parts["lastNonSkipAction"]) if "lastNonSkipAction" in parts else None,
    )
    color, name = read_enum(element_of_player, "color", _COLORS), element_of_player.get("displayName", "")
    return NamedPlayer(color, name, player)


def _read_last_action(action: Element) -> Action:
    name = action.get("class", "")
    reader = _ACTIONS.get(name)
    if reader is None:
        raise UnreadableError(f'lastNonSkipAction class="{quote(name)}" gibt es nicht; {allowed(_ACTIONS)}')
    return reader(action)


# -- positions --------------------------------------------------------------------------------------------------------


def write_memento(memento: Memento, _dialect: Dialect, indent: str) -> Body:
    """Write a position. Raises LocalProtocolError for one of another game."""
    state = memento.state
    if not isinstance(state, HaseUndIgelState):
        raise LocalProtocolError(f"not a position of Hase und Igel: {type(state).__name__}")
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


def read_memento(data: Element, reading: Reading) -> Memento:
    """Read a position. Raises UnreadableError."""
    state = reading.children(data, "state").get("state")
    if state is None:
        raise UnreadableError(f"im Element {data.tag} fehlt das Element state")
    parts = reading.children(state, *_SIDES, "board", "lastMove", "condition")
    for tag in (*_SIDES, "board"):
        if tag not in parts:
            raise UnreadableError(f"im Element state fehlt das Element {tag}")
    red, blue = (read_player(parts[side], reading) for side in _SIDES)
    turn = read_integer(state, "turn")
    if turn < 0:
        raise UnreadableError(f'state turn="{turn}" ist kleiner als 0')
    move, hints = _read_actions(parts["lastMove"], reading) if "lastMove" in parts else (None, ())
    return Memento(
        HaseUndIgelState(_read_board(parts["board"], reading), (red.player, blue.player), turn, move),
        (red.name, blue.name),
        hints,
    )


def _read_board(fields: Element, reading: Reading) -> Board:
    found: dict[int, FieldType] = {}
    for child in fields:
        if child.tag == "fields":
            found[read_integer(child, "index")] = read_enum(child, "type", _FIELDS)
        else:
            reading.skip(child, fields)
    if sorted(found) != list(range(len(found))):
        raise UnreadableError("im Element board fehlt ein Feld")
    return Board(tuple(found[index] for index in range(len(found))))
