"""Ratings of the versions of a league with 95 % intervals, from the counted results of each pairing.

The model is that of R. A. Bradley and M. E. Terry (1952), with draws as half a win. Before its first game, the strength
of a version is normally distributed around the mean rating of the anchors, as in Glicko (M. E. Glickman, 1999): a
version that has won everything is not infinitely strong, and few games do not give an interval of thousands of Elo. A
rating is the maximum of the posterior density, its interval comes from the curvature there. Both games of a pair begin
from the same position, so their results may be alike: the variance is multiplied by how much the results of pairs vary
compared with independent games (quasi-likelihood; P. McCullagh and J. A. Nelder (1989), Generalized linear models,
chapter 9).

Invariants: the solution is unique and does not depend on where it begins, up to a hundredth of an Elo. An anchor has
exactly its rating. The time does not grow with the number of games.

The information matrix is stored as rows that begin at their first entry (A. George and J. W. H. Liu (1981), Computer
solution of large sparse positive definite systems, chapter 4). A version that was replaced has met only its
contemporaries, so rows are short if versions are ordered by the last opponent that they have met.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Mapping, Sequence
from statistics import NormalDist
from typing import Final

import msgspec

from spielleiter.match.ratings import logistic
from spielleiter.match.statistics import CONFIDENCE, Estimate

PAIR_POINTS: Final = (0.0, 0.5, 1.0, 1.5, 2.0)
"""The points of a program in a pair of counted games."""
SINGLE_POINTS: Final = (0.0, 0.5, 1.0)
"""The points of a program in a pair of which only one game counts."""

PRIOR_DEVIATION: Final = 400.0
"""The standard deviation in Elo of the strength of a version without games."""

_ELO: Final = 400 / math.log(10)
_PRIOR_PRECISION: Final = (_ELO / PRIOR_DEVIATION) ** 2
_MARGIN: Final = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)
_LEAST_DISPERSION, _MOST_DISPERSION = 1.0, 2.0  # of pairs whose games are independent, and whose games are alike
_PRIOR_PAIRS: Final = 10  # pairs with _MOST_DISPERSION that are added, since a few results do not show how they vary
_STEPS: Final = 100
_PRECISION: Final = 0.01 / _ELO  # of the logarithm of a strength
_LONGEST_STEP: Final = 2.0


class Pairing(msgspec.Struct, frozen=True):
    """The counted games of two versions with each other.

    - `first`, `second`: their ids.
    - `pairs`: how many pairs of games have each of PAIR_POINTS for `first`.
    - `singles`: how many pairs with a single counted game have each of SINGLE_POINTS for `first`.
    """

    first: int
    second: int
    pairs: tuple[int, int, int, int, int] = (0, 0, 0, 0, 0)
    singles: tuple[int, int, int] = (0, 0, 0)

    @property
    def played(self) -> int:
        """The number of pairs of games."""
        return sum(self.pairs) + sum(self.singles)

    @property
    def games(self) -> int:
        """The number of counted games."""
        return 2 * sum(self.pairs) + sum(self.singles)

    @property
    def points(self) -> float:
        """The points of `first`: a win is 1, a draw ½."""
        return sum(map(float.__mul__, PAIR_POINTS, map(float, self.pairs))) + sum(
            map(float.__mul__, SINGLE_POINTS, map(float, self.singles))
        )


def expected_score(difference: float) -> float:
    """Return the score that is expected of a version that is `difference` Elo stronger; without overflow."""
    return logistic(difference / _ELO)


def estimate_ratings(
    pairings: Sequence[Pairing],
    versions: Collection[int],
    anchors: Mapping[int, float],
    start: Mapping[int, float] | None = None,
    wanted: Collection[int] | None = None,
) -> dict[int, Estimate]:
    """Estimate the ratings of `versions`, of anchors, and of all versions in `pairings`.

    `anchors` are the fixed ratings in Elo by version. `start` are ratings near which the solution is looked for, those
    of the last time; a version that is missing begins at the mean of the anchors. `wanted` are the versions whose
    intervals are needed, which take most of the time; the interval of another one is its rating alone. None: all.
    """
    played = [each for each in pairings if each.games]
    ids = {*versions, *(version for each in played for version in (each.first, each.second))} - anchors.keys()
    order = _ordered(ids, played)
    model = _Model(order, played, anchors)
    strengths, factor = model.solve({} if start is None else start)
    dispersion = model.dispersion(strengths)
    ratings = {version: Estimate(rating, rating, rating) for version, rating in anchors.items()}
    for index, version in enumerate(order):
        rating = _ELO * strengths[index] + model.centre + 0.0  # turns -0.0 into 0.0
        margin = 0.0
        if wanted is None or version in wanted:
            column = factor.solve_unit(index)
            # results vary more than the model says, what is assumed before them does not
            variance = dispersion * column[index]
            variance += (1 - dispersion) * _PRIOR_PRECISION * sum(map(float.__mul__, column, column))
            margin = _MARGIN * _ELO * math.sqrt(variance)
        ratings[version] = Estimate(rating, rating - margin, rating + margin)
    return ratings


def _ordered(ids: Collection[int], pairings: Sequence[Pairing]) -> list[int]:
    """The versions, the one first that has met the newest opponent the longest time ago."""
    last = dict.fromkeys(ids, 0)
    for each in pairings:
        for own, other in ((each.first, each.second), (each.second, each.first)):
            if own in last and other in last:
                last[own] = max(last[own], other)
    return sorted(ids, key=lambda version: (max(last[version], version), version))


class _Model:
    """The likelihood of the results. Versions are indices of `order`; strengths are natural logarithms of odds."""

    def __init__(self, order: Sequence[int], pairings: Sequence[Pairing], anchors: Mapping[int, float]) -> None:
        self.centre = math.fsum(anchors.values()) / len(anchors) if anchors else 0.0
        """The mean of all strengths before the first game."""
        self._order = order
        index_of = {version: index for index, version in enumerate(order)}
        self._fixed = {version: (rating - self.centre) / _ELO for version, rating in anchors.items()}
        self._among: list[tuple[int, int, Pairing, float, int]] = []
        """Pairings of two versions, the later one first: with its points and the games."""
        self._against: list[tuple[int, float, Pairing, float, int]] = []
        """Pairings of a version with an anchor of this strength: with the points of the version and the games."""
        for each in pairings:
            first, second = index_of.get(each.first), index_of.get(each.second)
            points, games = each.points, each.games
            if first is not None and second is not None:
                if first > second:
                    self._among.append((first, second, each, points, games))
                else:
                    self._among.append((second, first, _mirrored(each), games - points, games))
            elif first is not None:
                self._against.append((first, self._fixed[each.second], each, points, games))
            elif second is not None:
                self._against.append((second, self._fixed[each.first], _mirrored(each), games - points, games))

    def solve(self, start: Mapping[int, float]) -> tuple[list[float], _Factor]:
        """Return the strengths of the highest density, by Newton's method, and the information there, factored."""
        strengths = [(start.get(version, self.centre) - self.centre) / _ELO for version in self._order]
        for step_number in itertools.count(1):
            slope = [-_PRIOR_PRECISION * strength for strength in strengths]
            for first, second, _, points, games in self._among:
                surplus = points - games * logistic(strengths[first] - strengths[second])
                slope[first] += surplus
                slope[second] -= surplus
            for own, other, _, points, games in self._against:
                slope[own] += points - games * logistic(strengths[own] - other)
            factor = _Factor(self.information(strengths))
            steps = factor.solve(slope)
            longest = max(map(abs, steps), default=0.0)
            # far from the solution Newton's step may go much too far
            scale = min(1.0, _LONGEST_STEP / longest) if longest else 1.0
            strengths = [strength + scale * step for strength, step in zip(strengths, steps, strict=True)]
            if longest < _PRECISION or step_number == _STEPS:
                return strengths, factor
        raise AssertionError("the loop does not end")

    def information(self, strengths: Sequence[float]) -> list[tuple[int, list[float]]]:
        """Return the Fisher information matrix: for each row, where it begins, and its entries.

        The last entry is that of the diagonal.
        """
        begins = list(range(len(strengths)))
        for first, second, *_ in self._among:
            begins[first] = min(begins[first], second)
        rows = [(begin, [0.0] * (index - begin + 1)) for index, begin in enumerate(begins)]
        for _, row in rows:
            row[-1] = _PRIOR_PRECISION
        for first, second, _, _, games in self._among:
            difference = strengths[first] - strengths[second]
            value = games * logistic(difference) * logistic(-difference)
            begin, row = rows[first]
            row[-1] += value
            row[second - begin] -= value
            rows[second][1][-1] += value
        for own, other, _, _, games in self._against:
            difference = strengths[own] - other
            rows[own][1][-1] += games * logistic(difference) * logistic(-difference)
        return rows

    def dispersion(self, strengths: Sequence[float]) -> float:
        """Return how much the results of pairs of games vary, compared with those of independent games."""
        expected_squares = _PRIOR_PAIRS * 0.5  # the variance of a pair of even games
        squares = _MOST_DISPERSION * expected_squares
        for first, second, pairing, _, _ in self._among:
            expected = logistic(strengths[first] - strengths[second])
            squares += _squares(pairing, expected)
            expected_squares += sum(pairing.pairs) * 2 * expected * (1 - expected)
        for own, other, pairing, _, _ in self._against:
            expected = logistic(strengths[own] - other)
            squares += _squares(pairing, expected)
            expected_squares += sum(pairing.pairs) * 2 * expected * (1 - expected)
        return min(max(squares / expected_squares, _LEAST_DISPERSION), _MOST_DISPERSION)


