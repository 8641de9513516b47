"""Moves and positions of Blokus on the wire, as parts that the editions put together in their own order.

Law: a position is written as text, from pieces that are kept: a list of stones by its mask, a row of the board by its
cells. So a state costs what changed since the last one, not what lies on the board. Lists are read in any order and
written in the order of the enumerations. Sources: the seed documents, releases 21.4.0 and 21.1.0.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Final, TypeAlias

from game.blokus.bitboard import SIZE, STRIDE, bit, scan
from game.blokus.move import SetMove, SkipMove
from game.blokus.polyomino import Color, Rotation, Shape
from game.blokus.rulesets import Ruleset
from game.blokus.state import BlokusState
from protocol.dialect import DataReader, Dialect, Writer
from protocol.dialects.room import player
from protocol.errors import LocalProtocolError
from protocol.messages import Memento, MoveData, UnreadableData
from protocol.reading import (
    Element,
    Reading,
    UnreadableError,
    allowed,
    is_true,
    read_boolean,
    read_enum,
    read_enum_text,
    read_integer,
    read_text,
)
from protocol.writer import Body, attribute, boolean, element, leaf, typed_element

COLORS: Final[dict[str, Color]] = dict(Color.__members__)
SHAPES: Final[dict[str, Shape]] = dict(Shape.__members__)
ROTATIONS: Final[dict[str, Rotation]] = dict(Rotation.__members__)

# -- moves ------------------------------------------------------------------------------------------------------------


def move_readers(package: str) -> dict[str, DataReader]:
    """The readers of a season's moves by class; `package` is where the official server keeps these classes."""
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
    """Hints are documented; the release knew none, so a strict dialect does not either."""
    if child.tag == "hint" and not reading.dialect.is_strict:
        reading.skip_children(child)
        hints.append(child.get("content", ""))
    else:
        reading.skip(child, data)


def move_writer(package: str) -> Writer:
    """Writes a season's moves, with their hints."""
    set_class, skip_class = f"{package}.SetMove", f"{package}.SkipMove"

    def write(data: MoveData, _dialect: Dialect, indent: str) -> Body:
        move = data.move
        if isinstance(move, SetMove):
            name, lines = set_class, _piece(move, indent)
        elif isinstance(move, SkipMove):
            name, lines = skip_class, "" if move.color is None else leaf(indent, "color", move.color.name)
        else:
            raise LocalProtocolError(f"not a move of Blokus: {move!r}")
        if data.hints:
            lines += "".join(element(indent, "hint", attribute("content", hint)) for hint in data.hints)
        return Body(name, "", lines)

    return write


def _piece(move: SetMove, indent: str) -> str:
    return (
        f'{indent}<piece color="{move.color.name}" kind="{move.shape.name}" rotation="{move.rotation.name}" '
        f'isFlipped="{boolean(value=move.is_flipped)}">{indent}  <position x="{move.x}" y="{move.y}"/>{indent}</piece>'
    )


# -- positions, out ---------------------------------------------------------------------------------------------------

StatePart: TypeAlias = Callable[[Memento, BlokusState, Dialect], str]
"""Writes some children of the state, each on a line of its own."""

_STATE_INDENT: Final = "\n      "
_PART_INDENT: Final = _STATE_INDENT + "  "
_INNER_INDENT: Final = _PART_INDENT + "  "
_ENTRY_INDENT: Final = _INNER_INDENT + "  "
_LISTS: Final = tuple(f"{color.name.lower()}Shapes" for color in Color)
_SHAPE_LINES: Final = tuple(leaf(_INNER_INDENT, "shape", shape.name) for shape in Shape)
_ROW_MASK: Final = (1 << SIZE) - 1
_ROWS_KEPT: Final = 4096
_LISTS_KEPT: Final = 2048
_NAMES_KEPT: Final = 256


def memento_writer(attributes: Callable[[BlokusState], str], *parts: StatePart) -> Writer:
    """Writes positions: the state's attributes behind its class, then these parts in this order."""

    def write(memento: Memento, dialect: Dialect, indent: str) -> Body:
        state = memento.state
        if not isinstance(state, BlokusState):
            raise LocalProtocolError(f"not a position of Blokus: {type(state).__name__}")
        lines = "".join([part(memento, state, dialect) for part in parts])
        text = f'{_STATE_INDENT}<state class="state"{attributes(state)}>{lines}{_STATE_INDENT}</state>'
        return Body("memento", "", text if indent == _STATE_INDENT else text.replace(_STATE_INDENT, indent))

    return write


def turn_round_start_piece(state: BlokusState) -> str:
    return f' turn="{state.turn}" round="{state.round}" startPiece="{state.start_shape.name}"'


def start_team(_memento: Memento, _state: BlokusState, dialect: Dialect) -> str:
    return f'{_PART_INDENT}<startTeam class="team">{dialect.team_names[0]}</startTeam>'


def shape_lists(attributes: str = "") -> StatePart:
    """The four lists of stones still to be laid; `attributes` are those of their elements."""

    def write(_memento: Memento, state: BlokusState, _dialect: Dialect) -> str:
        blue, yellow, red, green = state.remaining_masks
        return (
            _shape_list(0, blue, attributes)
            + _shape_list(1, yellow, attributes)
            + _shape_list(2, red, attributes)
            + _shape_list(3, green, attributes)
        )

    return write


