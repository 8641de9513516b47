"""The evaluation of one player in Hase und Igel, for the levels.

Invariants: a value is in turns (more is better), and depends only on the player and the board. The value of a position
is the difference between both players, so a search evaluates each player once however often it meets the other one.

The weights were fitted by games of the search against itself, with slightly different weights on both sides (SPSA).
"""

from __future__ import annotations

from typing import Final, NamedTuple

from spielleiter.client.evaluation import turns_for_the_way
from spielleiter.client.levels.hase_und_igel_model import (
    CARROT,
    EAT_SALAD,
    FALL_BACK,
    HEDGEHOG,
    HURRY_AHEAD,
    POSITION_1,
    POSITION_2,
    SALAD,
    TAKE_OR_DROP_CARROTS,
    Hare,
    Track,
)
from spielleiter.game.hase_und_igel import GOAL_INDEX


class Weights(NamedTuple):
    """What is worth how many turns."""

    turns: float
    """A turn of the remaining way, by the carrots that are there."""
    progress: float
    """A field of the way so far."""
    salad: float
    """A salad that is left, at the start of the way."""
    late_salad: float
    """What a salad costs more at the end of the way."""
    missed_salad: float
    """A salad for which neither a salad field ahead nor a card is left."""
    cards: dict[int, float]
    """A card in hand. EAT_SALAD counts only while a salad is left."""
    fields: dict[str, float]
    """The field of the player. A salad field counts only before eating there."""


WEIGHTS: Final = Weights(
    turns=0.25,
    progress=0.18,
    salad=25.0,
    late_salad=4.3,
    missed_salad=5.4,
    cards={TAKE_OR_DROP_CARROTS: 3.0, EAT_SALAD: 16.5, HURRY_AHEAD: 1.7, FALL_BACK: -0.5},
    fields={SALAD: 14.2, HEDGEHOG: 1.5, POSITION_1: 2.5, POSITION_2: 3.5, CARROT: 3.5},
)

IN_THE_GOAL: Final = 500.0
"""The value of a player in the goal: more than anything else, and less than a game that is over."""


def evaluate(track: Track, hare: Hare, weights: Weights = WEIGHTS) -> float:
    """Return the value of `hare`."""
    index, carrots, salads, cards, has_eaten = hare
    if index == GOAL_INDEX:
        return IN_THE_GOAL
    letter = track.letters[index]
    value = weights.progress * index - weights.turns * turns_for_the_way(GOAL_INDEX - index, carrots)
    for card, worth in weights.cards.items():
        if cards & card and (card != EAT_SALAD or salads):
            value += worth
    if letter != SALAD or not has_eaten:
        value += weights.fields.get(letter, 0.0)
    if salads:
        value -= salads * (weights.salad + weights.late_salad * index / GOAL_INDEX)
        chances = track.salads_ahead[index] + (letter == SALAD and not has_eaten) + bool(cards & EAT_SALAD)
        value -= weights.missed_salad * max(0, salads - chances)
    return value
