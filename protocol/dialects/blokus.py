"""What the seasons of Blokus share: the texts about moves, and how moves and positions are read and written.

Sources: the seed documents, recorded packets, and releases 21.1.0, 21.4.0 and 27.0.4.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache, partial
from operator import attrgetter
from typing import Final, TypeAlias, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from spielleiter.game.api import Mistake, Move, State
from spielleiter.game.blokus.moves import BlokusMistake, IncompleteMove, IncompletePiece, SetMove, SkipMove
from spielleiter.game.blokus.pieces import EMPTY, SIZE, STRIDE, Bitboard, Color, Rotation, Shape, bit, scan
from spielleiter.game.blokus.state import BlokusState, Ruleset
from spielleiter.protocol.dialect import (
    DataReader,
    Dialect,
    PieceWriter,
    PlainForm,
    Reading,
    RememberingWriter,
    Writer,
    expected,
)
from spielleiter.protocol.dialects import packets
from spielleiter.protocol.errors import LocalProtocolError
from spielleiter.protocol.messages import Memento, MoveData, RoomMessage, UnreadableData
from spielleiter.protocol.values import (
    BOOLEAN,
    INTEGER,
    Element,
    ObjectForm,
    UnreadableError,
    allowed,
    enumeration,
    is_true,
    read_boolean,
    read_count,
    read_enum,
    read_enum_text,
    read_fields,
    read_integer,
    read_text,
)
from spielleiter.protocol.writer import Body, attribute, boolean, element, leaf, typed_element

_N = TypeVar("_N", Color, Shape)

# -- texts ------------------------------------------------------------------------------------------------------------

COLOR_NAMES: Final[Mapping[Color, str]] = {
    Color.BLUE: "Blau",
    Color.YELLOW: "Gelb",
    Color.RED: "Rot",
    Color.GREEN: "Grün",
}

MISTAKE_TEXTS: Final[Mapping[Mistake, str]] = {
    BlokusMistake.WRONG_COLOR: "Die Farbe des Zuges ist nicht an der Reihe",
    BlokusMistake.WRONG_SHAPE: "Der erste Zug muss den festgelegten Spielstein setzen",
    BlokusMistake.DUPLICATE_SHAPE: "Der gewählte Stein wurde bereits gesetzt",
    BlokusMistake.OUT_OF_BOUNDS: "Der Spielstein passt nicht vollständig auf das Spielfeld",
    BlokusMistake.OBSTRUCTED: "Der Spielstein würde eine andere Farbe überlagern",
    BlokusMistake.TOUCHES_SAME_COLOR: "Der Spielstein berührt ein Feld gleicher Farbe",
    BlokusMistake.NOT_IN_CORNER: "Der erste Zug muss auf eine freie Ecke gesetzt werden",
    BlokusMistake.NOT_ON_BORDER: "Der erste Zug muss an den Rand gesetzt werden",
    BlokusMistake.NO_SHARED_CORNER: (
        "Alle Teile müssen ein vorheriges Teil gleicher Farbe über mindestens eine Ecke berühren"
    ),
    BlokusMistake.SKIP_FIRST_TURN: "Der erste Zug muss einen Stein setzen",
}

MISTAKES_WITHOUT_MOVE: Final[frozenset[Mistake]] = frozenset({BlokusMistake.WRONG_SHAPE, BlokusMistake.DUPLICATE_SHAPE})
"""The mistakes that the official rules report without naming the move."""


def describe_move(move: Move | None) -> str:
    """Return what `toString` returns for a move in the official server; `null` for None.

    >>> describe_move(SkipMove(Color.RED))
    'Farbe Rot setzt aus'
    >>> describe_move(SkipMove())
    'null setzt aus'
    """
    if isinstance(move, SetMove):
        return f"Setze {_describe_piece(move)}"
    if isinstance(move, SkipMove):
        return f"{_describe_color(move.color)} setzt aus"
    if isinstance(move, IncompleteMove):
        if move.is_skip:
            return describe_move(SkipMove())
        return f"Setze {'null' if move.piece is None else _describe_piece(move.piece)}"
    return "null"


def _describe_piece(piece: SetMove | IncompletePiece) -> str:
    turned = f", gedreht um {piece.rotation * 90}°" if piece.rotation else ""
    flipped = ", gespiegelt" if piece.is_flipped else ""
    shape = "null" if piece.shape is None else piece.shape.name
    return f"{shape}({_describe_color(piece.color)}{turned}{flipped})[{piece.x},{piece.y}]"


def _describe_color(color: Color | None) -> str:
    return "null" if color is None else f"Farbe {COLOR_NAMES[color]}"


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
    position = reading.required(piece, "position")["position"]
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
_ALL_COLORS: Final = (1 << len(Color)) - 1
"""The mask of valid colours if the edition has no list of them."""
_REQUIRED: Final = ("board", *SHAPE_LISTS)
_OPTIONAL: Final = ("startTeam", "validColors", "first", "second", "lastMove", "lastMoveMono")


def memento_reader(rules: Ruleset, *further_tags: str) -> DataReader:
    """Return a reader of positions of a game with these rules.

    `further_tags` are more children of `state`, which repeat what other children say and are not read.
    """

    def read(data: Element, reading: Reading) -> Memento:
        state = reading.required(data, "state")["state"]
        parts = reading.required(state, *_REQUIRED, optional=(*_OPTIONAL, *further_tags))
        move: SetMove | SkipMove | None = None
        hints: tuple[str, ...] = ()
        if "lastMove" in parts:
            last = reading.dialect.read_data(parts["lastMove"], reading)
            if isinstance(last, UnreadableData):
                raise UnreadableError(last.problem)
            if not (isinstance(last, MoveData) and isinstance(last.move, SetMove | SkipMove)):
                raise UnreadableError(f"lastMove ist kein Zug; {allowed(reading.dialect.move_classes)}")
            move, hints = last.move, last.hints
        blue, yellow, red, green = (_read_mask(parts[tag], "shape", SHAPES, reading) for tag in SHAPE_LISTS)
        start_shape, turn = read_enum(state, "startPiece", SHAPES), read_count(state, "turn")
        cells = _read_board(parts["board"], reading)
        valid = parts.get("validColors")
        valid_mask = _ALL_COLORS if valid is None else _read_mask(valid, "color", COLORS, reading)
        mono: dict[Color, bool] = {}
        for entry in parts.get("lastMoveMono", ()):
            fields = reading.children(entry, "color", "boolean")
            if len(fields) != len(("color", "boolean")):
                raise UnreadableError("im Element entry fehlt color oder boolean")
            mono[read_enum_text(fields["color"], COLORS)] = is_true(read_text(fields["boolean"]))
        mono_last = mono.get(Color.BLUE), mono.get(Color.YELLOW), mono.get(Color.RED), mono.get(Color.GREEN)
        remaining = blue, yellow, red, green
        return Memento(
            BlokusState(rules, start_shape, turn, cells, remaining, valid_mask, move, mono_last),
            (_read_name(parts.get("first")), _read_name(parts.get("second"))),
            hints,
        )

    return read


def _read_name(player: Element | None) -> str:
    return "" if player is None else player.get("displayName", "")


def _read_mask(entries: Element, tag: str, values: dict[str, _N], reading: Reading) -> int:
    """Return the mask of the pieces or colours in a list."""
    mask = 0
    for child in reading.each(entries, tag):
        mask |= 1 << read_enum_text(child, values)
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
            read_enum(child, "content", COLORS)
            x, y = read_integer(child, "x"), read_integer(child, "y")
            raise UnreadableError(f"field ({x}, {y}) liegt nicht auf dem Spielfeld")
        cells[content] |= cell
    blue, yellow, red, green = cells.values()
    return blue, yellow, red, green


# -- moves in the plain form ------------------------------------------------------------------------------------------

_BLANKS: Final = rb"[ \t\r\n]*+"
_BLANK: Final = rb"[ \t\r\n]++"
_PIECE: Final = _BLANK + rb'(color|kind|rotation|isFlipped)="([A-Za-z_]++)"'
_POSITION: Final = _BLANK + rb'([xy])="(-?(?:0|[1-9][0-9]{0,3}+))"'

_COLORS: Final = {name.encode(): color for name, color in COLORS.items()}
_SHAPES: Final = {name.encode(): shape for name, shape in SHAPES.items()}
_ROTATIONS: Final = {name.encode(): rotation for name, rotation in ROTATIONS.items()}


def plain_set_move(package: str) -> PlainForm:
    """Return the form of a season's SetMove; `package` is the Java package of this class in the official server."""
    tags = (
        rb"<room" + _BLANK + rb'roomId="([A-Za-z0-9-]++)"' + _BLANKS + rb">",
        rb"<data" + _BLANK + rb'class="' + re.escape(f"{package}.SetMove").encode() + rb'"' + _BLANKS + rb">",
        rb"<piece" + _PIECE * 4 + _BLANKS + rb">",
        rb"<position" + _POSITION * 2 + _BLANKS + rb"(?:/>|></position" + _BLANKS + rb">)",
        rb"</piece" + _BLANKS + rb">",
        rb"</data" + _BLANKS + rb">",
        rb"</room" + _BLANKS + rb">",
    )
    written = _BLANKS + _BLANKS.join(tags) + _BLANKS
    return PlainForm(cache(lambda: re.compile(written)), _read_plain_set_move, depth=5, attributes=4, children=3)


