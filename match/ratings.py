"""Ratings of the programs of a tournament with 95 % intervals, and their results against each opponent.

Invariants: the ratings maximise the likelihood of the results and of one additional drawn game of each program against
an average one. Without that game, a program that has won all its games would be infinitely strong. The solution is
unique, and Newton's method finds it up to rounding errors. The mean of all ratings is 0, or the rating of one program
that is the anchor; then an interval is that of the difference from it, which does not grow with the uncertainty of
programs that won or lost everything. The unit of an interval is the pair of games, never the single game.

Sources: logistic Elo as in statistics.py; R. A. Bradley and M. E. Terry (1952), Rank analysis of incomplete block
designs, with draws as half a win; P. J. Huber (1967), The behavior of maximum likelihood estimates under nonstandard
conditions (the "sandwich" estimator of the intervals); P. S. Laplace (1774), the rule of succession: one won and one
lost pair are added to the variance of each pairing, so that a few pairs with equal results do not count as certainty.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from spielleiter.match.cholesky import Cholesky, Row
from spielleiter.match.records import GameRecord
from spielleiter.match.statistics import CONFIDENCE, Estimate, Tally, count_results, student_quantile

GamesByPairing: TypeAlias = Mapping[tuple[int, int], Sequence[GameRecord]]
"""The games of each pairing by the indices of its programs; the first one is program 0 of the records."""

_ELO: Final = 400 / math.log(10)
_STEPS: Final = 100
_PRECISION: Final = 1e-10  # of the logarithm of a strength; 1 Elo is 0.006
_LONGEST_STEP: Final = 2.0


@dataclass(frozen=True, slots=True)
class RatedProgram:
    """The rating and the results of one program."""

    name: str
    rating: Estimate
    results: Tally
    faults: int
    opponents: tuple[tuple[str, Tally], ...] = ()
    """Its results against each opponent that it has a counted game with, in the order of the programs."""

    def to_json(self) -> dict[str, Any]:
        """The program's entry in table.json."""
        return {
            "name": self.name,
            "rating": {"value": self.rating.value, "low": self.rating.low, "high": self.rating.high},
            "games": self.results.games,
            "wins": self.results.wins,
            "draws": self.results.draws,
            "losses": self.results.losses,
            "faults": self.faults,
            "opponents": {
                name: {"wins": tally.wins, "draws": tally.draws, "losses": tally.losses}
                for name, tally in self.opponents
            },
        }


def rate_programs(names: Sequence[str], matches: GamesByPairing, anchor: int | None = None) -> tuple[RatedProgram, ...]:
    """The ratings and results of the programs with these `names`, best rating first.

    `anchor` is the program whose rating is 0, by index; None: the mean of all ratings is 0.
    """
    pairs = {pairing: scores for pairing, records in matches.items() if (scores := _scores_of_pairs(records))}
    ratings = estimate_ratings(len(names), pairs, anchor)
    table = []
    for index, name in enumerate(names):
        opponents: dict[int, Tally] = {}
        faults = 0
        for pairing, records in matches.items():
            if index not in pairing:
                continue
            own = pairing.index(index)
            faults += sum(record.offender == own for record in records)
            tally = count_results(records)
            if tally.games:
                mirrored = Tally(tally.losses, tally.draws, tally.wins)
                opponents[pairing[1 - own]] = mirrored if own else tally
        results = Tally(
            sum(tally.wins for tally in opponents.values()),
            sum(tally.draws for tally in opponents.values()),
            sum(tally.losses for tally in opponents.values()),
        )
        met = tuple((names[other], opponents[other]) for other in sorted(opponents))
        table.append(RatedProgram(name, ratings[index], results, faults, met))
    return tuple(sorted(table, key=lambda line: -line.rating.value))


def _scores_of_pairs(records: Sequence[GameRecord]) -> list[tuple[float, int]]:
    """The points of program 0 and the number of counted games, for each pair; a pair may have only one game."""
    found: dict[int, tuple[float, int]] = {}
    for record in records:
        if record.is_counted:
            points, games = found.get(record.pair, (0.0, 0))
            won = 0.5 if record.winner is None else float(record.winner == 0)
            found[record.pair] = points + won, games + 1
    return [found[pair] for pair in sorted(found)]


# -- ratings --------------------------------------------------------------------------------------------------------


