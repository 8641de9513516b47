"""The evaluation of moves, in examples that can be calculated by hand."""

from __future__ import annotations

import random

import pytest

from spielleiter.client.evaluation import cells_and_corners, contenders, evaluation_of, points_after, turns_to_the_goal
from spielleiter.game.api import State
from spielleiter.game.blokus.moves import SetMove
from spielleiter.game.blokus.pieces import SIZES, Color, Rotation, Shape
from spielleiter.game.blokus.state import RULES_2021, BlokusState
from spielleiter.game.hase_und_igel import Action, Advance, Board, EatSalad, HaseUndIgelMove, HaseUndIgelState, Player

START = BlokusState(RULES_2021, Shape.PENTO_I)


def test_a_piece_counts_its_cells_then_the_corners_it_opens() -> None:
    # an I along the edge from the corner: only the diagonal neighbour of its far end is on the board and free
    along_the_edge = SetMove(Color.BLUE, Shape.PENTO_I, Rotation.RIGHT, False, 0, 0)
    assert cells_and_corners(START, along_the_edge) == (5, 1)


def test_occupied_cells_are_not_counted_as_corners() -> None:
    taken = 1 << (1 * 21 + 5)  # (5, 1), the one corner that the I along the edge would open
    state = BlokusState(RULES_2021, Shape.PENTO_I, cells=(0, taken, 0, 0))
    assert cells_and_corners(state, SetMove(Color.BLUE, Shape.PENTO_I, Rotation.RIGHT, False, 0, 0)) == (5, 0)


BOARD = Board.from_letters("SCCCCCCCCCLICCCICCCICCLCICCCCCICCCCCCICCCCLICCCCCCICCCCCILCCCCCCG")


def hare(index: int, carrots: int, salads: int = 0) -> HaseUndIgelState:
    """RED is to move, and BLUE is far away."""
    return HaseUndIgelState(BOARD, (Player(index, carrots, salads), Player(0)))


def rated(state: HaseUndIgelState, *actions: Action) -> tuple[int, ...]:
    return turns_to_the_goal(state, HaseUndIgelMove(actions))


def test_a_hare_in_the_goal_is_best() -> None:
    assert rated(hare(63, 5), Advance(1)) == (True, 0)


def test_a_hare_counts_the_turns_that_its_carrots_allow() -> None:
    # six fields in two leaps cost 6 + 6 carrots, in three leaps 3 + 3 + 3
    assert rated(hare(57, 13), Advance(1)) == (False, -2)
    assert rated(hare(57, 12), Advance(1)) == (False, -3)
    assert rated(hare(57, 6), Advance(1)) == (False, -7)  # one carrot is missing even for single steps


def test_surplus_carrots_cost_a_turn_for_each_ten() -> None:
    # the last two fields use up three carrots at most, and ten may be left
    assert rated(hare(61, 1 + 3 + 10), Advance(1)) == (False, -1)
    assert rated(hare(61, 1 + 3 + 10 + 11), Advance(1)) == (False, -3)


def test_reaching_a_salad_field_is_better_and_eating_there_is_best() -> None:
    before = rated(hare(8, 60, 1), Advance(1))
    at_it = rated(hare(9, 60, 1), Advance(1))
    eaten = rated(hare(10, 60, 1), EatSalad())
    assert before < at_it < eaten


def test_a_game_without_an_evaluation_is_evaluated_by_its_points() -> None:
    move = next(START.generate_legal_moves())
    assert points_after(START, move) == (SIZES[Shape.PENTO_I],)

    class Other(BlokusState):
        __slots__ = ()

    assert evaluation_of(START) is cells_and_corners
    assert evaluation_of(Other(RULES_2021, Shape.PENTO_I)) is points_after


@pytest.mark.parametrize("seed", range(3))
def test_the_best_contenders_are_the_best_moves(seed: int) -> None:
    rng = random.Random(seed)
    state: State = START
    fewer = 0
    for _ in range(30):
        moves = list(state.generate_legal_moves())
        evaluate, left = evaluation_of(state), contenders(state, moves)
        best = max(evaluate(state, move) for move in moves)
        assert [m for m in left if evaluate(state, m) == best] == [m for m in moves if evaluate(state, m) == best]
        fewer += len(left) < len(moves)
        state = state.play(rng.choice(moves))
        if state.outcome() is not None:
            break
    assert fewer > 10


def test_without_a_selection_all_moves_are_evaluated() -> None:
    state = hare(0, 68)
    moves = list(state.generate_legal_moves())
    assert contenders(state, moves) is moves
