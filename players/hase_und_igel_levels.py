"""The levels of Hase und Igel: a compact model of the rules, their evaluation, their search and their limits.

Invariants: a level is its limits. Its moves depend only on the position and the generator that it is given, unless its
search is cut short by the clock. The rules decide which moves are legal, the model only what follows from them.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Final, NamedTuple, TypeAlias

from spielleiter.game.hase_und_igel import (
    GOAL_INDEX,
    Board,
    CardType,
    FieldType,
    HaseUndIgelMove,
    HaseUndIgelState,
    Player,
    advance_cost,
)
from spielleiter.game.hase_und_igel.rules import GOAL_CARROTS, must_leave
from spielleiter.game.hase_und_igel.state import ROUND_LIMIT
from spielleiter.players.alpha_beta import AlphaBetaSearch, SearchLimits
from spielleiter.players.search_budget import LadderLevel, SearchBudget, no_move

# -- the model --------------------------------------------------------------------------------------------------------
# `spielleiter.game.hase_und_igel` decides what is legal; a search only needs the positions that legal moves lead to,
# and gets them here about fifty times as fast. In every position of a game, `successors` has the player after each
# legal move (the tests compare them), and no other one. A hare stands on a salad field either before eating there, and
# then eats, or after eating, and then leaves it.

Hare: TypeAlias = tuple[int, int, int, int, bool]
"""A player: its field, carrots, salads and cards (a set of the bits below), and whether it has eaten on this field."""

TAKE_OR_DROP_CARROTS: Final = 1
EAT_SALAD: Final = 2
HURRY_AHEAD: Final = 4
FALL_BACK: Final = 8

_BITS: Final = {
    CardType.TAKE_OR_DROP_CARROTS: TAKE_OR_DROP_CARROTS,
    CardType.EAT_SALAD: EAT_SALAD,
    CardType.HURRY_AHEAD: HURRY_AHEAD,
    CardType.FALL_BACK: FALL_BACK,
}
_COSTS: Final = tuple(advance_cost(distance) for distance in range(GOAL_INDEX + 1))

CARROT: Final = FieldType.CARROT.value
HEDGEHOG: Final = FieldType.HEDGEHOG.value
POSITION_1: Final = FieldType.POSITION_1.value
POSITION_2: Final = FieldType.POSITION_2.value
SALAD: Final = FieldType.SALAD.value
_HARE_FIELD: Final = FieldType.HARE.value
_PLAIN: Final = CARROT + POSITION_1 + POSITION_2


class Track:
    """A board, prepared for the model.

    `letters` are its fields in the short notation. For each field, `hedgehogs` has the hedgehog field before it, or -1,
    and `salads_ahead` the number of salad fields after it.
    """

    __slots__ = ("hedgehogs", "letters", "salads_ahead")

    def __init__(self, board: Board) -> None:
        self.letters = str(board)
        before = (board.hedgehog_before(index) for index in range(len(board.fields)))
        self.hedgehogs = tuple(-1 if index is None else index for index in before)
        self.salads_ahead = tuple(self.letters.count(SALAD, index + 1) for index in range(len(board.fields)))


def hare_of(board: Board, player: Player) -> Hare:
    """Return `player` as the model represents it."""
    has_eaten = board.type_at(player.index) is FieldType.SALAD and must_leave(board, player)
    return player.index, player.carrots, player.salads, sum(_BITS[card] for card in player.cards), has_eaten


def successors(track: Track, hare: Hare, other_index: int) -> list[Hare]:
    """Return `hare` after each of its legal moves; moves with the same result may be repeated.

    `other_index` is the field of the other player, whose carrots `with_position_carrots` updates.
    """
    index, carrots, salads, cards, has_eaten = hare
    letters = track.letters
    letter = letters[index]
    if letter == SALAD and not has_eaten:
        return [(index, carrots + (10 if index >= other_index else 30), salads - 1, cards, True)]
    found: list[Hare] = []
    if letter == CARROT:
        found.append((index, carrots + 10, salads, cards, False))
        if carrots >= 10:
            found.append((index, carrots - 10, salads, cards, False))
    hedgehog = track.hedgehogs[index]
    if hedgehog not in {-1, other_index}:
        found.append((hedgehog, carrots + 10 * (index - hedgehog), salads, cards, False))
    for target in range(index + 1, GOAL_INDEX + 1):
        left = carrots - _COSTS[target - index]
        if left < 0:
            break
        letter = letters[target]
        if letter in _PLAIN:
            if target != other_index:
                found.append((target, left, salads, cards, False))
        elif letter != HEDGEHOG:
            _enter(track, (target, left, salads, cards, False), other_index, found)
    return found or [hare]


def with_position_carrots(track: Track, hare: Hare, other_index: int) -> Hare:
    """Return `hare` with the carrots that its field gives at the start of its turn."""
    index, carrots, salads, cards, has_eaten = hare
    letter = track.letters[index]
    if letter == POSITION_1 and index >= other_index:
        return index, carrots + 10, salads, cards, has_eaten
    if letter == POSITION_2 and index < other_index:
        return index, carrots + 30, salads, cards, has_eaten
    return hare


def _enter(track: Track, hare: Hare, other_index: int, found: list[Hare]) -> None:
    """Append what `hare` can become that moves to its field now; nothing if it may not be there."""
    index, carrots, salads = hare[:3]
    if index == GOAL_INDEX:
        if carrots <= GOAL_CARROTS and not salads:
            found.append(hare)
        return
    if index == other_index or not 0 < index < GOAL_INDEX:
        return
    letter = track.letters[index]
    if letter == _HARE_FIELD:
        _play_cards(track, hare, other_index, found)
    elif letter != HEDGEHOG and (letter != SALAD or salads):
        found.append(hare)


def _play_cards(track: Track, hare: Hare, other_index: int, found: list[Hare]) -> None:
    """Append what `hare` can become that has just entered a hare field and has to play a card."""
    index, carrots, salads, cards, _ = hare
    if cards & TAKE_OR_DROP_CARROTS:
        left = cards - TAKE_OR_DROP_CARROTS
        found.append((index, carrots + 20, salads, left, False))
        found.append((index, carrots, salads, left, False))
        if carrots >= 20:
            found.append((index, carrots - 20, salads, left, False))
    if cards & EAT_SALAD and salads:
        found.append((index, carrots + (10 if index >= other_index else 30), salads - 1, cards - EAT_SALAD, False))
    if index < other_index:
        if cards & HURRY_AHEAD:
            _enter(track, (other_index + 1, carrots, salads, cards - HURRY_AHEAD, False), other_index, found)
    elif cards & FALL_BACK:
        _enter(track, (other_index - 1, carrots, salads, cards - FALL_BACK, False), other_index, found)


# -- evaluation -------------------------------------------------------------------------------------------------------
# A value is in turns (more is better), and depends only on the player and the board. The value of a position is the
# difference between both players, so a search evaluates each player once however often it meets the other one.


@lru_cache(maxsize=4096)
def turns_for_the_way(distance: int, carrots: int) -> int:
    """Return the minimum number of turns for `distance` fields with `carrots`, in steps of nearly equal length.

    If there are not enough carrots for single steps, each missing carrot costs one more turn. A player may not enter
    the goal with many carrots: those that even one long step leaves over have to be given back, ten in a turn.
    """
    if carrots < distance:
        return 2 * distance - carrots

    def price(turns: int) -> int:
        step, longer = divmod(distance, turns)
        return turns * (step * (step + 1) // 2) + longer * (step + 1)

    surplus = max(0, carrots - distance * (distance + 1) // 2 - GOAL_CARROTS)
    steps = next((turns for turns in range(1, distance + 1) if price(turns) <= carrots), 0)
    return steps + -(-surplus // 10)


class Weights(NamedTuple):
    """What is worth how many turns."""

    turns: float
    """A turn of the remaining way, by the carrots that are there."""
    progress: float
    """A field of the way so far."""
    salad: float
    """A salad that is left, at the start of the way."""
    late_salad: float
    """What a salad costs more at the end of the way."""
    missed_salad: float
    """A salad for which neither a salad field ahead nor a card is left."""
    cards: dict[int, float]
    """A card in hand. EAT_SALAD counts only while a salad is left."""
    fields: dict[str, float]
    """The field of the player. A salad field counts only before eating there."""


# fitted by games of the search against itself, with slightly different weights on both sides (SPSA)
WEIGHTS: Final = Weights(
    turns=0.25,
    progress=0.18,
    salad=25.0,
    late_salad=4.3,
    missed_salad=5.4,
    cards={TAKE_OR_DROP_CARROTS: 3.0, EAT_SALAD: 16.5, HURRY_AHEAD: 1.7, FALL_BACK: -0.5},
    fields={SALAD: 14.2, HEDGEHOG: 1.5, POSITION_1: 2.5, POSITION_2: 3.5, CARROT: 3.5},
)

IN_THE_GOAL: Final = 500.0
"""The value of a player in the goal: more than anything else, and less than a game that is over."""


def evaluate(track: Track, hare: Hare) -> float:
    """Return the value of `hare`."""
    index, carrots, salads, cards, has_eaten = hare
    if index == GOAL_INDEX:
        return IN_THE_GOAL
    letter = track.letters[index]
    value = WEIGHTS.progress * index - WEIGHTS.turns * turns_for_the_way(GOAL_INDEX - index, carrots)
    for card, worth in WEIGHTS.cards.items():
        if cards & card and (card != EAT_SALAD or salads):
            value += worth
    if letter != SALAD or not has_eaten:
        value += WEIGHTS.fields.get(letter, 0.0)
    if salads:
        value -= salads * (WEIGHTS.salad + WEIGHTS.late_salad * index / GOAL_INDEX)
        chances = track.salads_ahead[index] + (letter == SALAD and not has_eaten) + bool(cards & EAT_SALAD)
        value -= WEIGHTS.missed_salad * max(0, salads - chances)
    return value


# -- search -----------------------------------------------------------------------------------------------------------

WIN: Final = 100_000.0
"""The value of a won game, less the number of its last turn."""


class HareSearch(AlphaBetaSearch[Hare, Hare]):
    """One search, on this track."""

    WIN = WIN
    LAST_TURN = 2 * ROUND_LIMIT

    def __init__(self, track: Track, limits: SearchLimits, is_late: Callable[[], bool]) -> None:
        super().__init__(limits, is_late)
        self._track = track
        self._values: dict[Hare, float] = {}

    def successors(self, own: Hare, other: Hare) -> list[Hare]:
        return successors(self._track, own, other[0])

    def after(self, choice: Hare, other: Hare) -> tuple[Hare, Hare]:
        return choice, with_position_carrots(self._track, other, choice[0])

    def rank(self, choice: Hare) -> float:
        value = self._values.get(choice)
        if value is None:
            value = self._values[choice] = evaluate(self._track, choice)
        return value

    def value_of_end(self, own: Hare, other: Hare, turn: int) -> float | None:
        if turn % 2 != 0 or (own[0] != GOAL_INDEX and other[0] != GOAL_INDEX and turn != self.LAST_TURN):
            return None
        # RED is to move, and wins if both players are equal
        return WIN - turn if (own[0], -own[1]) >= (other[0], -other[1]) else turn - WIN

    def evaluate(self, own: Hare, other: Hare) -> float:
        return self.rank(own) - self.rank(other)


# -- levels -----------------------------------------------------------------------------------------------------------


def choose_move(
    limits: SearchLimits, state: HaseUndIgelState, rng: random.Random, budget: SearchBudget | None = None
) -> HaseUndIgelMove:
    """Return the move that a search finds best; `rng` decides which one of equally good moves that is.

    - `limits`: the work that the search may do.
    - `budget`: the time after which it ends with the best move so far; None: the usual one.

    Raises NoMoveError if there is no legal move.
    """
    budget = budget or SearchBudget()
    moves = list(state.generate_legal_moves())
    if not moves:
        raise no_move(state)
    rng.shuffle(moves)
    choices: dict[Hare, HaseUndIgelMove] = {}
    for move in moves:
        after = state.play(move).players[state.seat_on_turn]
        choices.setdefault(hare_of(state.board, after), move)
    search = HareSearch(Track(state.board), limits, budget.is_used_up)
    return choices[search.best(tuple(choices), hare_of(state.board, state.opponent), state.turn)]


LIMITS: Final = tuple(SearchLimits(nodes) for nodes in (30, 48, 250, 600))
"""The limits of each level, the weakest first."""

HASE_UND_IGEL_LEVELS: Final = tuple(
    LadderLevel(f"searches the turns ahead, {limits.nodes} positions a move", partial(choose_move, limits))
    for limits in LIMITS
)
"""The levels of Hase und Igel, the weakest first."""