def estimate_ratings(
    count: int, pairs: Mapping[tuple[int, int], Sequence[tuple[float, int]]], anchor: int | None = None
) -> list[Estimate]:
    """The ratings of `count` programs with their intervals, in the order of the programs.

    `pairs` holds, for each pairing and each of its pairs of games, the points of the first program and the number of
    games. A rating is the difference from the program `anchor`, or from the mean of all if that is None.
    """
    totals = {
        pairing: (sum(points for points, _ in scores), float(sum(games for _, games in scores)))
        for pairing, scores in pairs.items()
    }
    strengths = _find_strengths(count, totals)
    factor = Cholesky(_information(strengths, totals))
    covariance = _score_covariance(strengths, pairs)
    # the origin of the ratings is this weighted mean of the strengths
    weights = [1 / count if anchor is None else float(index == anchor) for index in range(count)]
    origin = sum(map(float.__mul__, strengths, weights))
    estimates = []
    for index in range(count):
        # the derivative of the rating (the difference from the origin) with respect to the score function
        gradient = factor.solve([float(each == index) - weights[each] for each in range(count)])
        variance = sum(
            left * sum(cell * right for cell, right in zip(row, gradient, strict=True))
            for left, row in zip(gradient, covariance, strict=True)
        )
        played = sum(len(scores) for pairing, scores in pairs.items() if index in pairing)
        # the added pairs count as well
        margin = student_quantile((1 + CONFIDENCE) / 2, played + 1) * _ELO * math.sqrt(variance)
        rating = _ELO * (strengths[index] - origin) + 0.0  # turns -0.0 into 0.0
        estimates.append(Estimate(rating, rating - margin, rating + margin))
    return estimates


def _find_strengths(count: int, totals: Mapping[tuple[int, int], tuple[float, float]]) -> list[float]:
    """The logarithms of the strengths, by Newton's method; the ratio of two strengths gives the odds of a game."""
    strengths = [0.0] * count
    for _ in range(_STEPS):
        # the score function, the gradient of the log-likelihood; the drawn game is against an average program, whose
        # strength is 1
        score_function = [0.5 - logistic(strength) for strength in strengths]
        for (first, second), (won, games) in totals.items():
            surplus = won - games * logistic(strengths[first] - strengths[second])
            score_function[first] += surplus
            score_function[second] -= surplus
        steps = Cholesky(_information(strengths, totals)).solve(score_function)
        longest = max(map(abs, steps))
        # far from the solution Newton's step may go much too far
        scale = min(1.0, _LONGEST_STEP / longest) if longest else 1.0
        strengths = [strength + scale * step for strength, step in zip(strengths, steps, strict=True)]
        if longest < _PRECISION:
            break
    return strengths


def logistic(difference: float) -> float:
    """Return the score to be expected with this difference of the strengths' logarithms; without overflow."""
    return 0.5 * (1 + math.tanh(difference / 2))


def _information(strengths: Sequence[float], totals: Mapping[tuple[int, int], tuple[float, float]]) -> list[Row]:
    """The Fisher information matrix: the negated second derivatives of the log-likelihood."""
    matrix = [[0.0] * len(strengths) for _ in strengths]
    for index, strength in enumerate(strengths):
        matrix[index][index] = logistic(strength) * logistic(-strength)
    for (first, second), (_, games) in totals.items():
        difference = strengths[first] - strengths[second]
        _add_pairing(matrix, first, second, games * logistic(difference) * logistic(-difference))
    return [(0, row[: index + 1]) for index, row in enumerate(matrix)]


def _score_covariance(
    strengths: Sequence[float], pairs: Mapping[tuple[int, int], Sequence[tuple[float, int]]]
) -> list[list[float]]:
    """The covariance matrix of the score function, estimated from the pairs of games."""
    # the variance of the game against an average program, as if it had been won or lost
    matrix = [[0.25 * (row == column) for column in range(len(strengths))] for row in range(len(strengths))]
    for (first, second), scores in pairs.items():
        expected = logistic(strengths[first] - strengths[second])
        sample = [*scores, (0.0, 2), (2.0, 2)]  # with the added pairs
        variance = sum((points - games * expected) ** 2 for points, games in sample) / (len(sample) - 1)
        _add_pairing(matrix, first, second, len(scores) * variance)
    return matrix


def _add_pairing(matrix: list[list[float]], first: int, second: int, value: float) -> None:
    """Add what games of these programs contribute; `value` is that of the difference of their strengths."""
    matrix[first][first] += value
    matrix[second][second] += value
    matrix[first][second] -= value
    matrix[second][first] -= value
