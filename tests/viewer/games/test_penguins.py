"""Penguins on the page, in pictures and in the terminal."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from msgspec.structs import replace

from spielleiter.game.api import Outcome
from spielleiter.game.penguins import EQUAL_FISH, MORE_FISH, Cell, PenguinsMistake, PenguinsMove
from spielleiter.server.editions import EDITIONS
from spielleiter.viewer.games.penguins.view import VIEW
from spielleiter.viewer.positions.describe import describe_illegal_move, describe_legal_moves, describe_position
from spielleiter.viewer.terminal import Canvas, draw
from tests.game.penguins.test_penguins import APART, place, position, slide
from tests.viewer.replay_files import played

STATES: list[Any] = played(EDITIONS["penguins-2023"], seed=3)
SMALL = position(APART, fish=(5, 6))


def test_a_position_has_letters_and_what_each_player_has() -> None:
    shown = describe_position(SMALL, 8)
    assert json.loads(json.dumps(shown)) == shown
    assert shown["board"] == {"size": 8, "cells": VIEW.picture(SMALL)["cells"]}
    assert shown["board"]["cells"][:16] == "R1..B...2......."
    one, two = shown["players"]
    assert (one["color"], one["fish"], one["toPlace"], one["stuck"], one["points"]) == ("RED", 5, 0, 2, 5)
    assert (two["color"], two["fish"], two["stuck"]) == ("BLUE", 6, 3)
    assert shown["sideToMove"] == {"player": 0, "color": "RED"}


def test_moves_say_from_where_to_where_and_how_many_fish_they_get() -> None:
    placed, slid = (VIEW.last_move(after, before) for before, after in (STATES[:2], STATES[-2:]))
    assert placed is not None
    assert (placed["kind"], placed["player"], placed["from"], placed["fish"]) == ("PLACE", 0, None, 1)
    assert slid is not None
    assert (slid["kind"], slid["cells"]) == ("SLIDE", [slid["from"], slid["to"]])
    for before, after in pairwise(STATES):
        move, alone = VIEW.last_move(after, before), VIEW.last_move(after, None)
        assert move is not None
        assert move["player"] == before.seat_on_turn
        assert move["fish"] == after.fish[move["player"]] - before.fish[move["player"]]
        assert alone == {**move, "fish": None}
    assert VIEW.last_move(STATES[0], None) is None
    assert describe_legal_moves(SMALL, 8)["moves"][3] == {
        "index": 3,
        "text": "(8, 2) (6, 4)",
        "from": [8, 2],
        "to": [6, 4],
        "fish": 3,
    }


@pytest.mark.parametrize(
    "move",
    [
        PenguinsMove(None, None),
        PenguinsMove(Cell(99, 0), Cell(0, 0)),
        PenguinsMove(Cell(0, 0), Cell(3, 0)),
        PenguinsMove(Cell(0, 0), Cell(2**31 - 1, -1)),
    ],
)
def test_a_move_that_a_file_claims_is_shown_as_text_only(move: PenguinsMove) -> None:
    shown = VIEW.last_move(replace(SMALL, last_move=move), SMALL)
    assert shown is not None
    assert "to" not in shown
    assert shown["cells"] == []
    assert shown["text"] == str(move)


@pytest.mark.parametrize(
    ("move", "mistake", "cells", "offending"),
    [
        (slide(8, 0, 6, 0), PenguinsMistake.WRONG_COLOR, [[8, 0], [6, 0]], [[8, 0]]),
        (slide(0, 0, 4, 0), PenguinsMistake.INVALID_MOVE, [[0, 0], [4, 0]], [[4, 0]]),
        (slide(0, 0, 5, 0), PenguinsMistake.INVALID_MOVE, [[0, 0]], []),
        (place(2, 0), PenguinsMistake.MAX_PENGUINS, [[2, 0]], [[2, 0]]),
    ],
)
def test_an_illegal_move_marks_its_cells(
    move: PenguinsMove, mistake: PenguinsMistake, cells: list[list[int]], offending: list[list[int]]
) -> None:
    assert SMALL.check(move) is mistake
    shown = describe_illegal_move(SMALL, move, "no")
    assert shown is not None
    assert (shown["cells"], shown["offendingCells"], shown["words"]) == (cells, offending, VIEW.rule_words(mistake))


def test_words_and_counts_of_moves() -> None:
    for mistake in PenguinsMistake:
        assert all(text.endswith(".") for text in VIEW.rule_texts[mistake])
    assert VIEW.end_words(Outcome(None, EQUAL_FISH)) == VIEW.end_words(Outcome(0, MORE_FISH)) is not None
    assert VIEW.count_moves(SMALL) == [4, 2]
    assert VIEW.count_moves(replace(SMALL, turn=9)) == [4, 2]
    assert VIEW.count_moves(position("RRRR.... ........ BBBB1111")) == [0, 4]
    assert VIEW.count_moves(STATES[-1]) == [0, 0]


def test_a_terminal_shows_the_board_beside_or_above_the_text() -> None:
    wide = draw(SMALL, ("Ann", ""), Canvas())
    assert wide is not None
    assert wide[0] == "  0   2   4   6   8   10  12  14     R RED Ann: 5 fish, 2 stuck"
    assert wide[2] == "1   2   .   .   .   .   .   .   .    turn 8, round 5, next: RED (Ann)"
    assert wide[9] == "    1   3   5   7   9   11  13  15"
    narrow = draw(STATES[5], ("Ann", "Ben"), Canvas(columns=35, rows=40))
    assert narrow is not None
    assert max(map(len, narrow)) <= 35
    assert any(line.startswith("last: ") for line in narrow)
    assert any("to place" in line for line in narrow)
    assert draw(SMALL, ("", ""), Canvas(columns=33)) is None
    assert draw(SMALL, ("", ""), Canvas(columns=40, rows=9)) is None
    over = draw(STATES[-1], ("", ""), Canvas(is_coloured=True))
    assert over is not None
    assert any("the game is over" in line for line in over)
