"""The placements of Blokus with the cells that each of them touches, for fast evaluations.

Invariants: the placements of an orientation are computed when it is first used, and kept: about 8 MB if a process has
used all of the 30,433 placements.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from spielleiter.game.blokus.pieces import BOARD, SIZE, STRIDE, Bitboard, Orientation, corner_neighbors, edge_neighbors


class Placement(NamedTuple):
    """A piece at a place on the board, for any colour."""

    piece: Bitboard
    """The cells that it covers."""
    keep: Bitboard
    """The cells that remain free for its own colour: neither covered nor sharing an edge with a covered one."""
    corners: Bitboard
    """The cells that share a corner with one of its cells; the result may contain bits outside the board."""


def placements_of(turned: Orientation) -> dict[int, Placement]:
    """Return the placements of an orientation by the index of the upper left corner of the bounding box."""
    return _placements(turned.mask, turned.width, turned.height)


@cache
def _placements(mask: Bitboard, width: int, height: int) -> dict[int, Placement]:
    found = {}
    for y in range(SIZE - height + 1):
        for x in range(SIZE - width + 1):
            index = y * STRIDE + x
            piece = mask << index
            keep = BOARD & ~(piece | edge_neighbors(piece))
            found[index] = Placement(piece, keep, corner_neighbors(piece))
    return found
