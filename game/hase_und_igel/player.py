"""One of the two players: its field, and what it holds.

Invariants: a player is a value. Every action makes a new one.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

from spielleiter.game.hase_und_igel.action import Action, CardType


class PlayerColor(enum.IntEnum):
    """The colours in the order of the seats. RED always starts. The names are those on the wire."""

    RED = 0
    BLUE = 1


@dataclass(frozen=True, slots=True)
class Player:
    """A player; the default values are those at the start of a game.

    `index` is the player's field. `cards` are the cards still in hand, in their original order. `last_action` is the
    last action that was not a skip (`lastNonSkipAction` on the wire), with the order attribute that it was sent with.
    """

    index: int = 0
    carrots: int = 68
    salads: int = 5
    cards: tuple[CardType, ...] = tuple(CardType)
    last_action: Action | None = None
