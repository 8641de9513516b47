"""Names of cells, and the symmetries of the board."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spielleiter.client.gtp.notation import SYMMETRIES, Symmetry, cell_name, read_cells, write_cells
from spielleiter.game.blokus.pieces import SIZE, Cell

CELLS = st.tuples(st.integers(0, SIZE - 1), st.integers(0, SIZE - 1))


@pytest.mark.parametrize(
    ("cell", "name"), [((0, 0), "a20"), ((0, 19), "a1"), ((19, 19), "t1"), ((19, 0), "t20"), ((8, 10), "i10")]
)
def test_rows_are_counted_from_below(cell: Cell, name: str) -> None:
    assert cell_name(cell) == name


@given(st.sets(CELLS, min_size=1))
def test_reading_is_the_inverse_of_writing(cells: set[Cell]) -> None:
    assert read_cells(write_cells(cells)) == cells
    assert read_cells(write_cells(cells).upper()) == cells


def test_cells_are_written_row_by_row_from_below() -> None:
    assert write_cells([(1, 18), (0, 18), (4, 19)]) == "e1,a2,b2"


@pytest.mark.parametrize("text", ["", "a", "a0", "a21", "u1", "a01", "a1,", "a1,a1", "a1 b1", "1a", "pass", "a1;b1"])
def test_other_text_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a list of cells"):
        read_cells(text)


def test_the_symmetries_are_the_eight_ones_of_a_square() -> None:
    triangle = ((0, 0), (1, 0), (0, 2))
    images = {tuple(symmetry.apply(cell) for cell in triangle) for symmetry in SYMMETRIES}
    assert len(images) == len(SYMMETRIES) == 8
    assert SYMMETRIES[0].apply((3, 5)) == (3, 5)


@given(st.sampled_from(SYMMETRIES), CELLS, CELLS)
def test_a_symmetry_keeps_distances_and_can_be_undone(symmetry: Symmetry, first: Cell, second: Cell) -> None:
    moved, other = symmetry.apply(first), symmetry.apply(second)
    assert symmetry.undo(moved) == first
    assert symmetry.apply(symmetry.undo(first)) == first

    def distances(a: Cell, b: Cell) -> list[int]:
        return sorted((abs(a[0] - b[0]), abs(a[1] - b[1])))

    assert distances(moved, other) == distances(first, second)
