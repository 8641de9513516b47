"""The contest's Blokus in the terms of a GTP engine, which plays by the rules of the board game.

Both games have the same pieces and the same rules for all moves but the first. Where they differ:

- An engine's colours start in fixed corners: `START_CORNERS`. In the contest any corner may be chosen, or any cell of
  the border. If one of the board's symmetries moves each colour to its corner, the engine gets the position turned in
  this way, as a sequence of moves. Otherwise it gets the position as a file, if it can load one.
- The first piece is prescribed in the contest. No engine can be told, so the bridge does not ask for it;
  `first_placements` returns the placements after which a symmetry may still be found.
- Skips and colours that have left the game need no translation: an engine is asked for a move of one colour,
  whatever the order of the moves was.

Pieces of one colour never share an edge. So the pieces on the board can be read from the cells of each colour, and the
bridge needs no history of the game.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

from spielleiter.game.blokus import BlokusState, Color, Orientation, SetMove, orientation
from spielleiter.game.blokus.pieces import ALL_SHAPES_MASK, ORIENTATIONS, SIZE, STRIDE, Cell, bit, scan

_COLUMNS: Final = "abcdefghijklmnopqrst"
_CELL: Final = re.compile(r"([a-t])([1-9]|1\d|20)", re.ASCII)


def cell_name(cell: Cell) -> str:
    """Return the name of a cell, such as ``a20`` for the upper left corner (0, 0)."""
    x, y = cell
    return f"{_COLUMNS[x]}{SIZE - y}"


def write_cells(cells: Iterable[Cell]) -> str:
    """Return the names of cells, separated by commas, in the order a1, b1, ..., a2, and so on."""
    return ",".join(map(cell_name, sorted(cells, key=lambda cell: (-cell[1], cell[0]))))


def read_cells(text: str) -> frozenset[Cell]:
    """Return the cells that `text` names. Raises ValueError if it is not a list of different cells of the board."""
    matches = [_CELL.fullmatch(name) for name in text.strip().lower().split(",")]
    cells = [(_COLUMNS.index(match[1]), SIZE - int(match[2])) for match in matches if match]
    if len(cells) < len(matches) or len(set(cells)) < len(cells):
        raise ValueError(f"not a list of cells: {text!r}")
    return frozenset(cells)


@dataclass(frozen=True, slots=True)
class Symmetry:
    """A rotation or a reflection of the board: x and y are exchanged first, then each may be mirrored.

    >>> turn_right = Symmetry(is_transposed=True, mirrors_x=True, mirrors_y=False)
    >>> turn_right.apply((0, 0)), turn_right.apply((19, 0)), turn_right.undo((19, 19))
    ((19, 0), (19, 19), (19, 0))
    """

    is_transposed: bool
    mirrors_x: bool
    mirrors_y: bool

    def apply(self, cell: Cell) -> Cell:
        """Return the cell to which `cell` is moved."""
        x, y = reversed(cell) if self.is_transposed else cell
        return self._mirrored(x, y)

    def undo(self, cell: Cell) -> Cell:
        """Return the cell that is moved to `cell`."""
        x, y = self._mirrored(*cell)
        return (y, x) if self.is_transposed else (x, y)

    def _mirrored(self, x: int, y: int) -> Cell:
        return SIZE - 1 - x if self.mirrors_x else x, SIZE - 1 - y if self.mirrors_y else y


SYMMETRIES: Final = tuple(Symmetry(*flags) for flags in itertools.product((False, True), repeat=3))
"""The eight symmetries of the board; the first one is the identity."""


VARIANT: Final = "Blokus Two-Player"
"""The contest's form of the game as engines call it: two players with two colours each."""

START_CORNERS: Final[tuple[Cell, Cell, Cell, Cell]] = ((0, 0), (SIZE - 1, 0), (SIZE - 1, SIZE - 1), (0, SIZE - 1))
"""For each colour the cell that an engine's first piece has to cover."""

_BY_MASK: Final = {each.mask: each for each in ORIENTATIONS}


class Piece(NamedTuple):
    """A piece on the board, in the contest's coordinates."""

    color: Color
    cells: frozenset[Cell]


@dataclass(frozen=True, slots=True)
class EnginePosition:
    """The position that an engine has: its pieces, and the symmetry that moves them to the engine's places."""

    symmetry: Symmetry
    pieces: frozenset[Piece]


@dataclass(frozen=True, slots=True)
class Steps:
    """The way to an engine's next position: a new beginning or none, then moves.

    `file` is the text of a file to load; `clears` says that the board has to be cleared instead. Each of the `moves` is
    the arguments of a ``play`` command. `position` is the result.
    """

    clears: bool
    file: str | None
    moves: tuple[tuple[str, str], ...]
    position: EnginePosition


def color_argument(color: Color) -> str:
    """Return a colour as a command's argument.

    >>> color_argument(Color.BLUE)
    '1'
    """
    return str(color + 1)


