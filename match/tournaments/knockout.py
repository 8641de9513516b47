"""Knock-out: who loses a match is out.

Invariants: with the usual bracket, the programs seeded 1 and 2 can meet in the final only, 1 to 4 not before the
semi-finals, and so on. Where the number of programs is no power of two, those seeded highest have no opponent in the
first round. Every later pairing follows from the outcomes alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from spielleiter.match.tournaments.encounters import Encounter, Outcome, Round, Rounds

_TITLES: Final = {2: "final", 4: "semi-final", 8: "quarter-final"}
THIRD_PLACE: Final = "third place"


def bracket(size: int) -> list[int]:
    """The seeding, from 0, by place of the bracket; neighbours meet. `size` is a power of two."""
    places = [0]
    while len(places) < size:
        last = 2 * len(places) - 1
        places = [each for place in places for each in (place, last - place)]
    return places


def knock_out(seeding: Sequence[int], *, has_third_place: bool = False) -> Rounds:
    """The rounds among the programs of `seeding`, the one seeded highest first."""
    size = 1 << (len(seeding) - 1).bit_length()
    left: list[int | None] = [seeding[place] if place < len(seeding) else None for place in bracket(size)]
    number = played = 0
    while len(left) > 1:
        number += 1
        title = _TITLES.get(len(left), f"last {len(left)}")
        halves = list(zip(left[::2], left[1::2], strict=True))
        encounters: dict[int, Encounter] = {}
        for index, (first, second) in enumerate(halves):
            if first is not None and second is not None:
                played += 1
                encounters[index] = Encounter(played, number, _sorted(first, second), title)
        alone = {index: first if second is None else second for index, (first, second) in enumerate(halves)}
        byes = tuple(program for index, program in alone.items() if index not in encounters and program is not None)
        results = yield Round(number, title, tuple(encounters.values()), byes)
        following: list[int | None] = []
        losers: list[int] = []
        for index in range(len(halves)):
            if index in encounters:
                outcome = results[encounters[index]]
                following.append(outcome.winner)
                losers += [] if outcome.loser is None else [outcome.loser]
            else:
                following.append(alone[index])
        if has_third_place and len(left) == 4 and len(losers) == 2:
            third, fourth = losers
            played, number = played + 1, number + 1
            yield Round(number, THIRD_PLACE, (Encounter(played, number, _sorted(third, fourth), THIRD_PLACE),))
        left = following


def _sorted(first: int, second: int) -> tuple[int, int]:
    return min(first, second), max(first, second)


@dataclass(frozen=True, slots=True)
class Placing:
    """How far a program came; several that went out in the same round share their places."""

    program: int
    first: int
    last: int
    until: str
    """The title of the round it lost in; ``"champion"``, or ``"still in"`` while the tournament goes on."""

    @property
    def text(self) -> str:
        """``3`` or ``5–8``."""
        return str(self.first) if self.first == self.last else f"{self.first}–{self.last}"


def standings(seeding: Sequence[int], rounds: Sequence[Round], outcomes: Mapping[int, Outcome]) -> list[Placing]:
    """The final placing, best first, and within shared places by seeding; `outcomes` by number of the encounter."""
    fates: dict[int, tuple[int, str]] = {}
    for each in rounds:
        for encounter in each.encounters:
            outcome = outcomes.get(encounter.number)
            if outcome is None or outcome.winner is None or outcome.loser is None:
                continue
            if each.title == THIRD_PLACE:
                fates[outcome.winner] = (fates[outcome.winner][0] + 1, THIRD_PLACE)
            else:
                fates[outcome.loser] = (2 * each.number, each.title)
                if each.title == "final":
                    fates[outcome.winner] = (2 * each.number + 2, "champion")
    levels = {program: fates.get(program, (1_000_000, "still in")) for program in seeding}
    found = []
    for program in sorted(seeding, key=lambda program: -levels[program][0]):
        better = sum(levels[other][0] > levels[program][0] for other in seeding)
        alike = sum(levels[other][0] == levels[program][0] for other in seeding)
        found.append(Placing(program, better + 1, better + alike, levels[program][1]))
    return found
