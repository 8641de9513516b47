"""The move choice of the built-in strategies: functions of a position, without a connection or an event loop.

Invariants: a chooser's only source of randomness is the generator that it is given: the same seed and the same
positions give the same moves.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from spielleiter.game.api import Move, State
from spielleiter.game.blokus.moves import SetMove, attach_cells, free_cells
from spielleiter.game.blokus.pieces import SIZES, STRIDE, orientation
from spielleiter.game.blokus.state import BlokusState
from spielleiter.game.hase_und_igel import GOAL_INDEX, FieldType, HaseUndIgelMove, HaseUndIgelState
from spielleiter.players.blokus_levels import BLOKUS_LEVELS
from spielleiter.players.blokus_search import BLOKUS_TIMED_LEVEL
from spielleiter.players.hase_und_igel_levels import HASE_UND_IGEL_LEVELS, turns_for_the_way
from spielleiter.players.search_budget import USUAL_SECONDS, Choose, LadderLevel, NoMoveError, SearchBudget, no_move

# -- evaluations for `greedy`: one ply ahead, without the opponent's reply --------------------------------------------

Evaluation: TypeAlias = Callable[[Any, Any], tuple[int, ...]]
"""A function of a position and a legal move in it; a greater result is better."""

_SALAD_TURNS: Final = 8
"""An estimate of the turns that a salad costs: moving to a salad field and eating, or playing a card."""


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


def evaluation_of(state: State) -> Evaluation:
    """Return the evaluation for positions of the type of `state`."""
    evaluations: dict[type, Evaluation] = {BlokusState: cells_and_corners, HaseUndIgelState: turns_to_the_goal}
    return evaluations.get(type(state), points_after)


def contenders(state: State, moves: Sequence[Any]) -> Sequence[Move]:
    """Return the moves to evaluate, in their order; all best moves are among them."""
    if not isinstance(state, BlokusState):
        return moves
    # `cells_and_corners` compares corners only of pieces of equal size
    largest = max(SIZES[move.shape] for move in moves)
    return [move for move in moves if SIZES[move.shape] == largest]


# -- levels -----------------------------------------------------------------------------------------------------------

LADDERS: Final[Mapping[type, tuple[LadderLevel, ...]]] = MappingProxyType(
    {BlokusState: (*BLOKUS_LEVELS, BLOKUS_TIMED_LEVEL), HaseUndIgelState: HASE_UND_IGEL_LEVELS}
)
"""The levels of each game by the type of its positions, which all of its seasons share; the weakest first."""

LEVEL_NUMBERS: Final = range(1, 1 + max(map(len, LADDERS.values())))
"""The numbers of the levels that at least one game has."""

TIMED_LEVELS: Final = frozenset(
    number for levels in LADDERS.values() for number, level in enumerate(levels, start=1) if level.takes_time
)
"""The numbers of the levels that take the time that they are given."""


def level_name(number: int) -> str:
    """Return the name of the strategy that plays at level `number`, counted from 1."""
    return f"level-{number}"


def ladder_of(state: State) -> tuple[LadderLevel, ...]:
    """Return the levels of the game that `state` is a position of, the weakest first; empty if it has none."""
    return next((levels for position, levels in LADDERS.items() if isinstance(state, position)), ())


def levels_text(state: State) -> str:
    """Return which levels the game of `state` has, in words for an error message."""
    levels = ladder_of(state)
    if not levels:
        return "this game has no levels"
    return f"this game has {level_name(1)} to {level_name(len(levels))}"


def chooser_of_level(number: int, seconds: float = USUAL_SECONDS) -> Choose:
    """Return the chooser of level `number`; it raises NoMoveError for a position of a game without this level.

    `seconds` is the processor time for a move, for a level that takes the time that it is given.
    """

    def choose(state: State, rng: random.Random, budget: SearchBudget | None = None) -> Move:
        budget = budget or SearchBudget()
        budget.seconds = seconds
        levels = ladder_of(state)
        if number > len(levels):
            raise NoMoveError(f"there is no {level_name(number)} here: {levels_text(state)}")
        return levels[number - 1].choose(state, rng, budget)

    return choose


# -- choosers ---------------------------------------------------------------------------------------------------------


def _legal_moves(state: State) -> list[Move]:
    moves = list(state.generate_legal_moves())
    if not moves:
        raise no_move(state)
    return moves


def first_move(state: State, _rng: random.Random, _budget: SearchBudget | None = None) -> Move:
    """Return the first legal move."""
    for move in state.generate_legal_moves():
        return move
    raise no_move(state)


def random_move(state: State, rng: random.Random, _budget: SearchBudget | None = None) -> Move:
    """Return a random legal move; all are equally likely. Raises NoMoveError if there is none."""
    # a state may have a method that is faster than making every move
    draw = getattr(state, "draw_legal_move", None)
    move = rng.choice(_legal_moves(state)) if draw is None else draw(rng)
    if move is None:
        raise no_move(state)
    return move


def greedy_move(state: State, rng: random.Random, _budget: SearchBudget | None = None) -> Move:
    """Return a move with the best evaluation; several best moves are equally likely."""
    evaluate = evaluation_of(state)
    rated = [(evaluate(state, move), move) for move in contenders(state, _legal_moves(state))]
    best = max(rating for rating, _ in rated)
    return rng.choice([move for rating, move in rated if rating == best])


def illegal_move(state: State, _rng: random.Random, _budget: SearchBudget | None = None) -> Move:
    """Return a move that would be legal one move later, but not now; if there is none, the last move again.

    If these are all legal, as at the start of a game in which any move may be the first, return a legal move; a later
    call finds an illegal one.
    """
    legal = _legal_moves(state)
    early = (each for move in legal for each in state.play(move).generate_legal_moves())
    last: Move | None = getattr(state, "last_move", None)  # not part of `game.api.State`
    illegal = (move for move in itertools.chain(early, [] if last is None else [last]) if state.check(move) is not None)
    return next(illegal, legal[0])
