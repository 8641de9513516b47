"""The encounters of a tournament, in which two programs meet, and their outcomes.

Invariants: an outcome is a pure function of the records, so a resumed tournament gets the same outcomes. An encounter
of a knock-out always has a winner; in other kinds of tournaments it may be drawn.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from spielleiter.match.fitness import unfit_programs, was_played
from spielleiter.match.records.game_record import GameRecord
from spielleiter.match.stats.counts import PLAYED_OUT, count_results

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


@dataclass(frozen=True, slots=True)
class Encounter:
    """Two programs that meet: a match, and in a knock-out its play-offs."""

    number: int
    """From 1, in the order in which encounters are played."""
    round: int
    """From 1."""
    pairing: Pairing
    title: str = ""
    """The stage that it belongs to, such as ``"final"``."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How an encounter ended; `score` is the score of the match, without the play-offs."""

    encounter: Encounter
    score: tuple[float, float]
    winner: int | None
    """The index of a program; None: drawn."""
    reason: Reason
    play_offs: int = 0
    """The number of play-offs, each a pair of games."""

    @property
    def loser(self) -> int | None:
        """The index of the program that lost; None: drawn."""
        first, second = self.encounter.pairing
        return None if self.winner is None else first + second - self.winner

    @property
    def match_points(self) -> tuple[float, float]:
        """1 for the winner, ½ for each program if it is drawn; 0 for each if neither program can play."""
        if self.winner is None:
            return (0.0, 0.0) if self.reason is Reason.ABSENCE else (0.5, 0.5)
        return (1.0, 0.0) if self.winner == self.encounter.pairing[0] else (0.0, 1.0)


@dataclass(frozen=True, slots=True)
class Round:
    """The encounters that are played before the next round is paired; `byes` are programs without an opponent."""

    number: int
    title: str
    encounters: tuple[Encounter, ...]
    byes: tuple[int, ...] = ()


Results: TypeAlias = Mapping[Encounter, Outcome]
Rounds: TypeAlias = Generator[Round, Results, None]
"""A generator of rounds; each round is answered (`send`) with the outcomes of its encounters."""

MATCH: Final = 0
"""The index of the match among the parts of an encounter; the others are play-offs."""


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
    encounter: Encounter,
    parts: Sequence[Sequence[GameRecord]],
    ranks: Mapping[int, int] | None = None,
    *,
    keeps_playing: bool = False,
) -> Outcome:
    """The outcome of an encounter.

    `parts` holds the records of the match and of its play-offs, each in the order of finishing. `ranks` is the seeding,
    a rank by program. With it, the encounter always has a winner: by the score of the match, by the first play-off that
    was not even, by the sum of the points of all games that were played to their end, or by the seeding. With
    `keeps_playing`, all games count, even those after the ones that show that a program cannot play.
    """
    score = score_of(parts[MATCH])
    play_offs = len(parts) - 1

    def decided(program: int, reason: Reason) -> Outcome:
        return Outcome(encounter, score, encounter.pairing[program], reason, play_offs)

    for part in parts:
        absent = () if keeps_playing else absent_programs(part)
        if len(absent) == 1:
            return decided(1 - absent[0], Reason.ABSENCE)
        if absent and ranks is None:
            return Outcome(encounter, score, None, Reason.ABSENCE, play_offs)
    for index, part in enumerate(parts):
        own, other = score_of(part)
        if own != other:
            return decided(int(other > own), Reason.SCORE if index == MATCH else Reason.PLAY_OFF)
    if ranks is None:
        return Outcome(encounter, score, None, Reason.DRAWN, play_offs)
    difference = point_difference([record for part in parts for record in part])
    if difference:
        return decided(int(difference < 0), Reason.POINTS)
    first, second = encounter.pairing
    return decided(int(ranks[second] < ranks[first]), Reason.SEEDING)


def point_difference(records: Sequence[GameRecord]) -> float:
    """The points of program 0 minus those of program 1, summed over all games that were played to their end."""
    return math.fsum(
        record.points[0] - record.points[1]
        for record in records
        if record.verdict in PLAYED_OUT and record.points[0] is not None and record.points[1] is not None
    )
