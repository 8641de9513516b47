"""Sets of board cells as integers.

Invariants: the cell (x, y) is bit `y * STRIDE + x`; x counts to the right and y downwards, both from 0. Every row has
one extra bit that stands for no cell. A cell that is shifted over the left or right edge ends up on a bit outside
`BOARD` (or, shifted over the top, is dropped from the integer), and an AND with a set of cells removes it: shifts never
wrap around.

>>> piece = bit(1, 1) | bit(2, 1) | bit(2, 2)
>>> print(draw(piece, width=5, height=4))
. . . . .
. # # . .
. . # . .
. . . . .
>>> print(draw(piece << 1, width=5, height=4))
. . . . .
. . # # .
. . . # .
. . . . .
>>> bit(SIZE - 1, 3) << 1 & BOARD
0
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, TypeAlias

Bitboard: TypeAlias = int
"""A set of cells. Bits outside `BOARD` are never set in a value that is passed between modules."""

SIZE: Final = 20
"""The number of cells along each edge of the board."""

STRIDE: Final = SIZE + 1
"""The number of bits from a cell to the cell below it."""


def bit(x: int, y: int) -> Bitboard:
    """Return the set that contains only the cell (x, y); both must be in 0..19."""
    return 1 << (y * STRIDE + x)


def scan(bb: Bitboard) -> Iterator[int]:
    """Yield the indices of the set bits in ascending order: row by row, and by x within a row.

    >>> [divmod(index, STRIDE) for index in scan(bit(3, 0) | bit(0, 2))]
    [(0, 3), (2, 0)]
    """
    while bb:
        lowest = bb & -bb
        yield lowest.bit_length() - 1
        bb ^= lowest


def draw(bb: Bitboard, width: int = SIZE, height: int = SIZE) -> str:
    """Return a drawing of the upper left part of the board, `width` by `height` cells: `#` for a cell in `bb`.

    >>> print(draw(bit(0, 0) | bit(3, 1), width=4, height=2))
    # . . .
    . . . #
    """
    return "\n".join(" ".join("#" if bb & bit(x, y) else "." for x in range(width)) for y in range(height))


def edge_neighbors(bb: Bitboard) -> Bitboard:
    """Return the cells that share an edge with a cell of `bb`; the result may contain bits outside `BOARD`.

    >>> print(draw(edge_neighbors(bit(1, 1)), width=4, height=4))
    . # . .
    # . # .
    . # . .
    . . . .
    """
    return bb << 1 | bb >> 1 | bb << STRIDE | bb >> STRIDE


def corner_neighbors(bb: Bitboard) -> Bitboard:
    """Return the cells that share a corner, but no edge, with the same cell of `bb`.

    The result may contain bits outside `BOARD`. A cell that touches one cell of `bb` at a corner and another one at an
    edge is in both `corner_neighbors(bb)` and `edge_neighbors(bb)`.

    >>> print(draw(corner_neighbors(bit(1, 1)), width=4, height=4))
    # . # .
    . . . .
    # . # .
    . . . .
    """
    sideways = bb << 1 | bb >> 1
    return sideways << STRIDE | sideways >> STRIDE


EMPTY: Final[Bitboard] = 0
BOARD: Final[Bitboard] = sum(bit(x, y) for x in range(SIZE) for y in range(SIZE))
CORNERS: Final[Bitboard] = sum(bit(x, y) for x in (0, SIZE - 1) for y in (0, SIZE - 1))
BORDER: Final[Bitboard] = sum(
    bit(x, y) for x in range(SIZE) for y in range(SIZE) if x in {0, SIZE - 1} or y in {0, SIZE - 1}
)
