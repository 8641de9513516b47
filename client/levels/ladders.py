"""Which levels each game has, and how a level's name leads to its move.

Invariants: a ladder belongs to a type of position, so all seasons of a game share it. A ladder has no gaps: a game with
n levels has `level-1` to `level-n`.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from spielleiter.client.errors import StrategyError
from spielleiter.client.levels.blokus_levels import BLOKUS_LEVELS
from spielleiter.client.levels.budget import SearchBudget
from spielleiter.client.levels.hase_und_igel_levels import HASE_UND_IGEL_LEVELS
from spielleiter.client.levels.level import Choose, Level
from spielleiter.game.api import Move, State
from spielleiter.game.blokus.state import BlokusState
from spielleiter.game.hase_und_igel import HaseUndIgelState

LADDERS: Final[Mapping[type, tuple[Level, ...]]] = MappingProxyType(
    {BlokusState: BLOKUS_LEVELS, HaseUndIgelState: HASE_UND_IGEL_LEVELS}
)
"""The levels of each game by the type of its positions, the weakest first."""

LEVEL_NUMBERS: Final = range(1, 1 + max(map(len, LADDERS.values())))
"""The numbers of the levels that at least one game has."""


def level_name(number: int) -> str:
    """Return the name of the strategy that plays at level `number`, counted from 1."""
    return f"level-{number}"


def ladder_of(state: State) -> tuple[Level, ...]:
    """Return the levels of the game that `state` is a position of, the weakest first; empty if it has none."""
    return next((levels for position, levels in LADDERS.items() if isinstance(state, position)), ())


def levels_text(state: State) -> str:
    """Return which levels the game of `state` has, in words for an error message."""
    levels = ladder_of(state)
    if not levels:
        return "this game has no levels"
    return f"this game has {level_name(1)} to {level_name(len(levels))}"


def positions_with_level(number: int) -> tuple[type, ...]:
    """Return the types of positions whose games have level `number`."""
    return tuple(position for position, levels in LADDERS.items() if number <= len(levels))


def chooser_of_level(number: int) -> Choose:
    """Return the chooser of level `number` for every game that has this level.

    The chooser raises StrategyError for a position of a game without this level.
    """

    def choose(state: State, rng: random.Random, budget: SearchBudget | None = None) -> Move:
        levels = ladder_of(state)
        if number > len(levels):
            raise StrategyError(f"there is no {level_name(number)} here: {levels_text(state)}")
        return levels[number - 1].choose(state, rng, budget)

    return choose
