"""Moves, the rules that they can break, and how the legal ones are found.

`free` is the set of cells that a colour may cover: on the board, not covered yet, and sharing no edge with
the colour's own cells. `attach` is the subset of `free` of which every piece must cover at least one cell: the cells
that share a corner with the colour's own cells or, for its first piece, the cells prescribed by the rules. A placement
is legal if and only if its cells are a subset of `free` and have a cell in common with `attach`.

Both conditions are tested for all positions of a piece at once. The AND of copies of `free`, each shifted by one cell
of the piece, leaves the positions where the piece fits. The OR of the same copies of `attach` leaves the positions
where it is attached.

BLUE has covered the three cells in the corner, and another colour the two cells to the right. BLUE's next piece may
cover the cells of `free`, and must cover one of `attach`:

>>> from spielleiter.game.blokus.pieces import draw
>>> own = bit(0, 0) | bit(1, 0) | bit(1, 1)
>>> taken = own | bit(4, 1) | bit(4, 2)
>>> free = free_cells(own, taken)
>>> print(draw(free, width=6, height=4))
. . . # # #
. . . # . #
# . # # . #
# # # # # #
>>> attach = attach_cells(own, free)
>>> print(draw(attach, width=6, height=4))
. . . . . .
. . . . . .
# . # . . .
. . . . . .

`generate_placements` yields each orientation that has a legal placement, with the upper left corners of all of them.
Here TRIO_I has to stand upright, with its upper end on one of the attach cells. It cannot lie, since there are no three
free cells side by side next to them.

>>> for turned, corners in generate_placements(free, attach, 1 << Shape.TRIO_I):
...     print(turned.shape.name, turned.rotation.name)
...     print(draw(corners, width=6, height=4))
TRIO_I NONE
. . . . . .
. . . . . .
# . # . . .
. . . . . .
"""

from __future__ import annotations

import enum
from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from spielleiter.game.api import Mistake
from spielleiter.game.blokus.pieces import (
    BOARD,
    EMPTY,
    ORIENTATIONS,
    SIZE,
    Bitboard,
    Color,
    Orientation,
    Rotation,
    Shape,
    bit,
    corner_neighbors,
    edge_neighbors,
    hash_order,
    scan,
)


class SetMove(Struct, frozen=True, gc=False):  # its fields refer to no other value, so nothing has to be collected
    """Place a piece on the board.

    `rotation` and `is_flipped` say how the piece is turned before it is placed: rotated first, then flipped. `x` and
    `y` are the cell of the upper left corner of its bounding box after that, counted from the upper left corner of the
    board.

    >>> print(SetMove(Color.BLUE, Shape.PENTO_L, Rotation.RIGHT, is_flipped=True, x=3, y=4))
    BLUE PENTO_L RIGHT flipped at (3, 4)
    """

    color: Color
    shape: Shape
    rotation: Rotation
    is_flipped: bool
    x: int
    y: int

    def __str__(self) -> str:
        turned = "" if self.rotation is Rotation.NONE else f" {self.rotation.name}"
        flipped = " flipped" if self.is_flipped else ""
        return f"{self.color.name} {self.shape.name}{turned}{flipped} at ({self.x}, {self.y})"


class SkipMove(Struct, frozen=True):
    """Place nothing this turn. If `color` is None, the move is for whichever colour is on turn.

    >>> print(SkipMove(Color.RED))
    RED skip
    """

    color: Color | None = None

    def __str__(self) -> str:
        return "skip" if self.color is None else f"{self.color.name} skip"


class IncompletePiece(Struct, frozen=True):
    """A piece of which the colour or the shape may be missing (None). The other fields are those of `SetMove`."""

    color: Color | None
    shape: Shape | None
    rotation: Rotation
    is_flipped: bool
    x: int
    y: int


class IncompleteMove(Struct, frozen=True):
    """A move that lacks a part without which it is never legal, as some editions let players send it.

    `piece` is None if the whole piece is missing, and for a skip, which lacks its colour.

    >>> print(IncompleteMove(is_skip=True))
    incomplete skip
    """

    piece: IncompletePiece | None = None
    is_skip: bool = False

    def __str__(self) -> str:
        return "incomplete skip" if self.is_skip else "incomplete placement"


