"""The encounters of a tournament, in which two programs meet: who meets whom, outcomes and standings.

Invariants: pairings and outcomes are pure functions of the seeding and the records, so a resumed tournament gets the
same ones. An encounter of a knock-out always has a winner; in other kinds of tournaments it may be drawn.
"""

from __future__ import annotations

import enum
import itertools
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from spielleiter.match.records import GameRecord
from spielleiter.match.statistics import PLAYED_OUT, count_results
from spielleiter.match.stopping import unfit_programs, was_played

Pairing: TypeAlias = tuple[int, int]
"""The indices of two programs, the smaller one first."""


class Reason(enum.Enum):
    """What decided an encounter; the values are those of tournament.json."""

    SCORE = "score"
    PLAY_OFF = "play-off"
    POINTS = "points"
    SEEDING = "seeding"
    ABSENCE = "the other cannot play"
    DRAWN = "drawn"


@dataclass(eq=False, slots=True)
class Encounter:
    """Two programs that meet: a match, and in a knock-out its play-offs."""

    number: int
    """From 1, in the order in which encounters are played."""
    round: int
    """From 1."""
    pairing: Pairing
    title: str = ""
    """The stage that it belongs to, such as ``"final"``."""
    matches: list[tuple[ScheduledMatch, Sequence[GameRecord]]] = field(default_factory=list)
    """The match and its play-offs as far as they were played, each with its records in the order of finishing."""
    reason: Reason | None = None
    """What decided it; None: it is still open."""
    winner: int | None = None
    """The index of a program; None: it is drawn, or still open."""
    score: tuple[float, float] = (0.0, 0.0)
    """The score of the match, without the play-offs, once it is decided."""

    @property
    def loser(self) -> int | None:
        """The index of the program that lost; None: it is drawn, or still open."""
        first, second = self.pairing
        return None if self.winner is None else first + second - self.winner

    @property
    def match_points(self) -> tuple[float, float]:
        """1 for the winner, ½ for each program if it is drawn; 0 for each if neither program can play."""
        if self.winner is None:
            return (0.0, 0.0) if self.reason is Reason.ABSENCE else (0.5, 0.5)
        return (1.0, 0.0) if self.winner == self.pairing[0] else (0.0, 1.0)


@dataclass(frozen=True, slots=True)
class ScheduledMatch:
    """A match to be played: the match of an encounter, or one of its play-offs."""

    encounter: Encounter
    folder: str
    """The folder of the match, relative to that of the tournament."""
    meeting: int = 0
    """How often the two programs have met before in this tournament."""
    play_off: int = 0
    """The number of the play-off, from 1; 0: the match itself."""
    is_swapped: bool = False
    """Whether its folder has the two programs in the other order."""


@dataclass(frozen=True, slots=True)
class Round:
    """The encounters that are played before the next round is paired; `byes` are programs without an opponent."""

    number: int
    title: str
    encounters: tuple[Encounter, ...]
    byes: tuple[int, ...] = ()


Rounds: TypeAlias = Iterator[Round]
"""Rounds, of which each is requested when the encounters of the previous one are decided."""


def absent_programs(records: Sequence[GameRecord]) -> tuple[int, ...]:
    """The programs (0, 1) that cannot play, as of the first record that shows it.

    `records` are in the order of finishing; those after that record are ignored.
    """
    doubtful = {0, 1}
    for count, record in enumerate(records, 1):
        doubtful = {program for program in doubtful if not was_played(record, program)}
        if not doubtful:
            break  # a program that has played once is fit
        if found := unfit_programs(records[:count]):
            return found
    return ()


def score_of(records: Sequence[GameRecord]) -> tuple[float, float]:
    """The score of both programs: wins and half of the draws."""
    tally = count_results(records)
    return tally.wins + tally.draws / 2, tally.losses + tally.draws / 2


def outcome_of(
    encounter: Encounter, ranks: Mapping[int, int] | None = None, *, keeps_playing: bool = False
) -> tuple[int | None, Reason]:
    """The winner of an encounter after the matches that were played, None if it is drawn, and what decided it.

    `ranks` is the seeding, a rank by program. With it, the encounter always has a winner: by the score of the match, by
    the first play-off that was not even, by the sum of the points of all games that were played to their end, or by the
    seeding. With `keeps_playing`, all games count, even those after the ones that show that a program cannot play.
    """
    parts = [records for _, records in encounter.matches]
    for part in parts:
        absent = () if keeps_playing else absent_programs(part)
        if len(absent) == 1:
            return encounter.pairing[1 - absent[0]], Reason.ABSENCE
        if absent and ranks is None:
            return None, Reason.ABSENCE
    for index, part in enumerate(parts):
        own, other = score_of(part)
        if own != other:
            return encounter.pairing[int(other > own)], Reason.PLAY_OFF if index else Reason.SCORE
    if ranks is None:
        return None, Reason.DRAWN
    difference = point_difference([record for part in parts for record in part])
    if difference:
        return encounter.pairing[int(difference < 0)], Reason.POINTS
    return min(encounter.pairing, key=lambda program: ranks[program]), Reason.SEEDING


def point_difference(records: Sequence[GameRecord]) -> float:
    """The points of program 0 minus those of program 1, summed over all games that were played to their end."""
    return math.fsum(
        record.points[0] - record.points[1]
        for record in records
        if record.verdict in PLAYED_OUT and record.points[0] is not None and record.points[1] is not None
    )


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
    """The rounds of the programs in `seeding`, the one seeded highest first.

    The programs seeded 1 and 2 can meet only in the final, 1 to 4 not before the semi-finals, and so on. If the number
    of programs is not a power of two, those seeded highest have a bye in the first round.
    """
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
        yield Round(number, title, tuple(encounters.values()), byes)
        following: list[int | None] = []
        losers: list[int] = []
        for index in range(len(halves)):
            if index in encounters:
                following.append(encounters[index].winner)
                losers += [each for each in [encounters[index].loser] if each is not None]
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


