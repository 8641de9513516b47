"""How good a move looks at first sight.

Law: an evaluation is a tuple; the greater, the better. It looks one move ahead and knows nothing of the opponent's
answer. Games without an evaluation of their own are judged by the points that the move brings.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from game.api import Move, State
from game.blokus.bitboard import STRIDE
from game.blokus.move import SetMove
from game.blokus.movegen import attach_cells, free_cells
from game.blokus.polyomino import SIZES, orientation
from game.blokus.state import BlokusState

Evaluation: TypeAlias = Callable[[Any, Any], tuple[int, ...]]
"""Takes a position and a legal move there."""


def points_after(state: State, move: Move) -> tuple[int, ...]:
    """The points of the player on turn once the move is made."""
    return state.play(move).points(state.seat_on_turn)


def cells_and_corners(state: BlokusState, move: SetMove) -> tuple[int, ...]:
    """Cells of the stone, then the cells where the colour's next stones can attach."""
    stone = orientation(move.shape, move.rotation, move.is_flipped).mask << (move.y * STRIDE + move.x)
    blue, yellow, red, green = state.cells
    own = state.cells[move.color] | stone
    free = free_cells(own, blue | yellow | red | green | stone)
    return SIZES[move.shape], attach_cells(own, free).bit_count()


EVALUATIONS: Final[Mapping[type, Evaluation]] = MappingProxyType({BlokusState: cells_and_corners})
"""By the type of the position."""


def evaluation_of(state: State) -> Evaluation:
    """The evaluation for positions of this type."""
    return EVALUATIONS.get(type(state), points_after)
