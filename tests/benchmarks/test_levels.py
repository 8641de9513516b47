"""The table of the levels' times."""

from __future__ import annotations

import random
import re

import pytest

from benchmarks.levels import LevelFigures, main, measure_level, positions
from spielleiter.game.api import Move, State
from spielleiter.game.blokus.moves import SkipMove
from spielleiter.game.blokus.state import BLOKUS_2027
from spielleiter.players.search_budget import LadderLevel


def test_the_figures_are_in_milliseconds() -> None:
    figures = LevelFigures(2, [0.001 * value for value in range(1, 201)])
    assert figures.row() == ["200", "2", "100.0", "198.0", "200.0"]


def test_illegal_moves_are_counted() -> None:
    def skip(_state: State, _rng: random.Random, _budget: object = None) -> Move:
        return SkipMove()

    states = list(positions(BLOKUS_2027, 6, seed=1))
    figures = measure_level(LadderLevel("always skips", skip), states, 1)
    assert (figures.illegal, len(figures.seconds)) == (4, 6)  # each colour's first turn


@pytest.mark.slow
def test_the_positions_depend_on_the_seed_only_and_come_from_several_games() -> None:
    first, second = (list(positions(BLOKUS_2027, 120, seed=3)) for _ in range(2))
    assert first == second
    assert sum(state.turn == 0 for state in first) == 2


@pytest.mark.slow
def test_a_table_is_printed_for_each_edition(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["-n", "3", "--level", "1", "--level", "4"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [lines[0], lines[4]] == ["blokus-2021-r3", "blokus-2027"]
    assert re.fullmatch(r" +level-4 +3 +0 +\d+\.\d +\d+\.\d +\d+\.\d", lines[3])


def test_an_unknown_level_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--edition", "blokus-2027", "--level", "9"])
    assert ended.value.code == 2
    assert "blokus-2027 has 8 levels" in capsys.readouterr().err


def test_a_table_without_positions_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["-n", "0"])
    assert ended.value.code == 2
    assert "expected at least 1 position" in capsys.readouterr().err
