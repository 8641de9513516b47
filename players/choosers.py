"""The move choice of the built-in strategies: functions of a position, without a connection or an event loop.

Invariants: a chooser's only source of randomness is the generator that it is given: the same seed and the same
positions give the same moves.
"""

from __future__ import annotations

import itertools
import random
from typing import Final, cast

from spielleiter.common.imports import imported_if_there
from spielleiter.game.api import Game, Move, State, package_of
from spielleiter.players.search_budget import (
    USUAL_SECONDS,
    Choose,
    GamePlayers,
    LadderLevel,
    NoMoveError,
    SearchBudget,
    no_move,
)


def points_after(state: State, move: Move) -> tuple[int, ...]:
    """Return the points of the side to move after the move: the evaluation for games without one of their own."""
    return state.play(move).points(state.seat_on_turn)


_ANY_GAME: Final = GamePlayers(points_after)


def players_of(value: State | Game) -> GamePlayers:
    """Return what the built-in players of a game have of their own: `PLAYERS` of its module in `players/`."""
    return cast("GamePlayers", imported_if_there(f"players.{package_of(value)}:PLAYERS") or _ANY_GAME)


# -- levels -----------------------------------------------------------------------------------------------------------

LEVEL_NUMBERS: Final = range(1, 10)
"""The numbers of the levels that at least one game has."""

TIMED_LEVEL: Final = 9
"""The number of the level that takes the time that it is given, in the games that have it."""


def level_name(number: int) -> str:
    """Return the name of the strategy that plays at level `number`, counted from 1."""
    return f"level-{number}"


def ladder_of(value: State | Game) -> tuple[LadderLevel, ...]:
    """Return the levels of a game, the weakest first; empty if it has none."""
    return players_of(value).levels


def levels_text(value: State | Game) -> str:
    """Return which levels a game has, in words for an error message."""
    levels = ladder_of(value)
    if not levels:
        return "this game has no levels"
    return f"this game has {level_name(1)} to {level_name(len(levels))}"


def chooser_of_level(number: int, seconds: float = USUAL_SECONDS) -> Choose:
    """Return the chooser of level `number`; it raises NoMoveError for a position of a game without this level.

    `seconds` is the processor time for a move, for a level that takes the time that it is given.
    """

    def choose(state: State, rng: random.Random, budget: SearchBudget | None = None) -> Move:
        budget = budget or SearchBudget()
        budget.seconds = seconds
        levels = ladder_of(state)
        if number > len(levels):
            raise NoMoveError(f"there is no {level_name(number)} here: {levels_text(state)}")
        return levels[number - 1].choose(state, rng, budget)

    return choose


# -- choosers ---------------------------------------------------------------------------------------------------------


def _legal_moves(state: State) -> list[Move]:
    moves = list(state.generate_legal_moves())
    if not moves:
        raise no_move(state)
    return moves


def first_move(state: State, _rng: random.Random, _budget: SearchBudget | None = None) -> Move:
    """Return the first legal move."""
    for move in state.generate_legal_moves():
        return move
    raise no_move(state)


def random_move(state: State, rng: random.Random, _budget: SearchBudget | None = None) -> Move:
    """Return a random legal move; all are equally likely. Raises NoMoveError if there is none."""
    # a state may have a method that is faster than making every move
    draw = getattr(state, "draw_legal_move", None)
    move = rng.choice(_legal_moves(state)) if draw is None else draw(rng)
    if move is None:
        raise no_move(state)
    return move


def greedy_move(state: State, rng: random.Random, _budget: SearchBudget | None = None) -> Move:
    """Return a move with the best evaluation; several best moves are equally likely."""
    players = players_of(state)
    rated = [(players.evaluate(state, move), move) for move in players.contenders(_legal_moves(state))]
    best = max(rating for rating, _ in rated)
    return cast("Move", rng.choice([move for rating, move in rated if rating == best]))


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
