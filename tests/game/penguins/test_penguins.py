"""The rules of Penguins in positions that are drawn as text; the official rule code is compared in `tests/protocol`."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from spielleiter.game.api import Game, GameError, GameOverError, IllegalMoveError, IncompleteMoveError, Outcome, State
from spielleiter.game.hase_und_igel import HASE_UND_IGEL_2018
from spielleiter.game.penguins import (
    EQUAL_FISH,
    MAX_FISH,
    MORE_FISH,
    PENGUINS,
    PENGUINS_2023,
    SIZE,
    Cell,
    PenguinsMistake,
    PenguinsMove,
    PenguinsState,
)
from spielleiter.game.penguins.board import CELLS
from spielleiter.game.perft import perft


def position(text: str, turn: int = 8, fish: tuple[int, int] = (0, 0)) -> PenguinsState:
    """A position whose first line is the row 0: digits are fish, `R` and `B` penguins; missing cells are water."""
    cells = Counter[str]()
    for y, row in enumerate(text.split()):
        for column, sign in enumerate(row):
            cells[sign] += 1 << y * SIZE + column
    floes = cells["1"], cells["2"], cells["3"], cells["4"]
    return PenguinsState(PENGUINS_2023.rules, floes, (cells["R"], cells["B"]), fish, turn)


def place(x: int, y: int) -> PenguinsMove:
    return PenguinsMove(None, Cell(x, y))


def slide(x: int, y: int, to_x: int, to_y: int) -> PenguinsMove:
    return PenguinsMove(Cell(x, y), Cell(to_x, to_y))


def moves(state: PenguinsState) -> list[str]:
    return [str(each) for each in state.generate_legal_moves()]


APART = """
    R1..B...
    2.......
    ....R.B.
    ...1..1.
    ...3..41
    R.......
    B.......
    R......B
