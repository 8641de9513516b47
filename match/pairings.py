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
    size = 1 << (len(seeding) - 1).bit_length()  # the next power of two
    remaining: list[int | None] = [seeding[rank] if rank < len(seeding) else None for rank in bracket(size)]
    round_number = encounter_number = 0
    while len(remaining) > 1:
        round_number += 1
        title = _TITLES.get(len(remaining), f"last {len(remaining)}")
        neighbours = list(zip(remaining[::2], remaining[1::2], strict=True))
        encounters: list[Encounter] = []
        byes: list[int] = []
        for first, second in neighbours:
            assert first is not None, "of two neighbours, the first one is seeded higher"
            if second is None:
                byes.append(first)
            else:
                encounter_number += 1
                encounters.append(Encounter(encounter_number, round_number, _pairing(first, second), title))
        yield Round(round_number, title, tuple(encounters), tuple(byes))
        decided = iter(encounters)
        winners = [first if second is None else next(decided).winner for first, second in neighbours]
        losers = [encounter.loser for encounter in encounters if encounter.loser is not None]
        if has_third_place and len(remaining) == 4 and len(losers) == 2:
            encounter_number, round_number = encounter_number + 1, round_number + 1
            encounter = Encounter(encounter_number, round_number, _pairing(*losers), THIRD_PLACE)
            yield Round(round_number, THIRD_PLACE, (encounter,))
        remaining = winners


def _pairing(first: int, second: int) -> Pairing:
    return min(first, second), max(first, second)


@dataclass(frozen=True, slots=True)
class Placing:
    """The places that a program has in a knock-out: one, or several that it shares with programs that came as far."""

    program: int
    first: int
    """The best of these places, from 1."""
    last: int
    until: str
    """How far it came.

    The title of the round in which it lost, ``"third place"`` if it won the encounter for that, ``"champion"`` if it
    won the final, ``"still in"`` if it has not lost yet.
    """

    @property
    def text(self) -> str:
        """``3`` or ``5–8``."""
        return str(self.first) if self.first == self.last else f"{self.first}–{self.last}"


def knock_out_standings(seeding: Sequence[int], rounds: Sequence[Round]) -> list[Placing]:
    """The standings after the decided encounters, best first; programs that share their places are in seeding order."""
    lost_in: dict[int, float] = dict.fromkeys(seeding, math.inf)
    """By program: the number of the round in which it lost."""
    until = dict.fromkeys(seeding, "still in")
    for each in rounds:
        for encounter in each.encounters:
            winner, loser = encounter.winner, encounter.loser
            if winner is None or loser is None:
                continue
            if each.title == THIRD_PLACE:  # both have lost in the semi-final
                until[winner] = THIRD_PLACE
            else:
                lost_in[loser], until[loser] = each.number, each.title
                if each.title == _TITLES[2]:
                    until[winner] = "champion"
    # who lost later came further; of two that lost in the semi-final, who won the encounter for third place
    progress = {program: (lost_in[program], until[program] == THIRD_PLACE) for program in seeding}
    standings = []
    for program in sorted(seeding, key=lambda program: progress[program], reverse=True):
        further = sum(progress[other] > progress[program] for other in seeding)
        as_far = sum(progress[other] == progress[program] for other in seeding)
        standings.append(Placing(program, further + 1, further + as_far, until[program]))
    return standings


MAX_SEARCH_STEPS: Final = 20_000
"""The number of choices that are tried to avoid a repeated pairing; more could take minutes in rare cases."""

BYE_POINTS: Final = 1.0


@dataclass(slots=True)
class SwissStanding:
    """One program in the standings of a Swiss tournament."""

    program: int
    points: float = 0.0
    """For its encounters and byes."""
    buchholz: float = 0.0
    """The sum of its opponents' points; a bye counts as an opponent with its own points."""
    wins: int = 0
    draws: int = 0
    losses: int = 0
    byes: int = 0
    game_points: float = 0.0
    """The sum of its scores: a point for each game that it has won, half a point for each drawn one."""
    games: float = 0.0
    """The number of counted games."""
    opponents: list[int] = field(default_factory=list)

    @property
    def share(self) -> float:
        """Its points in games as a share of those that it could have won, from 0 to 1."""
        return self.game_points / self.games if self.games else 0.0


def default_rounds(count: int) -> int:
    """The number of Swiss rounds for `count` programs if none is given.

    As many as a knock-out has: after fewer, several programs might have won all their encounters.
    """
    return max(1, (count - 1).bit_length())


def most_rounds(count: int) -> int:
    """The highest number of Swiss rounds that `count` programs can play without any two of them meeting again."""
    return count if count % 2 else count - 1


