"""Static evaluations of moves, for the strategy `greedy`.

Invariants: an evaluation is a tuple; a greater one is better. It looks one ply ahead and ignores the opponent's reply.
Games without an evaluation of their own are evaluated by the points after the move.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from spielleiter.game.api import Move, State
from spielleiter.game.blokus.moves import SetMove, attach_cells, free_cells
from spielleiter.game.blokus.pieces import SIZES, STRIDE, orientation
from spielleiter.game.blokus.state import BlokusState
from spielleiter.game.hase_und_igel import GOAL_INDEX, FieldType, HaseUndIgelMove, HaseUndIgelState
from spielleiter.game.hase_und_igel.rules import GOAL_CARROTS

Evaluation: TypeAlias = Callable[[Any, Any], tuple[int, ...]]
"""A function of a position and a legal move in it."""


def points_after(state: State, move: Move) -> tuple[int, ...]:
    """Return the points of the side to move after the move."""
    return state.play(move).points(state.seat_on_turn)


def cells_and_corners(state: BlokusState, move: SetMove) -> tuple[int, ...]:
    """Return the cells of the piece, then the number of cells at which the colour's next pieces can attach."""
    piece = orientation(move.shape, move.rotation, move.is_flipped).mask << (move.y * STRIDE + move.x)
    blue, yellow, red, green = state.cells
    own = state.cells[move.color] | piece
    free = free_cells(own, blue | yellow | red | green | piece)
    return SIZES[move.shape], attach_cells(own, free).bit_count()


def turns_to_the_goal(state: HaseUndIgelState, move: HaseUndIgelMove) -> tuple[int, ...]:
    """Return whether the goal is reached, and the negated minimum number of turns for the remaining way."""
    player = state.play(move).players[state.seat_on_turn]
    turns = turns_for_the_way(GOAL_INDEX - player.index, player.carrots) + _SALAD_TURNS * player.salads
    if player.salads and state.board.type_at(player.index) is FieldType.SALAD:
        turns -= _SALAD_TURNS - 1  # the next turn eats it
    return player.index == GOAL_INDEX, -turns


_SALAD_TURNS: Final = 8
"""An estimate of the turns that a salad costs: moving to a salad field and eating, or playing a card."""

_EXCHANGED: Final = 10
"""The carrots that can be given back in one turn."""


@lru_cache(maxsize=4096)
def turns_for_the_way(distance: int, carrots: int) -> int:
    """Return the minimum number of turns for `distance` fields with `carrots`, in steps of nearly equal length.

    If there are not enough carrots for single steps, each missing carrot costs one more turn. A player may not enter
    the goal with many carrots: those that even one long step leaves over have to be given back, ten in a turn.
    """
    if carrots < distance:
        return 2 * distance - carrots
    surplus = max(0, carrots - distance * (distance + 1) // 2 - GOAL_CARROTS)
    steps = next((turns for turns in range(1, distance + 1) if _price(distance, turns) <= carrots), 0)
    return steps + -(-surplus // _EXCHANGED)


def _price(distance: int, turns: int) -> int:
    """Return the carrots for `distance` fields in `turns` steps of nearly equal length."""
    step, longer = divmod(distance, turns)
    return turns * (step * (step + 1) // 2) + longer * (step + 1)


EVALUATIONS: Final[Mapping[type, Evaluation]] = MappingProxyType(
    {BlokusState: cells_and_corners, HaseUndIgelState: turns_to_the_goal}
)
"""The evaluation for each type of position."""


GAMES_OF_STRATEGIES: Final[Mapping[str, type]] = MappingProxyType({"hui": HaseUndIgelState})
"""The prefixes of the strategies for one game only, with the type of the positions that they play."""


def largest_pieces(moves: Sequence[SetMove]) -> Sequence[SetMove]:
    """Return the moves that may be best by `cells_and_corners`, which compares corners only of pieces of equal size."""
    largest = max(SIZES[move.shape] for move in moves)
    return [move for move in moves if SIZES[move.shape] == largest]


CONTENDERS: Final[Mapping[type, Callable[[Any], Sequence[Any]]]] = MappingProxyType({BlokusState: largest_pieces})
"""For each type of position, a function that selects the legal moves to evaluate, in their order."""


def contenders(state: State, moves: Sequence[Move]) -> Sequence[Move]:
    """Return the moves to evaluate; all best moves are among them."""
    choose = CONTENDERS.get(type(state))
    return moves if choose is None else choose(moves)


def evaluation_of(state: State) -> Evaluation:
    """Return the evaluation for positions of the type of `state`."""
    return EVALUATIONS.get(type(state), points_after)
