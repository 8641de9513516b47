"""What plays Penguins: the evaluation for `greedy`, and the levels with their search.

Invariants: a level is its number of nodes. Its moves depend only on the position and the generator that it is given,
unless its search is cut short by the clock. The rules decide which moves are legal; the search makes the same ones on
bare sets of cells, which is many times as fast (the tests compare them).
"""

from __future__ import annotations

import random
from functools import partial
from typing import ClassVar, Final, NamedTuple

from spielleiter.game.penguins import PENGUINS, SIZE, Bits, Floes, PenguinsMove, PenguinsState
from spielleiter.game.penguins.board import NEIGHBORS, NUMBER_OF_CELLS, RAYS, scan
from spielleiter.players.alpha_beta import AlphaBetaSearch, SearchLimits
from spielleiter.players.search_budget import GamePlayers, LadderLevel, SearchBudget, no_move

# -- positions --------------------------------------------------------------------------------------------------------


class Side(NamedTuple):
    """What one player has. Both players have the same `floes`."""

    penguins: Bits
    fish: int
    floes: Floes

    @property
    def free(self) -> Bits:
        """The cells on which a penguin can stand."""
        one, two, three, four = self.floes
        return one | two | three | four

    @property
    def is_stuck(self) -> bool:
        """Whether all penguins are placed, and none of them can slide."""
        free = self.free
        return self.penguins.bit_count() == PENGUINS and not any(NEIGHBORS[each] & free for each in scan(self.penguins))


def successors(own: Side) -> list[Side]:
    """Return what each legal move of the player with `own` makes of it, in the order of the rules."""
    one, two, three, four = own.floes
    if own.penguins.bit_count() < PENGUINS:
        return [
            Side(own.penguins | 1 << number, own.fish + 1, (one ^ 1 << number, two, three, four))
            for number in scan(one)
        ]
    free = one | two | three | four
    found = []
    for start in scan(own.penguins):
        left = own.penguins ^ 1 << start
        for ray in RAYS[start]:
            for number in ray:
                target = 1 << number
                if not free & target:
                    break
                if one & target:
                    after = Side(left | target, own.fish + 1, (one ^ target, two, three, four))
                elif two & target:
                    after = Side(left | target, own.fish + 2, (one, two ^ target, three, four))
                elif three & target:
                    after = Side(left | target, own.fish + 3, (one, two, three ^ target, four))
                else:
                    after = Side(left | target, own.fish + 4, (one, two, three, four ^ target))
                found.append(after)
    return found


# -- evaluation -------------------------------------------------------------------------------------------------------

_FISH: Final = 10
"""What a fish is worth that a player has."""
_NEAR_FISH: Final = 6
"""What a fish is worth that a player's penguins reach before the other's."""
_WAYS: Final = 4
"""What a floe beside a penguin is worth."""
_STUCK: Final = 15
"""What a penguin loses its player that cannot slide any more."""

_EVEN_ROWS: Final = sum(0xFF << SIZE * y for y in range(0, SIZE, 2))
_ODD_ROWS: Final = _EVEN_ROWS << SIZE
_NOT_FIRST: Final = sum(0xFE << SIZE * y for y in range(SIZE))
_NOT_LAST: Final = sum(0x7F << SIZE * y for y in range(SIZE))
_ALL: Final = (1 << NUMBER_OF_CELLS) - 1


def beside(cells: Bits) -> Bits:
    """Return the cells that touch any of `cells`; some of `cells` may be among them."""
    not_first, not_last = cells & _NOT_FIRST, cells & _NOT_LAST
    # a cell touches two cells of each row beside its own: that with its number, and for even rows the one before it
    both = cells | (not_first & _EVEN_ROWS) >> 1 | (not_last & _ODD_ROWS) << 1
    return (not_first >> 1 | not_last << 1 | both << SIZE | both >> SIZE) & _ALL


