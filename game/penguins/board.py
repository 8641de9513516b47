"""The board of Penguins: cells, directions, sets of cells as bits, and the start of a game.

The board has 8 rows of 8 hexagons; every second row begins half a hexagon further right. A cell is (x, y) in doubled
coordinates, as on the wire: x grows by 2 from a hexagon to the next one in its row, and x + y is even. In a set of
cells, the bit of the n-th hexagon in row y is y * SIZE + n.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Final, NamedTuple, TypeAlias

SIZE: Final = 8
NUMBER_OF_CELLS: Final = SIZE * SIZE
MAX_FISH: Final = 4
"""The most fish that lie on one floe."""
_MAX_HOLES: Final = 5
"""How many cells without fish each half of the board has at most."""

Bits: TypeAlias = int
"""A set of cells."""

Floes: TypeAlias = tuple[Bits, Bits, Bits, Bits]
"""The cells without a penguin on which 1, 2, 3 and 4 fish lie."""


class Cell(NamedTuple):
    """A place, which need not be on the board."""

    x: int
    y: int

    @property
    def is_on_board(self) -> bool:
        """Whether there is a hexagon with these coordinates."""
        return 0 <= self.y < SIZE and 0 <= self.x < 2 * SIZE and (self.x + self.y) % 2 == 0

    @property
    def number(self) -> int:
        """The number of this cell's bit. It must be on the board."""
        return self.y * SIZE + self.x // 2

    def moved(self, dx: int, dy: int) -> Cell:
        """Return the place that is this far away."""
        return Cell(self.x + dx, self.y + dy)

    def __str__(self) -> str:
        return f"({self.x}, {self.y})"


CELLS: Final = tuple(Cell(2 * column + y % 2, y) for y in range(SIZE) for column in range(SIZE))
"""The cell of each bit."""

STEPS: Final = ((2, 0), (-1, -1), (1, -1), (-2, 0), (1, 1), (-1, 1))
"""From a cell to its neighbors, in the order of the official server."""


def _ray(cell: Cell, dx: int, dy: int) -> tuple[int, ...]:
    found = []
    cell = cell.moved(dx, dy)
    while cell.is_on_board:
        found.append(cell.number)
        cell = cell.moved(dx, dy)
    return tuple(found)


RAYS: Final = tuple(tuple(_ray(cell, dx, dy) for dx, dy in STEPS) for cell in CELLS)
"""For each cell and each of the six directions the numbers of the cells on the way to the border."""

NEIGHBORS: Final[tuple[Bits, ...]] = tuple(sum(1 << ray[0] for ray in rays if ray) for rays in RAYS)
"""For each cell those that touch it."""


def scan(cells: Bits) -> Iterator[int]:
    """Yield the number of each cell in `cells`, in ascending order."""
    while cells:
        lowest = cells & -cells
        yield lowest.bit_length() - 1
        cells ^= lowest


def draw_floes(rng: random.Random) -> Floes:
    """Return the fish at the start of a game; the lower half is the upper one, turned by half a turn.

    The chances are those of the official server: while many fish are left, floes with many are likely, and each half
    has up to 5 holes.
    """
    floes = [0] * MAX_FISH
    left, holes = NUMBER_OF_CELLS, _MAX_HOLES
    for number in range(NUMBER_OF_CELLS // 2):
        drawn = rng.randrange(left)
        if drawn < holes:
            holes -= 1
            continue
        fish = (drawn - holes) // 20 + 1
        left -= fish
        floes[fish - 1] |= 1 << number | 1 << (NUMBER_OF_CELLS - 1 - number)
    one, two, three, four = floes
    return one, two, three, four
