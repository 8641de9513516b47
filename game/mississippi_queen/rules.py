"""Moves of Mississippi Queen: their actions, what each one does, the mistakes, and the legal moves.

A move is carried out one action after the other. Advances that follow each other count as one.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Final, NamedTuple, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from spielleiter.game.api import IncompleteMoveError, Mistake
from spielleiter.game.mississippi_queen.river import OPPOSITE, Direction, Hex, River, Terrain

MIN_SPEED: Final = 1
MAX_SPEED: Final = 6
START_COAL: Final = 6
_MOST_TURNS: Final = 3
_INT_BITS: Final = 32


class Ship(Struct, frozen=True):
    """A player's ship between two moves.

    `points` are those after its last move, or after it was last pushed.
    """

    position: Hex
    direction: Direction = Direction.RIGHT
    speed: int = MIN_SPEED
    coal: int = START_COAL
    passengers: int = 0
    free_turns: int = 1
    points: int = 0
    is_stuck: bool = False


# -- actions and moves ------------------------------------------------------------------------------------------------


class _Action(Struct, frozen=True):
    """Base class of the actions, each of which has one field."""

    @property
    def kind(self) -> str:
        """The name of this kind of action in lower case."""
        return type(self).__name__.lower()

    @property
    def value(self) -> int | Direction | None:
        """The value of its field."""
        value: int | Direction | None = getattr(self, self.__struct_fields__[0])
        return value

    def __str__(self) -> str:
        value = self.value
        return f"{self.kind}({'' if value is None else value.name if isinstance(value, Direction) else value})"


class Accelerate(_Action, frozen=True):
    """Change the speed, and the movement points of this move, by `change`."""

    change: int


class Turn(_Action, frozen=True):
    """Turn the ship to `direction`; None: the move does not say where."""

    direction: Direction | None


class Advance(_Action, frozen=True):
    """Go on by `distance` fields; backwards if it is negative."""

    distance: int


class Push(_Action, frozen=True):
    """Push the other ship, which is on the same field, to `direction`; None: the move does not say where."""

    direction: Direction | None


Action: TypeAlias = Accelerate | Turn | Advance | Push


class MississippiQueenMove(Struct, frozen=True):
    """A move; implements `spielleiter.game.api.Move`.

    `actions` is None for a move without a list of actions, and an action is None where the list has an empty entry.
    """

    actions: tuple[Action | None, ...] | None

    def __str__(self) -> str:
        return " ".join(map(str, self.actions or ())) or "no actions"


# -- mistakes ---------------------------------------------------------------------------------------------------------


class MississippiQueenMistake(Mistake):
    """The rules that a move can break. Several of them have the same text for players."""

    NO_ACTIONS = "no actions"
    PUSH_REQUIRED = "the other ship on the same field has to be pushed"
    ACCELERATE_FIRST = "only the first action may be an acceleration"
    MOVEMENT_LEFT = "there are movement points left"
    ACCELERATE_BY_ZERO = "accelerated by 0"
    ABOVE_MAX_SPEED = "faster than the maximum speed"
    BELOW_MIN_SPEED = "slower than the minimum speed"
    ACCELERATE_ON_SANDBANK = "accelerated on a sandbank"
    ACCELERATE_WITHOUT_COAL = "not enough coal to accelerate"
    TURN_ON_SANDBANK = "turned on a sandbank"
    TURN_WITHOUT_COAL = "not enough coal to turn"
    BAD_DISTANCE = "an impossible distance"
    ADVANCE_WITHOUT_MOVEMENT = "not enough movement points to advance"
    NO_MOVEMENT_FOR_PUSH = "no movement point left to push"
    SHIP_IN_THE_WAY = "the other ship is in the way"
    FIELD_BLOCKED = "a field is blocked"
    SANDBANK_IN_THE_WAY = "a sandbank is in the way"
    PUSH_WITHOUT_MOVEMENT = "no movement point to push"
    PUSH_FROM_AFAR = "pushed a ship on another field"
    PUSH_OFF_THE_RIVER = "pushed to a place where there is no field"
    PUSH_ONTO_BLOCKED = "pushed onto a blocked field"
    PUSH_FROM_SANDBANK = "pushed from a sandbank"
    PUSH_BACKWARDS = "pushed to where the ship came from"


_M = MississippiQueenMistake

# -- carrying out actions ---------------------------------------------------------------------------------------------


class Progress(Struct, frozen=True):
    """Both ships after some actions of a move, and the movement points that are left."""

    ship: Ship
    other: Ship
    movement: int

    @property
    def must_push(self) -> bool:
        """Whether both ships are on the same field, so that a push has to follow."""
        return self.ship.position == self.other.position


class Reach(NamedTuple):
    """How far a ship can go in a direction: the movement points for each distance, and why not farther."""

    costs: list[int]
    limit: MississippiQueenMistake


def reach(river: River, start: Hex, direction: Direction, other: Hex, movement: int) -> Reach:
    """Return how far a ship can go from `start` with these movement points, while the other ship is at `other`.

    The first field with a current costs two points.
    """
    costs: list[int] = []
    place, cost, is_slowed = start, 0, False
    most = min(movement, MAX_SPEED)
    while cost < most:
        place = place.step(direction)
        cell = river.cells.get(place)
        cost += 1
        if cell is None or not cell.is_free:
            return Reach(costs, _M.FIELD_BLOCKED)
        if cell.has_current and not is_slowed:
            is_slowed = True
            if cost == most:
                break
            cost += 1
        if place == other:
            if cost == most:
                return Reach(costs, _M.NO_MOVEMENT_FOR_PUSH)
            return Reach([*costs, cost], _M.SHIP_IN_THE_WAY)
        if cell.field is Terrain.SANDBANK:
            return Reach(costs, _M.SANDBANK_IN_THE_WAY)
        costs.append(cost)
    return Reach(costs, _M.ADVANCE_WITHOUT_MOVEMENT)


def carry_out(river: River, ship: Ship, other: Ship, move: MississippiQueenMove) -> Progress | MississippiQueenMistake:
    """Return what `move` makes of both ships, or the first mistake.

    Raises IncompleteMoveError for a move that reaches an action which lacks what it needs.
    """
    if move.actions is None:
        raise IncompleteMoveError(move)
    if not move.actions:
        return _M.NO_ACTIONS
    progress = Progress(ship, other, ship.speed)
    for index, action in enumerate(_merged(move.actions)):
        if progress.must_push and not isinstance(action, Push):
            return _M.PUSH_REQUIRED
        if index > 0 and isinstance(action, Accelerate):
            return _M.ACCELERATE_FIRST
        after = _perform(river, progress, action)
        if after is None:
            raise IncompleteMoveError(move)
        if isinstance(after, MississippiQueenMistake):
            return after
        progress = after
    return progress if progress.movement == 0 else _M.MOVEMENT_LEFT


def _merged(actions: tuple[Action | None, ...]) -> list[Action | None]:
    """Return the actions with consecutive advances as one, whose distance is a Java integer."""
    merged: list[Action | None] = []
    for action in actions:
        last = merged[-1] if merged else None
        if isinstance(last, Advance) and isinstance(action, Advance):
            half = 1 << (_INT_BITS - 1)
            merged[-1] = Advance((last.distance + action.distance + half) % (1 << _INT_BITS) - half)
        else:
            merged.append(action)
    return merged


def _is_on_sandbank(river: River, ship: Ship) -> bool:
    return river.cells[ship.position].field is Terrain.SANDBANK


def _perform(river: River, progress: Progress, action: Action | None) -> Progress | MississippiQueenMistake | None:
    """Return what `action` makes of both ships, or the mistake; None if the action lacks what it needs."""
    match action:
        case Accelerate():
            return _accelerate(river, progress, action.change)
        case Turn():
            return None if action.direction is None else _turn(river, progress, action.direction)
        case Advance():
            return _advance(river, progress, action.distance)
        case Push():
            return _push(river, progress, action.direction)
    return None


def _accelerate(river: River, progress: Progress, change: int) -> Progress | MississippiQueenMistake:
    ship = progress.ship
    if change == 0:
        return _M.ACCELERATE_BY_ZERO
    # the official sum of a huge number is negative
    if MAX_SPEED < ship.speed + change < 1 << (_INT_BITS - 1):
        return _M.ABOVE_MAX_SPEED
    if not MIN_SPEED <= ship.speed + change <= MAX_SPEED:
        return _M.BELOW_MIN_SPEED
    if _is_on_sandbank(river, ship):
        return _M.ACCELERATE_ON_SANDBANK
    coal = ship.coal - (abs(change) - 1)
    if coal < 0:
        return _M.ACCELERATE_WITHOUT_COAL
    return Progress(replace(ship, speed=ship.speed + change, coal=coal), progress.other, progress.movement + change)


def _turn(river: River, progress: Progress, direction: Direction) -> Progress | MississippiQueenMistake:
    ship = progress.ship
    turns = abs(ship.direction.turns_to(direction))
    if _is_on_sandbank(river, ship):
        return _M.TURN_ON_SANDBANK
    coal = ship.coal - max(0, turns - ship.free_turns)
    if coal < 0:
        return _M.TURN_WITHOUT_COAL
    ship = replace(ship, direction=direction, coal=coal, free_turns=max(0, ship.free_turns - turns))
    return Progress(ship, progress.other, progress.movement)


def _advance(river: River, progress: Progress, distance: int) -> Progress | MississippiQueenMistake | None:
    ship = progress.ship
    if (distance < 1 and not _is_on_sandbank(river, ship)) or distance > MAX_SPEED:
        return _M.BAD_DISTANCE
    if distance > progress.movement:
        return _M.ADVANCE_WITHOUT_MOVEMENT
    direction = ship.direction if distance > 0 else ship.direction.turned(OPPOSITE)
    costs, limit = reach(river, ship.position, direction, progress.other.position, progress.movement)
    if len(costs) < abs(distance) and distance != -(1 << (_INT_BITS - 1)):
        return limit
    if distance < 1:
        return None
    ship = replace(ship, position=ship.position.step(direction, distance))
    return Progress(ship, progress.other, progress.movement - costs[distance - 1])


def _push(river: River, progress: Progress, direction: Direction | None) -> Progress | MississippiQueenMistake | None:
    ship, other = progress.ship, progress.other
    if progress.movement == 0:
        return _M.PUSH_WITHOUT_MOVEMENT
    if direction is None:
        return None
    target = ship.position.step(direction)
    cell = river.cells.get(target)
    if cell is None:
        return _M.PUSH_OFF_THE_RIVER
    if not cell.is_free:
        return _M.PUSH_ONTO_BLOCKED
    if not progress.must_push:
        return _M.PUSH_FROM_AFAR
    if _is_on_sandbank(river, ship):
        return _M.PUSH_FROM_SANDBANK
    if direction is ship.direction.turned(OPPOSITE):
        return _M.PUSH_BACKWARDS
    speed = MIN_SPEED if cell.field is Terrain.SANDBANK else other.speed
    other = replace(other, position=target, speed=speed, free_turns=other.free_turns + 1)
    return Progress(ship, other, progress.movement - 1)


# -- legal moves ------------------------------------------------------------------------------------------------------
# There is no end of legal moves: a ship may turn to where it is heading as often as it likes, and split an advance. As
# in the official rules, a move is left out if it turns twice in a row, or by nothing.

_Key: TypeAlias = tuple[Hex, Direction, int, int, int, Hex, type | None]


class LegalMoves:
    """The legal moves of `ship`, without those that only write another one in a different way."""

    def __init__(self, river: River, ship: Ship, other: Ship) -> None:
        self._river = river
        self._start = Progress(ship, other, ship.speed)
        self._counts: dict[_Key, int] = {}
        self._dead: set[_Key] = set()

    def __iter__(self) -> Iterator[MississippiQueenMove]:
        """Yield each of them once."""
        return map(MississippiQueenMove, self._complete(self._start, ()))

    def exists(self) -> bool:
        """Return whether there is any."""
        return self._can_end(self._start, None)

    def count(self) -> int:
        """Return how many there are, without making them all."""
        return self._count(self._start, None)

    def draw(self, rng: random.Random) -> MississippiQueenMove | None:
        """Return any of them, all equally likely; None if there is none."""
        if not self.count():
            return None
        progress = self._start
        last: type | None = None
        actions: tuple[Action, ...] = ()
        while True:
            if progress.movement == 0 and rng.randrange(self._count(progress, last)) == 0:
                return MississippiQueenMove(actions)
            found = list(self._continuations(progress, last))
            weights = [self._count(after, type(added[-1])) for added, after in found]
            added, progress = rng.choices(found, weights)[0]
            actions, last = (*actions, *added), type(added[-1])

    def _complete(self, progress: Progress, actions: tuple[Action, ...]) -> Iterator[tuple[Action, ...]]:
        if progress.movement == 0:
            yield actions
        for added, after in self._continuations(progress, type(actions[-1]) if actions else None):
            yield from self._complete(after, actions + added)

    def _count(self, progress: Progress, last: type | None) -> int:
        key = _key(progress, last)
        count = self._counts.get(key)
        if count is None:
            count = int(progress.movement == 0)
            count += sum(self._count(after, type(added[-1])) for added, after in self._continuations(progress, last))
            self._counts[key] = count
        return count

    def _can_end(self, progress: Progress, last: type | None) -> bool:
        if progress.movement == 0:
            return True
        key = _key(progress, last)
        if key in self._dead:
            return False
        for added, after in self._continuations(progress, last):
            if self._can_end(after, type(added[-1])):
                return True
        self._dead.add(key)
        return False

    def _continuations(self, progress: Progress, last: type | None) -> Iterator[tuple[tuple[Action, ...], Progress]]:
        """Yield what can follow, with the ships after it; the farthest advances come first."""
        if progress.must_push or _is_on_sandbank(self._river, progress.ship):
            return
        if last is not Advance:
            yield from self._advances(progress)
        if last is not Turn:
            yield from self._turns(progress)
        if last is None:
            yield from self._accelerations(progress)

    def _advances(self, progress: Progress) -> Iterator[tuple[tuple[Action, ...], Progress]]:
        ship, other = progress.ship, progress.other
        costs, _ = reach(self._river, ship.position, ship.direction, other.position, progress.movement)
        for distance in range(len(costs), 0, -1):
            moved = replace(ship, position=ship.position.step(ship.direction, distance))
            after = Progress(moved, other, progress.movement - costs[distance - 1])
            if not after.must_push:
                yield (Advance(distance),), after
                continue
            for direction in Direction:
                pushed = _push(self._river, after, direction)
                if isinstance(pushed, Progress):
                    yield (Advance(distance), Push(direction)), pushed

    def _turns(self, progress: Progress) -> Iterator[tuple[tuple[Action, ...], Progress]]:
        ship = progress.ship
        for turns in range(1, min(ship.coal + ship.free_turns, _MOST_TURNS) + 1):
            for signed in (turns, -turns) if turns < _MOST_TURNS else (turns,):
                after = _turn(self._river, progress, ship.direction.turned(signed))
                assert isinstance(after, Progress), "there is enough coal"
                yield (Turn(after.ship.direction),), after

    def _accelerations(self, progress: Progress) -> Iterator[tuple[tuple[Action, ...], Progress]]:
        for amount in range(1, min(progress.ship.coal + 1, MAX_SPEED) + 1):
            for change in (amount, -amount):
                after = _accelerate(self._river, progress, change)
                if isinstance(after, Progress):
                    yield (Accelerate(change),), after


def _key(progress: Progress, last: type | None) -> _Key:
    """Return everything that the possible continuations depend on."""
    ship = progress.ship
    return (
        ship.position, ship.direction, ship.coal, ship.free_turns, progress.movement, progress.other.position, last
    )  # fmt: skip
