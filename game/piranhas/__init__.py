"""Piranhas, the game of 2026: each player unites its fish in one swarm, and eats those of the other on the way.

The names below are the public interface. `PIRANHAS_2026` is the game as `spielleiter.game.api.Game` describes it; it
makes positions (`PiranhasState`), in which moves (`PiranhasMove`) are checked, generated and played.

A fish swims exactly as far as there are fish on its line. In the first column there are eight:

>>> import random
>>> state = PIRANHAS_2026.new_state(random.Random(1))
>>> print(state.target(PiranhasMove(Cell(0, 1), Direction.UP)))
(0, 9)
>>> state.check(PiranhasMove(Cell(0, 2), Direction.UP)).value
'the target is not on the board'
>>> after = state.play(PiranhasMove(Cell(0, 1), Direction.RIGHT))
>>> after.size_at(Cell(2, 1)) == state.size_at(Cell(0, 1))
True
>>> after.seat_on_turn, after.points(0), after.points(1)
(1, (14,), (15,))
"""

from __future__ import annotations

from spielleiter.game.piranhas.board import SIZE, SIZES, Cell, Direction, Fish
from spielleiter.game.piranhas.state import (
    BLOCKED,
    EQUAL_SWARMS,
    FIRST_UNION,
    LARGER_SWARM,
    PIRANHAS_2026,
    PIRANHAS_2026_FIRST,
    ROUND_LIMIT,
    PiranhasGame,
    PiranhasMistake,
    PiranhasMove,
    PiranhasState,
    Ruleset,
)

__all__ = [
    "BLOCKED",
    "EQUAL_SWARMS",
    "FIRST_UNION",
    "LARGER_SWARM",
    "PIRANHAS_2026",
    "PIRANHAS_2026_FIRST",
    "ROUND_LIMIT",
    "SIZE",
    "SIZES",
    "Cell",
    "Direction",
    "Fish",
    "PiranhasGame",
    "PiranhasMistake",
    "PiranhasMove",
    "PiranhasState",
    "Ruleset",
]