def knockout_standings(seeding: Sequence[int], rounds: Sequence[Round]) -> list[Placing]:
    """The standings after the decided encounters, best first and within shared places by seeding."""
    reached: dict[int, tuple[int, str]] = {}
    """By program: a level that is higher the further it came, and a title."""
    for each in rounds:
        for encounter in each.encounters:
            winner, loser = encounter.winner, encounter.loser
            if winner is None or loser is None:
                continue
            if each.title == THIRD_PLACE:
                reached[winner] = (reached[winner][0] + 1, THIRD_PLACE)
            else:
                reached[loser] = (2 * each.number, each.title)
                if each.title == "final":
                    reached[winner] = (2 * each.number + 2, "champion")
    levels = {program: reached.get(program, (1_000_000, "still in")) for program in seeding}
    found = []
    for program in sorted(seeding, key=lambda program: -levels[program][0]):
        better = sum(levels[other][0] > levels[program][0] for other in seeding)
        alike = sum(levels[other][0] == levels[program][0] for other in seeding)
        found.append(Placing(program, better + 1, better + alike, levels[program][1]))
    return found


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


def swiss_standings(seeding: Sequence[int], rounds: Sequence[Round]) -> list[SwissStanding]:
    """The standings, best first, after the decided encounters.

    A win is 1 point, a draw ½, and a bye 1. Equal points are ordered by the sum of the opponents' points (Buchholz; a
    bye counts as an opponent with the program's own points, as in FIDE's handbook since 2024), then by the share of
    points in all games, then by seeding.
    """
    scores = {program: SwissStanding(program) for program in seeding}
    for each in rounds:
        done = [encounter for encounter in each.encounters if encounter.reason is not None]
        for encounter in done:
            for index, program in enumerate(encounter.pairing):
                score = scores[program]
                score.points += encounter.match_points[index]
                score.wins += encounter.winner == program
                score.losses += encounter.loser == program
                score.draws += encounter.winner is None
                score.game_points += encounter.score[index]
                score.games += sum(encounter.score)
                score.opponents.append(encounter.pairing[1 - index])
        if done:  # byes of a round that has not begun give no points yet
            for program in each.byes:
                scores[program].points += BYE
                scores[program].byes += 1
    for score in scores.values():
        score.buchholz = sum(scores[other].points for other in score.opponents) + score.byes * score.points
    # sorting is stable, so ties are in the order of the seeding
    return sorted(scores.values(), key=lambda score: (-score.points, -score.buchholz, -score.share))


def swiss(seeding: Sequence[int], count: int) -> Rounds:
    """`count` rounds of the programs in `seeding`, the one seeded highest first."""
    rounds: list[Round] = []
    numbers = itertools.count(1)
    for number in range(1, count + 1):
        pairings, bye = pair_round(swiss_standings(seeding, rounds))
        encounters = tuple(Encounter(next(numbers), number, pairing) for pairing in pairings)
        rounds.append(Round(number, f"round {number}", encounters, () if bye is None else (bye,)))
        yield rounds[-1]


def pair_round(order: Sequence[SwissStanding]) -> tuple[list[Pairing], int | None]:
    """The pairings of the next round, best first, and the program that has a bye (None: there is no bye).

    `order` is the standings. From the top, each program is paired with the program half a group of equal points below
    it, or else with the program nearest to that place that it has not met. In a group of odd size, the last program
    moves down to the next group. The bye goes to the lowest program among those with the fewest byes.
    """
    meetings = Counter((score.program, opponent) for score in order for opponent in score.opponents)
    fewest = min((score.byes for score in order), default=0)
    byes = [None] if len(order) % 2 == 0 else [score for score in reversed(order) if score.byes == fewest]
    # with the highest number of meetings so far as the limit, every round can be paired
    for limit in range(max(meetings.values(), default=0) + 1):
        for bye in byes:
            found = _pair([score for score in order if score is not bye], meetings, limit)
            if found is not None:
                return found, None if bye is None else bye.program
    raise AssertionError("every round can be paired")


def _pair(order: Sequence[SwissStanding], meetings: Mapping[Pairing, int], limit: int) -> list[Pairing] | None:
    """A pairing of programs that have met at most `limit` times, preferred choices first; None: none was found."""
    steps = 0
    dead_ends: set[tuple[int, ...]] = set()

    def search(remaining: tuple[SwissStanding, ...]) -> list[Pairing] | None:
        nonlocal steps
        if not remaining:
            return []
        steps += 1
        key = tuple(score.program for score in remaining)
        if steps > MAX_STEPS or key in dead_ends:
            return None
        top, others = remaining[0], remaining[1:]
        group = sum(score.points == top.points for score in others)
        ideal = (group + 1) // 2 - 1

        def distance(index: int) -> tuple[bool, int, int]:
            """In the group by distance to the ideal opponent, lower ones first; then later groups."""
            return index >= group, abs(index - ideal) if index < group else index, -index

        for index in sorted(range(len(others)), key=distance):
            other = others[index].program
            if meetings.get((top.program, other), 0) <= limit:
                rest = search(others[:index] + others[index + 1 :])
                if rest is not None:
                    return [_sorted(top.program, other), *rest]
        dead_ends.add(key)
        return None

    return search(tuple(order))
