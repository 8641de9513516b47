"""The rules of Piranhas in positions that are drawn as text; the official rule code is compared in `tests/protocol`."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from spielleiter.game.api import Game, GameError, GameOverError, IllegalMoveError, IncompleteMoveError, Outcome, State
from spielleiter.game.hase_und_igel import HASE_UND_IGEL_2018
from spielleiter.game.piranhas import (
    BLOCKED,
    EQUAL_SWARMS,
    FIRST_UNION,
    LARGER_SWARM,
    PIRANHAS_2026,
    PIRANHAS_2026_FIRST,
    ROUND_LIMIT,
    SIZE,
    SIZES,
    Cell,
    Direction,
    Fish,
    PiranhasGame,
    PiranhasMistake,
    PiranhasMove,
    PiranhasState,
)
from spielleiter.game.piranhas.board import RAYS, scan

_SIGNS = "123abc"
"""The fish of seat 0 by size, and those of seat 1."""


def position(
    text: str, turn: int = 0, game: PiranhasGame = PIRANHAS_2026, first_union: int | None = None
) -> PiranhasState:
    """A position whose last line is the row 0; `.` is an empty cell, `x` a squid. Missing rows and cells are empty."""
    cells = Counter[str]()
    for y, row in enumerate(reversed(text.split())):
        for x, sign in enumerate(row):
            cells[sign] += 1 << Cell(x, y).number
    fish = Fish(*(cells[sign] for sign in _SIGNS[:3])), Fish(*(cells[sign] for sign in _SIGNS[3:]))
    return PiranhasState(game.rules, fish, cells["x"], turn, first_union=first_union)


def move(x: int, y: int, direction: str) -> PiranhasMove:
    return PiranhasMove(Cell(x, y), Direction[direction])


def moves(state: PiranhasState) -> list[str]:
    return [str(each) for each in state.generate_legal_moves()]


APART = """
    1.........
    ..........
    .....x....
    ..........
    ..........
    ..........
    ..........
    ..........
    ........c.
    a.2..b....
"""


def test_it_is_a_game_without_options() -> None:
    assert isinstance(PIRANHAS_2026, Game)
    assert PIRANHAS_2026.with_options({"startPiece": "MONO"}) is PIRANHAS_2026
    assert PIRANHAS_2026.option_names == frozenset()
    assert (PIRANHAS_2026.name, PIRANHAS_2026_FIRST.name) == ("piranhas-2026", "piranhas-2026-26.0.7")


@pytest.mark.parametrize("seed", range(20))
def test_the_start_is_fair_and_its_squids_are_on_no_common_line(seed: int) -> None:
    state = PIRANHAS_2026.new_state(random.Random(seed))
    assert isinstance(state, State)
    assert (state.turn, state.round, state.seat_on_turn) == (0, 1, 0)
    for position in range(1, SIZE - 1):
        for border in (0, SIZE - 1):
            one, two = state.size_at(Cell(border, position)), state.size_at(Cell(position, border))
            assert one is not None
            assert two == (1 - one[0], one[1])
            assert one[1] in SIZES
    assert [fish.cells.bit_count() for fish in state.fish] == [16, 16]
    first, second = scan(state.squids)
    assert not any(ray.line >> second & 1 for ray in RAYS[first])
    assert state.points(0) == state.points(1)
    assert state.size_at(Cell(0, 0)) is None


def test_sizes_are_drawn_four_to_three_to_two() -> None:
    rng, sizes = random.Random(1), Counter[int]()
    for _ in range(100):
        sizes.update({size: cells.bit_count() for size, cells in enumerate(PIRANHAS_2026.new_state(rng).fish[0])})
    assert [round(sizes[size] / 1600 * 9) for size in range(3)] == [4, 3, 2]


def test_a_fish_swims_as_far_as_there_are_fish_on_its_line() -> None:
    state = position(APART)
    assert state.target(move(0, 9, "DOWN")) == Cell(0, 7)
    assert state.target(move(0, 9, "RIGHT")) == Cell(1, 9)
    assert state.target(move(2, 0, "UP_LEFT")) == Cell(1, 1)
    assert state.target(move(2, 0, "DOWN")) is None
    after = state.play(move(0, 9, "DOWN"))
    assert (after.size_at(Cell(0, 9)), after.size_at(Cell(0, 7))) == (None, (0, 1))
    assert (after.turn, after.round, after.seat_on_turn, after.last_move) == (1, 1, 1, move(0, 9, "DOWN"))
    assert moves(after)[:2] == ["(0, 0) UP", "(0, 0) UP_RIGHT"]


@pytest.mark.parametrize(
    ("made", "mistake"),
    [
        (move(0, 0, "UP"), PiranhasMistake.WRONG_START),
        (move(1, 1, "UP"), PiranhasMistake.WRONG_START),
        (PiranhasMove(Cell(1, 1), None), PiranhasMistake.WRONG_START),
        (move(0, 9, "UP"), PiranhasMistake.DESTINATION_OUT_OF_BOUNDS),
        (move(2, 0, "LEFT"), PiranhasMistake.JUMP_OVER_OPPONENT),
    ],
)
def test_the_first_broken_rule_is_named(made: PiranhasMove, mistake: PiranhasMistake) -> None:
    state = position(APART)
    assert state.check(made) is mistake
    with pytest.raises(IllegalMoveError) as caught:
        state.play(made)
    assert (caught.value.mistake, caught.value.move) == (mistake, made)
    assert str(made) not in moves(state)


def test_squids_and_own_fish_are_passed_but_are_no_target() -> None:
    state = position("""
        a.........
        ..........
        ......a...
        1x.1......
        .11..1....
        1.1.......
        1.x..1....
    """)
    assert state.target(move(0, 3, "RIGHT")) == Cell(2, 3)
    assert state.target(move(1, 2, "RIGHT")) == Cell(4, 2)
    assert state.check(move(0, 1, "RIGHT")) is PiranhasMistake.DESTINATION_BLOCKED_BY_SELF
    assert state.check(move(0, 0, "RIGHT")) is PiranhasMistake.DESTINATION_BLOCKED


def test_a_fish_on_the_target_is_eaten() -> None:
    state = position("""
        .a........
        ..........
        1.c..a....
        ..........
        ....1.....
    """)
    after = state.play(PiranhasMove(Cell(4, 0), Direction.UP_LEFT))
    assert (after.size_at(Cell(2, 2)), after.size_at(Cell(4, 0))) == ((0, 1), None)
    assert (state.points(1), after.points(1)) == ((3,), (1,))


@pytest.mark.parametrize("made", [PiranhasMove(None, Direction.UP), move(10, 0, "UP"), move(0, -1, "UP")])
def test_a_move_without_a_start_on_the_board_cannot_be_judged(made: PiranhasMove) -> None:
    with pytest.raises(IncompleteMoveError):
        position(APART).check(made)


def test_a_move_without_a_direction_cannot_be_judged() -> None:
    with pytest.raises(IncompleteMoveError, match=r"\(0, 9\) None"):
        position(APART).check(PiranhasMove(Cell(0, 9), None))


def test_moves_and_positions_of_other_games_are_refused() -> None:
    other = HASE_UND_IGEL_2018.new_state(random.Random(1))
    with pytest.raises(TypeError):
        position(APART).check(next(iter(other.generate_legal_moves())))
    with pytest.raises(GameError):
        PIRANHAS_2026.resume(other)
    assert PIRANHAS_2026_FIRST.resume(position(APART)).rules is PIRANHAS_2026_FIRST.rules


def test_swarms_touch_by_corners_and_not_around_the_border() -> None:
    state = position("""
        .........3
        1.........
        .2........
        3.2......1
    """)
    assert state.points(0) == (8,)
    assert state.points(1) == (-1,)


UNITED = """
    12.....a
    ........
    ......b.