def _read_plain_set_move(match: re.Match[bytes]) -> RoomMessage | None:
    room_id, a, a_value, b, b_value, c, c_value, d, d_value, e, e_value, f, f_value = match.groups()
    piece = {a: a_value, b: b_value, c: c_value, d: d_value}
    if len(piece) < 4 or e == f:
        return None
    color = _COLORS.get(piece[b"color"])
    shape = _SHAPES.get(piece[b"kind"])
    rotation = _ROTATIONS.get(piece[b"rotation"])
    if color is None or shape is None or rotation is None:
        return None
    x, y = (e_value, f_value) if e == b"x" else (f_value, e_value)
    is_flipped = piece[b"isFlipped"].lower() == b"true"
    return RoomMessage(room_id.decode(), MoveData(SetMove(color, shape, rotation, is_flipped, int(x), int(y))))


# -- moves, as the official releases read them ------------------------------------------------------------------------


def release_move_readers(package: str, coordinates: str) -> dict[str, DataReader]:
    """Return the readers of a season's moves, by class.

    `package` is the Java package of these classes in the official server, and `coordinates` the class of a position.
    """
    color_names = ("color", f"{package}.Color")
    position_form = ObjectForm(frozenset({"coordinates", coordinates}), {"x": INTEGER, "y": INTEGER})
    piece_form = ObjectForm(
        frozenset({"piece", f"{package}.Piece"}),
        {
            "color": enumeration(COLORS, *color_names),
            "kind": enumeration(SHAPES, "shape", f"{package}.PieceShape"),
            "rotation": enumeration(ROTATIONS, "rotation", f"{package}.Rotation"),
            "isFlipped": BOOLEAN,
            "position": position_form,
        },
        ignored=frozenset({"_shape", "_coordinates"}),
    )
    set_class, skip_class = f"{package}.SetMove", f"{package}.SkipMove"
    set_form = ObjectForm(frozenset({set_class}), {"piece": piece_form})
    skip_form = ObjectForm(frozenset({skip_class}), {"color": enumeration(COLORS, *color_names, is_attribute=False)})

    def read_set_move(data: Element, reading: Reading) -> MoveData:
        piece = read_fields(data, set_form, reading).get("piece")
        if piece is None:
            return MoveData(IncompleteMove(), problem=f"im Element {data.tag} fehlt das Element piece")
        rotation, position = piece.get("rotation"), piece.get("position")
        if rotation is None:
            problem = f"im Element piece fehlt das Attribut rotation; {allowed(ROTATIONS)}"
            raise UnreadableError(problem, is_incomplete=True)
        if position is None:
            raise UnreadableError("im Element piece fehlt das Element position", is_incomplete=True)
        color, shape, is_flipped = piece.get("color"), piece.get("kind"), piece.get("isFlipped", False)
        x, y = position.get("x", 0), position.get("y", 0)
        if color is not None and shape is not None:
            return MoveData(SetMove(color, shape, rotation, is_flipped, x, y))
        missing = f"color; {allowed(COLORS)}" if color is None else f"kind; {allowed(SHAPES)}"
        problem = f"im Element piece fehlt das Attribut {missing}"
        return MoveData(IncompleteMove(IncompletePiece(color, shape, rotation, is_flipped, x, y)), problem=problem)

    def read_skip_move(data: Element, reading: Reading) -> MoveData:
        color = read_fields(data, skip_form, reading).get("color")
        if color is None:
            return MoveData(IncompleteMove(is_skip=True), problem=f"im Element {data.tag} fehlt das Element color")
        return MoveData(SkipMove(color))

    return {set_class: read_set_move, skip_class: read_skip_move}


