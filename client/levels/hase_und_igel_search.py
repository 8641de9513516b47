"""The search of Hase und Igel: alpha-beta with iterative deepening, on the compact model.

Invariants: the work is counted in nodes (the positions that are looked at), so a search gives the same result on every
machine. The clock only ends a search that takes far too long; its best choice so far counts. The value of a position
is seen from the side to move. A won position is worth more the sooner it is won.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from spielleiter.client.levels.hase_und_igel_evaluation import evaluate
from spielleiter.client.levels.hase_und_igel_model import Hare, Track, successors, with_position_carrots
from spielleiter.game.hase_und_igel import GOAL_INDEX
from spielleiter.game.hase_und_igel.state import ROUND_LIMIT

WIN: Final = 100_000.0
"""The value of a won game, less the number of its last turn."""

_LAST_TURN: Final = 2 * ROUND_LIMIT
_DECIDED: Final = WIN - _LAST_TURN
_NODES_PER_CLOCK: Final = 256
"""The clock is read about once for this many nodes."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a search.

    - `nodes`: the number of nodes after which it ends. The replies to one position, a few dozen, are counted together.
    - `depth`: the greatest number of plies.
    """

    nodes: int
    depth: int = _LAST_TURN


class Search:
    """One search. `nodes` is the work so far, and `depth` the number of plies of the last complete iteration.

    `is_late` says whether the search has to end because of the clock.
    """

    def __init__(self, track: Track, limits: Limits, is_late: Callable[[], bool]) -> None:
        self.nodes = 0
        self.depth = 0
        self._track = track
        self._limits = limits
        self._is_late = is_late
        self._next_look = _NODES_PER_CLOCK
        self._values: dict[Hare, float] = {}
        self._best_replies: dict[tuple[Hare, Hare], Hare] = {}

    def best(self, choices: Sequence[Hare], other: Hare, turn: int) -> Hare:
        """Return the best of `choices`, which are what the side to move in turn `turn` can become.

        Of choices that are equally good, it is the first one in most cases.
        """
        ordered = sorted(choices, key=self._value, reverse=True)
        while len(choices) > 1 and self.depth < min(self._limits.depth, _LAST_TURN - turn):
            best, best_value = ordered[0], -WIN
            try:
                for choice in ordered:
                    value = self._value_after(choice, other, turn, self.depth, -WIN, -best_value)
                    if value > best_value:
                        best, best_value = choice, value
            except _LimitReachedError:
                return best
            self.depth += 1
            ordered.remove(best)
            ordered.insert(0, best)
            if abs(best_value) > _DECIDED:
                break
        return ordered[0]

    def _value_after(self, hare: Hare, other: Hare, turn: int, depth: int, alpha: float, beta: float) -> float:
        """Return the value for the player who has become `hare` in turn `turn`; `alpha` and `beta` are the other's."""
        other = with_position_carrots(self._track, other, hare[0])
        return -self._search(other, hare, turn + 1, depth, alpha, beta)

    def _search(self, hare: Hare, other: Hare, turn: int, depth: int, alpha: float, beta: float) -> float:
        """Return the value of a position: exact between `alpha` and `beta`, otherwise a bound."""
        if turn % 2 == 0 and (hare[0] == GOAL_INDEX or other[0] == GOAL_INDEX or turn == _LAST_TURN):
            # RED is to move, and wins if both players are equal
            return WIN - turn if (hare[0], -hare[1]) >= (other[0], -other[1]) else turn - WIN
        if depth == 0:
            return self._value(hare) - self._value(other)
        choices = successors(self._track, hare, other[0])
        self._count(len(choices))
        if len(choices) > 1:
            choices = sorted(dict.fromkeys(choices), key=self._value, reverse=True)
            reply = self._best_replies.get((hare, other))
            if reply is not None:
                choices.remove(reply)
                choices.insert(0, reply)
        best, best_value = choices[0], -2 * WIN
        for choice in choices:
            value = self._value_after(choice, other, turn, depth - 1, -beta, -alpha)
            if value > best_value:
                best, best_value = choice, value
                if value >= beta:
                    break
                alpha = max(alpha, value)
        self._best_replies[hare, other] = best
        return best_value

    def _value(self, hare: Hare) -> float:
        value = self._values.get(hare)
        if value is None:
            value = self._values[hare] = evaluate(self._track, hare)
        return value

    def _count(self, nodes: int) -> None:
        self.nodes += nodes
        if self.nodes >= self._limits.nodes:
            raise _LimitReachedError
        if self.nodes >= self._next_look:
            self._next_look = self.nodes + _NODES_PER_CLOCK
            if self._is_late():
                raise _LimitReachedError


class _LimitReachedError(Exception):
    """The search has used up its nodes or its time."""
