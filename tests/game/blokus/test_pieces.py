"""Sets of cells, and the orientations of the pieces."""

from __future__ import annotations

import pytest

from spielleiter.game.blokus.pieces import (
    ALL_SHAPES_MASK,
    ORIENTATIONS,
    PENTOMINOES,
    SIZES,
    Color,
    Orientation,
    Rotation,
    Shape,
    orientation,
)


def draw(turned: Orientation) -> str:
    rows = ["".join("#" if (x, y) in turned.cells else "." for x in range(turned.width)) for y in range(turned.height)]
    return "/".join(rows)


@pytest.mark.parametrize(
    ("rotation", "is_flipped", "drawing"),
    [
        ("NONE", False, "#./#./#./##"),
        ("NONE", True, ".#/.#/.#/##"),
        ("RIGHT", False, "####/#..."),
        ("RIGHT", True, "####/...#"),
        ("MIRROR", False, "##/.#/.#/.#"),
        ("MIRROR", True, "##/#./#./#."),
        ("LEFT", False, "...#/####"),
        ("LEFT", True, "#.../####"),
    ],
)
def test_pieces_are_rotated_first_and_then_flipped(rotation: str, is_flipped: bool, drawing: str) -> None:
    assert draw(orientation(Shape.PENTO_L, Rotation[rotation], is_flipped)) == drawing


def test_there_are_91_distinct_orientations() -> None:
    assert len(ORIENTATIONS) == len({each.mask for each in ORIENTATIONS}) == 91
    counts = [sum(each.shape is shape for each in ORIENTATIONS) for shape in Shape]
    assert counts == [1, 2, 4, 2, 1, 4, 2, 8, 4, 8, 4, 4, 8, 4, 2, 8, 4, 4, 8, 1, 8]


def test_names_and_order_are_those_on_the_wire() -> None:
    assert [color.name for color in Color] == ["BLUE", "YELLOW", "RED", "GREEN"]
    assert [rotation.name for rotation in Rotation] == ["NONE", "RIGHT", "MIRROR", "LEFT"]
    assert Shape(0) is Shape.MONO
    assert Shape(20) is Shape.PENTO_Y
    assert sum(SIZES) == 89
    assert [shape.name for shape in PENTOMINOES] == [f"PENTO_{letter}" for letter in "LTVSZIPWURXY"]
    assert ALL_SHAPES_MASK == 0b111111111111111111111
