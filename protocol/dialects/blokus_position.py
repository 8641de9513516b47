"""Positions of Blokus, written: parts that the editions put together in their own order.

Law: a position is put together from pieces that are kept: a list of pieces by its mask, a cell by its colour. A writer
that serves one room remembers the board it wrote last, so there a position costs what has changed since, not what lies
on the board. Lists are written in the order of the enumerations. Sources: the seed documents, releases 21.4.0, 21.1.0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import attrgetter
from typing import Final, TypeAlias

from spielleiter.game.blokus.bitboard import EMPTY, SIZE, STRIDE, Bitboard, scan
from spielleiter.game.blokus.polyomino import Color
from spielleiter.game.blokus.state import BlokusState
from spielleiter.protocol.dialect import Dialect, RememberingWriter, Writer
from spielleiter.protocol.dialects.blokus import SHAPE_LISTS, SHAPE_NAMES
from spielleiter.protocol.dialects.room import player
from spielleiter.protocol.errors import LocalProtocolError
from spielleiter.protocol.messages import Memento, MoveData
from spielleiter.protocol.writer import Body, boolean, element, leaf, typed_element

Write: TypeAlias = Callable[[Memento, BlokusState, Dialect, str], str]
"""Writes some children of the state, each on a line of its own that begins with the indent."""

_LISTS_KEPT: Final = 4096
_INDENTS_KEPT: Final = 8


@dataclass(frozen=True, slots=True)
class StatePart:
    """Some children of the state.

    `new` makes what writes them, with a memory of its own if it has one. `key` is what they depend on: as long as it
    is equal, so is what is written. None: it has to be asked every time.
    """

    new: Callable[[], Write]
    key: Callable[[Memento], object] | None


def part(write: Write, depends_on: str | None = None) -> StatePart:
    """Children that are written without a memory; `depends_on` is a memento's attribute (dotted)."""
    return StatePart(lambda: write, None if depends_on is None else attrgetter(depends_on))


class MementoWriter(RememberingWriter):
    """Writes positions: the state's attributes behind its class, then these parts in this order."""

    def __init__(self, attributes: Callable[[BlokusState], str], *parts: StatePart) -> None:
        self._attributes = attributes
        self._parts = parts

    def __call__(self, memento: Memento, dialect: Dialect, indent: str) -> Body:
        return self.for_room()(memento, dialect, indent)

    def for_room(self) -> Writer:
        return _RoomsMementoWriter(self._attributes, self._parts).write


class _RoomsMementoWriter:
    """Keeps the text of every part, and what it was written for."""

    __slots__ = ("_attributes", "_indent", "_keys", "_parts", "_texts")

    def __init__(self, attributes: Callable[[BlokusState], str], parts: Sequence[StatePart]) -> None:
        self._attributes = attributes
        self._parts = [(number, each.key, each.new()) for number, each in enumerate(parts)]
        self._keys: list[object] = [None] * len(parts)
        self._texts = [""] * len(parts)
        self._indent = ""

    def write(self, memento: Memento, dialect: Dialect, indent: str) -> Body:
        state = memento.state
        if not isinstance(state, BlokusState):
            raise LocalProtocolError(f"not a position of Blokus: {type(state).__name__}")
        keys, texts, inner = self._keys, self._texts, indent + "  "
        if inner != self._indent:
            self._indent = inner
            keys[:] = [None] * len(keys)
        for number, key_of, write in self._parts:
            if key_of is None:
                texts[number] = write(memento, state, dialect, inner)
                continue
            key = key_of(memento)
            if key != keys[number]:
                keys[number] = key
                texts[number] = write(memento, state, dialect, inner)
        lines = "".join(texts)
        return Body("memento", "", f'{indent}<state class="state"{self._attributes(state)}>{lines}{indent}</state>')


class _Board:
    """The covered cells, row by row; remembers what it wrote last."""

    __slots__ = ("_cells", "_fields", "_indent", "_rows")

    def __init__(self) -> None:
        self._begin("")

    def __call__(self, _memento: Memento, state: BlokusState, _dialect: Dialect, indent: str) -> str:
        self._update(state.cells, indent)
        return element(indent, "board", "", "".join(self._rows))

    def _begin(self, indent: str) -> None:
        self._indent = indent
        self._cells = (EMPTY, EMPTY, EMPTY, EMPTY)
        self._fields = [""] * (SIZE * STRIDE)
        """By bit of a bitboard: the covered cell, written."""
        self._rows = [""] * SIZE

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


board: Final = StatePart(_Board, attrgetter("state.cells"))


def _start_team(_memento: Memento, _state: BlokusState, dialect: Dialect, indent: str) -> str:
    return f'{indent}<startTeam class="team">{dialect.team_names[0]}</startTeam>'


start_team: Final = part(_start_team, "state.rules")


def shape_lists(attributes: str = "") -> StatePart:
    """The four lists of pieces still to be placed; `attributes` are those of their elements."""

    def write(_memento: Memento, state: BlokusState, _dialect: Dialect, indent: str) -> str:
        blue, yellow, red, green = state.remaining_masks
        return (
            _shape_list(0, blue, attributes, indent)
            + _shape_list(1, yellow, attributes, indent)
            + _shape_list(2, red, attributes, indent)
            + _shape_list(3, green, attributes, indent)
        )

    return part(write, "state.remaining_masks")


@lru_cache(maxsize=_LISTS_KEPT)
def _shape_list(color: int, mask: int, attributes: str, indent: str) -> str:
    shapes = "".join([leaf(indent + "  ", "shape", SHAPE_NAMES[index]) for index in scan(mask)])
    return element(indent, SHAPE_LISTS[color], attributes, shapes)


def colors(tag: str) -> StatePart:
    """The colours that are still in the game."""

    def write(_memento: Memento, state: BlokusState, _dialect: Dialect, indent: str) -> str:
        entries = "".join(leaf(indent + "  ", "color", Color(index).name) for index in scan(state.valid_mask))
        return element(indent, tag, "", entries)

    return part(write, "state.valid_mask")


def _players(memento: Memento, _state: BlokusState, dialect: Dialect, indent: str) -> str:
    (first, second), (first_team, second_team) = memento.names, dialect.team_names
    return player(indent, "first", first, first_team) + player(indent, "second", second, second_team)


players: Final = part(_players, "names")


def _last_move(memento: Memento, state: BlokusState, dialect: Dialect, indent: str) -> str:
    """Nothing before the first move; the move's hints with it, where the memento has any."""
    if state.last_move is None:
        return ""
    body = dialect.data_body(MoveData(state.last_move, memento.hints), indent + "  ")
    return typed_element(indent, "lastMove", body)


last_move: Final = part(_last_move)


def last_move_mono(attributes: str = "") -> StatePart:
    """For every colour that has placed all its pieces, whether MONO was the last one."""

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
