"""Penguins, the game of 2023: penguins slide over floes of ice; each player wants more fish than the other.

The names below are the public interface. `PENGUINS_2023` is the game as `spielleiter.game.api.Game` describes it; it
makes positions (`PenguinsState`), in which moves (`PenguinsMove`) are checked, generated and played.

At first the penguins are placed, each on a floe with a single fish, which its player gets:

>>> import random
>>> state = PENGUINS_2023.new_state(random.Random(1))
>>> place = next(state.generate_legal_moves())
>>> after = state.play(place)
>>> after.seat_on_turn, after.points(0), after.points(1)
(1, (1,), (0,))
>>> after.check(place).value
'penguins are placed on single fish'
"""

from __future__ import annotations

from spielleiter.game.penguins.board import MAX_FISH, SIZE, Bits, Cell, Floes
from spielleiter.game.penguins.state import (
    EQUAL_FISH,
    MORE_FISH,
    PENGUINS,
    PENGUINS_2023,
    RULES_2023,
    PenguinsGame,
    PenguinsMistake,
    PenguinsMove,
    PenguinsState,
    Ruleset,
)

__all__ = [
    "EQUAL_FISH",
    "MAX_FISH",
    "MORE_FISH",
    "PENGUINS",
    "PENGUINS_2023",
    "RULES_2023",
    "SIZE",
    "Bits",
    "Cell",
    "Floes",
    "PenguinsGame",
    "PenguinsMistake",
    "PenguinsMove",
    "PenguinsState",
    "Ruleset",
]
