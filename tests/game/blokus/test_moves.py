"""Moves, and the placements that are found."""

from __future__ import annotations

import pytest

from spielleiter.game.api import Mistake, Move
from spielleiter.game.blokus.moves import (
    BlokusMistake,
    IncompleteMove,
    SetMove,
    SkipMove,
    attach_cells,
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
    STRIDE,
    Color,
    Rotation,
    Shape,
    bit,
    orientation,
    scan,
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


def test_an_own_cell_blocks_its_edge_neighbors_and_attaches_at_its_corners() -> None:
    own = bit(5, 5)
    free = free_cells(own, own | bit(4, 4))
    assert BOARD ^ free == own | bit(4, 4) | bit(4, 5) | bit(6, 5) | bit(5, 4) | bit(5, 6)
    assert attach_cells(own, free) == bit(6, 4) | bit(4, 6) | bit(6, 6)


def test_attach_cells_do_not_wrap_around_the_board() -> None:
    own = bit(0, 0) | bit(19, 10)
    assert attach_cells(own, free_cells(own, own)) == bit(1, 1) | bit(18, 9) | bit(18, 11)


@pytest.mark.parametrize("shape", Shape)
def test_on_an_empty_board_a_piece_fits_wherever_its_bounding_box_does(shape: Shape) -> None:
    for turned, corners in generate_placements(BOARD, BOARD, 1 << shape):
        expected = {(x, y) for x in range(21 - turned.width) for y in range(21 - turned.height)}
        assert {(index % STRIDE, index // STRIDE) for index in scan(corners)} == expected


def test_all_orientations_of_the_given_pieces_are_generated() -> None:
    found = [turned.shape for turned, _ in generate_placements(BOARD, CORNERS, 1 << Shape.PENTO_L | 1 << Shape.TRIO_I)]
    assert found == [Shape.TRIO_I] * 2 + [Shape.PENTO_L] * 8


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


@pytest.mark.parametrize("shape", Shape)
def test_a_gap_that_only_one_piece_fits(shape: Shape) -> None:
    turned = orientation(shape, Rotation.LEFT, True)
    gap = turned.mask << (7 * STRIDE + 15)
    fitting = list(generate_placements(gap, gap & -gap, 1 << shape))
    assert [(found.mask, corners) for found, corners in fitting] == [(turned.mask, bit(15, 7))]
    assert has_placement(gap, gap & -gap, 1 << shape)
    larger = ALL_SHAPES_MASK & ~((1 << shape + 1) - 1)
    assert not has_placement(gap, gap, larger)


@pytest.mark.parametrize(
    ("x", "y", "mistake"),
    [
        (8, 8, None),
        (5, 4, None),
        (-1, 5, BlokusMistake.OUT_OF_BOUNDS),
        (5, -1, BlokusMistake.OUT_OF_BOUNDS),
        (18, 5, BlokusMistake.OUT_OF_BOUNDS),
        (5, 20, BlokusMistake.OUT_OF_BOUNDS),
        (2**31, -(2**31), BlokusMistake.OUT_OF_BOUNDS),
        (1, 3, BlokusMistake.OBSTRUCTED),
        (11, 12, BlokusMistake.OBSTRUCTED),
        (3, 4, BlokusMistake.TOUCHES_SAME_COLOR),
        (0, 3, BlokusMistake.TOUCHES_SAME_COLOR),
    ],
)
def test_faults_of_a_bar_of_three_cells(x: int, y: int, mistake: BlokusMistake | None) -> None:
    own, others = bit(3, 3), bit(13, 12)
    bar = orientation(Shape.TRIO_I, Rotation.RIGHT, False)
    assert find_fault(bar, x, y, free_cells(own, own | others), own | others) is mistake


@pytest.mark.parametrize(("y", "mistake"), [(14, BlokusMistake.TOUCHES_SAME_COLOR), (15, BlokusMistake.OBSTRUCTED)])
def test_which_of_two_faults_is_reported_depends_on_the_position(y: int, mistake: BlokusMistake) -> None:
    """The upper cell touches its own colour, the lower one is taken; the cell (0, 16) is first in hash order."""
    own, others = bit(1, y), bit(0, y + 1)
    domino = orientation(Shape.DOMINO, Rotation.RIGHT, False)
    assert find_fault(domino, 0, y, free_cells(own, own | others), own | others) is mistake
