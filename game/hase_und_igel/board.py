"""The track: 65 fields from start to goal, and how a new one is placed out.

Law: a regular board has its fixed fields where the original game has them, and each group between two of them holds
the same fields in any order. Field numbers are indices 0 to 64 (the rules count from 1).
"""

from __future__ import annotations

import enum
import random
from dataclasses import dataclass
from typing import Final


class FieldType(enum.Enum):
    """What a field is: the name is the wire's word, the value the letter of the short notation."""

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
"""Capital letters are fixed fields; a small letter is a field of the group of that name."""

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
    """The fields by index; 65 of them on a regular board."""

    fields: tuple[FieldType, ...]

    @classmethod
    def from_letters(cls, letters: str) -> Board:
        """The board of the short notation, one letter a field. Raises ValueError for a letter that is none."""
        return cls(tuple(FieldType(letter) for letter in letters))

    def __str__(self) -> str:
        return "".join(field.value for field in self.fields)

    def type_at(self, index: int) -> FieldType | None:
        """The field of any index, None off the board."""
        return self.fields[index] if 0 <= index < len(self.fields) else None

    def hedgehog_before(self, index: int) -> int | None:
        """The nearest hedgehog field with a smaller index, None if there is none."""
        for candidate in reversed(range(min(index, len(self.fields)))):
            if self.fields[candidate] is FieldType.HEDGEHOG:
                return candidate
        return None

    def is_regular(self) -> bool:
        """Whether `generate_board` could have placed this board out."""
        letters = str(self)
        if len(letters) != len(_LAYOUT):
            return False
        return all(
            sorted(letter for letter, group in zip(letters, _LAYOUT, strict=True) if group == name)
            == sorted(_GROUPS.get(name, name * _LAYOUT.count(name)))
            for name in set(_LAYOUT)
        )


def generate_board(rng: random.Random) -> Board:
    """A regular board, every order within the groups equally likely. Source: composition of the groups in 18.2.6."""
    shuffled = {name: iter(rng.sample(fields, len(fields))) for name, fields in _GROUPS.items()}
    return Board.from_letters("".join(next(shuffled[name]) if name in shuffled else name for name in _LAYOUT))
