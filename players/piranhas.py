"""What plays Piranhas: the evaluation for `greedy`, and the levels with their search.

Invariants: a level is its number of nodes. Its moves depend only on the position and the generator that it is given,
unless its search is cut short by the clock. The rules decide which moves are legal; the search makes the same ones on
bare sets of cells, which is about twenty times as fast (the tests compare them).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, NamedTuple, TypeAlias

from spielleiter.game.piranhas import ROUND_LIMIT, SIZE, Cell, Fish, PiranhasMove, PiranhasState
from spielleiter.game.piranhas.board import RAYS, Bits, scan
from spielleiter.players.search_budget import GamePlayers, LadderLevel, SearchBudget, no_move

# -- positions --------------------------------------------------------------------------------------------------------

Shoal: TypeAlias = tuple[Bits, Bits, Bits]
"""The fish of one player by size, as in `Fish`."""

Choice: TypeAlias = tuple[Shoal, Shoal]
"""What a move leads to: the fish of its player, and those of the other one."""


def successors(own: Shoal, other: Shoal, squids: Bits) -> list[Choice]:
    """Return what each legal move of the player with the fish `own` leads to, in the order of the rules."""
    own_cells, other_cells = own[0] | own[1] | own[2], other[0] | other[1] | other[2]
    occupied, closed = own_cells | other_cells, own_cells | squids
    found = []
    for number in scan(own_cells):
        for line, _, targets in RAYS[number]:
            distance = (line & occupied).bit_count()
            if distance > len(targets):
                continue
            passed, target = targets[distance - 1]
            place = 1 << target
            if passed & other_cells or closed & place:
                continue
            change = 1 << number | place
            small, medium, large = own
            if small >> number & 1:
                after = (small ^ change, medium, large)
            elif medium >> number & 1:
                after = (small, medium ^ change, large)
            else:
                after = (small, medium, large ^ change)
            eaten = (other[0] & ~place, other[1] & ~place, other[2] & ~place) if other_cells & place else other
            found.append((after, eaten))
    return found


# -- evaluation -------------------------------------------------------------------------------------------------------


class Rating(NamedTuple):
    """What is known of one player's fish."""

    value: int
    """How good they stand; comparable with the value of the other player's."""
    swarm: int
    """The weight of the heaviest swarm."""
    is_united: bool


