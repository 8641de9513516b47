"""Cells and pieces as engines for Blokus write them, and the symmetries of the board.

Engines name a cell by a letter for its column and a number for its row, counted from the lower left corner (``a1``);
unlike in Go, the letter i is used. The contest counts both x and y from the upper left corner:

>>> cell_name((0, 0)), cell_name((19, 19)), cell_name((8, 18))
('a20', 't1', 'i2')
>>> sorted(read_cells("a1,B1,a2"))
[(0, 18), (0, 19), (1, 19)]

Invariants: `read_cells` is the inverse of `write_cells`; `Symmetry.undo` is the inverse of `Symmetry.apply`.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from spielleiter.game.blokus.pieces import SIZE, Cell

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
