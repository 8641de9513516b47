"""Finds the moves that cost a side most, by playing on from the positions of a game with the built-in player.

A position is worth what the built-in player reaches from it when it plays both sides to the end: the mean difference in
points over some continuations. First every position of the game is measured. Then the moves after which the worth fell
most are measured again, more exactly and together with other moves that were possible: what a move has cost is the
difference to the best of them.

This is an estimate. It depends on how the built-in player plays, which is not perfect, and on chance.

Invariants: the result depends on the game and the seed only, not on the speed of the machine: work is counted in plies.
Continuations that are compared with each other use the same random numbers.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Final

from spielleiter.client.choosers import contenders, evaluation_of, greedy_move
from spielleiter.client.client_errors import StrategyError
from spielleiter.game.api import Move, Seat, State
from spielleiter.viewer.positions.describe import view_of

MOMENTS: Final = 5
"""The number of moves that are reported."""
FIRST_CONTINUATIONS: Final = 2
"""The continuations of each position at first."""
EXACT_CONTINUATIONS: Final = 6
"""The continuations of each move that is compared with others."""
_CANDIDATES: Final = 8
"""The number of moves that are compared with others."""
_ALTERNATIVES: Final = 3
"""The number of other moves that each is compared with."""
LONGEST_CONTINUATION: Final = 400
"""More plies than any game has."""
MOST_PLIES: Final = 60_000
"""The plies after which no further position is measured; a game of Blokus needs a fifth of that, some seconds."""


@dataclass(frozen=True, slots=True)
class Moment:
    """A move that cost its player points, and the one that would have been better."""

    ply: int
    """The number of the move, from 1."""
    player: Seat
    loss: float
    """The mean difference in points between both moves, when the built-in player plays on."""
    played: Move
    better: Move


class AnalysisError(Exception):
    """The game cannot be analysed; the text says why."""


def find_moments(
    states: Sequence[State],
    players: Sequence[Seat],
    seed: int = 0,
    on_progress: Callable[[int, int], object] = lambda _done, _of: None,
) -> list[Moment]:
    """Return the moves that cost a side most, the most expensive one first, at most `MOMENTS`.

    - `states`: the positions of the game in their order.
    - `players`: the seats whose moves are looked at.
    - `seed`: makes the same result in every run.
    - `on_progress`: called with the steps that are done and the number of all steps.

    Raises AnalysisError for positions that cannot occur in a game.
    """
    if not all(view_of(state).is_possible(state) for state in states):
        raise AnalysisError("the file holds positions that cannot occur in a game")
    steps = len(states) + min(_CANDIDATES, max(0, len(states) - 1))
    player = _Continuations(seed)
    worths = []
    for done, state in enumerate(states, 1):
        worths.append(player.worth(state, FIRST_CONTINUATIONS))
        on_progress(done, steps)
    falls = []
    for ply in range(1, len(states)):
        seat = states[ply - 1].seat_on_turn
        if seat in players and _has_choice(states[ply - 1]):
            falls.append((_for(seat, worths[ply - 1] - worths[ply]), -ply))
    moments = []
    for number, (_, negated) in enumerate(sorted(falls, reverse=True)[:_CANDIDATES], 1):
        moment = _compare(states[-negated - 1], states[-negated], -negated, player)
        if moment is not None:
            moments.append(moment)
        on_progress(len(states) + number, steps)
    on_progress(steps, steps)
    return sorted(moments, key=lambda moment: (-moment.loss, moment.ply))[:MOMENTS]


def _for(seat: Seat, worth: float) -> float:
    """Return a worth, which is that of the first player, for the player in `seat`."""
    return worth if seat == 0 else -worth


def _has_choice(state: State) -> bool:
    moves = iter(state.generate_legal_moves())
    return next(moves, None) is not None and next(moves, None) is not None


def _compare(before: State, after: State, ply: int, player: _Continuations) -> Moment | None:
    """Return what the move between two positions has cost; None if no other move was better."""
    seat = before.seat_on_turn
    played = getattr(after, "last_move", None)
    worth = _for(seat, player.worth(after, EXACT_CONTINUATIONS))
    best: tuple[float, Move] | None = None
    for move in _alternatives(before, played):
        other = _for(seat, player.worth(before.play(move), EXACT_CONTINUATIONS))
        if best is None or other > best[0]:
            best = other, move
    if best is None or best[0] <= worth or played is None:
        return None
    return Moment(ply, seat, round(best[0] - worth, 1), played, best[1])


def _alternatives(state: State, played: Move | None) -> list[Move]:
    """Return the moves that the built-in player rates highest, without the one that was played."""
    evaluate = evaluation_of(state)
    moves = contenders(state, list(state.generate_legal_moves()))
    ranked = sorted(enumerate(moves), key=lambda each: (evaluate(state, each[1]), -each[0]), reverse=True)
    return [move for _, move in ranked if move != played][:_ALTERNATIVES]


class _Continuations:
    """Plays games on with the built-in player, and counts the plies."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._plies = 0

    def worth(self, state: State, continuations: int) -> float:
        """Return the mean difference in points at the end, from the first player's point of view."""
        if self._plies >= MOST_PLIES or state.outcome() is not None:
            return _difference(state)
        return fmean(self._play_on(state, random.Random(f"{self._seed} {number}")) for number in range(continuations))

    def _play_on(self, state: State, rng: random.Random) -> int:
        for _ in range(LONGEST_CONTINUATION):
            if state.outcome() is not None:
                break
            try:
                state = state.play(greedy_move(state, rng))
            except StrategyError:  # a position of a hostile file, in which nobody can move
                break
            self._plies += 1
        return _difference(state)


def _difference(state: State) -> int:
    return state.points(0)[0] - state.points(1)[0]