"""


def test_a_united_swarm_ends_the_game_with_the_round() -> None:
    assert position(UNITED, turn=1).outcome() is None
    assert position(UNITED, turn=2).outcome() == Outcome(0, LARGER_SWARM)
    over = position(UNITED, turn=2)
    assert moves(over) == []
    for call in (over.check, over.play, over.target):
        with pytest.raises(GameOverError):
            call(move(0, 2, "UP"))


def test_equal_swarms_are_decided_by_the_first_union_or_not_at_all() -> None:
    both = "11.....a\n.......a"
    assert position(both, turn=2, first_union=1).outcome() == Outcome(1, FIRST_UNION)
    assert position(both, turn=2).outcome() == Outcome(None, EQUAL_SWARMS)
    assert position(both, turn=1, first_union=0).standing() == Outcome(0, FIRST_UNION)
    assert position(APART, turn=1, first_union=0).standing() == Outcome(1, LARGER_SWARM)


def test_the_first_union_is_kept() -> None:
    start = "1.1....\n.......\n......a\n....a..\n......."
    state = position(start).play(move(0, 4, "DOWN_RIGHT"))
    assert state.first_union == 0
    united = state.play(move(4, 1, "RIGHT"))
    assert united.first_union == 0
    assert united.outcome() is not None
    old = position(start, game=PIRANHAS_2026_FIRST).play(move(0, 4, "DOWN_RIGHT"))
    assert old.first_union is None


def test_the_game_ends_after_the_last_round() -> None:
    assert position(APART, turn=2 * ROUND_LIMIT - 1).outcome() is None
    assert position(APART, turn=2 * ROUND_LIMIT).outcome() == Outcome(1, LARGER_SWARM)
    even = "1...a\n.....\n1...a"
    assert position(even, turn=2 * ROUND_LIMIT).outcome() == Outcome(None, EQUAL_SWARMS)


CORNERED = """
    ........a1
    ........aa
    ..........
    ..........
    ..........
    ..........
    ..........
    ..........
    aa........
    1a........
"""


def test_a_player_that_cannot_move_has_lost_or_is_asked_all_the_same() -> None:
    assert position(CORNERED).outcome() == Outcome(1, BLOCKED)
    assert position(CORNERED).standing() == Outcome(1, BLOCKED)
    assert position(CORNERED, turn=2 * ROUND_LIMIT).outcome() == Outcome(1, BLOCKED)
    assert position(CORNERED, turn=1).outcome() is None
    before = position(CORNERED, game=PIRANHAS_2026_FIRST)
    assert before.outcome() is None
    assert moves(before) == []
    assert before.check(move(0, 0, "UP")) is PiranhasMistake.JUMP_OVER_OPPONENT
    assert position("", turn=1).outcome() == Outcome(0, BLOCKED)


@pytest.mark.parametrize("seed", range(3))
def test_the_generated_moves_are_those_that_pass_the_check(seed: int) -> None:
    rng = random.Random(seed)
    state = PIRANHAS_2026.new_state(rng)
    every = [move(x, y, name) for x in range(SIZE) for y in range(SIZE) for name in Direction.__members__]
    while state.outcome() is None:
        legal = list(state.generate_legal_moves())
        assert len(set(legal)) == len(legal)
        if state.turn % 10 == 0:
            assert set(legal) == {each for each in every if state.check(each) is None}
        state = state.play(rng.choice(legal))
