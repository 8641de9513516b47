"""Positions of Blokus, written: parts that the editions put together in their own order.

Law: a position is put together from pieces that are kept: a list of stones by its mask, a cell by its colour. A writer
that serves one room remembers the board it wrote last, so there a position costs what has changed since, not what lies
on the board. Lists are written in the order of the enumerations. Sources: the seed documents, releases 21.4.0, 21.1.0.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Final, TypeAlias

from game.blokus.bitboard import EMPTY, SIZE, STRIDE, Bitboard, scan
from game.blokus.polyomino import Color
from game.blokus.state import BlokusState
from protocol.dialect import Dialect, RememberingWriter, Writer
from protocol.dialects.blokus import SHAPE_LISTS, SHAPE_NAMES
from protocol.dialects.room import player
from protocol.errors import LocalProtocolError
from protocol.messages import Memento, MoveData
from protocol.writer import Body, boolean, element, leaf, typed_element

StatePart: TypeAlias = Callable[[Memento, BlokusState, Dialect, str], str]
"""Writes some children of the state, each on a line of its own that begins with the indent."""

_LISTS_KEPT: Final = 4096
_NAMES_KEPT: Final = 256
_INDENTS_KEPT: Final = 8


class MementoWriter(RememberingWriter):
    """Writes positions: the state's attributes behind its class, then these parts in this order."""

    def __init__(self, attributes: Callable[[BlokusState], str], *parts: StatePart) -> None:
        self._attributes = attributes
        self._parts = parts

    def __call__(self, memento: Memento, dialect: Dialect, indent: str) -> Body:
        return self.for_room()(memento, dialect, indent)

    def for_room(self) -> Writer:
        attributes = self._attributes
        parts = [part.renewed() if isinstance(part, Board) else part for part in self._parts]

        def write(memento: Memento, dialect: Dialect, indent: str) -> Body:
            state = memento.state
            if not isinstance(state, BlokusState):
                raise LocalProtocolError(f"not a position of Blokus: {type(state).__name__}")
            inner = indent + "  "
            lines = "".join([part(memento, state, dialect, inner) for part in parts])
            return Body("memento", "", f'{indent}<state class="state"{attributes(state)}>{lines}{indent}</state>')

        return write


class Board:
    """The part that holds the covered cells, row by row; remembers what it wrote last, so it serves one room."""

    __slots__ = ("_cells", "_fields", "_indent", "_rows", "_text")

    def __init__(self) -> None:
        self._begin("")

    def renewed(self) -> Board:
        """The same part for another room."""
        return Board()

    def __call__(self, _memento: Memento, state: BlokusState, _dialect: Dialect, indent: str) -> str:
        if state.cells != self._cells or indent != self._indent:
            self._update(state.cells, indent)
        return self._text

    def _begin(self, indent: str) -> None:
        self._indent = indent
        self._cells = (EMPTY, EMPTY, EMPTY, EMPTY)
        self._fields = [""] * (SIZE * STRIDE)
        """By bit of a bitboard: the covered cell, written."""
        self._rows = [""] * SIZE
        self._text = element(indent, "board")

    def _update(self, cells: tuple[Bitboard, Bitboard, Bitboard, Bitboard], indent: str) -> None:
        if indent != self._indent:
            self._begin(indent)
        rows = set()
        for color, texts in enumerate(_fields(indent)):
            changed = self._cells[color] ^ cells[color]
            if changed & self._cells[color]:  # no later position of that game
                self._begin(indent)
                self._update(cells, indent)
                return
            while changed:
                cell = changed & -changed
                changed ^= cell
                index = cell.bit_length() - 1
                self._fields[index] = texts[index]
                rows.add(index // STRIDE)
        for row in rows:
            self._rows[row] = "".join(self._fields[row * STRIDE : (row + 1) * STRIDE])
        self._cells = cells
        self._text = element(indent, "board", "", "".join(self._rows))


@lru_cache(maxsize=_INDENTS_KEPT)
def _fields(indent: str) -> tuple[tuple[str, ...], ...]:
    """A covered cell, written: by colour and by its bit in a bitboard."""
    return tuple(
        tuple(
            f'{indent}  <field x="{index % STRIDE}" y="{index // STRIDE}" content="{color.name}"/>'
            for index in range(SIZE * STRIDE)
        )
        for color in Color
    )


def turn_round_start_piece(state: BlokusState) -> str:
    return f' turn="{state.turn}" round="{state.round}" startPiece="{SHAPE_NAMES[state.start_shape]}"'


def start_team(_memento: Memento, _state: BlokusState, dialect: Dialect, indent: str) -> str:
    return f'{indent}<startTeam class="team">{dialect.team_names[0]}</startTeam>'


def shape_lists(attributes: str = "") -> StatePart:
    """The four lists of stones still to be laid; `attributes` are those of their elements."""

    def write(_memento: Memento, state: BlokusState, _dialect: Dialect, indent: str) -> str:
        blue, yellow, red, green = state.remaining_masks
        return (
            _shape_list(0, blue, attributes, indent)
            + _shape_list(1, yellow, attributes, indent)
            + _shape_list(2, red, attributes, indent)
            + _shape_list(3, green, attributes, indent)
        )

    return write


@lru_cache(maxsize=_LISTS_KEPT)
def _shape_list(color: int, mask: int, attributes: str, indent: str) -> str:
    shapes = "".join([leaf(indent + "  ", "shape", SHAPE_NAMES[index]) for index in scan(mask)])
    return element(indent, SHAPE_LISTS[color], attributes, shapes)


def valid_colors(_memento: Memento, state: BlokusState, _dialect: Dialect, indent: str) -> str:
    return color_list("validColors", state.valid_mask, indent)


@lru_cache(maxsize=_LISTS_KEPT)
def color_list(tag: str, mask: int, indent: str) -> str:
    """The colours of a mask, in the order of their turns."""
    colors = "".join(leaf(indent + "  ", "color", Color(index).name) for index in scan(mask))
    return element(indent, tag, "", colors)


def players(memento: Memento, _state: BlokusState, dialect: Dialect, indent: str) -> str:
    return _players(memento.names, dialect.team_names, indent)


@lru_cache(maxsize=_NAMES_KEPT)
def _players(names: tuple[str, str], team_names: tuple[str, str], indent: str) -> str:
    return player(indent, "first", names[0], team_names[0]) + player(indent, "second", names[1], team_names[1])


def last_move(memento: Memento, state: BlokusState, dialect: Dialect, indent: str) -> str:
    """Nothing before the first move; the move's hints with it, where the memento has any."""
    if state.last_move is None:
        return ""
    body = dialect.data_body(MoveData(state.last_move, memento.hints), indent + "  ")
    return typed_element(indent, "lastMove", body)


def last_move_mono(attributes: str = "") -> StatePart:
    """For every colour that has laid all its stones, whether MONO was the last one."""

    def write(_memento: Memento, state: BlokusState, _dialect: Dialect, indent: str) -> str:
        return _last_move_mono(state.mono_last, attributes, indent)

    return write


@lru_cache(maxsize=_LISTS_KEPT)
def _last_move_mono(mono_last: tuple[bool | None, ...], attributes: str, indent: str) -> str:
    inner = indent + "    "
    entries = "".join(
        element(
            indent + "  ",
            "entry",
            "",
            leaf(inner, "color", color.name) + leaf(inner, "boolean", boolean(value=is_mono)),
        )
        for color, is_mono in zip(Color, mono_last, strict=True)
        if is_mono is not None
    )
    return element(indent, "lastMoveMono", attributes, entries)
