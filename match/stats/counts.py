"""Counting a match: results, pairs of games and points, and the conversion between scores and Elo.

Invariants: all functions are pure functions of the counted games, from the point of view of program 0 unless they take
a program. The unit of every estimate is the pair of games with the sides swapped, never the single game, because the
two games of a pair share their start. A value that the games do not determine is None, never a guess.

Sources:

- *Logistic Elo*: A. Elo, The Rating of Chessplayers, in its logistic form: s = 1 / (1 + 10^(-Elo / 400)).
- *Pentanomial*: M. Van den Bergh, Normalized Elo, and the statistics of Fishtest: the variance is that of the pairs'
  scores 0, 1/4 ... 1.
- *Student's t*: M. Abramowitz and I. Stegun, Handbook of Mathematical Functions, 26.7.3 to 26.7.5.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist, fmean, variance
from typing import Final

from spielleiter.common.quantile import nearest_rank
from spielleiter.match.records.game_record import LEFTOVER_VERDICTS, GameRecord, Verdict
from spielleiter.match.stats.significance import PairCounts

PAIR_SCORES: Final = (0.0, 0.25, 0.5, 0.75, 1.0)
"""The possible scores of a pair: the mean score of its two games."""

PLAYED_OUT: Final = LEFTOVER_VERDICTS | {Verdict.REGULAR}
"""The verdicts on games that were played to their end by the rules; only their points show a program's strength."""

CONFIDENCE: Final = 0.95


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value with its 95 % interval. Elo is -inf if all games were lost, and inf if all were won."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Tally:
    """The numbers of counted games by result."""

    wins: int
    draws: int
    losses: int

    @property
    def games(self) -> int:
        """The number of counted games."""
        return self.wins + self.draws + self.losses

    @property
    def score(self) -> float | None:
        """The mean score of a game, from 0 to 1, with ½ for a draw; None without a game."""
        return (self.wins + self.draws / 2) / self.games if self.games else None


# -- counting ---------------------------------------------------------------------------------------------------


def count_results(records: Iterable[GameRecord]) -> Tally:
    """The wins, draws and losses of program 0; games that do not count are ignored."""
    winners = [record.winner for record in records if record.is_counted]
    return Tally(wins=winners.count(0), draws=winners.count(None), losses=winners.count(1))


def complete_pairs(records: Iterable[GameRecord]) -> list[tuple[GameRecord, GameRecord]]:
    """The pairs whose games both count, in the order of their numbers."""
    games: defaultdict[int, list[GameRecord]] = defaultdict(list)
    for record in records:
        if record.is_counted:
            games[record.pair].append(record)
    return [(pair[0], pair[1]) for _, pair in sorted(games.items()) if len(pair) == 2]


def count_pairs(records: Iterable[GameRecord]) -> PairCounts:
    """The numbers of complete pairs that gave program 0 a total of 0, ½, 1, 1½ and 2 points (pentanomial counts)."""
    halves = [sum(half_points(record) for record in pair) for pair in complete_pairs(records)]
    return halves.count(0), halves.count(1), halves.count(2), halves.count(3), halves.count(4)


def half_points(record: GameRecord) -> int:
    """The score of program 0 in a counted game, in half points."""
    return {None: 1, 0: 2, 1: 0}[record.winner]


# -- Elo --------------------------------------------------------------------------------------------------------


def elo_of_score(score: float) -> float:
    """The logistic Elo difference for an expected score: -inf for 0 or less, inf for 1 or more."""
    if score <= 0:
        return -math.inf
    if score >= 1:
        return math.inf
    return -400 * math.log10(1 / score - 1) + 0.0  # turns -0.0 into 0.0, since JSON would show the sign


def score_of_elo(elo: float) -> float:
    """The expected score, from 0 to 1, of a program that is `elo` stronger than its opponent."""
    return 1 / (1 + 10 ** (-elo / 400))


def mean_and_variance(counts: PairCounts) -> tuple[float, float]:
    """Mean and variance of the scores of pairs; the variance is divided by the number of pairs n, not by n - 1."""
    pairs = sum(counts)
    mean = sum(count * score for count, score in zip(counts, PAIR_SCORES, strict=True)) / pairs
    spread = sum(count * (score - mean) ** 2 for count, score in zip(counts, PAIR_SCORES, strict=True))
    return mean, spread / pairs


# -- points -----------------------------------------------------------------------------------------------------


def estimate_points(records: Iterable[GameRecord], program: int) -> Estimate | None:
    """The mean points of a program (0 or 1) in a game; None with fewer than two pairs.

    Only pairs whose games were both played to their end are used: the points of other games say nothing about strength.
    """
    return _estimate_mean([fmean(points[program] for points in pair) for pair in _points_of_pairs(records)])


def estimate_point_difference(records: Iterable[GameRecord]) -> Estimate | None:
    """The mean points of program 0 minus those of program 1 in a game, from the same pairs as `estimate_points`."""
    return _estimate_mean([fmean(own - other for own, other in pair) for pair in _points_of_pairs(records)])


def _points_of_pairs(records: Iterable[GameRecord]) -> list[list[tuple[int, int]]]:
    played = [record for record in records if record.verdict in PLAYED_OUT]
    pairs = [[(game.points[0], game.points[1]) for game in pair] for pair in complete_pairs(played)]
    return [
        [(own, other) for own, other in pair if own is not None and other is not None]
        for pair in pairs
        if all(None not in points for points in pair)
    ]


def _estimate_mean(values: Sequence[float]) -> Estimate | None:
    if len(values) < 2:
        return None
    mean = fmean(values)
    error = student_quantile((1 + CONFIDENCE) / 2, len(values) - 1) * math.sqrt(variance(values, mean) / len(values))
    return Estimate(mean, mean - error, mean + error)


@lru_cache(maxsize=1024)
def student_quantile(probability: float, freedom: int) -> float:
    """The quantile of Student's t distribution for a `probability` above 1/2, with `freedom` degrees (1 or more)."""
    if freedom > 100:
        # formula 26.7.5, whose next term is below 1e-7 here; the series of the distribution function would be long
        z = NormalDist().inv_cdf(probability)
        terms = ((z**3 + z) / 4, (5 * z**5 + 16 * z**3 + 3 * z) / 96, (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384)
        return z + math.fsum(term / freedom**power for power, term in enumerate(terms, 1))
    low, high = 0.0, 1.0
    while _student_cdf(high, freedom) < probability:
        low, high = high, high * 2
    while (middle := (low + high) / 2) not in (low, high):
        low, high = (middle, high) if _student_cdf(middle, freedom) < probability else (low, middle)
    return high


def _student_cdf(t: float, freedom: int) -> float:
    """The distribution function for t >= 0, by the finite series of 26.7.3 (odd degrees) and 26.7.4 (even degrees)."""
    angle = math.atan2(t, math.sqrt(freedom))
    sine, square = math.sin(angle), math.cos(angle) ** 2
    is_odd = freedom % 2
    term = total = math.cos(angle) if is_odd else 1.0
    for step in range(2 + is_odd, freedom - 1, 2):
        term *= square * (step - 1) / step
        total += term
    within = (angle + (sine * total if freedom > 1 else 0.0)) * 2 / math.pi if is_odd else sine * total
    return (1 + within) / 2


# -- times ------------------------------------------------------------------------------------------------------


def quantile(values: Sequence[float], probability: float) -> float:
    """The nearest-rank quantile: the smallest value that at least this share of the values does not exceed."""
    return nearest_rank(sorted(values), probability)
