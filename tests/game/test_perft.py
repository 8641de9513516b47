"""The counts of `perft` equal those of the official rule code."""

from __future__ import annotations

import random

import pytest

from spielleiter.game.blokus.state import BlokusState
from spielleiter.game.hase_und_igel import HASE_UND_IGEL_2018
from spielleiter.game.perft import perft
from tests.game.blokus.oracle import parse_position, read_perft

FAST, SLOW, EXTENDED = 1500, 6000, 75_000
"""The number of positions before the last move that a test may visit."""


def table() -> list[object]:
    """Every depth of every recorded position, except those that would take too long."""
    params: list[object] = []
    for line in read_perft():
        for depth, (parents, count) in enumerate(zip([1, *line["perft"]], line["perft"], strict=False), 1):
            if parents <= EXTENDED:
                state = parse_position(line["season"], line["position"])
                marks = [] if parents <= FAST else [pytest.mark.slow if parents <= SLOW else pytest.mark.extended]
                params.append(pytest.param(state, depth, count, marks=marks, id=f"{line['id']}-{depth}"))
    return params


@pytest.mark.no_cover
@pytest.mark.parametrize(("state", "depth", "count"), table())
def test_counts(state: BlokusState, depth: int, count: int) -> None:
    assert perft(state, depth) == count


def test_depths_without_moves() -> None:
    state = HASE_UND_IGEL_2018.new_state(random.Random(1))
    assert perft(state, 0) == 1
    assert perft(state, 1) == len(list(state.generate_legal_moves()))
    with pytest.raises(ValueError, match="-1"):
        perft(state, -1)
