"""How Piranhas is shown: as JSON, as text and in pictures."""

from __future__ import annotations

import json
import random
from itertools import pairwise
from typing import Any

import pytest

from spielleiter.game.api import Outcome
from spielleiter.game.piranhas import (
    BLOCKED,
    FIRST_UNION,
    LARGER_SWARM,
    PIRANHAS_2026,
    Cell,
    Direction,
    Fish,
    PiranhasMistake,
    PiranhasMove,
    PiranhasState,
)
from spielleiter.server.editions import EDITIONS
from spielleiter.viewer.games.piranhas.view import VIEW
from spielleiter.viewer.positions.describe import describe_illegal_move, describe_legal_moves, describe_position
from spielleiter.viewer.terminal import Canvas, draw
from tests.viewer.replay_files import played

STATES: list[Any] = played(EDITIONS["piranhas-2026"], seed=3)
START = PIRANHAS_2026.new_state(random.Random(1))


def bits(*places: tuple[int, int]) -> int:
    return sum(1 << Cell(x, y).number for x, y in places)


SMALL = PiranhasState(
    PIRANHAS_2026.rules,
    (Fish(bits((0, 0), (5, 5)), bits((1, 1))), Fish(bits((3, 0)), 0, bits((1, 9)))),
    bits((4, 4), (0, 2)),
    turn=1,
)


def test_a_position_has_letters_from_below_and_the_cells_of_the_heaviest_swarm() -> None:
    position = describe_position(SMALL, 0)
    assert json.loads(json.dumps(position)) == position
    cells = position["board"]["cells"]
    assert (len(cells), cells[0], cells[3], cells[11], cells[20], cells[91]) == (100, "1", "a", "2", "x", "c")
    assert position["players"][0]["swarmCells"] == [[0, 0], [1, 1]]
    assert (position["players"][0]["swarm"], position["players"][1]["swarms"]) == (3, 2)
    assert position["sideToMove"]["color"] == "BLUE"


def test_moves_say_from_where_to_where_and_what_is_eaten() -> None:
    for before, after in pairwise(STATES):
        move = VIEW.last_move(after, before)
        assert move is not None
        assert before.target(after.last_move) == Cell(*move["to"])
        assert VIEW.last_move(after, None)["kind"] == "MOVE"  # type: ignore[index]
    eaten = [VIEW.last_move(after, before) for before, after in pairwise(STATES)]
    assert any(move is not None and move["eaten"] for move in eaten)
    assert VIEW.last_move(STATES[0], None) is None
    moves = describe_legal_moves(START, 0)
    assert moves["moves"][0]["from"] == [0, 1]


def test_a_move_that_a_file_claims_is_shown_as_text_only() -> None:
    for move in (
        PiranhasMove(None, Direction.UP),
        PiranhasMove(Cell(99, 0), Direction.UP),
        PiranhasMove(Cell(0, 0), None),
    ):
        after = PiranhasState(SMALL.rules, SMALL.fish, 0, 2, move)
        shown = VIEW.last_move(after, SMALL)
        assert shown is not None
        assert "to" not in shown
        assert shown["cells"] == []
        assert describe_illegal_move(SMALL, PiranhasMove(None, None), "no") is None


@pytest.mark.parametrize(
    ("x", "y", "direction", "mistake", "offending"),
    [
        (9, 9, "UP", PiranhasMistake.WRONG_START, [[9, 9]]),
        (3, 0, "DOWN", PiranhasMistake.DESTINATION_OUT_OF_BOUNDS, []),
        (1, 9, "DOWN", None, None),
    ],
)
def test_an_illegal_move_marks_its_cells(
    x: int, y: int, direction: str, mistake: PiranhasMistake | None, offending: list[list[int]] | None
) -> None:
    move = PiranhasMove(Cell(x, y), Direction[direction])
    assert SMALL.check(move) is mistake
    if mistake is not None:
        assert VIEW.illegal_cells(SMALL, move, mistake)["offendingCells"] == offending
        assert describe_illegal_move(SMALL, move, "no") is not None


def test_the_cells_in_the_way_are_marked() -> None:
    rng, seen = random.Random(2), set[PiranhasMistake]()
    for state in STATES[:-1]:
        for _ in range(20):
            move = PiranhasMove(Cell(rng.randrange(10), rng.randrange(10)), rng.choice(list(Direction)))
            mistake = state.check(move)
            if mistake is not None:
                marked = VIEW.illegal_cells(state, move, mistake)
                seen.add(mistake)
                assert bool(marked["offendingCells"]) is (mistake is not PiranhasMistake.DESTINATION_OUT_OF_BOUNDS)
                assert all(cell in marked["cells"] for cell in marked["offendingCells"])
    assert seen == set(PiranhasMistake)


def test_words_for_every_end_and_counts_of_moves() -> None:
    ends = [VIEW.end_words(Outcome(0, reason)) for reason in (LARGER_SWARM, FIRST_UNION, BLOCKED)]
    assert all(words is not None and words.keys() == {"de", "en"} for words in ends)
    assert len({str(words) for words in ends}) == 3
    counts = VIEW.count_moves(START)
    assert counts[0] == len(list(START.generate_legal_moves()))
    assert counts[1] > 0
    assert VIEW.count_moves(STATES[-1]) == [0, 0]


def test_a_terminal_shows_the_board_beside_or_above_the_text() -> None:
    wide = draw(SMALL, ("Ann", ""), Canvas())
    assert wide is not None
    assert wide[0] == "9 . c . . . . . . . .    123 RED Ann: heaviest swarm 3, 3 fish in 2 swarms"
    assert wide[-1] == "  0 1 2 3 4 5 6 7 8 9"
    narrow = draw(STATES[5], ("Ann", "Ben"), Canvas(columns=30, rows=40))
    assert narrow is not None
    assert max(map(len, narrow)) <= 30
    assert any(line.startswith("last: ") for line in narrow)
    assert draw(SMALL, ("", ""), Canvas(columns=20)) is None
    assert draw(SMALL, ("", ""), Canvas(columns=40, rows=9)) is None
    over = draw(STATES[-1], ("", ""), Canvas(is_coloured=True))
    assert over is not None
    assert any("the game is over" in line for line in over)
