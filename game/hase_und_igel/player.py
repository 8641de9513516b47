"""One of the two players: where it stands and what it holds.

Law: a player is a value; every action makes a new one.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

from spielleiter.game.hase_und_igel.action import Action, CardType


class PlayerColor(enum.IntEnum):
    """The colours by seat; RED always starts. The names are the wire's."""

    RED = 0
    BLUE = 1


@dataclass(frozen=True, slots=True)
class Player:
    """A player; the defaults are what everybody starts with.

    `index` is the field, `cards` are those still in hand in their first order, `last_action` is the last one that
    was not a skip (the wire's lastNonSkipAction), with the order attribute it was sent with.
    """

    index: int = 0
    carrots: int = 68
    salads: int = 5
    cards: tuple[CardType, ...] = tuple(CardType)
    last_action: Action | None = None
