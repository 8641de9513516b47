"""What plays Piranhas: the evaluation for `greedy`, and the levels with their search.

Invariants: a level is its number of nodes. Its moves depend only on the position and the generator that it is given,
unless its search is cut short by the clock. The rules decide which moves are legal; the search makes the same ones on
bare sets of cells, which is about twenty times as fast (the tests compare them).
"""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial
from typing import ClassVar, Final, NamedTuple, TypeAlias

from spielleiter.game.piranhas import ROUND_LIMIT, SIZE, Cell, Fish, PiranhasMove, PiranhasState
from spielleiter.game.piranhas.board import RAYS, Bits, scan
from spielleiter.players.alpha_beta import AlphaBetaSearch, SearchLimits
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

WIN: Final = 1_000_000
"""The value of a won game, less the number of its last turn."""


class SwarmSearch(AlphaBetaSearch[Shoal, Choice]):
    """One search, on a board with these squids."""

    WIN: ClassVar[float] = WIN
    LAST_TURN = 2 * ROUND_LIMIT

    def __init__(self, squids: Bits, limits: SearchLimits, is_late: Callable[[], bool]) -> None:
        super().__init__(limits, is_late)
        self._squids = squids
        self._ratings: dict[Shoal, Rating] = {}

    def successors(self, own: Shoal, other: Shoal) -> list[Choice]:
        return successors(own, other, self._squids)

    def after(self, choice: Choice, _other: Shoal) -> tuple[Shoal, Shoal]:
        return choice

    def rank(self, choice: Choice) -> int:
        return self.evaluate(*choice)

    def value_of_end(self, own: Shoal, other: Shoal, turn: int) -> float | None:
        first, second = self._rate(own), self._rate(other)
        if turn != self.LAST_TURN and (turn % 2 != 0 or not (first.is_united or second.is_united)):
            return None
        # a union is the usual reason for a game to end early, and decides between equal swarms under most rules
        lead = first.swarm - second.swarm or first.is_united - second.is_united
        return 0 if lead == 0 else WIN - turn if lead > 0 else turn - WIN

    def evaluate(self, own: Shoal, other: Shoal) -> int:
        return self._rate(own).value - self._rate(other).value

    def _rate(self, shoal: Shoal) -> Rating:
        rating = self._ratings.get(shoal)
        if rating is None:
            rating = self._ratings[shoal] = rate(shoal)
        return rating


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
    return moves[search.best(tuple(moves), other, state.turn)]


LIMITS: Final = tuple(SearchLimits(nodes) for nodes in (1, 300, 3000, 12000))
"""The limits of each level, the weakest first."""

LEVELS: Final = tuple(
    LadderLevel(f"searches the moves ahead, {limits.nodes} positions a move", partial(choose_move, limits))
    for limits in LIMITS
)
"""The levels of Piranhas, the weakest first."""

PLAYERS: Final = GamePlayers(swarm_after, LEVELS)
