"""How good a move looks at first sight.

Law: an evaluation is a tuple; the greater, the better. It looks one move ahead and knows nothing of the opponent's
answer. Games without an evaluation of their own are judged by the points that the move brings.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from spielleiter.game.api import Move, State
from spielleiter.game.blokus.bitboard import STRIDE
from spielleiter.game.blokus.move import SetMove
from spielleiter.game.blokus.movegen import attach_cells, free_cells
from spielleiter.game.blokus.polyomino import SIZES, orientation
from spielleiter.game.blokus.state import BlokusState
from spielleiter.game.hase_und_igel import GOAL_INDEX, FieldType, HaseUndIgelMove, HaseUndIgelState
from spielleiter.game.hase_und_igel.rules import GOAL_CARROTS

Evaluation: TypeAlias = Callable[[Any, Any], tuple[int, ...]]
"""Takes a position and a legal move there."""


def points_after(state: State, move: Move) -> tuple[int, ...]:
    """The points of the player on turn once the move is made."""
    return state.play(move).points(state.seat_on_turn)


def cells_and_corners(state: BlokusState, move: SetMove) -> tuple[int, ...]:
    """Cells of the piece, then the cells where the colour's next pieces can attach."""
    piece = orientation(move.shape, move.rotation, move.is_flipped).mask << (move.y * STRIDE + move.x)
    blue, yellow, red, green = state.cells
    own = state.cells[move.color] | piece
    free = free_cells(own, blue | yellow | red | green | piece)
    return SIZES[move.shape], attach_cells(own, free).bit_count()


def turns_to_the_goal(state: HaseUndIgelState, move: HaseUndIgelMove) -> tuple[int, ...]:
    """Whether the goal is reached, then how few turns the rest of the way takes with what is left in hand."""
    player = state.play(move).players[state.seat_on_turn]
    turns = _turns(GOAL_INDEX - player.index, player.carrots) + _SALAD_TURNS * player.salads
    if player.salads and state.board.type_at(player.index) is FieldType.SALAD:
        turns -= _SALAD_TURNS - 1  # it is eaten next
    return player.index == GOAL_INDEX, -turns


_SALAD_TURNS: Final = 8
"""A salad costs about as many turns: the way to its field, eating it, or a card."""

_EXCHANGED: Final = 10
"""Carrots given back in one turn."""


@lru_cache(maxsize=4096)
def _turns(distance: int, carrots: int) -> int:
    """The fewest turns for this distance in even steps, or one more for each carrot that even single steps lack.

    Nobody enters the goal with many carrots: what a single leap cannot burn has to be given back, ten at a time.
    """
    if carrots < distance:
        return 2 * distance - carrots
    surplus = max(0, carrots - distance * (distance + 1) // 2 - GOAL_CARROTS)
    steps = next((turns for turns in range(1, distance + 1) if _price(distance, turns) <= carrots), 0)
    return steps + -(-surplus // _EXCHANGED)


def _price(distance: int, turns: int) -> int:
    """Carrots for this distance in so many steps, as even as can be."""
    step, longer = divmod(distance, turns)
    return turns * (step * (step + 1) // 2) + longer * (step + 1)


EVALUATIONS: Final[Mapping[type, Evaluation]] = MappingProxyType(
    {BlokusState: cells_and_corners, HaseUndIgelState: turns_to_the_goal}
)
"""By the type of the position."""


GAMES_OF_STRATEGIES: Final[Mapping[str, type]] = MappingProxyType({"hui": HaseUndIgelState})
"""The type of the positions that strategies are for whose names begin so."""


def largest_pieces(moves: Sequence[SetMove]) -> Sequence[SetMove]:
    """Those moves that `cells_and_corners` may find best: the corners count among pieces of the same size only."""
    largest = max(SIZES[move.shape] for move in moves)
    return [move for move in moves if SIZES[move.shape] == largest]


CONTENDERS: Final[Mapping[type, Callable[[Any], Sequence[Any]]]] = MappingProxyType({BlokusState: largest_pieces})
"""By the type of the position: of all legal moves those that need an evaluation, in their order."""


def contenders(state: State, moves: Sequence[Move]) -> Sequence[Move]:
    """The moves among which the best ones are."""
    choose = CONTENDERS.get(type(state))
    return moves if choose is None else choose(moves)


def evaluation_of(state: State) -> Evaluation:
    """The evaluation for positions of this type."""
    return EVALUATIONS.get(type(state), points_after)