def _mirrored(pairing: Pairing) -> Pairing:
    zero, half, one, more, two = pairing.pairs
    lost, drawn, won = pairing.singles
    return Pairing(pairing.second, pairing.first, (two, more, one, half, zero), (won, drawn, lost))


def _squares(pairing: Pairing, expected: float) -> float:
    """The sum of the squared differences of the points of all pairs of games from what is expected."""
    zero, half, one, more, two = pairing.pairs
    mean = 2 * expected
    return (
        zero * mean * mean
        + half * (0.5 - mean) ** 2
        + one * (1 - mean) ** 2
        + more * (1.5 - mean) ** 2
        + two * (2 - mean) ** 2
    )


class _Factor:
    """The Cholesky decomposition L L^T of a positive definite matrix, in the same rows as the matrix."""

    def __init__(self, matrix: Sequence[tuple[int, list[float]]]) -> None:
        self._rows: list[tuple[int, list[float]]] = []
        for index, (begin, row) in enumerate(matrix):
            own: list[float] = []
            for column in range(begin, index):
                other_begin, other = self._rows[column]
                if other_begin <= begin:
                    products = map(float.__mul__, own, other[begin - other_begin :])
                else:
                    products = map(float.__mul__, own[other_begin - begin :], other)
                own.append((row[column - begin] - sum(products)) / other[-1])
            own.append(math.sqrt(max(row[-1] - sum(map(float.__mul__, own, own)), 1e-300)))
            self._rows.append((begin, own))

    def solve(self, right: Sequence[float]) -> list[float]:
        """Return x with L L^T x = `right`."""
        return self._solve(list(right), 0)

    def solve_unit(self, index: int) -> list[float]:
        """Return x with L L^T x = the unit vector of `index`."""
        right = [0.0] * len(self._rows)
        right[index] = 1.0
        return self._solve(right, index)

    def _solve(self, values: list[float], first: int) -> list[float]:
        """Replace the right-hand side `values`, which are 0 before `first`, by the solution."""
        for index in range(first, len(values)):
            begin, row = self._rows[index]
            rest = sum(map(float.__mul__, row, values[begin:index]))
            values[index] = (values[index] - rest) / row[-1]
        for index in range(len(values) - 1, -1, -1):
            begin, row = self._rows[index]
            value = values[index] = values[index] / row[-1]
            if value:
                values[begin:index] = [
                    each - value * entry for each, entry in zip(values[begin:index], row, strict=False)
                ]
        return values
