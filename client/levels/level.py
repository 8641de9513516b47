"""The record of one level, for every game.

Invariants: levels are values in a table. What differs between two levels of a game is values of its settings, never a
comparison with a level's number.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from spielleiter.game.api import Move

ChooseAtLevel: TypeAlias = Callable[[Any, random.Random], Move]
"""A function of a position of one game that chooses a legal move; the generator is its only source of randomness."""


@dataclass(frozen=True, slots=True)
class Level:
    """One level of a game's ladder. Its number is its place in the ladder, counted from 1.

    - `description`: how it chooses its moves, for tables and documents.
    - `choose`: chooses a move in a position of this game that has a legal move.
    """

    description: str
    choose: ChooseAtLevel
