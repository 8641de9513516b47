"""Knock-out tournaments: the loser of an encounter is eliminated.

Invariants: in the bracket, the programs seeded 1 and 2 can meet only in the final, 1 to 4 not before the semi-finals,
and so on. If the number of programs is not a power of two, those seeded highest have a bye in the first round. All
later pairings follow from the outcomes alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from spielleiter.match.tournaments.encounters import Encounter, Outcome, Round, Rounds

_TITLES: Final = {2: "final", 4: "semi-final", 8: "quarter-final"}
THIRD_PLACE: Final = "third place"


def bracket(size: int) -> list[int]:
    """The ranks in the seeding, from 0, in the order of the bracket: neighbours meet. `size` is a power of two."""
    ranks = [0]
    while len(ranks) < size:
        last = 2 * len(ranks) - 1
        ranks = [each for rank in ranks for each in (rank, last - rank)]
    return ranks


def knock_out(seeding: Sequence[int], *, has_third_place: bool = False) -> Rounds:
    """The rounds of the programs in `seeding`, the one seeded highest first."""
    size = 1 << (len(seeding) - 1).bit_length()
    remaining: list[int | None] = [seeding[rank] if rank < len(seeding) else None for rank in bracket(size)]
    number = played = 0
    while len(remaining) > 1:
        number += 1
        title = _TITLES.get(len(remaining), f"last {len(remaining)}")
        halves = list(zip(remaining[::2], remaining[1::2], strict=True))
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
        if has_third_place and len(remaining) == 4 and len(losers) == 2:
            third, fourth = losers
            played, number = played + 1, number + 1
            yield Round(number, THIRD_PLACE, (Encounter(played, number, _sorted(third, fourth), THIRD_PLACE),))
        remaining = following


def _sorted(first: int, second: int) -> tuple[int, int]:
    return min(first, second), max(first, second)


@dataclass(frozen=True, slots=True)
class Placing:
    """The place of a program; programs that were eliminated in the same round share their places."""

    program: int
    first: int
    last: int
    until: str
    """The title of the round it lost in (or won, for the third place); ``"champion"``; ``"still in"`` before that."""

    @property
    def text(self) -> str:
        """``3`` or ``5–8``."""
        return str(self.first) if self.first == self.last else f"{self.first}–{self.last}"


def standings(seeding: Sequence[int], rounds: Sequence[Round], outcomes: Mapping[int, Outcome]) -> list[Placing]:
    """The standings, best first and within shared places by seeding; `outcomes` are by number of the encounter."""
    reached: dict[int, tuple[int, str]] = {}
    """By program: a level that is higher the further it came, and a title."""
    for each in rounds:
        for encounter in each.encounters:
            outcome = outcomes.get(encounter.number)
            if outcome is None or outcome.winner is None or outcome.loser is None:
                continue
            if each.title == THIRD_PLACE:
                reached[outcome.winner] = (reached[outcome.winner][0] + 1, THIRD_PLACE)
            else:
                reached[outcome.loser] = (2 * each.number, each.title)
                if each.title == "final":
                    reached[outcome.winner] = (2 * each.number + 2, "champion")
    levels = {program: reached.get(program, (1_000_000, "still in")) for program in seeding}
    found = []
    for program in sorted(seeding, key=lambda program: -levels[program][0]):
        better = sum(levels[other][0] > levels[program][0] for other in seeding)
        alike = sum(levels[other][0] == levels[program][0] for other in seeding)
        found.append(Placing(program, better + 1, better + alike, levels[program][1]))
    return found
