"""What belongs to some kinds of tournaments only, and the book of openings, as a tournament's file says it.

Invariants: a key that has no effect on the kind of tournament is refused, never ignored.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from spielleiter.match.errors import SetupError
from spielleiter.match.plan import ORDERS
from spielleiter.match.toml_files import take, take_choice
from spielleiter.match.tournaments.swiss import default_rounds, most_rounds
from spielleiter.server.config.setting import MAX_WHOLE_NUMBER

SEEDINGS: Final = ("random", "listed")
MAX_PLAY_OFFS: Final = 100

_KINDS: Final[Mapping[str, Sequence[str]]] = MappingProxyType(
    {
        "tested": ("gauntlet",),
        "rounds": ("swiss",),
        "seeding": ("knock-out", "swiss"),
        "play_offs": ("knock-out",),
        "third_place": ("knock-out",),
    }
)
"""The kinds by key."""

_BOOK: Final = ("book", "order", "opening_turn")
KEYS: Final = (*_KINDS, *_BOOK)


@dataclass(frozen=True, slots=True)
class KindOptions:
    """How the programs are paired, and from which positions they play."""

    tested: int = 1
    """In a gauntlet, so many programs, the first ones, meet each of the others."""
    rounds: int | None = None
    """Of a Swiss tournament; None: as many as a knock-out would have."""
    seeding: str = "random"
    """``listed``: the strongest program stands first; ``random``: the tournament's seed draws the order."""
    play_offs: int = 3
    """At most so many pairs of games decide an even match of a knock-out."""
    third_place: bool = False
    """Whether the losers of the semi-finals of a knock-out meet."""
    book: str = ""
    """The openings' place; empty: the game's own starts."""
    order: str = ORDERS[0]
    opening_turn: int = 0

    def check(self, kind: str, count: int) -> None:
        """Refuse what `count` programs cannot play. Raises SetupError."""
        if kind == "gauntlet" and not 1 <= self.tested < count:
            raise SetupError(f"tested = {self.tested}: expected at least 1, and fewer than the {count} programs")
        if kind == "swiss" and self.rounds is not None and not 1 <= self.rounds <= most_rounds(count):
            raise SetupError(
                f"rounds = {self.rounds}: expected 1 to {most_rounds(count)}, "
                f"since {count} programs would have to meet again after that"
            )

    def seeded(self, count: int, seed: int) -> list[int]:
        """The programs' indices, the one seeded highest first."""
        programs = list(range(count))
        if self.seeding == "random":
            random.Random(f"{seed} seeding").shuffle(programs)
        return programs

    def rounds_of(self, count: int) -> int:
        """How many rounds a Swiss tournament of `count` programs has."""
        return self.rounds or default_rounds(count)


def read_kind_options(value: Mapping[str, Any], kind: str) -> KindOptions:
    """The form that a tournament's table describes. Raises SetupError."""
    for key, kinds in _KINDS.items():
        if key in value and kind not in kinds:
            wanted = " or ".join(f'kind = "{each}"' for each in kinds)
            raise SetupError(f'{key}: has no effect with kind = "{kind}", expected {wanted}')
    for key in _BOOK[1:]:
        if key in value and "book" not in value:
            raise SetupError(f"{key}: has no effect without a book")
    return KindOptions(
        tested=_whole(value, "tested", 1, 1),
        rounds=_whole(value, "rounds", 1, 1) if "rounds" in value else None,
        seeding=take_choice(value, "seeding", SEEDINGS, SEEDINGS[0]),
        play_offs=_whole(value, "play_offs", 3, 0, MAX_PLAY_OFFS),
        third_place=take(value, "third_place", bool, False),
        book=take(value, "book", str, ""),
        order=take_choice(value, "order", ORDERS, ORDERS[0]),
        opening_turn=_whole(value, "opening_turn", 0, 0),
    )


def _whole(value: Mapping[str, Any], key: str, default: int, least: int, most: int = MAX_WHOLE_NUMBER) -> int:
    taken = value.get(key, default)
    if not isinstance(taken, int) or isinstance(taken, bool) or not least <= taken <= most:
        raise SetupError(f"{key} {taken!r}: expected a whole number from {least} to {most}")
    return taken
