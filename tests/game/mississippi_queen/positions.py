"""Rivers and moves as texts."""

from __future__ import annotations

from collections.abc import Mapping

from spielleiter.game.mississippi_queen import (
    Accelerate,
    Action,
    Advance,
    Direction,
    Field,
    Hex,
    MississippiQueenMove,
    MississippiQueenState,
    Pier,
    Push,
    River,
    Segment,
    Ship,
    Terrain,
    Turn,
)

ISLAND, SANDBANK = Terrain.ISLAND, Terrain.SANDBANK
ROWS = 5


def river(fields: Mapping[tuple[int, int], Field] | None = None, *turns: int, segments: int = 8) -> River:
    """A river whose segments point to the right, but for `turns` from the third one on; water but for `fields`.

    These are by column (from the start on) and row. The last segment has the goal.
    """
    made: list[Segment] = []
    for index in range(segments):
        direction = made[-1].direction if made else Direction.RIGHT
        if index >= 2 and index - 2 < len(turns):
            direction = direction.turned(turns[index - 2])
        columns = [[(fields or {}).get((4 * index + x, y), Terrain.WATER) for y in range(ROWS)] for x in range(4)]
        if index == 7:
            columns[-1][1:-1] = [Terrain.GOAL] * 3
        center = made[-1].center.step(direction, 4) if made else Hex(0, 0)
        made.append(Segment(direction, center, tuple(tuple(column) for column in columns)))
    return River(tuple(made), min(2, segments), made[min(2, segments - 1)].direction)


def at(column: int, row: int) -> Hex:
    """The place of a straight river in this column, from the start on, and row."""
    r = row - 2
    return Hex(column - 1 - max(r, 0), r)


def state(board: River, ship: Ship, other: Ship | None = None, turn: int = 2) -> MississippiQueenState:
    """The position with `ship` to move."""
    return MississippiQueenState(board, (ship, other or Ship(at(0, 0))), turn, 0)


def move(text: str) -> MississippiQueenMove:
    """A move such as `a+1 t1 f2 p3`: accelerate by 1, turn to direction 1, go 2 forward, push to direction 3."""
    actions: list[Action | None] = []
    for word in text.split():
        kind, value = word[0], word[1:]
        direction = Direction(int(value)) if kind in "tp" and value else None
        match kind:
            case "a":
                actions.append(Accelerate(int(value)))
            case "f":
                actions.append(Advance(int(value)))
            case "t":
                actions.append(Turn(direction))
            case "p":
                actions.append(Push(direction))
            case _:
                actions.append(None)
    return MississippiQueenMove(tuple(actions))


__all__ = ["ISLAND", "SANDBANK", "Pier", "at", "move", "river", "state"]