# -- writing positions ------------------------------------------------------------------------------------------------

Write: TypeAlias = Callable[[Memento, BlokusState, Dialect, str], Sequence[bytes]]
"""Writes some children of the element `state` in pieces, each child on a line of its own that begins with the indent
(the last argument)."""

_CACHED_LISTS: Final = 512  # of about 1 KiB; most of what hits is from the first rounds of games
_CACHED_INDENTS: Final = 8
_CACHED_OFFSETS: Final = 256  # more than there are pieces in all orientations


class StatePart(Struct, frozen=True):
    """Some children of the element `state`.

    `new` returns a function that writes them, with a cache of its own if it has one. `key` returns the value on which
    they depend: if it is equal, so are the bytes. If `key` is None, they are written again every time.
    """

    new: Callable[[], Write]
    key: Callable[[Memento], object] | None


def part(write: Callable[[Memento, BlokusState, Dialect, str], str], depends_on: str | None = None) -> StatePart:
    """Return a part that is written without a cache.

    `depends_on` is the (dotted) name of the attribute of a memento that serves as its key.
    """

    def write_bytes(memento: Memento, state: BlokusState, dialect: Dialect, indent: str) -> Sequence[bytes]:
        return (write(memento, state, dialect, indent).encode(),)

    return StatePart(lambda: write_bytes, None if depends_on is None else attrgetter(depends_on))


