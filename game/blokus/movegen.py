"""Where pieces can be placed, and what is wrong with one that cannot.

Law: `free` is the set of cells a colour may cover (on the board, not taken, no edge shared with its own cells),
`attach` the part of it of which every piece must cover at least one cell (it shares a corner with the colour's own
cells, or lies in the area prescribed for the first piece). A placement is legal exactly if its cells are a part of
`free` that meets `attach`.

Both are tested for all positions of a piece at once: AND-ing the copies of `free` shifted by the piece's cells leaves
the positions where the piece fits, OR-ing the same copies of `attach` those where it is attached.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from spielleiter.game.blokus.bitboard import BOARD, EMPTY, SIZE, Bitboard, bit, corner_neighbors, edge_neighbors, scan
from spielleiter.game.blokus.move import BlokusMistake
from spielleiter.game.blokus.polyomino import ORIENTATIONS, Orientation, Shape, hash_order

_OFFSETS: Final = sorted({offset for each in ORIENTATIONS for offset in each.offsets})


def _five_slots(each: Orientation) -> tuple[int, int, int, int, int]:
    """Where in `_OFFSETS` the cells are found. Small pieces repeat a cell, which changes neither AND nor OR."""
    slots = [_OFFSETS.index(offset) for offset in each.offsets]
    a, b, c, d, e = (slots * 5)[:5]
    return a, b, c, d, e


_BY_SHAPE: Final = tuple(
    tuple((each, *_five_slots(each)) for each in ORIENTATIONS if each.shape is shape) for shape in Shape
)


def free_cells(own: Bitboard, taken: Bitboard) -> Bitboard:
    """The cells a colour with the cells `own` may cover; `taken` are the cells of all colours."""
    return BOARD & ~(taken | edge_neighbors(own))


def attach_cells(own: Bitboard, free: Bitboard) -> Bitboard:
    """The free cells that share a corner with `own`."""
    return corner_neighbors(own) & free


def generate_placements(free: Bitboard, attach: Bitboard, shapes_mask: int) -> Iterator[tuple[Orientation, Bitboard]]:
    """Each orientation of the pieces in `shapes_mask` that fits anywhere, with the upper left corners where it does."""
    free_at = [free >> offset for offset in _OFFSETS]
    attach_at = [attach >> offset for offset in _OFFSETS]
    for shape in scan(shapes_mask):
        for each, a, b, c, d, e in _BY_SHAPE[shape]:
            fits = free_at[a] & free_at[b] & free_at[c] & free_at[d] & free_at[e]
            if fits and (corners := fits & (attach_at[a] | attach_at[b] | attach_at[c] | attach_at[d] | attach_at[e])):
                yield each, corners


def has_placement(free: Bitboard, attach: Bitboard, shapes_mask: int) -> bool:
    """Whether any of the pieces in `shapes_mask` can be placed anywhere; stops at the first.

    Mostly the first one tried can, so copies are shifted only when they are needed.
    """
    for shape in scan(shapes_mask):
        for each, *_ in _BY_SHAPE[shape]:
            fits, attached = BOARD, EMPTY
            for offset in each.offsets:
                fits &= free >> offset
                attached |= attach >> offset
            if fits & attached:
                return True
    return False


def find_fault(orientation: Orientation, x: int, y: int, free: Bitboard, taken: Bitboard) -> BlokusMistake | None:
    """The fault of the first faulty cell, in the order in which the official server looks at the cells."""
    for cell_x, cell_y in hash_order((x + dx, y + dy) for dx, dy in orientation.cells):
        if not (0 <= cell_x < SIZE and 0 <= cell_y < SIZE):
            return BlokusMistake.OUT_OF_BOUNDS
        cell = bit(cell_x, cell_y)
        if cell & taken:
            return BlokusMistake.OBSTRUCTED
        if not cell & free:
            return BlokusMistake.TOUCHES_SAME_COLOR
    return None
