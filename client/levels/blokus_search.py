"""The search of the higher levels of Blokus: it continues the best moves with the best rated move of every colour.

A line begins with a candidate; after it, every colour plays its best rated move. The value of a line is that of the
cells placed in it and of the position at its end. All lines are first extended to a certain number of turns, then by
one round of four turns at a time, up to the end of the game or until the budget is spent.

Invariants: work is counted in rated moves, never in seconds, so the result does not depend on the speed of the machine.
The one exception is the cut: once `is_cut` returns True, the values of the last complete extension count.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Final

from spielleiter.client.levels.blokus_evaluation import CELL, RatedMove, position_value, rate_moves
from spielleiter.game.blokus.state import BlokusState

_TURNS_PER_ROUND: Final = 4
_by_value = attrgetter("value")


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """How much a level searches.

    - `width`: the number of candidates, the moves that are rated highest.
    - `turns`: the number of turns of the lines after the first extension, the candidate included.
    - `budget`: the number of rated moves in one search after which lines are extended no further.
    """

    width: int
    turns: int
    budget: int


class Work:
    """Counts rated moves. `is_cut` returns whether the search has to end."""

    def __init__(self, is_cut: Callable[[], bool]) -> None:
        self.is_cut = is_cut
        self.rated_moves = 0

    def rate(self, state: BlokusState) -> list[RatedMove]:
        """Return the rated moves in `state`."""
        rated = rate_moves(state)
        self.rated_moves += len(rated)
        return rated


def search(state: BlokusState, rated: Sequence[RatedMove], settings: SearchSettings, work: Work) -> list[RatedMove]:
    """Return the candidates among `rated`, the legal moves in `state`, with their values after the search."""
    candidates = sorted(rated, key=_by_value, reverse=True)[: settings.width]
    lines = [_Line(state, each) for each in candidates]
    turns = settings.turns
    while not all(line.is_over for line in lines) and work.rated_moves <= settings.budget:
        values = []
        for line in lines:
            line.extend(turns, work)
            if work.is_cut():
                return candidates
            values.append(line.value())
        candidates = [each._replace(value=value) for each, value in zip(candidates, values, strict=True)]
        turns += _TURNS_PER_ROUND
    return candidates


class _Line:
    """A continuation that begins with the candidate `first` in the position `state`."""

    def __init__(self, state: BlokusState, first: RatedMove) -> None:
        self._seat = state.seat_on_turn
        self._lead_before = self._lead(state)
        self._turns = 0
        self._state = state
        self._play(first)

    def extend(self, turns: int, work: Work) -> None:
        """Continue until `turns` turns have been played, the game is over or the search is cut."""
        while self._turns < turns and not self.is_over and not work.is_cut():
            self._play(max(work.rate(self._state), key=_by_value))

    def value(self) -> float:
        """Return the value for the side that played the candidate."""
        placed = CELL * (self._lead(self._state) - self._lead_before)
        return placed if self.is_over else placed + position_value(self._state, self._seat)

    def _play(self, rated: RatedMove) -> None:
        self._turns += 1
        self._state = self._state.play(rated.set_move(self._state))
        self.is_over = self._state.outcome() is not None

    def _lead(self, state: BlokusState) -> int:
        (ours,), (theirs,) = state.points(self._seat), state.points(1 - self._seat)
        return ours - theirs
