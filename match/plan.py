"""The plan of a match: its games, in pairs with the sides swapped.

Invariants: the two games of a pair differ only in the programs' seats. The same seed and openings give the same plan. A
plan with an odd number of games ends with half a pair.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

SEED_BITS: Final = 32

DEFAULT_GAMES: Final = 100
DEFAULT_MIN_GAMES: Final = 20
"""The number of counted games before which a test of significance does not end a match."""

SEQUENTIAL: Final = "sequential"
RANDOM: Final = "random"
ORDERS: Final = (SEQUENTIAL, RANDOM)
"""The orders that openings can be put into; the first one is the default."""


@dataclass(frozen=True, slots=True)
class Opening:
    """A position to start from: that of the replay `path` at `turn`, or at the next turn that the replay has."""

    name: str
    path: str
    turn: int = 0


@dataclass(frozen=True, slots=True)
class PlannedGame:
    """One game before it is played; its fields mean the same as those of a `GameRecord`."""

    game: int
    pair: int
    seed: int
    seats: tuple[int, int]
    opening: Opening | None = None

    def program_seed(self, program: int) -> int:
        """The seed that a program (0 or 1) may use for its random choices, the same in both games of a pair."""
        return random.Random(f"{self.seed} program {program}").getrandbits(SEED_BITS)


def plan_games(count: int, seed: int, openings: Sequence[Opening] = ()) -> tuple[PlannedGame, ...]:
    """The plan of `count` games. Each pair gets its own seed and the next of `openings`, which are used cyclically."""
    return tuple(_planned(game, seed, openings) for game in range(1, count + 1))


def _planned(game: int, seed: int, openings: Sequence[Opening]) -> PlannedGame:
    pair = (game + 1) // 2
    return PlannedGame(
        game,
        pair,
        random.Random(f"{seed} pair {pair}").getrandbits(SEED_BITS),
        (0, 1) if game % 2 else (1, 0),
        openings[(pair - 1) % len(openings)] if openings else None,
    )
