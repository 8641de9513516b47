"""The river: hexes and directions, the fields of its segments, and its random generation.

A hex has the coordinates `q` (to the right) and `r` (down and to the right); the third of the cube coordinates is
`s = -q - r`. A segment has four columns of five fields. Its first column is the one at which ships enter it, and its
middle row lies on the line from the previous segment's centre to its own.
"""

from __future__ import annotations

import enum
import random
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Final, NamedTuple, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

COLUMNS: Final = 4
ROWS: Final = 5
SEGMENTS: Final = 8
"""The number of segments of a whole river."""
FIRST_VISIBLE: Final = 2
"""The number of segments that can be seen at the start."""

_ISLANDS: Final = (2, 3)
_PASSENGERS: Final = 5
_MIDDLE: Final = ROWS // 2


class Direction(enum.IntEnum):
    """The six directions from a hex to its neighbours, clockwise."""

    RIGHT = 0
    DOWN_RIGHT = 1
    DOWN_LEFT = 2
    LEFT = 3
    UP_LEFT = 4
    UP_RIGHT = 5

    def turned(self, turns: int) -> Direction:
        """Return the direction after `turns` sixths of a turn clockwise."""
        return _DIRECTIONS[(self + turns) % 6]

    def turns_to(self, other: Direction) -> int:
        """Return the clockwise turns from here to `other`, from -2 to 3."""
        return (other - self + 2) % 6 - 2


_DIRECTIONS: Final = tuple(Direction)
_STEPS: Final = ((1, 0), (0, 1), (-1, 1), (-1, 0), (0, -1), (1, -1))
OPPOSITE: Final = 3
"""The turns to the opposite direction."""


class Hex(NamedTuple):
    """The place of a field."""

    q: int
    r: int

    def step(self, direction: Direction, distance: int = 1) -> Hex:
        """Return the hex at `distance` in this direction."""
        q, r = _STEPS[direction]
        return Hex(self.q + q * distance, self.r + r * distance)

    def rotated(self, turns: int) -> Hex:
        """Return this hex rotated clockwise around the origin, by sixths of a turn."""
        q, r = self
        for _ in range(turns % 6):
            q, r = -r, q + r
        return Hex(q, r)


class Terrain(enum.Enum):
    """The kinds of fields without passengers."""

    WATER = "water"
    ISLAND = "island"
    GOAL = "goal"
    SANDBANK = "sandbank"


class Pier(Struct, frozen=True):
    """A field with `passengers`, who board a ship that is slow enough on the neighbouring field in `direction`."""

    direction: Direction
    passengers: int = 1


Field: TypeAlias = Terrain | Pier
Columns: TypeAlias = tuple[tuple[Field, ...], ...]


class Cell(NamedTuple):
    """What the rules ask about one place of the river."""

    field: Field
    segment: int
    column: int
    is_free: bool
    """Whether a ship can be there, as far as the field is concerned."""
    has_current: bool


class Segment(Struct, frozen=True):
    """A part of the river, with its fields by column and row."""

    direction: Direction
    center: Hex
    columns: Columns

    def places(self) -> Iterator[tuple[Hex, int, int]]:
        """Yield each place with its column and row."""
        for column in range(COLUMNS):
            for row in range(ROWS):
                q, r = _local(column, row).rotated(self.direction)
                yield Hex(q + self.center.q, r + self.center.r), column, row


def _local(column: int, row: int) -> Hex:
    """Return a place of a segment whose centre is the origin, and which points to the right."""
    r = row - _MIDDLE
    return Hex(column - 1 - max(r, 0), r)


