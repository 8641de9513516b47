"""The board as sets of cells, the four colours, the 21 pieces, and their orientations.

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
>>> bit(SIZE - 1, 3) << 1 & BOARD
0

A piece is rotated first, then flipped (x negated), then moved so that its bounding box starts at (0, 0). The 21 * 8
combinations of shape, rotation and flip give 91 distinct orientations. The canonical combination of an orientation is
the first one that gives it, in the order NONE, NONE flipped, RIGHT, RIGHT flipped, and so on.

>>> turned = orientation(Shape.PENTO_L, Rotation.RIGHT, is_flipped=False)
>>> print(draw(turned.mask, turned.width, turned.height))
# # # #
# . . .
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator
from typing import Final, TypeAlias

from msgspec import Struct

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


Cell: TypeAlias = tuple[int, int]
"""(x, y): x counts to the right, y downwards."""


class Color(enum.IntEnum):
    """The four colours in the order of their turns."""

    BLUE = 0
    YELLOW = 1
    RED = 2
    GREEN = 3


class Shape(enum.IntEnum):
    """The 21 pieces in the order of the lists on the wire."""

    MONO = 0
    DOMINO = 1
    TRIO_L = 2
    TRIO_I = 3
    TETRO_O = 4
    TETRO_T = 5
    TETRO_I = 6
    TETRO_L = 7
    TETRO_Z = 8
    PENTO_L = 9
    PENTO_T = 10
    PENTO_V = 11
    PENTO_S = 12
    PENTO_Z = 13
    PENTO_I = 14
    PENTO_P = 15
    PENTO_W = 16
    PENTO_U = 17
    PENTO_R = 18
    PENTO_X = 19
    PENTO_Y = 20


class Rotation(enum.IntEnum):
    """Quarter turns to the right."""

    NONE = 0
    RIGHT = 1
    MIRROR = 2
    LEFT = 3


_PIECES: Final[dict[Shape, str]] = {
    Shape.MONO: "00",
    Shape.DOMINO: "00 10",
    Shape.TRIO_L: "00 01 11",
    Shape.TRIO_I: "00 01 02",
    Shape.TETRO_O: "00 10 01 11",
    Shape.TETRO_T: "00 10 20 11",
    Shape.TETRO_I: "00 01 02 03",
    Shape.TETRO_L: "00 01 02 12",
    Shape.TETRO_Z: "00 10 11 21",
    Shape.PENTO_L: "00 01 02 03 13",
    Shape.PENTO_T: "00 10 20 11 12",
    Shape.PENTO_V: "00 01 02 12 22",
    Shape.PENTO_S: "10 20 30 01 11",
    Shape.PENTO_Z: "00 10 11 12 22",
    Shape.PENTO_I: "00 01 02 03 04",
    Shape.PENTO_P: "00 10 01 11 02",
    Shape.PENTO_W: "00 01 11 12 22",
    Shape.PENTO_U: "00 01 11 21 20",
    Shape.PENTO_R: "01 11 12 21 20",
    Shape.PENTO_X: "10 01 11 21 12",
    Shape.PENTO_Y: "01 10 11 12 13",
}
"""The cells of the pieces before any rotation, each as its x and y, in the order of the official server's lists."""


class Orientation(Struct, frozen=True):
    """A piece after rotating and flipping, with the upper left corner of its bounding box at (0, 0)."""

    shape: Shape
    rotation: Rotation
    is_flipped: bool
    cells: tuple[Cell, ...]
    """In the order in which the official server adds them to the hash set of the cells on the board."""
    mask: Bitboard
    """The same cells as a set."""
    offsets: tuple[int, ...]
    """The indices of the bits of `mask`, in the order of `cells`."""
    width: int
    """Of the bounding box, in cells."""
    height: int
    """Of the bounding box, in cells."""


def hash_order(cells: Iterable[Cell]) -> list[Cell]:
    """Return the cells in the iteration order of the official server's hash set. There may be at most twelve cells.

    >>> hash_order([(0, 15), (0, 16)])
    [(0, 16), (0, 15)]
    """
    # Java computes the hash code as an integer of 32 bits. Python's integers are not limited, but only bits 0 to 3 and
    # 16 to 19 of the code are used, and these are the same in both.
    return sorted(cells, key=lambda cell: ((code := 31 * cell[0] + cell[1]) ^ code >> 16) % 16)


def _to_origin(cells: Iterable[Cell]) -> list[Cell]:
    listed = list(cells)
    left, top = min(x for x, _ in listed), min(y for _, y in listed)
    return [(x - left, y - top) for x, y in listed]


def _orient(shape: Shape, rotation: Rotation, is_flipped: bool) -> Orientation:
    cells = [(int(cell[0]), int(cell[1])) for cell in _PIECES[shape].split()]
    if rotation:
        for _ in range(rotation):
            cells = [(-y, x) for x, y in cells]
        cells = hash_order(_to_origin(hash_order(cells)))
    if is_flipped:
        cells = hash_order(_to_origin((-x, y) for x, y in cells))
    return Orientation(
        shape,
        rotation,
        is_flipped,
        cells=tuple(cells),
        mask=sum(bit(x, y) for x, y in cells),
        offsets=tuple(y * STRIDE + x for x, y in cells),
        width=1 + max(x for x, _ in cells),
        height=1 + max(y for _, y in cells),
    )


_ALL: Final[tuple[Orientation, ...]] = tuple(
    _orient(shape, rotation, is_flipped) for shape in Shape for rotation in Rotation for is_flipped in (False, True)
)


def orientation(shape: Shape, rotation: Rotation, is_flipped: bool) -> Orientation:
    """Return the piece `shape` after rotating and, if `is_flipped`, flipping it: one of 168 combinations."""
    return _ALL[shape * 8 + rotation * 2 + is_flipped]


_CANONICAL: Final = {each.mask: each for each in reversed(_ALL)}
ORIENTATIONS: Final = tuple(each for each in _ALL if _CANONICAL[each.mask] is each)
"""The 91 distinct orientations, each in its canonical combination, in the order of `Shape`."""

SIZES: Final[tuple[int, ...]] = tuple(len(_PIECES[shape].split()) for shape in Shape)
"""The number of cells of each piece, indexed by `Shape`."""

PENTOMINOES: Final[tuple[Shape, ...]] = tuple(shape for shape in Shape if SIZES[shape] == 5)

ALL_SHAPES_MASK: Final = (1 << len(Shape)) - 1
"""The set of all pieces as an integer; bit i stands for Shape(i)."""
