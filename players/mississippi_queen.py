"""The built-in players of Mississippi Queen: an evaluation for `greedy`, and levels that plan the own way.

A plan is a sequence of own moves. The other ship counts only in the first of them: where it will be later is not known,
and it is rarely in the way. A search keeps a number of the best plans, and makes each of them one move longer in every
step. Its work is given by numbers, so it finds the same on every machine.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Final, NamedTuple

from msgspec.structs import replace

from spielleiter.game.mississippi_queen import (
    COLUMNS,
    MAX_SPEED,
    MIN_SPEED,
    OPPOSITE,
    ROWS,
    Direction,
    Hex,
    MississippiQueenMove,
    MississippiQueenState,
    Pier,
    Progress,
    River,
    Segment,
    Ship,
    Terrain,
    carry_out,
)
from spielleiter.players.search_budget import GamePlayers, LadderLevel, SearchBudget, no_move

# -- the river in numbers ---------------------------------------------------------------------------------------------


class Chart:
    """A river as tables by the number of a place, for the places where a ship can be.

    - `number_of`: the number of each place.
    - `neighbors`: by direction; -1 where a ship cannot be.
    - `has_current`, `is_goal`: whether it is so.
    - `distance`: the steps to the end of what can be seen, or to the goal.
    - `piers`: the piers at which a slow ship takes a passenger, as bits.
    """

    def __init__(self, river: River) -> None:
        places = [place for place, cell in river.cells.items() if cell.is_free]
        self.number_of = {place: number for number, place in enumerate(places)}
        self.neighbors = [[self.number_of.get(place.step(way), -1) for way in Direction] for place in places]
        self.has_current = [river.cells[place].has_current for place in places]
        self.is_goal = [river.cells[place].field is Terrain.GOAL for place in places]
        self.piers = [0] * len(places)
        number = 0
        for place, cell in river.cells.items():
            if isinstance(cell.field, Pier) and cell.field.passengers > 0:
                landing = self.number_of.get(place.step(cell.field.direction))
                if landing is not None:
                    self.piers[landing] |= 1 << number
                number += 1
        self.distance = self._distances(river, places)

    def _distances(self, river: River, places: list[Hex]) -> list[int]:
        ends = [number for number, is_goal in enumerate(self.is_goal) if is_goal]
        if not ends:
            last = river.segments[-1]
            following = Segment(river.next_direction, last.center.step(river.next_direction, COLUMNS), ())
            entries = {place for place, _, _ in following.places()}
            ends = [self.number_of[each] for each in places if any(each.step(way) in entries for way in Direction)]
        distance = [len(places)] * len(places)
        queue = deque(ends)
        for number in ends:
            distance[number] = 0
        while queue:
            number = queue.popleft()
            for neighbor in self.neighbors[number]:
                if neighbor >= 0 and distance[neighbor] > distance[number] + 1:
                    distance[neighbor] = distance[number] + 1
                    queue.append(neighbor)
        return distance


class Boat(NamedTuple):
    """A ship between two of its moves; `waiting` are the piers that still have a passenger."""

    place: int
    direction: int
    speed: int
    coal: int
    passengers: int
    waiting: int


@lru_cache(maxsize=8)
def _turns(free: int, most: int) -> tuple[tuple[int, int], ...]:
    """Return the turns that cost at most `most` coal, each with its cost."""
    costs = ((turns, max(0, abs(turns) - free)) for turns in (1, -1, 2, -2, OPPOSITE))
    return tuple((turns, cost) for turns, cost in costs if cost <= most)


def successors(chart: Chart, boat: Boat, most_coal: int) -> set[Boat]:
    """Return what `boat` can become in one move without the other ship, for at most `most_coal`."""
    neighbors, has_current = chart.neighbors, chart.has_current
    ends: set[tuple[int, int, int, int]] = set()
    most_coal = min(most_coal, boat.coal)
    for speed in range(MIN_SPEED, MAX_SPEED + 1):
        left = most_coal - max(0, abs(speed - boat.speed) - 1)
        if left < 0:
            continue
        # place, direction, movement points, free turns, coal to spend, whether it may advance, whether it may turn
        todo = [(boat.place, boat.direction, speed, 1, left, True, True)]
        seen = set(todo)
        while todo:
            place, direction, movement, free, left, may_advance, may_turn = todo.pop()
            found = []
            if movement == 0:
                ends.add((place, direction, speed, left))
            elif may_advance:
                target, cost, is_slowed = place, 0, False
                while True:
                    target = neighbors[target][direction]
                    cost += 1
                    if target >= 0 and has_current[target] and not is_slowed:
                        is_slowed, cost = True, cost + 1
                    if target < 0 or cost > movement:
                        break
                    found.append((target, direction, movement - cost, free, left, False, True))
            if may_turn:
                for turns, price in _turns(free, left):
                    rest = max(0, free - abs(turns))
                    found.append((place, (direction + turns) % 6, movement, rest, left - price, True, False))
            for each in found:
                if each not in seen:
                    seen.add(each)
                    todo.append(each)
    spared = boat.coal - most_coal
    return {
        landed(chart, Boat(place, direction, speed, spared + left, boat.passengers, boat.waiting))
        for place, direction, speed, left in ends
    }


def landed(chart: Chart, boat: Boat) -> Boat:
    """Return `boat` after its move, with a passenger if it is slow enough and one is there."""
    piers = chart.piers[boat.place] & boat.waiting
    if not piers or boat.speed - chart.has_current[boat.place] > MIN_SPEED:
        return boat
    return boat._replace(passengers=boat.passengers + 1, waiting=boat.waiting & ~(piers & -piers))


# -- evaluation -------------------------------------------------------------------------------------------------------
# A value is in fields of the way; more is better.


class Weights(NamedTuple):
    """What is worth how many fields."""

    needed_passenger: float = 9.0
    """Each of the first two passengers, without whom the goal does not count."""
    passenger: float = 1.0
    coal: float = 0.8
    speed: float = 0.4
    turn: float = 0.6
    """Each sixth of a turn that the ship is away from the way on."""


WEIGHTS: Final = Weights()
NEEDED_PASSENGERS: Final = 2
MOST: Final = 100_000
"""More than any value in hundredths."""
IN_THE_GOAL: Final = 1000.0


def value_of(chart: Chart, boat: Boat) -> float:
    """Return the value of `boat`."""
    needed = min(boat.passengers, NEEDED_PASSENGERS)
    value = WEIGHTS.needed_passenger * needed + WEIGHTS.passenger * (boat.passengers - needed)
    if is_in_goal(chart, boat):
        return value + IN_THE_GOAL
    here = chart.distance[boat.place]
    value += WEIGHTS.coal * boat.coal + WEIGHTS.speed * boat.speed - here
    # the smallest turn to a direction that leads on
    for turns in range(OPPOSITE + 1):
        ways = {(boat.direction + turns) % 6, (boat.direction - turns) % 6}
        if any((on := chart.neighbors[boat.place][way]) >= 0 and chart.distance[on] < here for way in ways):
            return value - WEIGHTS.turn * turns
    return value


def is_in_goal(chart: Chart, boat: Boat) -> bool:
    """Return whether the game is won by this boat."""
    return (
        chart.is_goal[boat.place]
        and boat.passengers >= NEEDED_PASSENGERS
        and boat.speed - chart.has_current[boat.place] <= MIN_SPEED
    )


@lru_cache(maxsize=4)
def _chart(river: River) -> Chart:
    return Chart(river)


def boat_of(chart: Chart, ship: Ship) -> Boat:
    """Return `ship`, which may be between two moves of the other one."""
    boat = Boat(chart.number_of[ship.position], ship.direction, ship.speed, ship.coal, ship.passengers, -1)
    return landed(chart, boat)


def value_after(state: MississippiQueenState, move: MississippiQueenMove) -> tuple[int, ...]:
    """Return the value of the own ship after a legal move."""
    chart = _chart(state.river.as_seen())
    after = carry_out(state.river, state.ships[state.seat_on_turn], state.ships[1 - state.seat_on_turn], move)
    assert isinstance(after, Progress)
    if after.ship.position not in chart.number_of:  # where nothing can be seen yet
        return (-MOST,)
    return (round(100 * value_of(chart, boat_of(chart, after.ship))),)


# -- levels -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PlanLimits:
    """The work of a search: how many moves ahead it plans, and how many plans it keeps in each step."""

    depth: int
    width: int


_PUSH: Final = 0.3
"""What a field that the other ship is pushed back is worth."""
_EARLIER: Final = 0.3
"""The share of the value before a move that counts after it: what is reached earlier is more certain."""
_LATER_COAL: Final = 1
"""The most coal that a later move of a plan takes."""


class _Plan(NamedTuple):
    value: float
    boat: Boat
    move: MississippiQueenMove


def choose_move(
    limits: PlanLimits, state: MississippiQueenState, rng: random.Random, budget: SearchBudget | None = None
) -> MississippiQueenMove:
    """Return the first move of the best plan; `rng` decides between equally good ones.

    - `limits`: the work that the search may do.
    - `budget`: the time after which it ends with the best plan so far; None: the usual one.

    Raises NoMoveError if there is no legal move.
    """
    budget = budget or SearchBudget()
    seen = state.as_seen()
    moves = list(seen.generate_legal_moves())
    if not moves:  # all that is left leads to where nothing can be seen
        moves = list((state if state != seen else _with_water(state)).generate_legal_moves())
        if not moves:
            raise no_move(state)
        return rng.choice(moves)
    state = seen
    rng.shuffle(moves)
    chart = _chart(state.river)
    plans = _best(_first_plans(chart, state, moves), limits.width)
    for _ in range(1, limits.depth):
        longer = _best(_longer_plans(chart, plans, budget.is_used_up), limits.width)
        if not longer:
            break
        plans = longer
        if budget.was_cut:
            break
    return plans[0].move


def _with_water(state: MississippiQueenState) -> MississippiQueenState:
    """Return the position with a segment of water behind those that can be seen."""
    river = state.river
    direction = river.next_direction
    columns = ((Terrain.WATER,) * ROWS,) * COLUMNS
    following = Segment(direction, river.segments[-1].center.step(direction, COLUMNS), columns)
    return replace(state, river=River((*river.segments, following), river.visible + 1, direction))


def _first_plans(chart: Chart, state: MississippiQueenState, moves: list[MississippiQueenMove]) -> Iterator[_Plan]:
    ship, other = state.ships[state.seat_on_turn], state.ships[1 - state.seat_on_turn]
    other_way = chart.distance[chart.number_of[other.position]]
    for move in moves:
        after = carry_out(state.river, ship, other, move)
        assert isinstance(after, Progress)
        pushed = chart.distance[chart.number_of[after.other.position]] - other_way
        boat = boat_of(chart, after.ship)
        yield _Plan(value_of(chart, boat) + _PUSH * pushed, boat, move)


def _longer_plans(chart: Chart, plans: list[_Plan], is_used_up: Callable[[], bool]) -> Iterator[_Plan]:
    for plan in plans:
        if is_used_up():
            return
        has_arrived = is_in_goal(chart, plan.boat)
        for boat in (plan.boat,) if has_arrived else successors(chart, plan.boat, _LATER_COAL):
            yield _Plan(value_of(chart, boat) + _EARLIER * plan.value, boat, plan.move)


def _best(plans: Iterator[_Plan], count: int) -> list[_Plan]:
    """Return the best plans, each for another boat."""
    best: dict[Boat, _Plan] = {}
    for plan in plans:
        known = best.get(plan.boat)
        if known is None or plan.value > known.value:
            best[plan.boat] = plan
    return sorted(best.values(), key=lambda plan: -plan.value)[:count]


LIMITS: Final = (PlanLimits(2, 2), PlanLimits(2, 6), PlanLimits(4, 10), PlanLimits(6, 20))
"""The limits of each level, the weakest first."""

PLAYERS: Final = GamePlayers(
    value_after,
    tuple(
        LadderLevel(
            f"plans {limits.depth} moves ahead and keeps the best {limits.width} plans", partial(choose_move, limits)
        )
        for limits in LIMITS
    ),
)
"""The built-in players of Mississippi Queen."""
