"""The move choice of the built-in strategies: functions of a position, without a connection or an event loop.

Invariants: a chooser uses only what `spielleiter.game.api` defines for every game. Its only source of randomness is the
generator that it is given: the same seed and the same positions give the same moves. This module does not load
trio, since each process that computes moves for built-in players loads it (`match/builtin_process.py`).
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from spielleiter.client.errors import StrategyError
from spielleiter.client.evaluation import GAMES_OF_STRATEGIES, contenders, evaluation_of
from spielleiter.client.levels.budget import SearchBudget
from spielleiter.client.levels.ladders import LEVEL_NUMBERS, chooser_of_level, level_name
from spielleiter.client.levels.level import Choose
from spielleiter.game.api import Move, State


def _legal_moves(state: State) -> list[Move]:
    moves = list(state.generate_legal_moves())
    if not moves:
        raise StrategyError(f"a move was requested at turn {state.turn}, but no move is possible")
    return moves


def first_move(state: State, _rng: random.Random, _budget: SearchBudget | None = None) -> Move:
    """Return the first legal move."""
    return _legal_moves(state)[0]


def random_move(state: State, rng: random.Random, _budget: SearchBudget | None = None) -> Move:
    """Return a random legal move; all are equally likely. Raises StrategyError if there is none."""
    return rng.choice(_legal_moves(state))


def greedy_move(state: State, rng: random.Random, _budget: SearchBudget | None = None) -> Move:
    """Return a move with the best evaluation; several best moves are equally likely."""
    evaluate = evaluation_of(state)
    rated = [(evaluate(state, move), move) for move in contenders(state, _legal_moves(state))]
    best = max(rating for rating, _ in rated)
    return rng.choice([move for rating, move in rated if rating == best])


def illegal_move(state: State, _rng: random.Random, _budget: SearchBudget | None = None) -> Move:
    """Return a move that would be legal one move later, but not now; if there is none, the last move again.

    If these are all legal, as at the start of a game in which any move may be the first, return a legal move; a later
    call finds an illegal one.
    """
    legal = _legal_moves(state)
    early = (each for move in legal for each in state.play(move).generate_legal_moves())
    last: Move | None = getattr(state, "last_move", None)  # not part of `game.api.State`
    illegal = (move for move in itertools.chain(early, [] if last is None else [last]) if state.check(move) is not None)
    return next(illegal, legal[0])


PLAIN_CHOOSERS: Final[Mapping[str, Choose]] = MappingProxyType({"random": random_move, "greedy": greedy_move})
"""The choosers that also exist as strategies for one game only (`hui-random`)."""

CHOOSERS: Final[Mapping[str, Choose]] = MappingProxyType(
    {
        "first": first_move,
        **PLAIN_CHOOSERS,
        **{f"{prefix}-{name}": choose for prefix in GAMES_OF_STRATEGIES for name, choose in PLAIN_CHOOSERS.items()},
        **{level_name(number): chooser_of_level(number) for number in LEVEL_NUMBERS},
        "illegal": illegal_move,
    }
)
"""All choosers by the names of their strategies."""


def make_chooser(name: str, *, seed: int | None = None) -> Callable[[State], Move]:
    """Return the chooser of the strategy called `name`, as a function of a position.

    With a `seed`, it chooses the same moves in every run; with None, different ones. Raises KeyError for an unknown
    name, and for a strategy that does more than choose moves.
    """
    choose, rng = CHOOSERS[name], random.Random(seed)
    return lambda state: choose(state, rng)