class BlokusMistake(Mistake):
    """The rules that a move can break, in the order in which the official server checks them."""

    WRONG_COLOR = enum.auto()
    """The move's colour is not on turn."""
    WRONG_SHAPE = enum.auto()
    """A colour's first piece is not the start piece."""
    DUPLICATE_SHAPE = enum.auto()
    """The colour has already placed this piece."""
    OUT_OF_BOUNDS = enum.auto()
    """A cell of the piece is not on the board."""
    OBSTRUCTED = enum.auto()
    """A cell of the piece is already covered, by any colour."""
    TOUCHES_SAME_COLOR = enum.auto()
    """A cell of the piece shares an edge with a cell of its own colour."""
    NOT_IN_CORNER = enum.auto()
    """A colour's first piece covers no corner cell of the board."""
    NOT_ON_BORDER = enum.auto()
    """A colour's first piece covers no border cell of the board."""
    NO_SHARED_CORNER = enum.auto()
    """No cell of the piece shares a corner with a cell of its own colour."""
    SKIP_FIRST_TURN = enum.auto()
    """A colour skips before it has placed its first piece."""


OFFSETS: Final = sorted({offset for each in ORIENTATIONS for offset in each.offsets})
"""The offsets of all cells of all orientations."""


def _offset_indices(turned: Orientation) -> tuple[int, int, int, int, int]:
    """Return the indices of the piece's offsets in `OFFSETS`.

    There are always five of them: the cells of a smaller piece are repeated, which changes neither the AND nor the OR.
    """
    indices = [OFFSETS.index(offset) for offset in turned.offsets]
    a, b, c, d, e = (indices * 5)[:5]
    return a, b, c, d, e


ORIENTATIONS_BY_SHAPE: Final = tuple(
    tuple((turned, *_offset_indices(turned)) for turned in ORIENTATIONS if turned.shape is shape) for shape in Shape
)
"""For each shape its distinct orientations, each followed by its indices in `OFFSETS`."""


def free_cells(own: Bitboard, taken: Bitboard) -> Bitboard:
    """Return the cells that a colour may cover. `own` are the cells it has covered, `taken` those of all colours."""
    return BOARD & ~(taken | edge_neighbors(own))


def attach_cells(own: Bitboard, free: Bitboard) -> Bitboard:
    """Return the cells of `free` that share a corner with a cell of `own`."""
    return corner_neighbors(own) & free


def generate_placements(free: Bitboard, attach: Bitboard, shapes_mask: int) -> Iterator[tuple[Orientation, Bitboard]]:
    """Yield each orientation that has a legal placement, with the set of upper left corners of these placements.

    Only pieces in `shapes_mask` are considered; its bit i stands for Shape(i). The order is that of `ORIENTATIONS`.
    """
    free_at = [free >> offset for offset in OFFSETS]
    attach_at = [attach >> offset for offset in OFFSETS]
    for shape in scan(shapes_mask):
        for turned, a, b, c, d, e in ORIENTATIONS_BY_SHAPE[shape]:
            fits = free_at[a] & free_at[b] & free_at[c] & free_at[d] & free_at[e]
            if fits and (corners := fits & (attach_at[a] | attach_at[b] | attach_at[c] | attach_at[d] | attach_at[e])):
                yield turned, corners


def has_placement(free: Bitboard, attach: Bitboard, shapes_mask: int) -> bool:
    """Return whether any piece in `shapes_mask` has a legal placement. The search stops at the first one found.

    Usually the first piece that is tried has one, so the shifted copies are not made in advance.

    >>> free = bit(0, 0) | bit(1, 0) | bit(2, 0)
    >>> has_placement(free, attach=bit(2, 0), shapes_mask=1 << Shape.TRIO_I)
    True
    >>> has_placement(free, attach=bit(2, 0), shapes_mask=1 << Shape.TRIO_L)
    False
    """
    for shape in scan(shapes_mask):
        for turned, *_ in ORIENTATIONS_BY_SHAPE[shape]:
            fits, attached = BOARD, EMPTY
            for offset in turned.offsets:
                fits &= free >> offset
                attached |= attach >> offset
            if fits & attached:
                return True
    return False


def find_fault(orientation: Orientation, x: int, y: int, free: Bitboard, taken: Bitboard) -> BlokusMistake | None:
    """Return the rule broken by the first bad cell of a piece placed at (x, y), or None if every cell is free.

    The cells are checked in the order of the official server, which reports only one of several faults.
    """
    for cell_x, cell_y in hash_order((x + dx, y + dy) for dx, dy in orientation.cells):
        if not (0 <= cell_x < SIZE and 0 <= cell_y < SIZE):
            return BlokusMistake.OUT_OF_BOUNDS
        cell = bit(cell_x, cell_y)
        if cell & taken:
            return BlokusMistake.OBSTRUCTED
        if not cell & free:
            return BlokusMistake.TOUCHES_SAME_COLOR
    return None