class MementoWriter(RememberingWriter):
    """Writes positions: the element `state` with its class and `attributes`, and the `parts` in the given order."""

    def __init__(self, attributes: Callable[[BlokusState], str], *parts: StatePart) -> None:
        self._attributes = attributes
        self._parts = parts

    def __call__(self, memento: Memento, dialect: Dialect, indent: str) -> Body:
        return Body("memento", "", b"".join(self.for_room()(memento, dialect, indent)).decode())

    def for_room(self) -> PieceWriter:
        return _CachingMementoWriter(self._attributes, self._parts).write


class _CachingMementoWriter:
    """Keeps the bytes of every part, and the key for which they were written."""

    __slots__ = ("_attributes", "_indent", "_keys", "_parts", "_written")

    def __init__(self, attributes: Callable[[BlokusState], str], parts: Sequence[StatePart]) -> None:
        self._attributes = attributes
        self._parts = [(number, each.key, each.new()) for number, each in enumerate(parts)]
        self._keys: list[object] = [None] * len(parts)
        self._written: list[Sequence[bytes]] = [()] * len(parts)
        self._indent = ""

    def write(self, memento: Memento, dialect: Dialect, indent: str) -> Sequence[bytes]:
        state = expected(memento.state, BlokusState)
        keys, written, inner = self._keys, self._written, indent + "  "
        if inner != self._indent:
            self._indent = inner
            keys[:] = [None] * len(keys)
        pieces = [f'{indent}<state class="state"{self._attributes(state)}>'.encode()]
        for number, key_of, write in self._parts:
            key = None if key_of is None else key_of(memento)
            if key is None or key != keys[number]:
                keys[number] = key
                written[number] = write(memento, state, dialect, inner)
            pieces += written[number]
        pieces.append(f"{indent}</state>".encode())
        return pieces


