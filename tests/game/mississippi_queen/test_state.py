"""Positions: the end of the game, points, and what players know."""

from __future__ import annotations

import random

import pytest
from msgspec.structs import replace

from spielleiter.game.api import GameError, Outcome, State
from spielleiter.game.hase_und_igel import HASE_UND_IGEL_2018
from spielleiter.game.mississippi_queen import (
    FAR_AHEAD,
    GOAL,
    MISSISSIPPI_QUEEN_2024,
    PASSENGERS,
    POINTS,
    SEGMENTS,
    STUCK,
    TIE,
    Direction,
    MississippiQueenState,
    Ship,
)
from tests.game.mississippi_queen.positions import at, move, river

START = MISSISSIPPI_QUEEN_2024.new_state(random.Random(1))
WATER = river()
GOAL_PLACE = at(31, 1)


def position(first: Ship, second: Ship, turn: int = 10) -> MississippiQueenState:
    return MississippiQueenState(WATER, (first, second), turn)


def ship(column: int, row: int, speed: int = 1, passengers: int = 2, points: int = 9) -> Ship:
    return Ship(at(column, row), Direction.RIGHT, speed, 6, passengers, points=points)


def test_the_start() -> None:
    assert (START.turn, START.round, START.seat_on_turn, START.last_move) == (0, 1, 0, None)
    assert START.points(0) == START.points(1) == (0, 0)
    assert START.outcome() is None
    assert START.standing() == Outcome(None, TIE)


@pytest.mark.parametrize(
    ("state", "outcome"),
    [
        (position(ship(31, 1), ship(28, 0)), Outcome(0, GOAL)),
        (position(ship(28, 0), ship(31, 1)), Outcome(1, GOAL)),
        # faster, with too few passengers, beside the goal, in the middle of a round
        (position(ship(31, 1, 2), ship(28, 0)), None),
        (position(ship(31, 1, passengers=1), ship(28, 0)), None),
        (position(ship(31, 0), ship(28, 0)), None),
        (position(ship(31, 1), ship(28, 0), turn=11), None),
        # the current before the goal is slow
        (position(ship(31, 2, 2), ship(28, 0)), Outcome(0, GOAL)),
        (position(ship(31, 1, points=3), ship(31, 3)), Outcome(1, POINTS)),
        (position(ship(16, 0), ship(0, 0)), Outcome(0, FAR_AHEAD)),
        (position(ship(0, 0), ship(16, 0), turn=11), Outcome(1, FAR_AHEAD)),
        (position(ship(15, 0), ship(0, 0)), None),
        (position(ship(8, 0), ship(4, 0), turn=60), Outcome(None, TIE)),
        (position(ship(8, 0), ship(4, 0), turn=59), None),
        (position(ship(8, 0, points=8), ship(4, 0), turn=60), Outcome(1, POINTS)),
        (position(ship(8, 0, passengers=3), ship(4, 0), turn=60), Outcome(0, PASSENGERS)),
        (position(replace(ship(8, 0), is_stuck=True), ship(4, 0)), Outcome(1, STUCK)),
        (position(ship(8, 0), replace(ship(4, 0), is_stuck=True), turn=11), Outcome(0, STUCK)),
    ],
)
def test_the_end(state: MississippiQueenState, outcome: Outcome | None) -> None:
    assert state.outcome() == outcome
    if outcome is not None:
        assert state.standing() == outcome
        assert list(state.generate_legal_moves()) == []
        assert state.count_legal_moves() == 0
        assert state.draw_legal_move(random.Random(0)) is None


def test_the_standing_while_the_game_goes_on() -> None:
    assert position(ship(31, 1), ship(28, 0), turn=11).standing() == Outcome(0, GOAL)
    assert position(ship(8, 0, points=12), ship(4, 0)).standing() == Outcome(0, POINTS)


def test_the_river_is_revealed_two_segments_ahead() -> None:
    state = position(ship(7, 0), ship(8, 4), turn=10)
    assert state.play(move("f1")).river.visible == 4
    assert state.play(move("a1 f2")).as_seen().river.segments == WATER.segments[:4]


def test_players_know_what_can_be_seen() -> None:
    seen = START.as_seen()
    assert len(seen.river.segments) == 2
    assert seen.ships == START.ships
    again = MISSISSIPPI_QUEEN_2024.resume(seen)
    assert len(again.river.segments) == SEGMENTS
    assert again.as_seen() == seen
    assert MISSISSIPPI_QUEEN_2024.resume(START) == START


def test_options_and_other_games() -> None:
    assert MISSISSIPPI_QUEEN_2024.option_names == frozenset()
    assert MISSISSIPPI_QUEEN_2024.with_options({"board": "S"}) is MISSISSIPPI_QUEEN_2024
    foreign: State = HASE_UND_IGEL_2018.new_state(random.Random(1))
    with pytest.raises(GameError, match="not a position of mississippi-queen-2024"):
        MISSISSIPPI_QUEEN_2024.resume(foreign)
    with pytest.raises(TypeError, match="not a MississippiQueenMove"):
        START.play(next(iter(foreign.generate_legal_moves())))
