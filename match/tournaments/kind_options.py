"""The settings that depend on the kind of tournament, and the opening book, as the keys of a tournament's file.

Invariants: a key that has no effect on this kind of tournament is refused, never ignored.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from spielleiter.common.errors import SetupError
from spielleiter.match.plan import ORDERS
from spielleiter.match.toml_files import take, take_choice
from spielleiter.match.tournaments.swiss import default_rounds, most_rounds
from spielleiter.server.setting import MAX_WHOLE_NUMBER

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
"""By key: the kinds of tournaments that it applies to."""

_BOOK: Final = ("book", "order", "opening_turn")
KEYS: Final = (*_KINDS, *_BOOK)


@dataclass(frozen=True, slots=True)
class KindOptions:
    """How programs are paired, and the positions they start from."""

    tested: int = 1
    """In a gauntlet: the number of tested programs, which are the first ones; each meets all others."""
    rounds: int | None = None
    """In a Swiss tournament: the number of rounds; None: the number that a knock-out would have."""
    seeding: str = "random"
    """``listed``: the programs are listed by strength, the strongest first; ``random``: the order is drawn."""
    play_offs: int = 3
    """In a knock-out: the highest number of play-offs, each a pair of games, after an even match."""
    third_place: bool = False
    """In a knock-out: whether the losers of the semi-finals play for third place."""
    book: str = ""
    """The path of the opening book; empty: the game's own starting positions."""
    order: str = ORDERS[0]
    """The order that the openings are put into, one of `plan.ORDERS`."""
    opening_turn: int = 0
    """The turn to begin from if the book does not name one."""

    def check(self, kind: str, count: int) -> None:
        """Raise SetupError if `count` programs cannot play a tournament of this kind with these options."""
        if kind == "gauntlet" and not 1 <= self.tested < count:
            raise SetupError(f"tested = {self.tested}: expected at least 1, and fewer than the {count} programs")
        if kind == "swiss" and self.rounds is not None and not 1 <= self.rounds <= most_rounds(count):
            raise SetupError(
                f"rounds = {self.rounds}: expected 1 to {most_rounds(count)}, "
                f"since {count} programs would have to meet again after that"
            )

    def seeded(self, count: int, seed: int) -> list[int]:
        """The indices of `count` programs, the one seeded highest first; `seed` is that of the tournament."""
        programs = list(range(count))
        if self.seeding == "random":
            random.Random(f"{seed} seeding").shuffle(programs)
        return programs

    def rounds_of(self, count: int) -> int:
        """The number of rounds of a Swiss tournament of `count` programs."""
        return self.rounds or default_rounds(count)


def read_kind_options(value: Mapping[str, Any], kind: str) -> KindOptions:
    """The options in the content of a tournament's file. Raises SetupError."""
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
