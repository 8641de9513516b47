"""What the choosers of all games have in common: what a game has of its own, a level, and the time that it may search.

The work of most levels is given by numbers, not by time, so their budget is used up only on a very slow machine. A
level that takes the time that it is given searches until `share_taken` is 1.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeAlias

from spielleiter.game.api import Move, State

LONGEST_SEARCH: Final = 1.0
"""Seconds of processor time after which a search is cut."""
USUAL_SECONDS: Final = 1.5
"""Seconds of processor time for a move of a level that takes the time that it is given, if nobody has given any."""
LONGEST_WAIT: Final = 1.8
"""Seconds after which a search is cut if the limit for a move is not known. Servers of the contest wait for 2 s."""
_EARLIER: Final = 0.95


class SearchBudget:
    """The time for one move, which begins now.

    - `wait`: seconds of wall-clock time; infinite if there is no limit for a move.
    - `clock`: returns the processor time of the searching thread, in seconds: time in which others use the processor
      counts only if the game's own time limit would pass.
    - `wall_clock`: returns the present instant, in seconds.
    """

    def __init__(
        self,
        wait: float = LONGEST_WAIT,
        clock: Callable[[], float] = time.thread_time,
        wall_clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.was_cut = False
        """Whether a search had to end before it had done its work, or had the processor time that it was given."""
        self.seconds = USUAL_SECONDS
        """Seconds of processor time for a level that takes the time that it is given."""
        self._clock, self._begin = clock, clock()
        self._wall_clock, wall_begin = wall_clock, wall_clock()
        self._wall_end = wall_begin + wait
        self._earlier_wall_end = wall_begin + _EARLIER * wait

    def is_used_up(self) -> bool:
        """Whether a search whose work is given by numbers must end now."""
        if self._clock() - self._begin >= LONGEST_SEARCH or self._wall_clock() >= self._wall_end:
            self.was_cut = True
        return self.was_cut

    def share_taken(self) -> float:
        """Return which share of `seconds` a search has taken, at most 1. It is 1, too, when it must end now.

        That is a little earlier than for other searches, since this one comes to its end in most moves.
        """
        if self._wall_clock() >= self._earlier_wall_end:
            self.was_cut = True
            return 1.0
        return min(1.0, (self._clock() - self._begin) / self.seconds)


class Choose(Protocol):
    """A function that chooses a legal move in a position; the generator is its only source of randomness.

    `budget` is the time for it, which only levels use up; None: the usual one.
    """

    def __call__(self, state: Any, rng: random.Random, budget: SearchBudget | None = None, /) -> Move: ...


@dataclass(frozen=True, slots=True)
class LadderLevel:
    """One level of a game's ladder. Its number is its place in the ladder, counted from 1.

    - `description`: how it chooses its moves, for tables and documents.
    - `choose`: chooses a move in a position of this game that has a legal move.
    - `takes_time`: whether it searches for as long as its budget says, so that its strength depends on the machine.
    """

    description: str
    choose: Choose
    takes_time: bool = False


Evaluation: TypeAlias = Callable[[Any, Any], tuple[int, ...]]
"""A function of a position and a legal move in it; a greater result is better."""


@dataclass(frozen=True, slots=True)
class GamePlayers:
    """What the built-in players of one game have of their own: `PLAYERS` of the game's module in `players/`.

    - `evaluate`: how good a move looks one ply ahead, without the opponent's reply.
    - `levels`: the levels of the game, which all of its seasons share; the weakest first.
    - `contenders`: returns the moves that are worth to be evaluated, in their order; all best moves are among them.
    """

    evaluate: Evaluation
    levels: tuple[LadderLevel, ...] = ()
    contenders: Callable[[Sequence[Any]], Sequence[Any]] = lambda moves: moves


class NoMoveError(Exception):
    """There is no move to choose in a position; the text says why."""


def no_move(state: State) -> NoMoveError:
    """Return the error for a position without a legal move."""
    return NoMoveError(f"a move was requested at turn {state.turn}, but no move is possible")