"""
"""Only the penguins at (0, 0), at (8, 2) and at (12, 2) can slide."""


def test_it_is_a_game_without_options() -> None:
    assert isinstance(PENGUINS_2023, Game)
    assert PENGUINS_2023.with_options({"startPiece": "MONO"}) is PENGUINS_2023
    assert PENGUINS_2023.option_names == frozenset()
    assert PENGUINS_2023.name == "penguins-2023"


def test_values_of_another_game_are_refused() -> None:
    state = position(APART)
    with pytest.raises(GameError, match="not a position of penguins-2023"):
        PENGUINS_2023.resume(HASE_UND_IGEL_2018.new_state(random.Random(1)))
    assert PENGUINS_2023.resume(state) == state
    with pytest.raises(TypeError, match="not a PenguinsMove"):
        state.check("e2e4")


@pytest.mark.parametrize("seed", range(20))
def test_the_start_is_the_same_from_both_sides(seed: int) -> None:
    state = PENGUINS_2023.new_state(random.Random(seed))
    assert isinstance(state, State)
    assert (state.turn, state.round, state.seat_on_turn) == (0, 1, 0)
    assert [state.fish_at(number) for number in range(64)] == [state.fish_at(63 - number) for number in range(64)]
    counts = Counter(state.fish_at(number) for number in range(64))
    assert counts.keys() <= set(range(MAX_FISH + 1))
    assert counts[0] <= 10
    assert counts[1] >= 2 * PENGUINS
    assert sum(fish * count for fish, count in counts.items()) <= 128


def test_starts_are_drawn_with_the_chances_of_the_release() -> None:
    """In 200 starts of release 23.0.3 there were 1166 holes, and 6956, 3826 and 852 floes with 1 to 3 fish."""
    rng, counts = random.Random(1), Counter[int]()
    for _ in range(200):
        state = PENGUINS_2023.new_state(rng)
        counts.update(state.fish_at(number) for number in range(64))
    assert [counts[fish] for fish in range(5)] == pytest.approx([1166, 6956, 3826, 852, 0], rel=0.04, abs=4)


def test_penguins_are_placed_on_single_fish_first() -> None:
    state = position("1112 R...", turn=0)
    assert moves(state) == ["(0, 0)", "(2, 0)", "(4, 0)"]
    after = state.play(place(2, 0))
    assert (after.penguins[0].bit_count(), after.fish, after.turn, after.seat_on_turn) == (2, (1, 0), 1, 1)
    assert (after.last_move, after.round) == (place(2, 0), 1)
    assert after.fish_at(1) == 0


def test_a_penguin_slides_straight_over_floes_and_takes_the_fish_it_stops_at() -> None:
    state = position(APART)
    assert moves(state) == ["(0, 0) (2, 0)", "(0, 0) (1, 1)", "(8, 2) (7, 3)", "(8, 2) (6, 4)"]
    after = state.play(slide(8, 2, 6, 4))
    assert (after.fish, after.points(0), after.points(1)) == ((3, 0), (3,), (0,))
    assert after.fish_at(Cell(7, 3).number) == 1
    assert after.penguins[0] >> Cell(6, 4).number & 1
    assert not after.penguins[0] >> Cell(8, 2).number & 1
    assert (after.seat_on_turn, after.round) == (1, 5)


def test_each_of_the_six_directions_is_the_same_both_ways() -> None:
    state = position("""
        11111111
        11111111
        11111111
        111R1111
        11111111
        11111111
        11111111
        RRR1111.
    """)
    ways = [each.target for each in state.generate_legal_moves() if each.start == (7, 3)]
    assert len(ways) == 3 + 3 + 3 + 4 + 4 + 3
    assert all(cell is not None and (abs(cell.x - 7) == abs(cell.y - 3) or cell.y == 3) for cell in ways)


@pytest.mark.parametrize(
    ("made", "mistake"),
    [
        (slide(8, 0, 6, 0), PenguinsMistake.WRONG_COLOR),
        (slide(2, 0, 6, 0), PenguinsMistake.WRONG_COLOR),
        (PenguinsMove(Cell(2, 0), None), PenguinsMistake.WRONG_COLOR),
        (slide(0, 0, 4, 0), PenguinsMistake.INVALID_MOVE),
        (slide(0, 0, 0, 0), PenguinsMistake.INVALID_MOVE),
        (slide(8, 2, 9, 3), PenguinsMistake.INVALID_MOVE),
        (slide(8, 2, 6, 3), PenguinsMistake.INVALID_MOVE),
        (slide(8, 2, 99, 2), PenguinsMistake.INVALID_MOVE),
        (slide(9, 2, 7, 4), PenguinsMistake.INVALID_MOVE),  # between two cells: the release takes it for the left one
        (place(2, 0), PenguinsMistake.MAX_PENGUINS),
        (PenguinsMove(None, None), PenguinsMistake.MAX_PENGUINS),
    ],
)
def test_the_first_broken_rule_is_named(made: PenguinsMove, mistake: PenguinsMistake) -> None:
    state = position(APART)
    assert state.check(made) is mistake
    with pytest.raises(IllegalMoveError) as caught:
        state.play(made)
    assert (caught.value.mistake, caught.value.move) == (mistake, made)
    assert str(made) not in moves(state)


@pytest.mark.parametrize(
    ("made", "mistake"),
    [
        (slide(0, 1, 2, 0), PenguinsMistake.PENGUINS),
        (place(6, 0), PenguinsMistake.SINGLE_FISH),
        (place(7, 0), PenguinsMistake.SINGLE_FISH),
        (place(8, 0), PenguinsMistake.SINGLE_FISH),
    ],
)
def test_rules_for_placing(made: PenguinsMove, mistake: PenguinsMistake) -> None:
    assert position("1112 R...", turn=0).check(made) is mistake


@pytest.mark.parametrize(
    "made",
    [
        PenguinsMove(None, None),
        place(3, 0),
        place(16, 0),
        place(0, 8),
        PenguinsMove(Cell(0, -1), Cell(0, 0)),
        PenguinsMove(Cell(-2, 0), Cell(0, 0)),
    ],
)
def test_a_move_that_the_release_cannot_judge_while_penguins_are_placed(made: PenguinsMove) -> None:
    with pytest.raises(IncompleteMoveError):
        position("1112 R...", turn=0).check(made)


def test_a_move_that_the_release_cannot_judge_later() -> None:
    state = position("1....... R1...... .RRR....")
    assert state.check(slide(1, 1, 0, 0)) is None
    for made in (PenguinsMove(Cell(1, 1), None), slide(-1, 1, 0, 0)):  # x = -1 is taken for the first cell of the row
        with pytest.raises(IncompleteMoveError):
            state.check(made)


def test_a_player_whose_penguins_are_stuck_is_skipped() -> None:
    state = position(APART).play(slide(0, 0, 2, 0))
    assert state.seat_on_turn == 1
    stuck = position("RRRR.... ........ BBBB1111")
    assert (stuck.turn % 2, stuck.seat_on_turn) == (0, 1)
    after = stuck.play(slide(6, 2, 14, 2))
    assert (after.seat_on_turn, after.turn) == (1, 9)
    assert position("RRR1.... ........ BBBB1111").seat_on_turn == 0  # with a penguin left to place


@pytest.mark.parametrize(
    ("fish", "outcome"),
    [
        ((9, 8), Outcome(0, MORE_FISH)),
        ((7, 8), Outcome(1, MORE_FISH)),
        ((8, 8), Outcome(None, EQUAL_FISH)),
    ],
)
def test_the_game_ends_when_no_penguin_can_slide(fish: tuple[int, int], outcome: Outcome) -> None:
    state = position("RRRR.... ........ BBBB.111", fish=fish)
    assert state.outcome() == outcome
    assert moves(state) == []
    with pytest.raises(GameOverError):
        state.check(slide(0, 0, 2, 0))
    assert position("RRRR.... ........ BBB1.111", fish=fish).outcome() is None


def test_a_whole_game_leaves_no_move() -> None:
    state, rng = PENGUINS_2023.new_state(random.Random(1)), random.Random(1)
    while state.outcome() is None:
        state = state.play(rng.choice(list(state.generate_legal_moves())))
    assert sum(state.fish) <= 128
    assert state.turn <= len(CELLS)


def test_the_numbers_of_sequences_of_moves_are_those_of_the_release() -> None:
    """The start that `python -m tools.season perft` draws from the seed 1."""
    start = position(
        "11.32223 2.211211 11111221 12111111 11111121 12211111 112112.2 32223.11",
        turn=0,
    )
    assert [perft(start, depth) for depth in (1, 2, 3)] == [38, 1406, 50616]
