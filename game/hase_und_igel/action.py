"""Actions, and the moves that consist of them.

Invariants: everything that can be sent can be represented, legal or not: any distance, any amount, any order attribute.
The classes have the names of the elements on the wire, with a capital letter.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TypeAlias


class CardType(enum.Enum):
    """The four hare cards, in the order in which a new player holds them. The names are those on the wire."""

    TAKE_OR_DROP_CARROTS = enum.auto()
    EAT_SALAD = enum.auto()
    HURRY_AHEAD = enum.auto()
    FALL_BACK = enum.auto()


@dataclass(frozen=True, slots=True)
class Advance:
    """Move forward by `distance` fields, which costs `advance_cost(distance)` carrots."""

    distance: int
    order: int = 0

    def __str__(self) -> str:
        return f"advance({self.distance})"


@dataclass(frozen=True, slots=True)
class Card:
    """Play a hare card.

    `value` is the number of carrots to take (negative: to drop) with TAKE_OR_DROP_CARROTS. It has no meaning for the
    other cards.
    """

    type: CardType
    value: int = 0
    order: int = 0

    def __str__(self) -> str:
        return f"card({self.type.name},{self.value})"


@dataclass(frozen=True, slots=True)
class ExchangeCarrots:
    """Take 10 carrots on a carrot field, or give 10 up: `value` is 10 or -10."""

    value: int
    order: int = 0

    def __str__(self) -> str:
        return f"exchangeCarrots({self.value})"


@dataclass(frozen=True, slots=True)
class EatSalad:
    """Eat a salad on a salad field."""

    order: int = 0

    def __str__(self) -> str:
        return "eatSalad"


@dataclass(frozen=True, slots=True)
class FallBack:
    """Move back to the nearest hedgehog field behind the player, and get ten carrots for each field."""

    order: int = 0

    def __str__(self) -> str:
        return "fallBack"


@dataclass(frozen=True, slots=True)
class Skip:
    """Do nothing. Legal only if no other action is possible."""

    order: int = 0

    def __str__(self) -> str:
        return "skip"


Action: TypeAlias = Advance | Card | ExchangeCarrots | EatSalad | FallBack | Skip


@dataclass(frozen=True, slots=True)
class HaseUndIgelMove:
    """A move: its actions in the order in which they were sent.

    They are carried out in the order of their `order` attributes, which may be a different one. `actions` is None for
    a move without any list of actions (on the wire, a move without children); the rules distinguish it from a move with
    an empty list.

    >>> move = HaseUndIgelMove((Card(CardType.EAT_SALAD, order=1), Advance(3, order=0)))
    >>> move.first_action
    Advance(distance=3, order=0)
    >>> print(move)
    card(EAT_SALAD,0)@1+advance(3)@0
    """

    actions: tuple[Action, ...] | None

    @property
    def in_order(self) -> tuple[Action, ...]:
        """The actions in the order in which they are carried out: sorted by `order`, equal ones as they were sent."""
        return tuple(sorted(self.actions or (), key=lambda action: action.order))

    @property
    def first_action(self) -> Action | None:
        """The action that is carried out first, or None if there is no action."""
        return next(iter(self.in_order), None)

    def __str__(self) -> str:
        """Return the short notation: `advance(3)+card(EAT_SALAD,0)`.

        An action whose `order` is not its index is followed by `@order`.
        """
        if self.actions is None:
            return "null"
        return "+".join(
            f"{action}" if action.order == index else f"{action}@{action.order}"
            for index, action in enumerate(self.actions)
        )