def swiss_standings(seeding: Sequence[int], rounds: Sequence[Round]) -> list[SwissStanding]:
    """The standings, best first, after the decided encounters.

    A win is 1 point, a draw ½, and a bye 1. Equal points are ordered by the sum of the opponents' points (Buchholz; a
    bye counts as an opponent with the program's own points, as in FIDE's handbook since 2024), then by the share of
    points in all games, then by seeding.
    """
    standings = {program: SwissStanding(program) for program in seeding}
    for each in rounds:
        decided = [encounter for encounter in each.encounters if encounter.reason is not None]
        for encounter in decided:
            for index, program in enumerate(encounter.pairing):
                standing = standings[program]
                standing.points += encounter.match_points[index]
                standing.wins += encounter.winner == program
                standing.losses += encounter.loser == program
                standing.draws += encounter.winner is None
                standing.game_points += encounter.score[index]
                standing.games += sum(encounter.score)
                standing.opponents.append(encounter.pairing[1 - index])
        if decided:  # byes of a round that has not begun give no points yet
            for program in each.byes:
                standings[program].points += BYE_POINTS
                standings[program].byes += 1
    for standing in standings.values():
        points_of_opponents = sum(standings[other].points for other in standing.opponents)
        standing.buchholz = points_of_opponents + standing.byes * standing.points
    # sorting is stable, so ties are in the order of the seeding
    return sorted(standings.values(), key=lambda standing: (-standing.points, -standing.buchholz, -standing.share))


def swiss(seeding: Sequence[int], count: int) -> Rounds:
    """`count` rounds of the programs in `seeding`, the one seeded highest first."""
    rounds: list[Round] = []
    numbers = itertools.count(1)
    for number in range(1, count + 1):
        pairings, bye = pair_round(swiss_standings(seeding, rounds))
        encounters = tuple(Encounter(next(numbers), number, pairing) for pairing in pairings)
        rounds.append(Round(number, f"round {number}", encounters, () if bye is None else (bye,)))
        yield rounds[-1]


def pair_round(standings: Sequence[SwissStanding]) -> tuple[list[Pairing], int | None]:
    """Who meets whom in the next round, and the program that has a bye (None: there is no bye).

    The `standings`, best first, are divided into groups of programs with equal points, and the upper half of a group
    meets its lower half: of six programs, the first meets the fourth, the second the fifth and so on. Instead of an
    opponent that a program has already met it gets the nearest one in the group that is possible. In a group of odd
    size, one program is left over and meets one of the next group. The bye goes to the lowest program among those with
    the fewest byes.
    """
    meetings = Counter((standing.program, opponent) for standing in standings for opponent in standing.opponents)
    fewest = min((standing.byes for standing in standings), default=0)
    candidates: list[SwissStanding | None] = [None]
    if len(standings) % 2:
        candidates = [standing for standing in reversed(standings) if standing.byes == fewest]
    # with the highest number of meetings so far as the limit, every round can be paired
    for max_meetings in range(max(meetings.values(), default=0) + 1):
        for bye in candidates:
            pairings = _find_pairings([each for each in standings if each is not bye], meetings, max_meetings)
            if pairings is not None:
                return pairings, None if bye is None else bye.program
    raise AssertionError("every round can be paired")


def _find_pairings(
    standings: Sequence[SwissStanding], meetings: Mapping[Pairing, int], max_meetings: int
) -> list[Pairing] | None:
    """The preferred pairings of all these programs if only those may meet that have met at most `max_meetings` times.

    None if there are none, or if they were not found in MAX_SEARCH_STEPS.
    """
    steps = 0
    impossible: set[tuple[int, ...]] = set()
    """Programs for which no pairings were found when all others had been paired."""

    def search(remaining: tuple[SwissStanding, ...]) -> list[Pairing] | None:
        """Pair the best of the `remaining` programs with one of the others, and then those that are left."""
        nonlocal steps
        if not remaining:
            return []
        steps += 1
        programs = tuple(standing.program for standing in remaining)
        if steps > MAX_SEARCH_STEPS or programs in impossible:
            return None
        best, others = remaining[0], remaining[1:]
        others_in_group = sum(standing.points == best.points for standing in others)
        intended = (others_in_group + 1) // 2 - 1  # the index of the first program of the lower half

        def preference(index: int) -> tuple[bool, int, int]:
            """Sort the group by distance from the intended opponent, of two the lower one first; then those below."""
            is_below = index >= others_in_group
            return is_below, index if is_below else abs(index - intended), -index

        for index in sorted(range(len(others)), key=preference):
            opponent = others[index].program
            if meetings.get((best.program, opponent), 0) <= max_meetings:
                pairings = search(others[:index] + others[index + 1 :])
                if pairings is not None:
                    return [_pairing(best.program, opponent), *pairings]
        impossible.add(programs)
        return None

    return search(tuple(standings))
