from __future__ import annotations

from client.evaluation import cells_and_corners, evaluation_of, points_after
from game.blokus.move import SetMove
from game.blokus.polyomino import SIZES, Color, Rotation, Shape
from game.blokus.rulesets import RULES_2021
from game.blokus.state import BlokusState

START = BlokusState(RULES_2021, Shape.PENTO_I)


def test_a_stone_counts_its_cells_then_the_corners_it_opens() -> None:
    # an I along the edge from the corner: only the diagonal neighbour of its far end is on the board and free
    along_the_edge = SetMove(Color.BLUE, Shape.PENTO_I, Rotation.RIGHT, False, 0, 0)
    assert cells_and_corners(START, along_the_edge) == (5, 1)


def test_cells_others_have_taken_are_no_corners() -> None:
    taken = 1 << (1 * 21 + 5)  # (5, 1), the one corner that the I along the edge would open
    state = BlokusState(RULES_2021, Shape.PENTO_I, cells=(0, taken, 0, 0))
    assert cells_and_corners(state, SetMove(Color.BLUE, Shape.PENTO_I, Rotation.RIGHT, False, 0, 0)) == (5, 0)


def test_a_game_without_an_evaluation_is_judged_by_its_points() -> None:
    move = next(START.generate_legal_moves())
    assert points_after(START, move) == (SIZES[Shape.PENTO_I],)

    class Other(BlokusState):
        __slots__ = ()

    assert evaluation_of(START) is cells_and_corners
    assert evaluation_of(Other(RULES_2021, Shape.PENTO_I)) is points_after
