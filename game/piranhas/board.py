"""The board of Piranhas: cells, directions, lines, sets of cells as bits, swarms, and the start of a game.

A cell is (x, y) with both in 0..9; y grows upwards. In a set of cells, the bit of (x, y) is y * STRIDE + x. One unused
column separates the rows, so that a shift never leads from the end of a row to the beginning of the next one.
"""

from __future__ import annotations

import enum
import random
from collections.abc import Iterator
from typing import Final, NamedTuple, TypeAlias

SIZE: Final = 10
STRIDE: Final = SIZE + 1
SIZES: Final = (1, 2, 3)
"""The sizes of the fish."""
NUMBER_OF_SQUIDS: Final = 2
_SQUID_RANGE: Final = range(2, 8)
"""The columns and rows in which squids are placed."""
_SIZE_WEIGHTS: Final = (4, 3, 2)
"""How often each of `SIZES` is drawn."""

Bits: TypeAlias = int
"""A set of cells."""


class Cell(NamedTuple):
    """A place, which need not be on the board."""

    x: int
    y: int

    @property
    def is_on_board(self) -> bool:
        return 0 <= self.x < SIZE and 0 <= self.y < SIZE

    @property
    def number(self) -> int:
        """The number of this cell's bit. It must be on the board."""
        return self.y * STRIDE + self.x

    def __str__(self) -> str:
        return f"({self.x}, {self.y})"


class Direction(enum.IntEnum):
    """The directions of a move, in the order of the official server."""

    UP = 0
    UP_RIGHT = 1
    RIGHT = 2
    DOWN_RIGHT = 3
    DOWN = 4
    DOWN_LEFT = 5
    LEFT = 6
    UP_LEFT = 7


_STEPS: Final = ((0, 1), (1, 1), (1, 0), (1, -1), (0, -1), (-1, -1), (-1, 0), (-1, 1))
"""For each direction the change of x and of y."""


class Ray(NamedTuple):
    """What lies in one direction from a cell."""

    line: Bits
    """The whole line through the cell, both ways, with the cell itself."""
    cells: Bits
    """The cells in this direction."""
    targets: tuple[tuple[Bits, int], ...]
    """For each distance, beginning with 1, the cells that are passed, and the number of the target."""


def _rays(x: int, y: int) -> tuple[Ray, ...]:
    """Return the rays of the cell (x, y), by direction."""
    ways = []
    for dx, dy in _STEPS:
        targets, passed, column, row = [], 0, x + dx, y + dy
        while 0 <= column < SIZE and 0 <= row < SIZE:
            number = row * STRIDE + column
            targets.append((passed, number))
            passed |= 1 << number
            column, row = column + dx, row + dy
        ways.append((passed, tuple(targets)))
    own = 1 << (y * STRIDE + x)
    return tuple([Ray(ahead | ways[way - 4][0] | own, ahead, targets) for way, (ahead, targets) in enumerate(ways)])


CELLS: Final[tuple[Cell | None, ...]] = tuple(
    Cell(x, y) if x < SIZE else None for y in range(SIZE) for x in range(STRIDE)
)
"""The cell of each bit; None for the unused column."""

RAYS: Final[tuple[tuple[Ray, ...], ...]] = tuple(() if cell is None else _rays(*cell) for cell in CELLS)
"""For each number of a cell and each direction what lies there."""


def scan(cells: Bits) -> Iterator[int]:
    """Yield the number of each cell in `cells`, in ascending order."""
    while cells:
        lowest = cells & -cells
        yield lowest.bit_length() - 1
        cells ^= lowest


class Fish(NamedTuple):
    """All fish of one player: for each of `SIZES` the cells on which they are."""

    small: Bits = 0
    medium: Bits = 0
    large: Bits = 0

    @property
    def cells(self) -> Bits:
        """The cells of all fish."""
        return self.small | self.medium | self.large

    def without(self, cells: Bits) -> Fish:
        """Return these fish without those on `cells`."""
        return Fish(self.small & ~cells, self.medium & ~cells, self.large & ~cells)

    def moved(self, start: Bits, target: Bits) -> Fish:
        """Return these fish after the one on `start` has swum to `target`."""
        small, medium, large = self
        if small & start:
            return Fish(small ^ start | target, medium, large)
        if medium & start:
            return Fish(small, medium ^ start | target, large)
        return Fish(small, medium, large ^ start | target)

    def weight(self, cells: Bits) -> int:
        """Return the sum of the sizes of the fish on `cells`."""
        small, medium, large = self
        return (small & cells).bit_count() + 2 * (medium & cells).bit_count() + 3 * (large & cells).bit_count()

    def swarms(self) -> Iterator[Bits]:
        """Yield the cells of each swarm: of fish that touch each other, also by a corner."""
        left = self.cells
        while left:
            swarm = swarm_of(left & -left, left)
            left ^= swarm
            yield swarm

    @property
    def is_united(self) -> bool:
        """Whether there are fish, and all of them are one swarm."""
        cells = self.cells
        return cells != 0 and swarm_of(cells & -cells, cells) == cells

    @property
    def largest_swarm(self) -> int:
        """The weight of the heaviest swarm; -1 if there is no fish, as in the official server."""
        return max(map(self.weight, self.swarms()), default=-1)


def swarm_of(start: Bits, cells: Bits) -> Bits:
    """Return those of `cells` that can be reached from `start`, which are among them, from neighbour to neighbour."""
    swarm = start
    while True:
        wide = swarm | swarm << 1 | swarm >> 1
        grown = (wide | wide << STRIDE | wide >> STRIDE) & cells
        if grown == swarm:
            return swarm
        swarm = grown


def draw_start(rng: random.Random) -> tuple[tuple[Fish, Fish], Bits]:
    """Return the fish of both players and the squids at the start of a game.

    Player 0 has the left and right border, player 1 the lower and upper one, with the same sizes in the same order. No
    two squids are on one line.
    """
    fish = [[0, 0, 0], [0, 0, 0]]
    for position in range(1, SIZE - 1):
        for border in (0, SIZE - 1):
            (size,) = rng.choices(range(len(SIZES)), _SIZE_WEIGHTS)
            fish[0][size] |= 1 << Cell(border, position).number
            fish[1][size] |= 1 << Cell(position, border).number
    squids: Bits = 0
    while squids.bit_count() < NUMBER_OF_SQUIDS:
        number = Cell(rng.choice(_SQUID_RANGE), rng.choice(_SQUID_RANGE)).number
        if not any(ray.line & squids for ray in RAYS[number]):
            squids |= 1 << number
    return (Fish(*fish[0]), Fish(*fish[1])), squids
