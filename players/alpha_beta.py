"""The search of games in which both players see everything and move in turn: alpha-beta with iterative deepening.

The work is counted in nodes (the positions that are looked at), so a search gives the same result on every machine. The
clock only ends a search that takes far too long; its best choice so far counts.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final, Generic, TypeVar

_NODES_PER_CLOCK: Final = 256
"""The clock is read about once for this many nodes."""

Side = TypeVar("Side")
Choice = TypeVar("Choice")


@dataclass(frozen=True, slots=True)
class SearchLimits:
    """The limits of a search.

    - `nodes`: the number of nodes after which it ends. The choices in one position, a few dozen, are counted together.
    - `depth`: the greatest number of plies.
    """

    nodes: int
    depth: int = sys.maxsize


class AlphaBetaSearch(ABC, Generic[Side, Choice]):
    """One search. `nodes` is the work so far, and `depth` the number of plies of the last complete iteration.

    A `Side` is what one player has, a `Choice` what a move makes of it; both are hashable. `is_late` says whether the
    search has to end because of the clock. The value of a won game is `WIN`, less the number of its last turn, which
    is at most `LAST_TURN`.
    """

    WIN: ClassVar[float]
    LAST_TURN: ClassVar[int]

    def __init__(self, limits: SearchLimits, is_late: Callable[[], bool]) -> None:
        self.nodes = 0
        self.depth = 0
        self._limits = limits
        self._is_late = is_late
        self._next_look = _NODES_PER_CLOCK
        self._best_replies: dict[tuple[Side, Side], Choice] = {}

    @abstractmethod
    def successors(self, own: Side, other: Side) -> Sequence[Choice]:
        """Return what the moves of the player with `own` lead to; equal ones may be among them."""

    @abstractmethod
    def after(self, choice: Choice, other: Side) -> tuple[Side, Side]:
        """Return what the player has after its `choice`, and what the other one has then."""

    @abstractmethod
    def rank(self, choice: Choice) -> float:
        """Return how good a choice looks; better ones are looked at first."""

    @abstractmethod
    def value_of_end(self, own: Side, other: Side, turn: int) -> float | None:
        """Return the value for the player to move in `turn` if the game is over; None if it goes on."""

    @abstractmethod
    def evaluate(self, own: Side, other: Side) -> float:
        """Return the value of a position without looking ahead."""

    def best(self, choices: Sequence[Choice], other: Side, turn: int) -> Choice:
        """Return the best of `choices`, which are those of the player to move in turn `turn`, and at least one.

        Of choices that are equally good, it is the first one in most cases.
        """
        ordered = sorted(choices, key=self.rank, reverse=True)
        while len(ordered) > 1 and self.depth < min(self._limits.depth, self.LAST_TURN - turn):
            best, best_value = ordered[0], -2 * self.WIN
            try:
                for choice in ordered:
                    value = self._value_after(choice, other, turn, self.depth, -2 * self.WIN, -best_value)
                    if value > best_value:
                        best, best_value = choice, value
            except _LimitReachedError:
                return best
            self.depth += 1
            ordered.remove(best)
            ordered.insert(0, best)
            if abs(best_value) >= self.WIN - self.LAST_TURN:
                break
        return ordered[0]

    def _value_after(self, choice: Choice, other: Side, turn: int, depth: int, alpha: float, beta: float) -> float:
        """Return the value for the player that has made `choice` in turn `turn`; `alpha` and `beta` are the other's."""
        own, other = self.after(choice, other)
        return -self.value_of(other, own, turn + 1, depth, alpha, beta)

    def value_of(self, own: Side, other: Side, turn: int, depth: int, alpha: float, beta: float) -> float:
        """Return the value of a position for the player with `own`, to move in `turn`, after `depth` more plies.

        It is exact between `alpha` and `beta`, otherwise a bound.
        """
        end = self.value_of_end(own, other, turn)
        if end is not None:
            return end
        if depth == 0:
            return self.evaluate(own, other)
        choices = self.successors(own, other)
        if not choices:
            return turn - self.WIN
        self.nodes += len(choices)
        if self.nodes >= self._limits.nodes:
            raise _LimitReachedError
        if self.nodes >= self._next_look:
            self._next_look = self.nodes + _NODES_PER_CLOCK
            if self._is_late():
                raise _LimitReachedError
        choices = sorted(dict.fromkeys(choices), key=self.rank, reverse=True)
        reply = self._best_replies.get((own, other))
        if reply is not None:
            choices.remove(reply)
            choices.insert(0, reply)
        best, best_value = choices[0], -2 * self.WIN
        for choice in choices:
            value = self._value_after(choice, other, turn, depth - 1, -beta, -alpha)
            if value > best_value:
                best, best_value = choice, value
                if value >= beta:
                    break
                alpha = max(alpha, value)
        self._best_replies[own, other] = best
        return best_value


class _LimitReachedError(Exception):
    """The search has used up its nodes or its time."""