class _Board:
    """Writes the covered cells row by row, and keeps what it wrote last."""

    __slots__ = ("_cells", "_fields", "_indent", "_pieces")

    def __init__(self) -> None:
        self._reset("")

    def _reset(self, indent: str) -> None:
        self._indent = indent
        self._cells = (EMPTY, EMPTY, EMPTY, EMPTY)
        self._fields = [b""] * (SIZE * STRIDE)
        """For each bit of a bitboard the XML of the covered cell, or nothing."""
        self._pieces = [f"{indent}<board>".encode(), *[b""] * SIZE, f"{indent}</board>".encode()]
        """The start tag, the rows, the end tag."""

    def __call__(self, memento: Memento, state: BlokusState, dialect: Dialect, indent: str) -> Sequence[bytes]:
        if indent != self._indent:
            self._reset(indent)
        cells = state.cells
        for color, before in enumerate(self._cells):
            changed = before ^ cells[color]
            if changed & before:  # this is not a later position of the same game
                self._reset(indent)
                return self(memento, state, dialect, indent)
            if changed:
                self._add(color, changed)
        self._cells = cells
        if any(cells):
            return self._pieces
        return (element(indent, "board").encode(),)

    def _add(self, color: int, cells: Bitboard) -> None:
        """Write the newly covered `cells`, and all rows from the first to the last of them: mostly a single piece."""
        fields, texts = self._fields, _fields(self._indent)[color]
        first, last = (cells & -cells).bit_length() - 1, cells.bit_length() - 1
        for offset in _offsets(cells >> first):
            fields[first + offset] = texts[first + offset]
        for row in range(first // STRIDE, last // STRIDE + 1):
            self._pieces[1 + row] = b"".join(fields[row * STRIDE : (row + 1) * STRIDE])


@lru_cache(maxsize=_CACHED_OFFSETS)
def _offsets(cells: Bitboard) -> tuple[int, ...]:
    """Return the indices of the bits of a piece, which is as far up as it can be, wherever it was placed."""
    return tuple(scan(cells))


@lru_cache(maxsize=_CACHED_INDENTS)
def _fields(indent: str) -> tuple[tuple[bytes, ...], ...]:
    """Return the XML of each covered cell, indexed by colour and by its bit in a bitboard."""
    return tuple(
        tuple(
            f'{indent}  <field x="{index % STRIDE}" y="{index // STRIDE}" content="{color.name}"/>'.encode()
            for index in range(SIZE * STRIDE)
        )
        for color in Color
    )


def turn_round_start_piece(state: BlokusState) -> str:
    """Return the attributes of the element `state` as XML: turn, round and start piece."""
    return f' turn="{state.turn}" round="{state.round}" startPiece="{SHAPE_NAMES[state.start_shape]}"'


board: Final = StatePart(_Board, attrgetter("state.cells"))


start_team: Final = part(
    lambda _memento, _state, dialect, indent: f'{indent}<startTeam class="team">{dialect.team_names[0]}</startTeam>',
    "state.rules",
)


def shape_lists(attributes: str = "") -> StatePart:
    """Return the four lists of pieces that are not placed yet; `attributes` are those of their elements, as XML."""
    return StatePart(partial(_ShapeLists, attributes), attrgetter("state.remaining_masks"))


class _ShapeLists:
    """Writes the lists of pieces, and keeps what it wrote last: a move changes one of them."""

    __slots__ = ("_attributes", "_indent", "_masks", "_pieces")

    def __init__(self, attributes: str) -> None:
        self._attributes = attributes
        self._indent = ""
        self._masks: list[int | None] = [None] * len(SHAPE_LISTS)
        self._pieces = [b""] * len(SHAPE_LISTS)

    def __call__(self, _memento: Memento, state: BlokusState, _dialect: Dialect, indent: str) -> Sequence[bytes]:
        if indent != self._indent:
            self._indent = indent
            self._masks = [None] * len(SHAPE_LISTS)
        for color, mask in enumerate(state.remaining_masks):
            if mask != self._masks[color]:
                self._masks[color] = mask
                self._pieces[color] = _shape_list(color, mask, self._attributes, indent)
        return self._pieces


@lru_cache(maxsize=_CACHED_LISTS)
def _shape_list(color: int, mask: int, attributes: str, indent: str) -> bytes:
    lines = _shape_lines(indent)
    return element(indent, SHAPE_LISTS[color], attributes, "".join([lines[index] for index in scan(mask)])).encode()


@lru_cache(maxsize=_CACHED_INDENTS)
def _shape_lines(indent: str) -> tuple[str, ...]:
    """Return the XML of each piece in a list of pieces."""
    return tuple(leaf(indent + "  ", "shape", name) for name in SHAPE_NAMES)


def colors(tag: str) -> StatePart:
    """Return the list of the colours that are still in the game."""

    def write(_memento: Memento, state: BlokusState, _dialect: Dialect, indent: str) -> str:
        entries = "".join(leaf(indent + "  ", "color", _COLOR_NAMES[index]) for index in scan(state.valid_mask))
        return element(indent, tag, "", entries)

    return part(write, "state.valid_mask")


players: Final = part(
    lambda memento, _state, dialect, indent: "".join(
        packets.player_element(indent, tag, name, team)
        for tag, name, team in zip(("first", "second"), memento.names, dialect.team_names, strict=True)
    ),
    "names",
)


def last_move(package: str) -> StatePart:
    """Return the last move with the hints of the memento, or nothing before the first move.

    `package` is as in `move_readers`. A piece without hints, as in nearly every position, is written without the tables
    of the dialect, which would write the same.
    """
    head, tail = f'<lastMove class="{package}.SetMove">', "</lastMove>"

    def write(memento: Memento, state: BlokusState, dialect: Dialect, indent: str) -> Sequence[bytes]:
        move = state.last_move
        if move is None:
            return ()
        if isinstance(move, SetMove) and not memento.hints:
            return (f"{indent}{head}{_piece(move, indent + '  ')}{indent}{tail}".encode(),)
        body = dialect.data_body(MoveData(move, memento.hints), indent + "  ")
        return (typed_element(indent, "lastMove", body).encode(),)

    return StatePart(lambda: write, None)


def last_move_mono(attributes: str = "") -> StatePart:
    """Return the entries that say for every colour that has placed all its pieces whether MONO was the last of them."""

    def write(_memento: Memento, state: BlokusState, _dialect: Dialect, indent: str) -> str:
        inner = indent + "    "
        entries = "".join(
            element(
                indent + "  ",
                "entry",
                "",
                leaf(inner, "color", color.name) + leaf(inner, "boolean", boolean(value=is_mono)),
            )
            for color, is_mono in zip(Color, state.mono_last, strict=True)
            if is_mono is not None
        )
        return element(indent, "lastMoveMono", attributes, entries)

    return part(write, "state.mono_last")
