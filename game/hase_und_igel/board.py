"""The track of 65 fields, the players, and the actions that a move consists of.

Everything that can be sent can be represented, legal or not: any distance, any amount, any order attribute. Field
numbers are indices from 0 to 64 (the rules text counts from 1).
"""

from __future__ import annotations

import enum
import random
from typing import Final, TypeAlias

from msgspec import Struct


class FieldType(enum.Enum):
    """The types of fields. The name of a member is the word on the wire, its value the letter of the short notation."""

    START = "S"
    CARROT = "C"
    HARE = "H"
    POSITION_1 = "1"
    POSITION_2 = "2"
    HEDGEHOG = "I"
    SALAD = "L"
    GOAL = "G"


GOAL_INDEX: Final = 64

_LAYOUT: Final = "SaaaaaaaaaLIbbbIcccIddLdIeeeeeIffffffIggggLIhhhhhhIiiiiiILjjjjjjG"
"""A capital letter or digit is a fixed field. A small letter is a field of the group of that name."""

_GROUPS: Final = {
    "a": "HHHCCCC12",
    "b": "CCH",
    "c": "12C",
    "d": "CC2",
    "e": "HCCC2",
    "f": "HH12CC",
    "g": "CCH2",
    "h": "CCCH12",
    "i": "HCCC2",
    "j": "HHCCC1",
}


class Board(Struct, frozen=True):
    """The fields in the order of their indices. A regular board has 65 fields."""

    fields: tuple[FieldType, ...]

    @classmethod
    def from_letters(cls, letters: str) -> Board:
        """Return the board given in the short notation, one letter per field. Raises ValueError for an unknown letter.

        >>> Board.from_letters("SCH").type_at(2)
        <FieldType.HARE: 'H'>
        """
        return cls(tuple(FieldType(letter) for letter in letters))

    def __str__(self) -> str:
        return "".join(field.value for field in self.fields)

    def type_at(self, index: int) -> FieldType | None:
        """Return the type of the field with this index, or None if there is no such field."""
        return self.fields[index] if 0 <= index < len(self.fields) else None

    def hedgehog_before(self, index: int) -> int | None:
        """Return the index of the nearest hedgehog field before `index`, or None if there is none."""
        for candidate in reversed(range(min(index, len(self.fields)))):
            if self.fields[candidate] is FieldType.HEDGEHOG:
                return candidate
        return None

    def is_regular(self) -> bool:
        """Return whether `generate_board` could have generated this board."""
        letters = str(self)
        if len(letters) != len(_LAYOUT):
            return False
        return all(
            sorted(letter for letter, group in zip(letters, _LAYOUT, strict=True) if group == name)
            == sorted(_GROUPS.get(name, name * _LAYOUT.count(name)))
            for name in set(_LAYOUT)
        )


def generate_board(rng: random.Random) -> Board:
    """Return a regular board, drawn with `rng`; every order within the groups is equally likely.

    The composition of the groups is that of release 18.2.6.
    """
    shuffled = {name: iter(rng.sample(fields, len(fields))) for name, fields in _GROUPS.items()}
    return Board.from_letters("".join(next(shuffled[name]) if name in shuffled else name for name in _LAYOUT))


class CardType(enum.Enum):
    """The four hare cards, in the order in which a new player holds them. The names are those on the wire."""

    TAKE_OR_DROP_CARROTS = enum.auto()
    EAT_SALAD = enum.auto()
    HURRY_AHEAD = enum.auto()
    FALL_BACK = enum.auto()


class Advance(Struct, frozen=True):
    """Move forward by `distance` fields, which costs `advance_cost(distance)` carrots."""

    distance: int
    order: int = 0

    def __str__(self) -> str:
        return f"advance({self.distance})"


class Card(Struct, frozen=True):
    """Play a hare card.

    `value` is the number of carrots to take (negative: to drop) with TAKE_OR_DROP_CARROTS. It has no meaning for the
    other cards.
    """

    type: CardType
    value: int = 0
    order: int = 0

    def __str__(self) -> str:
        return f"card({self.type.name},{self.value})"


class ExchangeCarrots(Struct, frozen=True):
    """Take 10 carrots on a carrot field, or give 10 up: `value` is 10 or -10."""

    value: int
    order: int = 0

    def __str__(self) -> str:
        return f"exchangeCarrots({self.value})"


class EatSalad(Struct, frozen=True):
    """Eat a salad on a salad field."""

    order: int = 0

    def __str__(self) -> str:
        return "eatSalad"


class FallBack(Struct, frozen=True):
    """Move back to the nearest hedgehog field behind the player, and get ten carrots for each field."""

    order: int = 0

    def __str__(self) -> str:
        return "fallBack"


class Skip(Struct, frozen=True):
    """Do nothing. Legal only if no other action is possible."""

    order: int = 0

    def __str__(self) -> str:
        return "skip"


Action: TypeAlias = Advance | Card | ExchangeCarrots | EatSalad | FallBack | Skip


class HaseUndIgelMove(Struct, frozen=True):
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


class PlayerColor(enum.IntEnum):
    """The colours in the order of the seats. RED always starts. The names are those on the wire."""

    RED = 0
    BLUE = 1


class Player(Struct, frozen=True):
    """A player; the default values are those at the start of a game.

    `index` is the player's field. `cards` are the cards still in hand, in their original order. `last_action` is the
    last action that was not a skip (`lastNonSkipAction` on the wire), with the order attribute that it was sent with.
    """

    index: int = 0
    carrots: int = 68
    salads: int = 5
    cards: tuple[CardType, ...] = tuple(CardType)
    last_action: Action | None = None
