"""Each rule: whether a move is legal, which mistake is reported, and what the move changes."""

from __future__ import annotations

import random

import pytest

from spielleiter.game.api import GameOverError, IllegalMoveError, IncompleteMoveError
from spielleiter.game.mississippi_queen import (
    Direction,
    Hex,
    MississippiQueenMistake,
    MississippiQueenMove,
    Pier,
    Ship,
    Terrain,
)
from tests.game.mississippi_queen.positions import ISLAND, SANDBANK, at, move, river, state

Mistake = MississippiQueenMistake
WATER = river()
LAST_INT = 2**31 - 1


def ship(column: int, row: int, speed: int = 1, direction: Direction = Direction.RIGHT, coal: int = 6) -> Ship:
    return Ship(at(column, row), direction, speed, coal)


CASES = [
    # row 0 has no current
    (ship(4, 0), "f1", None),
    (ship(4, 0), "", Mistake.NO_ACTIONS),
    (ship(4, 0), "f0", Mistake.BAD_DISTANCE),
    (ship(4, 0), "f-1", Mistake.BAD_DISTANCE),
    (ship(4, 0), "f7", Mistake.BAD_DISTANCE),
    (ship(4, 0), "f2", Mistake.ADVANCE_WITHOUT_MOVEMENT),
    (ship(4, 0, 2), "f1", Mistake.MOVEMENT_LEFT),
    (ship(4, 0), "t1", Mistake.MOVEMENT_LEFT),
    (ship(4, 0), "a1 f2", None),
    (ship(4, 0), "a1 f1 f1", None),
    (ship(4, 0), f"a1 f{LAST_INT} f{LAST_INT} f4", None),
    (ship(4, 0), f"a1 f{LAST_INT} f3", Mistake.BAD_DISTANCE),
    (ship(4, 0), "a0 f1", Mistake.ACCELERATE_BY_ZERO),
    (ship(4, 0), "a6 f6", Mistake.ABOVE_MAX_SPEED),
    (ship(4, 0), "a-1", Mistake.BELOW_MIN_SPEED),
    (ship(4, 0), f"a{LAST_INT}", Mistake.BELOW_MIN_SPEED),
    (ship(9, 0, coal=4), "a5 f6", None),
    (ship(9, 0, coal=3), "a5 f6", Mistake.ACCELERATE_WITHOUT_COAL),
    (ship(4, 0), "f1 a1 f1", Mistake.ACCELERATE_FIRST),
    (ship(4, 0), "a1 a1 f3", Mistake.ACCELERATE_FIRST),
    (ship(4, 0, coal=0), "t1 f1", None),
    (ship(4, 0, coal=0), "t2 f1", Mistake.TURN_WITHOUT_COAL),
    (ship(4, 0, coal=1), "t2 f1", None),
    (ship(4, 0, coal=1), "t3 f1", Mistake.TURN_WITHOUT_COAL),
    (ship(4, 0, coal=0), "t0 t0 t1 f1", None),
    (ship(4, 0, coal=0), "t1 t0 f1", Mistake.TURN_WITHOUT_COAL),
    (ship(4, 0), "t4 f1", Mistake.FIELD_BLOCKED),
    # the first field with the current costs two points, once in each advance
    (ship(4, 2), "f1", Mistake.ADVANCE_WITHOUT_MOVEMENT),
    (ship(4, 2, 2), "f1", None),
    (ship(4, 2, 3), "f2", None),
    (ship(4, 2, 3), "f1 t0 f1", Mistake.ADVANCE_WITHOUT_MOVEMENT),
    (ship(4, 2, 4), "f1 t0 f1", None),
    # the other ship is in column 8 of row 0
    (ship(6, 0, 2), "f2", Mistake.NO_MOVEMENT_FOR_PUSH),
    (ship(6, 0, 3), "f2", Mistake.MOVEMENT_LEFT),
    (ship(6, 0, 4), "f3", Mistake.SHIP_IN_THE_WAY),
    (ship(6, 0, 3), "f2 p0", None),
    (ship(6, 0, 3), "f2 p1", None),
    (ship(6, 0, 3), "f2 p2", None),
    (ship(6, 0, 3), "f2 p3", Mistake.PUSH_BACKWARDS),
    (ship(6, 0, 3), "f2 p4", Mistake.PUSH_OFF_THE_RIVER),
    (ship(6, 0, 3), "f2 t1", Mistake.PUSH_REQUIRED),
    (ship(6, 0, 3), "f2 p0 p0", Mistake.PUSH_WITHOUT_MOVEMENT),
    (ship(6, 0, 4), "f2 p0 p0", Mistake.PUSH_FROM_AFAR),
    (ship(6, 0, 5), "f2 p0 f1 p0", None),
    (ship(7, 0), "p1", Mistake.PUSH_FROM_AFAR),
]


