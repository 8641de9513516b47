"""The table of the levels' times."""

from __future__ import annotations

import random
import re

import pytest

from benchmarks.levels import main, measure_level, positions
from spielleiter.game.api import Move, State
from spielleiter.game.blokus.moves import SkipMove
from spielleiter.game.blokus.state import BLOKUS_2027
from spielleiter.players.search_budget import LadderLevel


def test_illegal_moves_are_counted() -> None:
    def skip(_state: State, _rng: random.Random, _budget: object = None) -> Move:
        return SkipMove()

    states = list(positions(BLOKUS_2027, 6, seed=1))
    figures = measure_level(LadderLevel("always skips", skip), states, 1)
    assert (figures.illegal, len(figures.seconds)) == (4, 6)  # each colour's first turn


@pytest.mark.slow
def test_a_table_is_printed_for_each_edition(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["-n", "3", "--level", "1", "--level", "4"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [lines[0], lines[4]] == ["blokus-2021-r3", "blokus-2027"]
    assert re.fullmatch(r" +level-4 +3 +0 +\d+\.\d +\d+\.\d +\d+\.\d", lines[3])
