"""What plays Blokus: the evaluation for `greedy`, and the levels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from spielleiter.game.blokus.moves import SetMove, attach_cells, free_cells
from spielleiter.game.blokus.pieces import SIZES, STRIDE, orientation
from spielleiter.game.blokus.state import BlokusState
from spielleiter.players.blokus_levels import BLOKUS_LEVELS
from spielleiter.players.blokus_search import BLOKUS_TIMED_LEVEL
from spielleiter.players.search_budget import GamePlayers


def cells_and_corners(state: BlokusState, move: SetMove) -> tuple[int, ...]:
    """Return the cells of the piece, then the number of cells at which the colour's next pieces can attach."""
    piece = orientation(move.shape, move.rotation, move.is_flipped).mask << (move.y * STRIDE + move.x)
    blue, yellow, red, green = state.cells
    own = state.cells[move.color] | piece
    free = free_cells(own, blue | yellow | red | green | piece)
    return SIZES[move.shape], attach_cells(own, free).bit_count()


def _largest(moves: Sequence[SetMove]) -> Sequence[SetMove]:
    """Return the moves of the largest pieces: `cells_and_corners` compares corners only of pieces of equal size."""
    largest = max(SIZES[move.shape] for move in moves)
    return [move for move in moves if SIZES[move.shape] == largest]


PLAYERS: Final = GamePlayers(cells_and_corners, (*BLOKUS_LEVELS, BLOKUS_TIMED_LEVEL), _largest)
