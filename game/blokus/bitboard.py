"""Sets of board cells as integers.

Law: the cell (x, y) is bit `y * STRIDE + x`. Every row carries one bit that is no cell, so a cell moved over the left
or right edge lands on a bit outside `BOARD` (or, moved over the top, falls out of the integer) and an AND with a set
of cells removes it: shifts never wrap.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, TypeAlias

Bitboard: TypeAlias = int
"""A set of cells; bits outside `BOARD` are never set in a value that is handed around."""

SIZE: Final = 20
"""Cells along each edge of the board."""

STRIDE: Final = SIZE + 1
"""Bits from a cell to the one below it."""


def bit(x: int, y: int) -> Bitboard:
    """The set that holds only the cell (x, y), both 0..19."""
    return 1 << (y * STRIDE + x)


def scan(bb: Bitboard) -> Iterator[int]:
    """The indices of the set bits, ascending: row by row, x inner.

    >>> [divmod(index, STRIDE) for index in scan(bit(3, 0) | bit(0, 2))]
    [(0, 3), (2, 0)]
    """
    while bb:
        lowest = bb & -bb
        yield lowest.bit_length() - 1
        bb ^= lowest


def edge_neighbors(bb: Bitboard) -> Bitboard:
    """The cells that share an edge with a cell of `bb`; may hold bits outside `BOARD`."""
    return bb << 1 | bb >> 1 | bb << STRIDE | bb >> STRIDE


def corner_neighbors(bb: Bitboard) -> Bitboard:
    """The cells that share a corner, but no edge, with the same cell of `bb`; may hold bits outside `BOARD`."""
    sideways = bb << 1 | bb >> 1
    return sideways << STRIDE | sideways >> STRIDE


EMPTY: Final[Bitboard] = 0
BOARD: Final[Bitboard] = sum(bit(x, y) for x in range(SIZE) for y in range(SIZE))
CORNERS: Final[Bitboard] = sum(bit(x, y) for x in (0, SIZE - 1) for y in (0, SIZE - 1))
BORDER: Final[Bitboard] = sum(
    bit(x, y) for x in range(SIZE) for y in range(SIZE) if x in {0, SIZE - 1} or y in {0, SIZE - 1}
)