def rate(own: Side, other: Side) -> int:
    """Return how good a position is for the player with `own`, whoever is to move; the other's value is the negative.

    Floes are shared out by who is nearer to them, in steps from floe to floe.
    """
    one, two, three, four = own.floes
    free = one | two | three | four
    near_own, near_other = own.penguins, other.penguins
    left = free
    share_own = share_other = 0
    while left and (near_own or near_other):
        near_own, near_other = beside(near_own) & left, beside(near_other) & left
        share_own |= near_own & ~near_other
        share_other |= near_other & ~near_own
        left &= ~(near_own | near_other)
    value = _FISH * (own.fish - other.fish)
    value += _NEAR_FISH * (_fish_on(share_own, own.floes) - _fish_on(share_other, own.floes))
    return value + _freedom(own.penguins, free) - _freedom(other.penguins, free)


def _fish_on(cells: Bits, floes: Floes) -> int:
    one, two, three, four = floes
    return (
        (cells & one).bit_count()
        + 2 * (cells & two).bit_count()
        + 3 * (cells & three).bit_count()
        + 4 * (cells & four).bit_count()
    )


def _freedom(penguins: Bits, free: Bits) -> int:
    value = 0
    for number in scan(penguins):
        ways = (NEIGHBORS[number] & free).bit_count()
        value += _WAYS * ways if ways else -_STUCK
    return value


def sides(state: PenguinsState) -> tuple[Side, Side]:
    """Return what the player to move has, and what the other one has."""
    seat = state.seat_on_turn
    return (
        Side(state.penguins[seat], state.fish[seat], state.floes),
        Side(state.penguins[1 - seat], state.fish[1 - seat], state.floes),
    )


def fish_and_outlook(state: PenguinsState, move: PenguinsMove) -> tuple[int, ...]:
    """Return how many fish a legal move gets, and how the position is rated after it."""
    after, seat = state.play(move), state.seat_on_turn
    own, other = (Side(after.penguins[each], after.fish[each], after.floes) for each in (seat, 1 - seat))
    return after.fish[seat] - state.fish[seat], rate(own, other)


# -- search -----------------------------------------------------------------------------------------------------------

WIN: Final = 1_000_000
"""The value of a won game, less the number of its last turn."""


class FishSearch(AlphaBetaSearch[Side, Side]):
    """One search. A choice is what its player has after it; a player that is stuck chooses what it has."""

    WIN: ClassVar[float] = WIN
    LAST_TURN = 2 * NUMBER_OF_CELLS
    """No game is longer: each move takes a floe away, and in the search a player that is stuck passes after it."""

    def successors(self, own: Side, _other: Side) -> list[Side]:
        return [own] if own.is_stuck else successors(own)

    def after(self, choice: Side, other: Side) -> tuple[Side, Side]:
        return choice, Side(other.penguins, other.fish, choice.floes)

    def rank(self, choice: Side) -> int:
        return 2 * choice.fish + (beside(choice.penguins) & choice.free).bit_count()

    def value_of_end(self, own: Side, other: Side, turn: int) -> float | None:
        if not (own.is_stuck and other.is_stuck):
            return None
        lead = own.fish - other.fish
        return 0 if lead == 0 else WIN - turn if lead > 0 else turn - WIN

    def evaluate(self, own: Side, other: Side) -> int:
        return rate(own, other)


# -- levels -----------------------------------------------------------------------------------------------------------


def choose_move(
    limits: SearchLimits, state: PenguinsState, rng: random.Random, budget: SearchBudget | None = None
) -> PenguinsMove:
    """Return the move that a search finds best; `rng` decides which one of equally good moves that is.

    - `limits`: the work that the search may do.
    - `budget`: the time after which it ends with the best move so far; None: the usual one.

    Raises NoMoveError if there is no legal move.
    """
    budget = budget or SearchBudget()
    own, other = sides(state)
    rules = list(state.generate_legal_moves())
    if not rules:
        raise no_move(state)
    pairs = list(zip(successors(own), rules, strict=True))
    rng.shuffle(pairs)
    moves = dict(pairs)
    return moves[FishSearch(limits, budget.is_used_up).best(tuple(moves), other, min(state.turn, NUMBER_OF_CELLS))]


LIMITS: Final = tuple(SearchLimits(nodes) for nodes in (1, 300, 3000, 12000))
"""The limits of each level, the weakest first."""

LEVELS: Final = tuple(
    LadderLevel(f"searches the moves ahead, {limits.nodes} positions a move", partial(choose_move, limits))
    for limits in LIMITS
)
"""The levels of Penguins, the weakest first."""

PLAYERS: Final = GamePlayers(fish_and_outlook, LEVELS)
