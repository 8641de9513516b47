"""Writes the positions of Blokus, from parts that each edition combines in its own order.

Invariants: a position is composed of texts that are cached: a list of pieces by its mask, a covered cell by its colour.
A writer for one room also keeps the board that it wrote last, so the cost of a position depends on what has changed
since then, not on what is on the board. Lists are written in the order of the enumerations. Sources: the seed
documents, and releases 21.4.0 and 21.1.0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import attrgetter
from typing import Final, TypeAlias

from spielleiter.game.blokus.pieces import EMPTY, SIZE, STRIDE, Bitboard, Color, scan
from spielleiter.game.blokus.state import BlokusState
from spielleiter.protocol.dialect import Dialect, RememberingWriter, Writer
from spielleiter.protocol.dialects.blokus import SHAPE_LISTS, SHAPE_NAMES
from spielleiter.protocol.dialects.room import player_element
from spielleiter.protocol.errors import LocalProtocolError
from spielleiter.protocol.messages import Memento, MoveData
from spielleiter.protocol.writer import Body, boolean, element, leaf, typed_element

Write: TypeAlias = Callable[[Memento, BlokusState, Dialect, str], str]
"""Writes some children of the element `state`, each on a line of its own that begins with the indent (the last
argument)."""

_CACHED_LISTS: Final = 4096
_CACHED_INDENTS: Final = 8


@dataclass(frozen=True, slots=True)
class StatePart:
    """Some children of the element `state`.

    `new` returns a function that writes them, with a cache of its own if it has one. `key` returns the value on which
    they depend: if it is equal, so is the text. If `key` is None, they are written again every time.
    """

    new: Callable[[], Write]
    key: Callable[[Memento], object] | None


def part(write: Write, depends_on: str | None = None) -> StatePart:
    """Return a part that is written without a cache.

    `depends_on` is the (dotted) name of the attribute of a memento that serves as its key.
    """
    return StatePart(lambda: write, None if depends_on is None else attrgetter(depends_on))


class MementoWriter(RememberingWriter):
    """Writes positions: the element `state` with its class and `attributes`, and the `parts` in the given order."""

    def __init__(self, attributes: Callable[[BlokusState], str], *parts: StatePart) -> None:
        self._attributes = attributes
        self._parts = parts

    def __call__(self, memento: Memento, dialect: Dialect, indent: str) -> Body:
        return self.for_room()(memento, dialect, indent)

    def for_room(self) -> Writer:
        return _CachingMementoWriter(self._attributes, self._parts).write


class _CachingMementoWriter:
    """Keeps the text of every part, and the key for which it was written."""

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
    """Writes the covered cells row by row, and keeps what it wrote last."""

    __slots__ = ("_cells", "_fields", "_indent", "_rows")

    def __init__(self) -> None:
        self._reset("")

    def __call__(self, _memento: Memento, state: BlokusState, _dialect: Dialect, indent: str) -> str:
        self._update(state.cells, indent)
        return element(indent, "board", "", "".join(self._rows))

    def _reset(self, indent: str) -> None:
        self._indent = indent
        self._cells = (EMPTY, EMPTY, EMPTY, EMPTY)
        self._fields = [""] * (SIZE * STRIDE)
        """For each bit of a bitboard the XML of the covered cell, or an empty string."""
        self._rows = [""] * SIZE

    def _update(self, cells: tuple[Bitboard, Bitboard, Bitboard, Bitboard], indent: str) -> None:
        if indent != self._indent:
            self._reset(indent)
        rows = set()
        for color, texts in enumerate(_fields(indent)):
            changed = self._cells[color] ^ cells[color]
            if changed & self._cells[color]:  # this is not a later position of the same game
                self._reset(indent)
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


@lru_cache(maxsize=_CACHED_INDENTS)
def _fields(indent: str) -> tuple[tuple[str, ...], ...]:
    """Return the XML of each covered cell, indexed by colour and by its bit in a bitboard."""
    return tuple(
        tuple(
            f'{indent}  <field x="{index % STRIDE}" y="{index // STRIDE}" content="{color.name}"/>'
            for index in range(SIZE * STRIDE)
        )
        for color in Color
    )


def turn_round_start_piece(state: BlokusState) -> str:
    """Return the attributes of the element `state` as XML: turn, round and start piece."""
    return f' turn="{state.turn}" round="{state.round}" startPiece="{SHAPE_NAMES[state.start_shape]}"'


board: Final = StatePart(_Board, attrgetter("state.cells"))


def _start_team(_memento: Memento, _state: BlokusState, dialect: Dialect, indent: str) -> str:
    return f'{indent}<startTeam class="team">{dialect.team_names[0]}</startTeam>'


start_team: Final = part(_start_team, "state.rules")


def shape_lists(attributes: str = "") -> StatePart:
    """Return the four lists of pieces that are not placed yet; `attributes` are those of their elements, as XML."""

    def write(_memento: Memento, state: BlokusState, _dialect: Dialect, indent: str) -> str:
        blue, yellow, red, green = state.remaining_masks
        return (
            _shape_list(0, blue, attributes, indent)
            + _shape_list(1, yellow, attributes, indent)
            + _shape_list(2, red, attributes, indent)
            + _shape_list(3, green, attributes, indent)
        )

    return part(write, "state.remaining_masks")


@lru_cache(maxsize=_CACHED_LISTS)
def _shape_list(color: int, mask: int, attributes: str, indent: str) -> str:
    shapes = "".join([leaf(indent + "  ", "shape", SHAPE_NAMES[index]) for index in scan(mask)])
    return element(indent, SHAPE_LISTS[color], attributes, shapes)


def colors(tag: str) -> StatePart:
    """Return the list of the colours that are still in the game."""

    def write(_memento: Memento, state: BlokusState, _dialect: Dialect, indent: str) -> str:
        entries = "".join(leaf(indent + "  ", "color", Color(index).name) for index in scan(state.valid_mask))
        return element(indent, tag, "", entries)

    return part(write, "state.valid_mask")


def _players(memento: Memento, _state: BlokusState, dialect: Dialect, indent: str) -> str:
    (first, second), (first_team, second_team) = memento.names, dialect.team_names
    return player_element(indent, "first", first, first_team) + player_element(indent, "second", second, second_team)


players: Final = part(_players, "names")


def _last_move(memento: Memento, state: BlokusState, dialect: Dialect, indent: str) -> str:
    """Write the last move with the hints of the memento; nothing before the first move."""
    if state.last_move is None:
        return ""
    body = dialect.data_body(MoveData(state.last_move, memento.hints), indent + "  ")
    return typed_element(indent, "lastMove", body)


last_move: Final = part(_last_move)


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
