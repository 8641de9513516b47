"""The record of one level, for every game.

Invariants: levels are values in a table. What differs between two levels of a game is values of its settings, never a
comparison with a level's number.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any, Protocol

from spielleiter.client.levels.budget import SearchBudget
from spielleiter.game.api import Move


class Choose(Protocol):
    """A function that chooses a legal move in a position; the generator is its only source of randomness.

    `budget` is the time for it, which only levels use up; None: the usual one.
    """

    def __call__(self, state: Any, rng: random.Random, budget: SearchBudget | None = None, /) -> Move: ...


@dataclass(frozen=True, slots=True)
class Level:
    """One level of a game's ladder. Its number is its place in the ladder, counted from 1.

    - `description`: how it chooses its moves, for tables and documents.
    - `choose`: chooses a move in a position of this game that has a legal move.
    """

    description: str
    choose: Choose
