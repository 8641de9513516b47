"""Moves, and the placements that are found."""

from __future__ import annotations

import pytest

from spielleiter.game.api import Move
from spielleiter.game.blokus.moves import (
    BlokusMistake,
    IncompleteMove,
    SetMove,
    SkipMove,
    find_fault,
    free_cells,
    generate_placements,
    has_placement,
)
from spielleiter.game.blokus.pieces import (
    ALL_SHAPES_MASK,
    BOARD,
    CORNERS,
    EMPTY,
    Color,
    Rotation,
    Shape,
    bit,
    orientation,
)


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


@pytest.mark.parametrize(
    ("free", "attach", "shapes_mask"),
    [
        (BOARD, EMPTY, ALL_SHAPES_MASK),
        (BOARD, BOARD, EMPTY),
        (EMPTY, EMPTY, ALL_SHAPES_MASK),
        (bit(3, 3) | bit(5, 5), bit(3, 3), ALL_SHAPES_MASK & ~1),
        (bit(19, 3) | bit(0, 4), bit(0, 4), 1 << Shape.DOMINO),
        (bit(0, 0) | bit(1, 0) | bit(5, 5), bit(5, 5), 1 << Shape.DOMINO),
        (BOARD, CORNERS, 1 << Shape.PENTO_X),
    ],
    ids=["nowhere-to-attach", "no-pieces", "nothing-free", "too-small", "over-the-edge", "not-attached", "cross"],
)
def test_no_placement(free: int, attach: int, shapes_mask: int) -> None:
    assert list(generate_placements(free, attach, shapes_mask)) == []
    assert not has_placement(free, attach, shapes_mask)


@pytest.mark.parametrize(("y", "mistake"), [(14, BlokusMistake.TOUCHES_SAME_COLOR), (15, BlokusMistake.OBSTRUCTED)])
def test_which_of_two_faults_is_reported_depends_on_the_position(y: int, mistake: BlokusMistake) -> None:
    """The upper cell touches its own colour, the lower one is taken; the cell (0, 16) is first in hash order."""
    own, others = bit(1, y), bit(0, y + 1)
    domino = orientation(Shape.DOMINO, Rotation.RIGHT, False)
    assert find_fault(domino, 0, y, free_cells(own, own | others), own | others) is mistake


def test_no_fault_is_found_if_every_cell_is_free() -> None:
    assert find_fault(orientation(Shape.DOMINO, Rotation.RIGHT, False), 0, 18, BOARD, EMPTY) is None