@lru_cache(maxsize=_LISTS_KEPT)
def _shape_list(color: int, mask: int, attributes: str) -> str:
    shapes = "".join([_SHAPE_LINES[index] for index in scan(mask)])
    return element(_PART_INDENT, _LISTS[color], attributes, shapes)


def valid_colors(_memento: Memento, state: BlokusState, _dialect: Dialect) -> str:
    return _valid_colors(state.valid_mask)


@lru_cache(maxsize=1 << len(Color))
def _valid_colors(mask: int) -> str:
    colors = "".join(leaf(_INNER_INDENT, "color", Color(index).name) for index in scan(mask))
    return element(_PART_INDENT, "validColors", "", colors)


def players(memento: Memento, _state: BlokusState, dialect: Dialect) -> str:
    return _players(memento.names, dialect.team_names)


@lru_cache(maxsize=_NAMES_KEPT)
def _players(names: tuple[str, str], team_names: tuple[str, str]) -> str:
    first = player(_PART_INDENT, "first", names[0], team_names[0])
    return first + player(_PART_INDENT, "second", names[1], team_names[1])


def board(_memento: Memento, state: BlokusState, _dialect: Dialect) -> str:
    """The covered cells, row by row."""
    blue, yellow, red, green = state.cells
    covered = blue | yellow | red | green
    rows = []
    for y in range(SIZE):
        shift = y * STRIDE
        if covered >> shift & _ROW_MASK:
            rows.append(
                _row(
                    y,
                    blue >> shift & _ROW_MASK,
                    yellow >> shift & _ROW_MASK,
                    red >> shift & _ROW_MASK,
                    green >> shift & _ROW_MASK,
                )
            )
    return element(_PART_INDENT, "board", "", "".join(rows))


@lru_cache(maxsize=_ROWS_KEPT)
def _row(y: int, blue: int, yellow: int, red: int, green: int) -> str:
    fields = [""] * SIZE
    for color, cells in zip(Color, (blue, yellow, red, green), strict=True):
        content = f'" y="{y}" content="{color.name}"/>'
        for x in scan(cells):
            fields[x] = f'{_INNER_INDENT}<field x="{x}{content}'
    return "".join(fields)


def last_move(memento: Memento, state: BlokusState, dialect: Dialect) -> str:
    """Nothing before the first move; the move's hints with it, where the memento has any."""
    if state.last_move is None:
        return ""
    return typed_element(
        _PART_INDENT, "lastMove", dialect.data_body(MoveData(state.last_move, memento.hints), _INNER_INDENT)
    )


def last_move_mono(attributes: str = "") -> StatePart:
    """For every colour that has laid all its stones, whether MONO was the last one."""

    def write(_memento: Memento, state: BlokusState, _dialect: Dialect) -> str:
        entries = "".join(
            element(
                _INNER_INDENT,
                "entry",
                "",
                leaf(_ENTRY_INDENT, "color", color.name) + leaf(_ENTRY_INDENT, "boolean", boolean(value=is_mono)),
            )
            for color, is_mono in zip(Color, state.mono_last, strict=True)
            if is_mono is not None
        )
        return element(_PART_INDENT, "lastMoveMono", attributes, entries)

    return write


# -- positions, in ----------------------------------------------------------------------------------------------------

_CELLS: Final = {(str(x), str(y)): bit(x, y) for x in range(SIZE) for y in range(SIZE)}
_REQUIRED: Final = ("board", *_LISTS)
_OPTIONAL: Final = ("startTeam", "validColors", "first", "second", "lastMove", "lastMoveMono")


def memento_reader(rules: Ruleset, *further_tags: str) -> DataReader:
    """Reads positions of a game with these rules; `further_tags` are children that repeat what others say."""

    def read(data: Element, reading: Reading) -> Memento:
        state = reading.children(data, "state").get("state")
        if state is None:
            raise UnreadableError(f"im Element {data.tag} fehlt das Element state")
        parts = reading.children(state, *_REQUIRED, *_OPTIONAL, *further_tags)
        for tag in _REQUIRED:
            if tag not in parts:
                raise UnreadableError(f"im Element state fehlt das Element {tag}")
        move, hints = _read_last_move(parts.get("lastMove"), reading)
        blue, yellow, red, green = (_read_shapes(parts[tag], reading) for tag in _LISTS)
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


def _read_name(who: Element | None) -> str:
    return "" if who is None else who.get("displayName", "")


def _read_turn(state: Element) -> int:
    turn = read_integer(state, "turn")
    if turn < 0:
        raise UnreadableError(f'state turn="{turn}" ist kleiner als 0')
    return turn


def _read_shapes(shapes: Element, reading: Reading) -> int:
    """The mask of the stones in a list."""
    mask = 0
    for child in shapes:
        if child.tag == "shape":
            mask |= 1 << read_enum_text(child, SHAPES)
        else:
            reading.skip(child, shapes)
    return mask


def _read_valid_colors(colors: Element | None, reading: Reading) -> int:
    """The mask of the colours; all of them where the edition has no such list."""
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
    """The move and its hints; before the first move there are none."""
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