@pytest.mark.parametrize(("own", "text", "mistake"), CASES)
def test_moves(own: Ship, text: str, mistake: MississippiQueenMistake | None) -> None:
    position = state(WATER, own, ship(8, 0))
    assert position.check(move(text)) is mistake
    if mistake is None:
        position.play(move(text))
    else:
        with pytest.raises(IllegalMoveError) as caught:
            position.play(move(text))
        assert caught.value.mistake is mistake


SANDY = river({(5, 0): SANDBANK, (9, 0): SANDBANK, (7, 1): ISLAND})

SANDBANKS = [
    (ship(4, 0, 3), "f1", Mistake.SANDBANK_IN_THE_WAY),
    (ship(5, 0), "a1 f2", Mistake.ACCELERATE_ON_SANDBANK),
    (ship(5, 0), "t1 f1", Mistake.TURN_ON_SANDBANK),
    (ship(5, 0, 2), "f1", Mistake.MOVEMENT_LEFT),
    (ship(5, 0), "f1", None),
    (ship(5, 0), "f-3", Mistake.ADVANCE_WITHOUT_MOVEMENT),
    (ship(7, 0, 2), "f1 p0", None),
    (ship(7, 0, 2), "f1 p2", Mistake.PUSH_ONTO_BLOCKED),
]


@pytest.mark.parametrize(("own", "text", "mistake"), SANDBANKS)
def test_sandbanks_and_islands(own: Ship, text: str, mistake: MississippiQueenMistake | None) -> None:
    assert state(SANDY, own, ship(8, 0)).check(move(text)) is mistake


def test_nothing_is_legal_from_sandbank_to_sandbank() -> None:
    board = river({(4, 0): SANDBANK, (5, 0): SANDBANK})
    assert state(board, ship(4, 0), ship(4, 0)).check(move("p0 f1")) is Mistake.PUSH_FROM_SANDBANK
    assert state(board, ship(4, 0)).check(move("f1")) is Mistake.SANDBANK_IN_THE_WAY
    assert list(state(board, ship(4, 0)).generate_legal_moves()) == []


@pytest.mark.parametrize("text", ["-", "t", "f1 t", "f0 p", "f-1", "f0"])
def test_moves_that_lack_something(text: str) -> None:
    """The official rules fail with an error of theirs, unless they find a mistake before."""
    position = state(river({(4, 0): SANDBANK}) if "f" in text and text[1] in "0-" else WATER, ship(4, 0), ship(4, 1))
    with pytest.raises(IncompleteMoveError):
        position.check(move(text))


def test_a_mistake_comes_before_something_that_is_missing() -> None:
    assert state(WATER, ship(4, 0)).check(move("f2 t")) is Mistake.ADVANCE_WITHOUT_MOVEMENT
    assert state(WATER, ship(4, 0)).check(move("f1 p")) is Mistake.PUSH_WITHOUT_MOVEMENT
    with pytest.raises(IncompleteMoveError):
        state(WATER, ship(4, 0, 2)).check(move("f1 p"))
    with pytest.raises(IncompleteMoveError):
        state(WATER, ship(4, 0)).check(MississippiQueenMove(None))


