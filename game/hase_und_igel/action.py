"""Actions, and the moves they make up.

Law: everything that can be sent is a value here, legal or not: any distance, any amount, any order attribute. The
names of the classes are the wire's elements with a capital letter.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TypeAlias


class CardType(enum.Enum):
    """The four hare cards, in the order a new player holds them; the names are the wire's."""

    TAKE_OR_DROP_CARROTS = enum.auto()
    EAT_SALAD = enum.auto()
    HURRY_AHEAD = enum.auto()
    FALL_BACK = enum.auto()


@dataclass(frozen=True, slots=True)
class Advance:
    """Goes `distance` fields ahead and pays for it in carrots."""

    distance: int
    order: int = 0

    def __str__(self) -> str:
        return f"advance({self.distance})"


@dataclass(frozen=True, slots=True)
class Card:
    """Plays a hare card; `value` is the carrots of TAKE_OR_DROP_CARROTS and means nothing with the others."""

    type: CardType
    value: int = 0
    order: int = 0

    def __str__(self) -> str:
        return f"card({self.type.name},{self.value})"


@dataclass(frozen=True, slots=True)
class ExchangeCarrots:
    """Takes (10) or gives up (-10) carrots on a carrot field."""

    value: int
    order: int = 0

    def __str__(self) -> str:
        return f"exchangeCarrots({self.value})"


@dataclass(frozen=True, slots=True)
class EatSalad:
    """Eats a salad on a salad field."""

    order: int = 0

    def __str__(self) -> str:
        return "eatSalad"


@dataclass(frozen=True, slots=True)
class FallBack:
    """Retreats to the nearest hedgehog field behind, for ten carrots a field."""

    order: int = 0

    def __str__(self) -> str:
        return "fallBack"


@dataclass(frozen=True, slots=True)
class Skip:
    """Does nothing, because nothing else can be done."""

    order: int = 0

    def __str__(self) -> str:
        return "skip"


Action: TypeAlias = Advance | Card | ExchangeCarrots | EatSalad | FallBack | Skip


@dataclass(frozen=True, slots=True)
class HaseUndIgelMove:
    """The actions as they were sent; what happens first is said by their order attributes, not by their places.

    `actions` is None for a move without any list, which the rules tell apart from a move with an empty one (on the
    wire a move without children is the former).
    """

    actions: tuple[Action, ...] | None

    @property
    def in_order(self) -> tuple[Action, ...]:
        """The actions as they are carried out: by order attribute, equal ones as they were sent."""
        return tuple(sorted(self.actions or (), key=lambda action: action.order))

    @property
    def first_action(self) -> Action | None:
        """The action that is carried out first."""
        return next(iter(self.in_order), None)

    def __str__(self) -> str:
        """The short notation: `advance(3)+card(EAT_SALAD,0)`, with `@order` behind an action out of its place."""
        if self.actions is None:
            return "null"
        return "+".join(
            f"{action}" if action.order == place else f"{action}@{action.order}"
            for place, action in enumerate(self.actions)
        )
