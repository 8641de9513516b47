"""The river: directions, generation, what can be seen, and its completion."""

from __future__ import annotations

import random

from spielleiter.game.mississippi_queen import (
    SEGMENTS,
    Direction,
    Hex,
    Pier,
    River,
    Terrain,
    generate_river,
)
from tests.game.mississippi_queen.positions import at, river

RIVERS = [generate_river(random.Random(seed)) for seed in range(60)]


def fields(board: River) -> list[list[Terrain | Pier]]:
    return [[field for column in segment.columns for field in column] for segment in board.segments]


def test_directions() -> None:
    assert [Direction.RIGHT.turns_to(each) for each in Direction] == [0, 1, 2, 3, -2, -1]
    assert Direction.LEFT.turned(-4) is Direction.UP_RIGHT
    for direction in Direction:
        assert Hex(1, 0).rotated(direction) == Hex(0, 0).step(direction)
        assert Hex(3, -5).step(direction, 4).step(direction, -4) == Hex(3, -5)


def test_generated_rivers() -> None:
    for board in RIVERS:
        assert len(board.segments) == SEGMENTS
        assert len(board.cells) == 20 * SEGMENTS  # no segment lies upon another one
        first, *others = fields(board)
        assert set(first) == {Terrain.WATER}
        for each in others:
            assert 2 <= each.count(Terrain.ISLAND) <= 3
            assert Terrain.SANDBANK not in each
        assert fields(board)[-1].count(Terrain.GOAL) == 3
        piers = [[field for field in each if isinstance(field, Pier)] for each in fields(board)]
        assert sorted(map(len, piers)) == [0, 0, 0, 1, 1, 1, 1, 1]
        assert piers[0] == piers[-1] == []
        assert board.segments[1].direction is Direction.RIGHT


def test_there_is_water_before_each_pier() -> None:
    for board in RIVERS:
        for place, cell in board.cells.items():
            if isinstance(cell.field, Pier):
                assert cell.field.passengers == 1
                landing = board.cells.get(place.step(cell.field.direction))
                # where segments do not meet there is no field before the first column
                assert landing is None or landing.field is Terrain.WATER or landing.segment != cell.segment


def test_all_directions_and_places_occur() -> None:
    directions = {segment.direction for board in RIVERS for segment in board.segments}
    assert len(directions) >= 5
    turns = {
        tuple(
            before.direction.turns_to(after.direction)
            for before, after in zip(board.segments, board.segments[1:], strict=False)
        )
        for board in RIVERS
    }
    assert len(turns) > 50
    assert all(abs(turn) <= 1 for each in turns for turn in each)


def test_what_can_be_seen() -> None:
    board = RIVERS[0]
    seen = board.as_seen()
    assert seen.segments == board.segments[:2]
    assert seen.next_direction is board.segments[2].direction
    assert seen.as_seen() is seen
    assert {place: seen.cells[place] for place in seen.cells} == {place: board.cells[place] for place in seen.cells}


def test_more_of_it_is_revealed() -> None:
    board = RIVERS[0]
    assert board.revealed(2) is board
    assert board.revealed(1) is board
    more = board.revealed(5)
    assert (more.visible, more.next_direction) == (5, board.segments[5].direction)
    end = board.revealed(9)
    assert (end.visible, end.next_direction) == (8, board.segments[7].direction)


def test_a_river_that_was_seen_is_completed_in_one_way() -> None:
    for board in RIVERS:
        for visible in (2, 5, 8):
            seen = board.revealed(visible).as_seen()
            complete = seen.completed()
            assert complete == seen.completed()
            assert complete.segments[:visible] == seen.segments
            assert (len(complete.segments), complete.visible) == (SEGMENTS, visible)
            assert complete.as_seen() == seen
            assert sum(isinstance(field, Pier) for each in fields(complete) for field in each) == 5
    assert board.completed() == board


def test_the_current() -> None:
    board = river(None, 1)
    slow = {place for place, cell in board.cells.items() if cell.has_current and cell.segment < 2}
    # the middle row, which follows the turn to the third segment
    assert slow >= {at(column, 2) for column in range(5)}
    onward = board.segments[1].center
    assert {onward.step(Direction.DOWN_RIGHT), onward.step(Direction.DOWN_RIGHT, 2)} <= slow
    assert len(slow) == 8
    walled = river({(1, 2): Terrain.ISLAND})
    assert not walled.cells[at(1, 2)].has_current


def test_piers() -> None:
    board = river({(5, 1): Pier(Direction.RIGHT), (7, 1): Pier(Direction.LEFT), (9, 1): Pier(Direction.RIGHT, 0)})
    assert board.pier_beside(at(6, 1)) == at(7, 1)
    after = board.without_passenger(at(7, 1))
    assert after.pier_beside(at(6, 1)) == at(5, 1)
    assert after.cells[at(7, 1)].field == Pier(Direction.LEFT, 0)
    assert after.pier_beside(at(10, 1)) is None
    assert after.pier_beside(at(0, 0)) is None
