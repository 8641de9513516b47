"""The board: a track of 65 fields from start to goal, and how a new one is generated.

Invariants: a regular board has the fixed fields of the original board game in their places. Each group of fields
between two of them always contains the same fields, in any order. Field numbers are indices from 0 to 64 (the rules
text counts from 1).
"""

from __future__ import annotations

import enum
import random
from dataclasses import dataclass
from typing import Final


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


START_INDEX: Final = 0
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


@dataclass(frozen=True, slots=True)
class Board:
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