def test_what_a_move_costs() -> None:
    after = state(WATER, ship(4, 0, coal=5)).play(move("a3 t1 f1 t5 f1 t0 f2"))
    mover = after.ships[0]
    # acceleration 2, the second turn 2, the third one 1
    assert (mover.speed, mover.coal, mover.free_turns) == (4, 0, 1)
    assert mover.direction is Direction.RIGHT
    assert (mover.position, mover.points) == (at(7, 0), 5 + 3)
    assert after.last_move == move("a3 t1 f1 t5 f1 t0 f2")
    assert (after.turn, after.seat_on_turn, after.round) == (3, 1, 2)


def test_a_pushed_ship_may_turn_once_more() -> None:
    after = state(WATER, ship(6, 0, 3), ship(8, 0)).play(move("f2 p0"))
    assert (after.ships[1].position, after.ships[1].free_turns, after.ships[1].points) == (at(9, 0), 2, 11)
    assert after.ships[0].free_turns == 1
    again = after.play(move("t2 f1"))
    assert (again.ships[1].coal, again.ships[1].free_turns) == (6, 1)


def test_a_ship_that_is_pushed_onto_a_sandbank_loses_its_speed() -> None:
    after = state(SANDY, ship(7, 0, 2), ship(8, 0, 4)).play(move("f1 p0"))
    assert after.ships[1].speed == 1
    assert after.ships[1].is_stuck
    assert after.outcome() is not None


def test_passengers_board_a_slow_ship() -> None:
    board = river({(6, 0): Pier(Direction.DOWN_LEFT), (2, 1): Pier(Direction.UP_RIGHT)})
    beside = at(6, 0).step(Direction.DOWN_LEFT)
    column = next(x for x in range(8) if at(x, 1) == beside)
    after = state(board, ship(column - 1, 1), ship(8, 0)).play(move("f1"))
    assert (after.ships[0].passengers, after.ships[0].points) == (1, 5 + 5 + column % 4)
    assert after.river.cells[at(6, 0)].field == Pier(Direction.DOWN_LEFT, 0)
    # nobody is left there
    assert state(after.river, ship(column - 1, 1), ship(8, 0)).play(move("f1")).ships[0].passengers == 0
    # too fast; in the current, one point more of speed is allowed
    assert state(board, ship(column - 2, 1, 2), ship(8, 0)).play(move("f2")).ships[0].passengers == 0
    pier_below = river({(6, 3): Pier(Direction.UP_LEFT)})
    beside = at(6, 3).step(Direction.UP_LEFT)
    column = next(x for x in range(12) if at(x, 2) == beside)
    assert state(pier_below, ship(column - 1, 2, 2), ship(8, 0)).play(move("f1")).ships[0].passengers == 1


def test_passengers_board_a_slow_ship_that_is_pushed() -> None:
    board = river({(9, 1): Pier(Direction.UP_LEFT)})
    beside = at(9, 1).step(Direction.UP_LEFT)
    assert beside == at(9, 0)
    after = state(board, ship(6, 0, 3), ship(8, 0)).play(move("f2 p0"))
    assert (after.ships[1].passengers, after.ships[1].points) == (1, 16)
    after = state(board, ship(6, 0, 3), ship(8, 0, 2)).play(move("f2 p0"))
    assert (after.ships[1].passengers, after.ships[1].points) == (0, 11)


def test_the_ship_that_is_ahead_moves_first_in_a_round() -> None:
    def first_of(own: Ship, other: Ship) -> int:
        return state(WATER, own, other, turn=3).play(move("f1")).seat_on_turn

    assert first_of(ship(4, 0), ship(8, 0)) == 1
    assert first_of(ship(8, 0), ship(4, 0)) == 0
    assert first_of(ship(4, 0), ship(5, 4, 2)) == 1
    assert first_of(ship(4, 0), ship(5, 4, coal=5)) == 0
    assert first_of(ship(4, 0, coal=5), ship(5, 4)) == 1
    assert first_of(ship(4, 0), ship(5, 4)) == 0


