"""Shifts never wrap around, and `scan` returns the cells of a set."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spielleiter.game.blokus.pieces import (
    BOARD,
    BORDER,
    CORNERS,
    EMPTY,
    SIZE,
    STRIDE,
    Bitboard,
    bit,
    corner_neighbors,
    edge_neighbors,
    scan,
)

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


def test_scan_of_the_empty_set() -> None:
    assert list(scan(EMPTY)) == []


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
