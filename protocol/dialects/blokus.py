"""Reads and writes the moves of Blokus, and reads its positions; `blokus_position` writes them.

Invariants: the entries of lists are read in any order. Sources: the seed documents, and releases 21.4.0 and 21.1.0.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from spielleiter.game.api import State
from spielleiter.game.blokus.moves import IncompleteMove, IncompletePiece, SetMove, SkipMove
from spielleiter.game.blokus.pieces import SIZE, Color, Rotation, Shape, bit
from spielleiter.game.blokus.state import BlokusState, Ruleset
from spielleiter.protocol.dialect import DataReader, Dialect, Reading, Writer
from spielleiter.protocol.errors import LocalProtocolError
from spielleiter.protocol.messages import Memento, MoveData, UnreadableData
from spielleiter.protocol.reading import (
    Element,
    UnreadableError,
    allowed,
    is_true,
    read_boolean,
    read_enum,
    read_enum_text,
    read_integer,
    read_text,
)
from spielleiter.protocol.writer import Body, attribute, element, leaf

COLORS: Final[dict[str, Color]] = dict(Color.__members__)
SHAPES: Final[dict[str, Shape]] = dict(Shape.__members__)
ROTATIONS: Final[dict[str, Rotation]] = dict(Rotation.__members__)

# indexed by value: the attribute `name` of an enumeration's member is slow, and every position contains a move
_COLOR_NAMES: Final = tuple(COLORS)
SHAPE_NAMES: Final = tuple(SHAPES)
_ROTATION_NAMES: Final = tuple(ROTATIONS)


def played_on(state: State) -> State:
    """Return the position under rules by which the game goes on as long as any colour can move."""
    if not isinstance(state, BlokusState):
        return state
    limit = max(state.rules.round_limit, state.round)
    return replace(state, rules=replace(state.rules, round_limit=limit, ends_with_finished_color=False))


# -- moves ------------------------------------------------------------------------------------------------------------


def move_readers(package: str) -> dict[str, DataReader]:
    """Return the readers of a season's moves, by class.

    `package` is the Java package of these classes in the official server.
    """
    return {f"{package}.SetMove": _read_set_move, f"{package}.SkipMove": _read_skip_move}


def _read_set_move(data: Element, reading: Reading) -> MoveData:
    piece: Element | None = None
    hints: list[str] = []
    for child in data:
        if child.tag == "piece" and piece is None:
            piece = child
        else:
            _read_hint(child, data, reading, hints)
    if piece is None:
        raise UnreadableError(f"im Element {data.tag} fehlt das Element piece")
    position = reading.children(piece, "position").get("position")
    if position is None:
        raise UnreadableError("im Element piece fehlt das Element position")
    reading.skip_children(position)
    move = SetMove(
        read_enum(piece, "color", COLORS),
        read_enum(piece, "kind", SHAPES),
        read_enum(piece, "rotation", ROTATIONS),
        read_boolean(piece, "isFlipped", default=False),
        read_integer(position, "x"),
        read_integer(position, "y"),
    )
    return MoveData(move, tuple(hints))


def _read_skip_move(data: Element, reading: Reading) -> MoveData:
    color: Color | None = None
    hints: list[str] = []
    for child in data:
        if child.tag == "color" and color is None:
            reading.skip_children(child)
            color = read_enum_text(child, COLORS)
        else:
            _read_hint(child, data, reading, hints)
    return MoveData(SkipMove(color), tuple(hints))


def _read_hint(child: Element, data: Element, reading: Reading, hints: list[str]) -> None:
    """Read a hint; anything else is skipped."""
    if child.tag == "hint":
        reading.skip_children(child)
        hints.append(child.get("content", ""))
    else:
        reading.skip(child, data)


def move_writer(package: str, *, has_hints: bool = True) -> Writer:
    """Return a writer of a season's moves; `package` is as in `move_readers`.

    The hints are left out unless `has_hints`: a server that does not know them disconnects their sender.
    """
    set_class, skip_class = f"{package}.SetMove", f"{package}.SkipMove"

    def write(data: MoveData, _dialect: Dialect, indent: str) -> Body:
        move = data.move
        if isinstance(move, SetMove):
            name, lines = set_class, _piece(move, indent)
        elif isinstance(move, IncompleteMove):
            piece = move.piece
            name = skip_class if move.is_skip else set_class
            lines = "" if piece is None else _piece(piece, indent)
        elif isinstance(move, SkipMove):
            name, lines = skip_class, "" if move.color is None else leaf(indent, "color", move.color.name)
        else:
            raise LocalProtocolError(f"not a move of Blokus: {move!r}")
        if data.hints and has_hints:
            lines += "".join(element(indent, "hint", attribute("content", hint)) for hint in data.hints)
        return Body(name, "", lines)

    return write


def _piece(move: SetMove | IncompletePiece, indent: str) -> str:
    color = "" if move.color is None else f' color="{_COLOR_NAMES[move.color]}"'
    kind = "" if move.shape is None else f' kind="{SHAPE_NAMES[move.shape]}"'
    return (
        f"{indent}<piece{color}{kind} "
        f'rotation="{_ROTATION_NAMES[move.rotation]}" isFlipped="{"true" if move.is_flipped else "false"}">'
        f'{indent}  <position x="{move.x}" y="{move.y}"/>{indent}</piece>'
    )


# -- reading positions ------------------------------------------------------------------------------------------------

SHAPE_LISTS: Final = tuple(f"{color.lower()}Shapes" for color in COLORS)
"""For each colour the tag of the list of pieces that it has not placed yet."""

_CELLS: Final = {(str(x), str(y)): bit(x, y) for x in range(SIZE) for y in range(SIZE)}
_REQUIRED: Final = ("board", *SHAPE_LISTS)
_OPTIONAL: Final = ("startTeam", "validColors", "first", "second", "lastMove", "lastMoveMono")


def memento_reader(rules: Ruleset, *further_tags: str) -> DataReader:
    """Return a reader of positions of a game with these rules.

    `further_tags` are more children of `state`, which repeat what other children say and are not read.
    """

    def read(data: Element, reading: Reading) -> Memento:
        state = reading.children(data, "state").get("state")
        if state is None:
            raise UnreadableError(f"im Element {data.tag} fehlt das Element state")
        parts = reading.children(state, *_REQUIRED, *_OPTIONAL, *further_tags)
        for tag in _REQUIRED:
            if tag not in parts:
                raise UnreadableError(f"im Element state fehlt das Element {tag}")
        move, hints = _read_last_move(parts.get("lastMove"), reading)
        blue, yellow, red, green = (_read_shapes(parts[tag], reading) for tag in SHAPE_LISTS)
        return Memento(
            BlokusState(
                rules,
                read_enum(state, "startPiece", SHAPES),
                _read_turn(state),
                _read_board(parts["board"], reading),
                (blue, yellow, red, green),
                _read_valid_colors(parts.get("validColors"), reading),
                move,
                _read_last_move_mono(parts.get("lastMoveMono"), reading),
            ),
            (_read_name(parts.get("first")), _read_name(parts.get("second"))),
            hints,
        )

    return read


def _read_name(player: Element | None) -> str:
    return "" if player is None else player.get("displayName", "")


def _read_turn(state: Element) -> int:
    turn = read_integer(state, "turn")
    if turn < 0:
        raise UnreadableError(f'state turn="{turn}" ist kleiner als 0')
    return turn


def _read_shapes(shapes: Element, reading: Reading) -> int:
    """Return the mask of the pieces in a list."""
    mask = 0
    for child in shapes:
        if child.tag == "shape":
            mask |= 1 << read_enum_text(child, SHAPES)
        else:
            reading.skip(child, shapes)
    return mask


def _read_valid_colors(colors: Element | None, reading: Reading) -> int:
    """Return the mask of the colours in a list, or of all colours if the edition has no such list."""
    if colors is None:
        return (1 << len(Color)) - 1
    mask = 0
    for child in colors:
        if child.tag == "color":
            mask |= 1 << read_enum_text(child, COLORS)
        else:
            reading.skip(child, colors)
    return mask


def _read_board(fields: Element, reading: Reading) -> tuple[int, int, int, int]:
    cells = dict.fromkeys(COLORS, 0)
    for child in fields:
        if child.tag != "field":
            reading.skip(child, fields)
            continue
        content = child.get("content", "")
        cell = _CELLS.get((child.get("x", ""), child.get("y", "")))
        if cell is None or content not in cells:
            raise UnreadableError(_describe_field(child))
        cells[content] |= cell
    blue, yellow, red, green = cells.values()
    return blue, yellow, red, green


def _describe_field(child: Element) -> str:
    read_enum(child, "content", COLORS)
    x, y = read_integer(child, "x"), read_integer(child, "y")
    return f"field ({x}, {y}) liegt nicht auf dem Spielfeld"


def _read_last_move(
    element_of_move: Element | None, reading: Reading
) -> tuple[SetMove | SkipMove | None, tuple[str, ...]]:
    """Return the last move and its hints; None and no hints before the first move."""
    if element_of_move is None:
        return None, ()
    data = reading.dialect.read_data(element_of_move, reading)
    if isinstance(data, UnreadableData):
        raise UnreadableError(data.problem)
    if isinstance(data, MoveData) and isinstance(data.move, SetMove | SkipMove):
        return data.move, data.hints
    raise UnreadableError(f"lastMove ist kein Zug; {allowed(reading.dialect.move_classes)}")


def _read_last_move_mono(
    entries: Element | None, reading: Reading
) -> tuple[bool | None, bool | None, bool | None, bool | None]:
    found: dict[Color, bool] = {}
    for entry in entries if entries is not None else ():
        parts = reading.children(entry, "color", "boolean")
        color, is_mono = parts.get("color"), parts.get("boolean")
        if color is None or is_mono is None:
            raise UnreadableError("im Element entry fehlt color oder boolean")
        found[read_enum_text(color, COLORS)] = is_true(read_text(is_mono))
    return found.get(Color.BLUE), found.get(Color.YELLOW), found.get(Color.RED), found.get(Color.GREEN)
