"""Which games a match consists of.

Law: games come in pairs that differ in nothing but who sits where; the same seed and openings give the same plan. A
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
"""In which order openings are played; the first one unless another is named."""


@dataclass(frozen=True, slots=True)
class Opening:
    """A position to start from: that of the replay `path` at `turn` (or the next one there is)."""

    name: str
    path: str
    turn: int = 0


@dataclass(frozen=True, slots=True)
class PlannedGame:
    """One game before it is played; the fields are those of a record."""

    game: int
    pair: int
    seed: int
    seats: tuple[int, int]
    opening: Opening | None = None

    def program_seed(self, program: int) -> int:
        """What a program may draw from, the same in both games of a pair."""
        return random.Random(f"{self.seed} program {program}").getrandbits(SEED_BITS)


def plan_games(count: int, seed: int, openings: Sequence[Opening] = ()) -> tuple[PlannedGame, ...]:
    """`count` games; each pair has a seed of its own and the next of `openings`, from the first again at the end."""
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
