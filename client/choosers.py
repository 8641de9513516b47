"""How the built-in strategies choose a move: functions of a position, without a connection or an event loop.

Invariants: a chooser knows only what `spielleiter.game.api` says about a game, and draws from nothing but the generator
it is given: the same seed and the same positions give the same moves. This module is light, since each process that
thinks for built-in players (match/games/thinking_process.py) loads it.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final, TypeAlias

from spielleiter.client.errors import StrategyError
from spielleiter.client.evaluation import GAMES_OF_STRATEGIES, contenders, evaluation_of
from spielleiter.game.api import Move, State

Choose: TypeAlias = Callable[[State, random.Random], Move]
"""Chooses a move, drawing from nothing but the generator."""


def _legal_moves(state: State) -> list[Move]:
    moves = list(state.generate_legal_moves())
    if not moves:
        raise StrategyError(f"no move is possible at turn {state.turn}, and yet one was asked for")
    return moves


def first_move(state: State, _rng: random.Random) -> Move:
    """The first legal move there is."""
    return _legal_moves(state)[0]


def random_move(state: State, rng: random.Random) -> Move:
    """Any legal move, all alike."""
    return rng.choice(_legal_moves(state))


def greedy_move(state: State, rng: random.Random) -> Move:
    """One of the moves that look best at first sight."""
    evaluate = evaluation_of(state)
    rated = [(evaluate(state, move), move) for move in contenders(state, _legal_moves(state))]
    best = max(rating for rating, _ in rated)
    return rng.choice([move for rating, move in rated if rating == best])


def illegal_move(state: State, _rng: random.Random) -> Move:
    """A move that would be legal one move later, but not now; failing that, the last one once more.

    Where none is found, as in a game whose every move can be the first one, a legal move: a later one is illegal.
    """
    legal = _legal_moves(state)
    early = (each for move in legal for each in state.play(move).generate_legal_moves())
    last: Move | None = getattr(state, "last_move", None)  # not something the rules ask of every game
    illegal = (move for move in itertools.chain(early, [] if last is None else [last]) if state.check(move) is not None)
    return next(illegal, legal[0])


PLAIN_CHOOSERS: Final[Mapping[str, Choose]] = MappingProxyType({"random": random_move, "greedy": greedy_move})
"""Those that there are for each game alone as well."""

CHOOSERS: Final[Mapping[str, Choose]] = MappingProxyType(
    {
        "first": first_move,
        **PLAIN_CHOOSERS,
        **{f"{prefix}-{name}": choose for prefix in GAMES_OF_STRATEGIES for name, choose in PLAIN_CHOOSERS.items()},
        "illegal": illegal_move,
    }
)
"""By the name of their strategy."""


def make_chooser(name: str, *, seed: int | None = None) -> Callable[[State], Move]:
    """The chooser of the strategy called `name` as a plain function.

    `seed`: the same moves in every run; None: different ones. Raises KeyError for an unknown name, and for a strategy
    that does more than to choose moves.
    """
    choose, rng = CHOOSERS[name], random.Random(seed)
    return lambda state: choose(state, rng)