def is_first_piece(state: BlokusState) -> bool:
    """Return whether the colour on turn has not placed its first piece yet."""
    return state.remaining_masks[state.color_on_turn] == ALL_SHAPES_MASK


def pieces_of(state: BlokusState) -> frozenset[Piece]:
    """Return the pieces on the board."""
    pieces = set[Piece]()
    for color in Color:
        cells = {(x, y) for y, x in (divmod(index, STRIDE) for index in scan(state.cells[color]))}
        while cells:
            found, to_visit = set[Cell](), [cells.pop()]
            while to_visit:  # a piece is what is connected by edges
                x, y = cell = to_visit.pop()
                found.add(cell)
                neighbours = {(x + 1, y), (x - 1, y), (x, y + 1), (x, y - 1)} & cells
                cells -= neighbours
                to_visit += neighbours
            pieces.add(Piece(color, frozenset(found)))
    return frozenset(pieces)


def fitting_symmetries(state: BlokusState) -> Iterator[Symmetry]:
    """Yield the symmetries that move each colour on the board to a place that includes its corner."""
    on_board = [color for color in Color if state.cells[color]]
    for symmetry in SYMMETRIES:
        if all(state.cells[color] & bit(*symmetry.undo(START_CORNERS[color])) for color in on_board):
            yield symmetry


def first_placements(state: BlokusState) -> list[SetMove]:
    """Return the placements of a first piece after which a symmetry fits, or all of them if there are none."""
    legal = list(state.generate_legal_moves())
    return [move for move in legal if any(fitting_symmetries(state.play(move)))] or legal


def steps_to(state: BlokusState, known: EnginePosition | None, *, loads_files: bool) -> Steps | None:
    """Return how an engine gets to `state`, in which every colour has placed its first piece; None if it cannot.

    `known` is the position that it has; None if that is not known. `loads_files`: whether it can load positions.
    """
    pieces = pieces_of(state)
    if known is not None and known.pieces <= pieces:
        return _steps(known.symmetry, known.pieces, pieces)
    symmetry = next(fitting_symmetries(state), None)
    if symmetry is not None:
        return _steps(symmetry, frozenset(), pieces, clears=True)
    if loads_files:
        file = f"(;GM[{VARIANT}]"  # in the form of Pentobi, a dialect of SGF
        for color in Color:
            if placed := sorted(write_cells(piece.cells) for piece in pieces if piece.color is color):
                file += f"\nA{color_argument(color)}" + "".join(f"[{cells}]" for cells in placed)
        file += f"\nPL[{color_argument(state.color_on_turn)}])\n"
        return Steps(clears=False, file=file, moves=(), position=EnginePosition(SYMMETRIES[0], pieces))
    return None


def read_move(state: BlokusState, symmetry: Symmetry, text: str) -> SetMove:
    """Return an engine's answer as a move of the colour on turn. Raises ValueError if it does not name a piece.

    The move may be illegal.
    """
    cells = [symmetry.undo(cell) for cell in read_cells(text)]
    left, top = min(x for x, _ in cells), min(y for _, y in cells)
    found: Orientation | None = _BY_MASK.get(sum(bit(x - left, y - top) for x, y in cells))
    if found is None:
        raise ValueError(f"not a piece: {text!r}")
    return SetMove(state.color_on_turn, found.shape, found.rotation, found.is_flipped, left, top)


def write_move(symmetry: Symmetry, move: SetMove) -> str:
    """Return `move` as an engine writes it; `read_move` is the inverse."""
    turned = orientation(move.shape, move.rotation, move.is_flipped)
    return write_cells(symmetry.apply((move.x + x, move.y + y)) for x, y in turned.cells)


def _steps(symmetry: Symmetry, old: frozenset[Piece], new: frozenset[Piece], *, clears: bool = False) -> Steps:
    """Return the moves that lead from `old` to `new`. Each piece touches an earlier one of its colour.

    The colours take turns, as in a game.
    """
    attach = {color: {symmetry.undo(START_CORNERS[color])} for color in Color}
    for piece in old:
        attach[piece.color] |= _corners(piece.cells)
    remaining = sorted(new - old, key=lambda piece: (piece.color, sorted(piece.cells)))
    moves = []
    for color in itertools.cycle(Color):
        if not remaining:
            break
        of_color = [piece for piece in remaining if piece.color is color]
        if of_color:
            chosen = next((piece for piece in of_color if piece.cells & attach[color]), of_color[0])
            moves.append((color_argument(color), write_cells(map(symmetry.apply, chosen.cells))))
            remaining.remove(chosen)
            attach[color] |= _corners(chosen.cells)
    return Steps(clears=clears, file=None, moves=tuple(moves), position=EnginePosition(symmetry, new))


def _corners(cells: Iterable[Cell]) -> set[Cell]:
    return {(x + dx, y + dy) for x, y in cells for dx in (-1, 1) for dy in (-1, 1)}