def test_the_moves_left_out_are_only_other_ways_to_write_a_move() -> None:
    position = state(WATER, ship(4, 0), ship(8, 0))
    texts = sorted(str(each) for each in position.generate_legal_moves())
    assert len(texts) == len(set(texts)) == position.count_legal_moves()
    assert "advance(1)" in texts
    assert "advance(1) turn(LEFT)" in texts
    assert "turn(DOWN_RIGHT) advance(1)" in texts
    assert "accelerate(1) advance(1) turn(DOWN_RIGHT) advance(1)" in texts
    assert not any("advance(1) advance" in text for text in texts)
    assert all(position.check(each) is None for each in position.generate_legal_moves())


def test_legal_moves_with_pushes() -> None:
    texts = {str(each) for each in state(WATER, ship(6, 0, 3, coal=0), ship(8, 0)).generate_legal_moves()}
    assert {text for text in texts if "push" in text} >= {"advance(2) push(RIGHT)", "advance(2) push(DOWN_RIGHT)"}
    # nothing can be pushed away from a place that is surrounded
    walled = river({(7, 1): ISLAND, (8, 1): ISLAND, (9, 0): ISLAND})
    other = ship(8, 0)
    texts = {str(each) for each in state(walled, ship(6, 0, 3, coal=0), other).generate_legal_moves()}
    assert texts
    assert not any("push" in text for text in texts)


def test_drawn_moves_are_all_equally_likely() -> None:
    position = state(WATER, ship(4, 0, coal=0), ship(8, 0))
    legal = set(position.generate_legal_moves())
    rng = random.Random(1)
    drawn = [position.draw_legal_move(rng) for _ in range(40 * len(legal))]
    assert set(drawn) == legal
    assert all(15 < drawn.count(each) < 80 for each in legal)


def test_both_ships_on_one_field_leave_no_move() -> None:
    position = state(WATER, ship(4, 0), ship(4, 0))
    assert position.count_legal_moves() == 0
    assert position.draw_legal_move(random.Random(0)) is None
    assert list(position.generate_legal_moves()) == []


def test_a_ship_that_cannot_move_loses_its_turn_and_the_game() -> None:
    walls = {(5, 0): ISLAND, (4, 1): ISLAND, (3, 1): ISLAND, (3, 0): ISLAND}
    position = state(river(walls), ship(8, 0), ship(4, 0))
    after = position.play(move("f1"))
    assert after.ships[1].is_stuck
    assert (after.turn, after.last_move) == (4, None)
    outcome = after.outcome()
    assert outcome is not None
    assert (outcome.winner, outcome.reason) == (0, "stuck")
    assert (after.points(0), after.points(1)) == ((11, 0), (0, 0))
    with pytest.raises(GameOverError):
        after.play(move("f1"))


def test_a_dead_end_is_looked_at_once() -> None:
    """A ship in a small basin has many ways to waste its coal, and no legal move."""
    walls = {(x, y): ISLAND for x in range(16) for y in range(5) if (x, y) not in {(4, 0), (5, 0), (12, 0), (13, 0)}}
    position = state(river(walls), ship(12, 0, 1, coal=0), Ship(at(4, 0), Direction.RIGHT, 6, 6))
    assert position.play(move("f1")).ships[1].is_stuck is False
    locked = {**walls, (5, 0): ISLAND}
    position = state(river(locked), ship(12, 0, 1, coal=0), Ship(at(4, 0), Direction.RIGHT, 6, 6))
    assert position.play(move("f1")).ships[1].is_stuck


def test_descriptions() -> None:
    assert str(move("a-1 t4 f2 p0 t -")) == "accelerate(-1) turn(UP_LEFT) advance(2) push(RIGHT) turn() None"
    assert str(MississippiQueenMove(None)) == "no actions"
    assert Hex(0, 0).rotated(1) == Hex(0, 0)
    assert Terrain("goal") is Terrain.GOAL
