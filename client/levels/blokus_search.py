"""The search of the higher levels of Blokus: Monte Carlo, with the static evaluation as its prior.

The candidates are the moves that are rated highest. Each of them is followed by lines, in which every colour plays the
best of a random sample of its moves (`sample_moves`). The value of a line is that of the cells placed in it and of the
position at its end; the value of a candidate is the mean of its lines. After each round the better half of the
candidates stays, so most of the work goes into the best ones (sequential halving).

Invariants: the work depends on the settings and the position, never on seconds, so the result does not depend on the
speed of the machine. The one exception is the cut: `is_cut` is asked before each line, and once it returns True, the
last complete round counts.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import attrgetter

from spielleiter.client.levels.blokus_evaluation import CELL, RatedMove, position_value, sample_moves
from spielleiter.game.blokus.state import BlokusState

_by_value = attrgetter("value")


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """How much a level searches.

    - `width`: the number of candidates.
    - `rounds`: for each round, the number of lines that each remaining candidate gets in it.
    - `turns`: the number of turns of a line, the candidate included. A multiple of four lets all colours play equally
      often.
    - `sample`: about how many moves of the colour to move are rated in each turn of a line.
    """

    width: int
    rounds: tuple[int, ...]
    turns: int
    sample: int


def search(
    state: BlokusState,
    rated: Sequence[RatedMove],
    settings: SearchSettings,
    rng: random.Random,
    is_cut: Callable[[], bool],
) -> list[RatedMove]:
    """Return the candidates of the last round with their values; of all candidates, if the first round was cut.

    `rated` are the legal moves in `state`.
    """
    best = sorted(rated, key=_by_value, reverse=True)[: settings.width]
    candidates = [_Candidate(state, each) for each in best]
    for lines in settings.rounds:
        if len(candidates) == 1:
            break
        for candidate in candidates:
            for _ in range(lines):
                if is_cut():
                    return best
                candidate.add_line(settings, rng)
        candidates.sort(key=_by_value, reverse=True)
        best = [each.move._replace(value=each.value) for each in candidates]
        del candidates[(len(candidates) + 1) // 2 :]
    return best


class _Candidate:
    """The move `move` in the position `state`, with the lines that begin with it."""

    def __init__(self, state: BlokusState, move: RatedMove) -> None:
        self.move = move
        self._seat = state.seat_on_turn
        self._lead_before = self._lead(state)
        self._state = state.play(move.set_move(state))
        self._lines = 0
        self._sum = 0.0
        self._is_certain = False

    @property
    def value(self) -> float:
        """The mean value of the lines for the side that plays the candidate."""
        return self._sum / self._lines

    def add_line(self, settings: SearchSettings, rng: random.Random) -> None:
        """Play one line, unless it would be the same as the one before it."""
        if self._is_certain:
            return
        state, is_certain = self._state, True
        for _ in range(settings.turns - 1):
            if state.outcome() is not None:
                break
            sample = sample_moves(state, settings.sample, rng)
            is_certain = is_certain and sample.is_complete
            state = state.play(max(sample.moves, key=_by_value).set_move(state))
        value = CELL * (self._lead(state) - self._lead_before)
        if state.outcome() is None:
            value += position_value(state, self._seat)
        self._lines += 1
        self._sum += value
        self._is_certain = is_certain  # nothing was left to chance, so all lines would be this one

    def _lead(self, state: BlokusState) -> int:
        (ours,), (theirs,) = state.points(self._seat), state.points(1 - self._seat)
        return ours - theirs
