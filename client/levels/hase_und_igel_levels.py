"""The levels of Hase und Igel.

Invariants: a level is its settings. All levels have the same evaluation and the same search; a higher one looks at more
positions, so it looks more plies ahead. The rules decide which moves are legal, the model only what follows from them.
"""

from __future__ import annotations

import random
from functools import partial
from typing import Final

from spielleiter.client.errors import StrategyError
from spielleiter.client.levels.budget import SearchBudget
from spielleiter.client.levels.hase_und_igel_model import Hare, Track, hare_of
from spielleiter.client.levels.hase_und_igel_search import Limits, Search
from spielleiter.client.levels.level import Level
from spielleiter.game.hase_und_igel import HaseUndIgelMove, HaseUndIgelState


def choose_move(
    limits: Limits, state: HaseUndIgelState, rng: random.Random, budget: SearchBudget | None = None
) -> HaseUndIgelMove:
    """Return the move that a search finds best; `rng` decides which one of equally good moves that is.

    - `limits`: the work that the search may do.
    - `budget`: the time after which it ends with the best move so far; None: the usual one.

    Raises StrategyError if there is no legal move.
    """
    budget = budget or SearchBudget()
    moves = list(state.generate_legal_moves())
    if not moves:
        raise StrategyError(f"a move was requested at turn {state.turn}, but no move is possible")
    rng.shuffle(moves)
    choices: dict[Hare, HaseUndIgelMove] = {}
    for move in moves:
        after = state.play(move).players[state.seat_on_turn]
        choices.setdefault(hare_of(state.board, after), move)
    search = Search(Track(state.board), limits, budget.is_used_up)
    return choices[search.best(tuple(choices), hare_of(state.board, state.opponent), state.turn)]


LIMITS: Final = tuple(Limits(nodes) for nodes in (30, 48, 250, 600))
"""The limits of each level, the weakest first."""

HASE_UND_IGEL_LEVELS: Final = tuple(
    Level(f"searches the turns ahead, {limits.nodes} positions a move", partial(choose_move, limits))
    for limits in LIMITS
)
"""The levels of Hase und Igel, the weakest first."""
