"""Swiss system: a fixed number of rounds, in which programs with as many points as each other meet.

Invariants: pairing is a pure function of the outcomes and the seeding. Nobody has a second bye before everybody had
one. Two programs meet again only if there is no other way to pair the round, or none was found in MAX_STEPS steps.
A match won is 1 point, a match drawn ½, and a bye 1.

Order: points, then the sum of the opponents' points (Buchholz; a bye counts as an opponent with one's own points, as in
FIDE's handbook since 2024), then the share of the games' points, then the seeding.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from spielleiter.match.tournaments.encounters import Encounter, Outcome, Pairing, Round, Rounds

MAX_STEPS: Final = 20_000
"""So many choices are tried to pair a round without a repeated pairing; more would take minutes in rare cases."""

BYE: Final = 1.0


@dataclass(slots=True)
class SwissStanding:
    """One program's line of the table."""

    program: int
    points: float = 0.0
    buchholz: float = 0.0
    wins: int = 0
    draws: int = 0
    losses: int = 0
    byes: int = 0
    game_points: float = 0.0
    games: float = 0.0
    """Games that counted; both of a pair in which one program was absent do not."""
    opponents: list[int] = field(default_factory=list)

    @property
    def share(self) -> float:
        """Of the games' points."""
        return self.game_points / self.games if self.games else 0.0


def default_rounds(count: int) -> int:
    """As many rounds as a knock-out of `count` programs has: the fewest that leave one program without a loss."""
    return max(1, (count - 1).bit_length())


def most_rounds(count: int) -> int:
    """With more rounds than this, programs would have to meet again."""
    return count if count % 2 else count - 1


def standings(seeding: Sequence[int], rounds: Sequence[Round], outcomes: Mapping[int, Outcome]) -> list[SwissStanding]:
    """The standings, best first, after the outcomes there are; `outcomes` by number of the encounter."""
    scores = {program: SwissStanding(program) for program in seeding}
    for each in rounds:
        done = [outcomes[encounter.number] for encounter in each.encounters if encounter.number in outcomes]
        for outcome in done:
            for index, program in enumerate(outcome.encounter.pairing):
                _count(scores[program], outcome, index)
        if done:  # a round that has not begun is worth nothing yet
            for program in each.byes:
                scores[program].points += BYE
                scores[program].byes += 1
    for score in scores.values():
        score.buchholz = sum(scores[other].points for other in score.opponents) + score.byes * score.points
    # sorting keeps the seeding where all else is equal
    return sorted(scores.values(), key=lambda score: (-score.points, -score.buchholz, -score.share))


def _count(score: SwissStanding, outcome: Outcome, index: int) -> None:
    score.points += outcome.match_points[index]
    score.wins += outcome.winner == score.program
    score.losses += outcome.loser == score.program
    score.draws += outcome.winner is None
    score.game_points += outcome.score[index]
    score.games += sum(outcome.score)
    score.opponents.append(outcome.encounter.pairing[1 - index])


def swiss(seeding: Sequence[int], count: int) -> Rounds:
    """`count` rounds among the programs of `seeding`, the one seeded highest first."""
    rounds: list[Round] = []
    outcomes: dict[int, Outcome] = {}
    for number in range(1, count + 1):
        order = standings(seeding, rounds, outcomes)
        pairings, bye = pair_round(order)
        encounters = tuple(
            Encounter(len(outcomes) + index, number, pairing) for index, pairing in enumerate(pairings, 1)
        )
        rounds.append(Round(number, f"round {number}", encounters, () if bye is None else (bye,)))
        results = yield rounds[-1]
        outcomes |= {encounter.number: results[encounter] for encounter in encounters}


def pair_round(order: Sequence[SwissStanding]) -> tuple[list[Pairing], int | None]:
    """The pairings of the next round, best first, and the program that has a bye.

    From the top, each program meets the one half of its group of equal points below it, as near to that as programs go
    that it has not met; a group with an odd number hands its last one down. The bye is the lowest program's that has
    had the fewest.
    """
    meetings = Counter((score.program, opponent) for score in order for opponent in score.opponents)
    # as often as any have met is always possible
    for limit in range(max(meetings.values(), default=0) + 1):
        for bye in _byes(order):
            rest = [score for score in order if score is not bye]
            found = _Search(meetings, limit).run(tuple(rest))
            if found is not None:
                return found, None if bye is None else bye.program
    raise AssertionError("every round can be paired")


def _byes(order: Sequence[SwissStanding]) -> list[SwissStanding | None]:
    if len(order) % 2 == 0:
        return [None]
    fewest = min(score.byes for score in order)
    return [score for score in reversed(order) if score.byes == fewest]


class _Search:
    """Looks for a pairing in which nobody has met more than `limit` times, the most preferred choices first."""

    def __init__(self, meetings: Mapping[Pairing, int], limit: int) -> None:
        self._meetings = meetings
        self._limit = limit
        self._steps = 0
        self._hopeless: set[tuple[int, ...]] = set()

    def run(self, left: tuple[SwissStanding, ...]) -> list[Pairing] | None:
        if not left:
            return []
        self._steps += 1
        key = tuple(score.program for score in left)
        if self._steps > MAX_STEPS or key in self._hopeless:
            return None
        top, others = left[0], left[1:]
        group = sum(score.points == top.points for score in others)
        ideal = (group + 1) // 2 - 1
        for index in sorted(range(len(others)), key=lambda index: _distance(index, ideal, group)):
            other = others[index]
            if self._meetings.get((top.program, other.program), 0) > self._limit:
                continue
            rest = self.run(others[:index] + others[index + 1 :])
            if rest is not None:
                first, second = sorted((top.program, other.program))
                return [(first, second), *rest]
        self._hopeless.add(key)
        return None


def _distance(index: int, ideal: int, group: int) -> tuple[bool, int, int]:
    """Within the group as near to the ideal opponent as can be, below it first; below the group from its top."""
    return index >= group, abs(index - ideal) if index < group else index, -index
