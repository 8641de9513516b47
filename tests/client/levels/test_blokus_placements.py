"""The cells that a placement touches."""

from __future__ import annotations

import random

from spielleiter.client.levels.blokus_placements import placements_of
from spielleiter.game.blokus.moves import attach_cells, free_cells, generate_placements
from spielleiter.game.blokus.pieces import ALL_SHAPES_MASK, BOARD, EMPTY, ORIENTATIONS


def test_every_placement_on_an_empty_board_is_in_the_tables() -> None:
    found = {turned: set(placements_of(turned)) for turned in ORIENTATIONS}
    counts = {turned: corners.bit_count() for turned, corners in generate_placements(BOARD, BOARD, ALL_SHAPES_MASK)}
    assert {turned: len(corners) for turned, corners in found.items()} == counts
    assert sum(counts.values()) == 30_433


def test_the_cells_are_those_of_the_rules() -> None:
    rng = random.Random(1)
    for turned in ORIENTATIONS:
        table = placements_of(turned)
        for corner in rng.sample(sorted(table), 20):
            piece, keep, corners = table[corner]
            assert piece == turned.mask << corner
            assert keep == free_cells(piece, piece)
            assert corners & keep == attach_cells(piece, keep) != EMPTY
