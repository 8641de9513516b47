"""The built-in players of Mississippi Queen."""

from __future__ import annotations

import random

import pytest
from msgspec.structs import replace

from spielleiter.game.mississippi_queen import (
    MISSISSIPPI_QUEEN_2024,
    Direction,
    MississippiQueenMove,
    MississippiQueenState,
    Pier,
    Progress,
    Ship,
    Terrain,
    carry_out,
)
from spielleiter.players.mississippi_queen import (
    PLAYERS,
    Chart,
    boat_of,
    is_in_goal,
    successors,
    value_after,
    value_of,
)
from spielleiter.players.search_budget import NoMoveError, SearchBudget
from tests.game.mississippi_queen.positions import ISLAND, at, move, river


def choose(level: int, state: MississippiQueenState, seed: int = 1) -> MississippiQueenMove:
    chosen = PLAYERS.levels[level - 1].choose(state, random.Random(seed))
    assert isinstance(chosen, MississippiQueenMove)
    return chosen


@pytest.mark.parametrize("level", [1, 4])
def test_a_level_plays_legal_moves_and_knows_only_what_can_be_seen(level: int) -> None:
    state = MISSISSIPPI_QUEEN_2024.new_state(random.Random(level))
    for _ in range(6):
        chosen = choose(level, state)
        assert chosen == choose(level, state.as_seen())
        state = state.play(chosen)
        if state.outcome() is not None:
            break


def test_the_plan_of_a_boat_follows_the_rules() -> None:
    """Every result of a move without the other ship, for any coal, is one that the search finds, and the reverse."""
    state = MISSISSIPPI_QUEEN_2024.new_state(random.Random(5))
    ship, far = replace(state.ships[0], coal=2, speed=2), Ship(at(7, 4))
    position = replace(state, ships=(ship, far))
    chart = Chart(state.river.as_seen())
    expected = set()
    for each in position.as_seen().generate_legal_moves():
        after = carry_out(state.river, ship, far, each)
        assert isinstance(after, Progress)
        expected.add(boat_of(chart, after.ship))
    assert successors(chart, boat_of(chart, ship), 6) == expected


def test_all_levels_enter_the_goal() -> None:
    board = river().revealed(8)
    ship = Ship(at(30, 1), Direction.RIGHT, 1, 6, 2)
    state = MississippiQueenState(board, (ship, Ship(at(28, 4))), 10)
    chart = Chart(board)
    for level in range(1, 5):
        after = state.play(choose(level, state)).ships[0]
        assert board.cells[after.position].field is Terrain.GOAL
        assert is_in_goal(chart, boat_of(chart, after))


def test_greedy_takes_a_passenger_and_does_not_go_where_nothing_can_be_seen() -> None:
    board = river({(4, 1): Pier(Direction.UP_LEFT), (6, 1): Pier(Direction.LEFT, 0)})
    state = MississippiQueenState(board, (Ship(at(3, 0), coal=0), Ship(at(0, 4))), 4)
    best = max(state.generate_legal_moves(), key=lambda each: value_after(state, each))
    assert state.play(best).ships[0].passengers == 1
    beyond = replace(state, ships=(Ship(at(7, 0), coal=0), state.ships[1]))
    assert value_after(beyond, move("f1")) < (-1000,)


def test_a_ship_that_can_only_go_where_nothing_can_be_seen_goes_there() -> None:
    walls = {(6, 0): ISLAND, (6, 1): ISLAND, (7, 1): ISLAND, (6, 2): ISLAND}
    state = MississippiQueenState(river(walls), (Ship(at(7, 0), coal=0), Ship(at(0, 4))), 4)
    assert list(state.as_seen().generate_legal_moves()) == []
    for each in (state, state.as_seen()):
        assert state.check(choose(3, each)) is None
    enclosed = {**walls, **{(x, y): ISLAND for x in range(8, 12) for y in range(5)}}
    with pytest.raises(NoMoveError):
        choose(3, replace(state, river=river(enclosed)))


def test_a_search_without_time_returns_its_first_plan() -> None:
    state = MISSISSIPPI_QUEEN_2024.new_state(random.Random(3))
    budget = SearchBudget(wait=0)
    assert state.check(PLAYERS.levels[3].choose(state, random.Random(1), budget)) is None
    assert budget.was_cut


def test_a_ship_that_has_arrived_stays_the_best_plan() -> None:
    board = river().revealed(8)
    chart = Chart(board)
    there = boat_of(chart, Ship(at(31, 1), Direction.RIGHT, 1, 6, 2))
    assert value_of(chart, there) > 1000
    other = boat_of(chart, Ship(at(31, 1), Direction.RIGHT, 1, 6, 1))
    assert value_of(chart, other) < 1000
