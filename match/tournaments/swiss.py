"""Swiss tournaments: a fixed number of rounds, in which programs with equal points meet.

Invariants: pairing is a pure function of the outcomes and the seeding. No program gets a second bye before every
program has had one. Two programs meet again only if the round cannot be paired otherwise, or no other pairing was found
in MAX_STEPS steps. A win is 1 point, a draw ½, and a bye 1.

The standings are sorted by points, then by the sum of the opponents' points (Buchholz; a bye counts as an opponent with
the program's own points, as in FIDE's handbook since 2024), then by the share of points in all games, then by seeding.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from spielleiter.match.tournaments.encounters import Encounter, Outcome, Pairing, Round, Rounds

MAX_STEPS: Final = 20_000
"""The number of choices that are tried to avoid a repeated pairing; more could take minutes in rare cases."""

BYE: Final = 1.0


@dataclass(slots=True)
class SwissStanding:
    """One program in the standings."""

    program: int
    points: float = 0.0
    buchholz: float = 0.0
    wins: int = 0
    draws: int = 0
    losses: int = 0
    byes: int = 0
    game_points: float = 0.0
    games: float = 0.0
    """The number of counted games."""
    opponents: list[int] = field(default_factory=list)

    @property
    def share(self) -> float:
        """The share of points won in all games, from 0 to 1."""
        return self.game_points / self.games if self.games else 0.0


def default_rounds(count: int) -> int:
    """The number of rounds of a knock-out of `count` programs: the fewest after which one program has no loss."""
    return max(1, (count - 1).bit_length())


def most_rounds(count: int) -> int:
    """The highest number of rounds in which no two of `count` programs have to meet again."""
    return count if count % 2 else count - 1


def standings(seeding: Sequence[int], rounds: Sequence[Round], outcomes: Mapping[int, Outcome]) -> list[SwissStanding]:
    """The standings, best first, after the decided encounters; `outcomes` are by number of the encounter."""
    scores = {program: SwissStanding(program) for program in seeding}
    for each in rounds:
        done = [outcomes[encounter.number] for encounter in each.encounters if encounter.number in outcomes]
        for outcome in done:
            for index, program in enumerate(outcome.encounter.pairing):
                _count(scores[program], outcome, index)
        if done:  # byes of a round that has not begun give no points yet
            for program in each.byes:
                scores[program].points += BYE
                scores[program].byes += 1
    for score in scores.values():
        score.buchholz = sum(scores[other].points for other in score.opponents) + score.byes * score.points
    # sorting is stable, so ties are in the order of the seeding
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
    """`count` rounds of the programs in `seeding`, the one seeded highest first."""
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
    """The pairings of the next round, best first, and the program that has a bye (None: there is no bye).

    `order` is the standings. From the top, each program is paired with the program half a group of equal points below
    it, or else with the program nearest to that place that it has not met. In a group of odd size, the last program
    moves down to the next group. The bye goes to the lowest program among those with the fewest byes.
    """
    meetings = Counter((score.program, opponent) for score in order for opponent in score.opponents)
    # with the highest number of meetings so far as the limit, every round can be paired
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
    """A search for a pairing of programs that have met at most `limit` times, preferred choices first."""

    def __init__(self, meetings: Mapping[Pairing, int], limit: int) -> None:
        self._meetings = meetings
        self._limit = limit
        self._steps = 0
        self._dead_ends: set[tuple[int, ...]] = set()

    def run(self, remaining: tuple[SwissStanding, ...]) -> list[Pairing] | None:
        if not remaining:
            return []
        self._steps += 1
        key = tuple(score.program for score in remaining)
        if self._steps > MAX_STEPS or key in self._dead_ends:
            return None
        top, others = remaining[0], remaining[1:]
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
        self._dead_ends.add(key)
        return None


def _distance(index: int, ideal: int, group: int) -> tuple[bool, int, int]:
    """The sort key of opponents: in the group by distance to the ideal one, lower ones first; then later groups."""
    return index >= group, abs(index - ideal) if index < group else index, -index
