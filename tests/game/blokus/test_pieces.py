"""Sets of cells, and the orientations of the pieces."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spielleiter.game.blokus.pieces import (
    ALL_SHAPES_MASK,
    BOARD,
    BORDER,
    CORNERS,
    EMPTY,
    ORIENTATIONS,
    PENTOMINOES,
    SIZE,
    SIZES,
    STRIDE,
    Bitboard,
    Cell,
    Color,
    Orientation,
    Rotation,
    Shape,
    bit,
    corner_neighbors,
    edge_neighbors,
    hash_order,
    orientation,
    scan,
)
from tests.game.blokus.simple_rules import CELLS, COMBINATIONS, HashSet

Cells = set[tuple[int, int]]
cells = st.tuples(st.integers(0, SIZE - 1), st.integers(0, SIZE - 1))
cell_sets = st.sets(cells, max_size=30)


def board_of(coordinates: Cells) -> Bitboard:
    return sum(bit(x, y) for x, y in coordinates)


def coordinates_of(bb: Bitboard) -> Cells:
    return {(index % STRIDE, index // STRIDE) for index in scan(bb)}


@settings(max_examples=30)
@given(cell_sets)
def test_scan_yields_the_cells_row_by_row(coordinates: Cells) -> None:
    found = [(index % STRIDE, index // STRIDE) for index in scan(board_of(coordinates))]
    assert found == sorted(coordinates, key=lambda cell: (cell[1], cell[0]))


@settings(max_examples=30)
@given(cell_sets)
def test_edge_neighbors(coordinates: Cells) -> None:
    expected = {(x + dx, y + dy) for x, y in coordinates for dx, dy in ((1, 0), (-1, 0), (0, 1), (0, -1))}
    on_board = {(x, y) for x, y in expected if 0 <= x < SIZE and 0 <= y < SIZE}
    assert coordinates_of(edge_neighbors(board_of(coordinates)) & BOARD) == on_board


@settings(max_examples=30)
@given(cell_sets)
def test_corner_neighbors(coordinates: Cells) -> None:
    expected = {(x + dx, y + dy) for x, y in coordinates for dx in (1, -1) for dy in (1, -1)}
    on_board = {(x, y) for x, y in expected if 0 <= x < SIZE and 0 <= y < SIZE}
    assert coordinates_of(corner_neighbors(board_of(coordinates)) & BOARD) == on_board


@pytest.mark.parametrize(
    ("area", "size", "examples"),
    [
        (BOARD, 400, [(0, 0), (19, 19), (7, 12)]),
        (BORDER, 76, [(0, 0), (0, 7), (19, 19), (12, 19), (5, 0), (19, 3)]),
        (CORNERS, 4, [(0, 0), (19, 0), (0, 19), (19, 19)]),
    ],
)
def test_areas(area: Bitboard, size: int, examples: list[tuple[int, int]]) -> None:
    assert area.bit_count() == size
    assert set(examples) <= coordinates_of(area)
    assert area & ~BOARD == EMPTY


def test_one_bit_between_two_rows_is_no_cell() -> None:
    padding = sum(1 << (y * STRIDE + SIZE) for y in range(SIZE))
    assert BOARD & padding == EMPTY
    assert BOARD | padding == (1 << (SIZE * STRIDE)) - 1


ALL = [(shape, rotation, is_flipped) for shape in Shape for rotation in Rotation for is_flipped in (False, True)]


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


@pytest.mark.parametrize(("shape", "rotation", "is_flipped"), ALL)
def test_every_combination(shape: Shape, rotation: Rotation, is_flipped: bool) -> None:
    turned = orientation(shape, rotation, is_flipped)
    assert (turned.shape, turned.rotation, turned.is_flipped) == (shape, rotation, is_flipped)
    assert list(turned.cells) == CELLS[shape.name, rotation.name, is_flipped]
    assert turned.mask == sum(bit(x, y) for x, y in turned.cells) == sum(1 << offset for offset in turned.offsets)
    assert min(x for x, _ in turned.cells) == min(y for _, y in turned.cells) == 0
    assert (turned.width, turned.height) == (1 + max(x for x, _ in turned.cells), 1 + max(y for _, y in turned.cells))
    assert len(turned.cells) == SIZES[shape]


def test_there_are_91_distinct_orientations() -> None:
    assert len(ORIENTATIONS) == len({each.mask for each in ORIENTATIONS}) == 91
    counts = [sum(each.shape is shape for each in ORIENTATIONS) for shape in Shape]
    assert counts == [1, 2, 4, 2, 1, 4, 2, 8, 4, 8, 4, 4, 8, 4, 2, 8, 4, 4, 8, 1, 8]


def test_the_first_combination_is_the_canonical_one() -> None:
    order = [(Rotation[rotation], flipped) for rotation, flipped in COMBINATIONS]
    for each in ORIENTATIONS:
        same = [turn for turn in order if orientation(each.shape, *turn).mask == each.mask]
        assert (each.rotation, each.is_flipped) == same[0]


def test_names_and_order_are_those_on_the_wire() -> None:
    assert [color.name for color in Color] == ["BLUE", "YELLOW", "RED", "GREEN"]
    assert [rotation.name for rotation in Rotation] == ["NONE", "RIGHT", "MIRROR", "LEFT"]
    assert Shape(0) is Shape.MONO
    assert Shape(20) is Shape.PENTO_Y
    assert sum(SIZES) == 89
    assert [shape.name for shape in PENTOMINOES] == [f"PENTO_{letter}" for letter in "LTVSZIPWURXY"]
    assert ALL_SHAPES_MASK == 0b111111111111111111111


@settings(max_examples=30)
@given(st.lists(st.tuples(st.integers(-(2**40), 2**40), st.integers(-(2**40), 2**40)), max_size=5))
def test_hash_order_is_that_of_sixteen_buckets(cells: list[Cell]) -> None:
    assert hash_order(cells) == list(HashSet(cells))