_SIZE: Final = 40
"""What a fish is worth for each unit of its size: to have more of them left matters most."""
_SWARM: Final = 6
"""What the heaviest swarm is worth for each unit of its weight."""
_RINGS: Final = tuple(
    sum(1 << Cell(x, y).number for x in range(SIZE) for y in range(SIZE) if min(x, y, SIZE - 1 - x, SIZE - 1 - y) == n)
    for n in range(SIZE // 2)
)
_RING_VALUES: Final = (0, 10, 20, 26, 28)
"""What a fish is worth by its distance from the border: in the middle, it is near to all others.

All values were found by games of the search against itself.
"""


def rate(shoal: Shoal) -> Rating:
    """Return the rating of these fish."""
    fish = Fish(*shoal)
    cells = fish.cells
    swarms = [fish.weight(swarm) for swarm in fish.swarms()]
    swarm = max(swarms, default=-1)
    middle = sum([value * (cells & ring).bit_count() for value, ring in zip(_RING_VALUES, _RINGS, strict=True)])
    return Rating(_SIZE * fish.weight(cells) + _SWARM * swarm + middle, swarm, len(swarms) == 1)


def swarm_after(state: PiranhasState, move: PiranhasMove) -> tuple[int, ...]:
    """Return by how much the player's swarm is heavier than the other's after the move, and the rating of its fish."""
    after, seat = state.play(move), state.seat_on_turn
    own, other = rate(after.fish[seat]), rate(after.fish[1 - seat])
    return own.swarm - other.swarm, own.value


# -- search -----------------------------------------------------------------------------------------------------------
# Alpha-beta with iterative deepening. The work is counted in nodes (the positions that are looked at), so a search
# gives the same result on every machine. The clock only ends a search that takes far too long.

WIN: Final = 1_000_000
"""The value of a won game, less the number of its last turn."""

_LAST_TURN: Final = 2 * ROUND_LIMIT
_DECIDED: Final = WIN - _LAST_TURN
_NODES_PER_CLOCK: Final = 256
"""The clock is read about once for this many nodes."""


@dataclass(frozen=True, slots=True)
class SearchLimits:
    """The limits of a search.

    - `nodes`: the number of nodes after which it ends. The moves in one position are counted together.
    - `depth`: the greatest number of plies.
    """

    nodes: int
    depth: int = _LAST_TURN


class SwarmSearch:
    """One search. `nodes` is the work so far, and `depth` the number of plies of the last complete iteration."""

    def __init__(self, squids: Bits, limits: SearchLimits, is_late: Callable[[], bool]) -> None:
        self.nodes = 0
        self.depth = 0
        self._squids = squids
        self._limits = limits
        self._is_late = is_late
        self._next_look = _NODES_PER_CLOCK
        self._ratings: dict[Shoal, Rating] = {}
        self._best_replies: dict[Choice, Choice] = {}

    def best(self, choices: Sequence[Choice], turn: int) -> Choice:
        """Return the best of `choices`, which are those of the player to move in turn `turn`, and at least one.

        Of choices that are equally good, it is the first one in most cases.
        """
        ordered = sorted(choices, key=self._value, reverse=True)
        while len(ordered) > 1 and self.depth < min(self._limits.depth, _LAST_TURN - turn):
            best, best_value = ordered[0], -2 * WIN
            try:
                for own, other in ordered:
                    value = -self.value_of(other, own, turn + 1, self.depth, -2 * WIN, -best_value)
                    if value > best_value:
                        best, best_value = (own, other), value
            except _LimitReachedError:
                return best
            self.depth += 1
            ordered.remove(best)
            ordered.insert(0, best)
            if abs(best_value) >= _DECIDED:
                break
        return ordered[0]

    def value_of(self, own: Shoal, other: Shoal, turn: int, depth: int, alpha: int, beta: int) -> int:
        """Return the value of a position for the player with the fish `own`, to move in `turn`.

        The search goes `depth` plies deep. The value is exact between `alpha` and `beta`, otherwise a bound.
        """
        first, second = self._rate(own), self._rate(other)
        if turn == _LAST_TURN or (turn % 2 == 0 and (first.is_united or second.is_united)):
            # a union is the usual reason for a game to end early, and decides between equal swarms under most rules
            lead = first.swarm - second.swarm or first.is_united - second.is_united
            return 0 if lead == 0 else WIN - turn if lead > 0 else turn - WIN
        if depth == 0:
            return first.value - second.value
        choices = successors(own, other, self._squids)
        if not choices:
            return turn - WIN
        self.nodes += len(choices)
        if self.nodes >= self._limits.nodes:
            raise _LimitReachedError
        if self.nodes >= self._next_look:
            self._next_look = self.nodes + _NODES_PER_CLOCK
            if self._is_late():
                raise _LimitReachedError
        choices.sort(key=self._value, reverse=True)
        reply = self._best_replies.get((own, other))
        if reply is not None:
            choices.remove(reply)
            choices.insert(0, reply)
        best, best_value = choices[0], -2 * WIN
        for choice in choices:
            value = -self.value_of(choice[1], choice[0], turn + 1, depth - 1, -beta, -alpha)
            if value > best_value:
                best, best_value = choice, value
                if value >= beta:
                    break
                alpha = max(alpha, value)
        self._best_replies[own, other] = best
        return best_value

    def _value(self, choice: Choice) -> int:
        return self._rate(choice[0]).value - self._rate(choice[1]).value

    def _rate(self, shoal: Shoal) -> Rating:
        rating = self._ratings.get(shoal)
        if rating is None:
            rating = self._ratings[shoal] = rate(shoal)
        return rating


class _LimitReachedError(Exception):
    """The search has used up its nodes or its time."""


# -- levels -----------------------------------------------------------------------------------------------------------


def choose_move(
    limits: SearchLimits, state: PiranhasState, rng: random.Random, budget: SearchBudget | None = None
) -> PiranhasMove:
    """Return the move that a search finds best; `rng` decides which one of equally good moves that is.

    - `limits`: the work that the search may do.
    - `budget`: the time after which it ends with the best move so far; None: the usual one.

    Raises NoMoveError if there is no legal move.
    """
    budget = budget or SearchBudget()
    own, other = state.fish[state.seat_on_turn], state.fish[1 - state.seat_on_turn]
    rules = list(state.generate_legal_moves())
    if not rules:
        raise no_move(state)
    pairs = list(zip(successors(own, other, state.squids), rules, strict=True))
    rng.shuffle(pairs)
    moves = dict(pairs)
    search = SwarmSearch(state.squids, limits, budget.is_used_up)
    return moves[search.best(tuple(moves), state.turn)]


LIMITS: Final = tuple(SearchLimits(nodes) for nodes in (1, 300, 3000, 12000))
"""The limits of each level, the weakest first."""

LEVELS: Final = tuple(
    LadderLevel(f"searches the moves ahead, {limits.nodes} positions a move", partial(choose_move, limits))
    for limits in LIMITS
)
"""The levels of Piranhas, the weakest first."""

PLAYERS: Final = GamePlayers(swarm_after, LEVELS)