class River(Struct, frozen=True, dict=True):
    """The segments from the start on, of which the first `visible` ones can be seen.

    `next_direction` is that of the first one that cannot be seen. The rules know all segments of a game, while players
    know only those that can be seen.
    """

    segments: tuple[Segment, ...]
    visible: int
    next_direction: Direction

    @cached_property
    def cells(self) -> dict[Hex, Cell]:
        """Every place of the river."""
        found: dict[Hex, Cell] = {}
        for index, segment in reversed(tuple(enumerate(self.segments))):
            is_last = index + 1 == len(self.segments)
            onward = self.next_direction if is_last else self.segments[index + 1].direction
            center = segment.center
            current = {center.step(segment.direction, -1), center, center.step(onward), center.step(onward, 2)}
            for place, column, row in segment.places():
                field = segment.columns[column][row]
                is_free = field is not Terrain.ISLAND and not isinstance(field, Pier)
                found[place] = Cell(field, index, column, is_free, is_free and place in current)
        return found

    def as_seen(self) -> River:
        """Return what can be seen of it."""
        if self.visible == len(self.segments):
            return self
        return River(self.segments[: self.visible], self.visible, self.segments[self.visible].direction)

    def revealed(self, count: int) -> River:
        """Return the river with at least `count` visible segments, if it has that many."""
        visible = min(max(count, self.visible), len(self.segments))
        if visible == self.visible:
            return self
        return replace(
            self, visible=visible, next_direction=self.segments[min(visible, len(self.segments) - 1)].direction
        )

    def pier_beside(self, place: Hex) -> Hex | None:
        """Return the first pier with passengers for a ship at `place`, clockwise from the right."""
        for direction in _DIRECTIONS:
            neighbor = place.step(direction)
            cell = self.cells.get(neighbor)
            if (
                cell is not None
                and isinstance(cell.field, Pier)
                and cell.field.passengers > 0
                and cell.field.direction is direction.turned(OPPOSITE)
            ):
                return neighbor
        return None

    def without_passenger(self, pier: Hex) -> River:
        """Return the river after a passenger has left the pier at this place."""
        index = self.cells[pier].segment
        segment = self.segments[index]
        columns = [list(column) for column in segment.columns]
        for place, column, row in segment.places():
            field = columns[column][row]
            if place == pier and isinstance(field, Pier):
                columns[column][row] = replace(field, passengers=field.passengers - 1)
        changed = replace(segment, columns=tuple(tuple(column) for column in columns))
        return replace(self, segments=(*self.segments[:index], changed, *self.segments[index + 1 :]))

    def completed(self) -> River:
        """Return this river, as it was seen, with any segments that are missing; always the same ones.

        So a game can be continued from a position that was seen.
        """
        return _with_segments(self, random.Random(repr(self.segments)))


def generate_river(rng: random.Random) -> River:
    """Return a river as the official server makes them."""
    start = Segment(Direction.RIGHT, Hex(0, 0), _fields(rng, (), has_goal=False))
    return _with_segments(River((start,), FIRST_VISIBLE, Direction.RIGHT), rng)


def _with_segments(river: River, rng: random.Random) -> River:
    segments = list(river.segments)
    piers = sum(isinstance(field, Pier) for segment in segments for column in segment.columns for field in column)
    # there are none on the first and last segment, and at most one on each other
    candidates = range(max(1, len(segments)), SEGMENTS - 1)
    with_pier = rng.sample(candidates, min(max(0, _PASSENGERS - piers), len(candidates)))
    for index in range(len(segments), SEGMENTS):
        previous = segments[-1]
        direction = river.next_direction
        if index > len(river.segments):
            # three turns to the same side would lead back
            back = segments[-3:][0].direction.turned(OPPOSITE)
            direction = rng.choice([each for turns in (-1, 0, 1) if (each := previous.direction.turned(turns)) != back])
        placed: list[Field] = [Terrain.ISLAND] * rng.randint(*_ISLANDS)
        if index in with_pier:
            placed.append(Pier(Direction.RIGHT))
        columns = _fields(rng, placed, has_goal=index == SEGMENTS - 1)
        # the piers of a segment turn with it
        columns = tuple(
            tuple(
                replace(field, direction=field.direction.turned(direction)) if isinstance(field, Pier) else field
                for field in column
            )
            for column in columns
        )
        segments.append(Segment(direction, previous.center.step(direction, COLUMNS), columns))
    return River(tuple(segments), river.visible, segments[min(river.visible, SEGMENTS - 1)].direction)


def _fields(rng: random.Random, placed: Sequence[Field], *, has_goal: bool) -> Columns:
    """Return fields with `placed` anywhere but in the last column, where piers point to water.

    There are too few islands to surround a pier.
    """
    columns: list[list[Field]] = [[Terrain.WATER] * ROWS for _ in range(COLUMNS)]
    places = [divmod(place, ROWS) for place in rng.sample(range((COLUMNS - 1) * ROWS), len(placed))]
    for (column, row), field in zip(places, placed, strict=True):
        columns[column][row] = field
    if has_goal:
        columns[-1][1:-1] = [Terrain.GOAL] * (ROWS - 2)
    by_place = {_local(column, row): columns[column][row] for column in range(COLUMNS) for row in range(ROWS)}
    for column, row in places:
        if isinstance(columns[column][row], Pier):
            here = _local(column, row)
            columns[column][row] = Pier(
                rng.choice([each for each in _DIRECTIONS if _is_water(by_place, here.step(each))])
            )
    return tuple(tuple(column) for column in columns)


def _is_water(fields: dict[Hex, Field], place: Hex) -> bool:
    """Return whether there is water at a place of a segment that points to the right, or before its first column."""
    is_before = max(place.q, place.q + place.r) == -2 and abs(place.r) <= _MIDDLE
    return is_before or fields.get(place) is Terrain.WATER
