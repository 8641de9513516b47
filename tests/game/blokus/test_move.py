"""Moves are values, and have a readable text."""

from __future__ import annotations

import pytest

from spielleiter.game.api import Mistake, Move
from spielleiter.game.blokus.moves import BlokusMistake, IncompleteMove, SetMove, SkipMove
from spielleiter.game.blokus.pieces import Color, Rotation, Shape


@pytest.mark.parametrize(
    ("move", "text"),
    [
        (SetMove(Color.BLUE, Shape.PENTO_L, Rotation.NONE, False, 3, 4), "BLUE PENTO_L at (3, 4)"),
        (SetMove(Color.RED, Shape.MONO, Rotation.LEFT, True, -1, 20), "RED MONO LEFT flipped at (-1, 20)"),
        (SkipMove(Color.GREEN), "GREEN skip"),
        (SkipMove(), "skip"),
        (IncompleteMove(is_skip=True), "incomplete skip"),
        (IncompleteMove(), "incomplete placement"),
    ],
)
def test_as_text(move: Move, text: str) -> None:
    assert str(move) == text


def test_moves_are_values() -> None:
    move = SetMove(Color.BLUE, Shape.PENTO_L, Rotation.NONE, False, 3, 4)
    assert {move, SetMove(Color.BLUE, Shape.PENTO_L, Rotation.NONE, False, 3, 4)} == {move}
    assert SkipMove(Color.BLUE) != SkipMove()
    for each in (move, SkipMove()):
        assert isinstance(each, Move)
        with pytest.raises(AttributeError):
            each.color = Color.RED  # type: ignore[misc]


def test_mistakes_are_in_the_order_in_which_they_are_checked() -> None:
    assert all(isinstance(mistake, Mistake) for mistake in BlokusMistake)
    assert [mistake.name for mistake in BlokusMistake] == [
        "WRONG_COLOR",
        "WRONG_SHAPE",
        "DUPLICATE_SHAPE",
        "OUT_OF_BOUNDS",
        "OBSTRUCTED",
        "TOUCHES_SAME_COLOR",
        "NOT_IN_CORNER",
        "NOT_ON_BORDER",
        "NO_SHARED_CORNER",
        "SKIP_FIRST_TURN",
    ]
