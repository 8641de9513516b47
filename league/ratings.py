"""Ratings of the versions of a league with 95 % intervals, from the counted results of each pairing.

The model is that of R. A. Bradley and M. E. Terry (1952), with draws as half a win. Before its first game, the strength
of a version is normally distributed around the mean rating of the anchors, as in Glicko (M. E. Glickman, 1999): a
version that has won everything is not infinitely strong, and few games do not give an interval of thousands of Elo. A
rating is the maximum of the posterior density, its interval comes from the curvature there.

Results vary more, or less, than those of independent games: draws lower the variance, both games of a pair begin from
the same position and may end alike, and some programs play better against one opponent than their ratings say, however
often the two meet. So the strengths are estimated twice. The first estimate shows how much the results of pairs of
games vary, and those of pairings beyond that; the variance of a pairing's points is φV + τ²V², where V is that of
independent games. In the second one each pairing counts accordingly (quasi-likelihood with extra-binomial variation:
D. A. Williams, 1982; P. McCullagh and J. A. Nelder (1989), Generalized linear models, chapters 4 and 9), so that no
pairing counts without limit.

Invariants: the solution is unique and does not depend on where it begins, up to a hundredth of an Elo. An anchor has
exactly its rating. The time does not grow with the number of games.

The information matrix is stored as in `match.cholesky`. A version that was replaced has met only its contemporaries, so
rows are short if versions are ordered by the last opponent that they have met.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Mapping, Sequence
from statistics import NormalDist
from typing import Final

import msgspec

from spielleiter.match.cholesky import Cholesky, Row
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
_LEAST_DISPERSION, _MOST_DISPERSION = 0.5, 2.0  # many draws lower it; 2: both games of a pair end alike
_PRIOR_PAIRS: Final = 10  # pairs with _MOST_DISPERSION that are added, since a few results do not show how they vary
_LEAST_FREEDOM: Final = 0.5
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
    strengths, _ = model.solve(model.begin_at(start or {}))
    model.weigh(strengths)
    strengths, factor = model.solve(strengths)
    ratings = {version: Estimate(rating, rating, rating) for version, rating in anchors.items()}
    for index, version in enumerate(order):
        rating = _ELO * strengths[index] + model.centre + 0.0  # turns -0.0 into 0.0
        margin = 0.0
        if wanted is None or version in wanted:
            margin = _MARGIN * _ELO * math.sqrt(factor.diagonal_of_inverse(index))
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
    """What the results say about the strengths, which are natural logarithms of odds.

    Versions are indices: those of `order`, and behind them the anchors, whose strengths are fixed.
    """

    def __init__(self, order: Sequence[int], pairings: Sequence[Pairing], anchors: Mapping[int, float]) -> None:
        self.centre = math.fsum(anchors.values()) / len(anchors) if anchors else 0.0
        """The mean of all strengths before the first game."""
        self._order = order
        index_of = {version: index for index, version in enumerate([*order, *anchors])}
        self._fixed = [(rating - self.centre) / _ELO for rating in anchors.values()]
        self._pairings: list[tuple[int, int, Pairing]] = []
        """Each with its versions, the one with the higher index first."""
        for each in pairings:
            first, second = index_of[each.first], index_of[each.second]
            if second < len(order) or first < len(order):
                turned = (first, second, each) if first > second else (second, first, _mirrored(each))
                self._pairings.append(turned)
        self._results = [(first, second, each.points, each.games) for first, second, each in self._pairings]
        self._weights = [1.0] * len(self._results)
        """What each result counts; its variance is that of independent games divided by this."""

    def begin_at(self, start: Mapping[int, float]) -> list[float]:
        """Return strengths from ratings by version."""
        return [(start.get(version, self.centre) - self.centre) / _ELO for version in self._order] + self._fixed

    def solve(self, strengths: list[float]) -> tuple[list[float], Cholesky]:
        """Return the strengths of the highest density, by Newton's method, and the information there, factored."""
        count = len(self._order)
        for step_number in itertools.count(1):
            slope = [-_PRIOR_PRECISION * strength for strength in strengths]
            for (first, second, points, games), weight in zip(self._results, self._weights, strict=True):
                surplus = weight * (points - games * logistic(strengths[first] - strengths[second]))
                slope[first] += surplus
                slope[second] -= surplus
            factor = Cholesky(self._information(strengths))
            steps = factor.solve(slope[:count])
            longest = max(map(abs, steps), default=0.0)
            # far from the solution Newton's step may go much too far
            scale = min(1.0, _LONGEST_STEP / longest) if longest else 1.0
            strengths = [
                strength + scale * step for strength, step in zip(strengths, steps, strict=False)
            ] + self._fixed
            if longest < _PRECISION or step_number == _STEPS:
                return strengths, factor
        raise AssertionError("the loop does not end")

    def _information(self, strengths: Sequence[float]) -> list[Row]:
        """Return the Fisher information matrix."""
        count = len(self._order)
        begins = list(range(count))
        for first, second, *_ in self._results:
            if first < count:
                begins[first] = min(begins[first], second)
        rows = [(begin, [0.0] * (index - begin) + [_PRIOR_PRECISION]) for index, begin in enumerate(begins)]
        for (first, second, _, games), weight in zip(self._results, self._weights, strict=True):
            value = weight * games * _variance(strengths[first] - strengths[second])
            rows[second][1][-1] += value
            if first < count:
                begin, row = rows[first]
                row[-1] += value
                row[second - begin] -= value
        return rows

    def weigh(self, strengths: Sequence[float]) -> None:
        """Let each result count as much as its variance allows, judged by these strengths."""
        variances = [
            games * _variance(strengths[first] - strengths[second]) for first, second, _, games in self._results
        ]
        dispersion = self._dispersion(strengths)
        # residuals are smaller than errors, since the strengths follow the results; how much smaller is not known while
        # there are hardly more pairings than strengths
        freedom = max(1 - len(self._order) / len(variances), _LEAST_FREEDOM) if variances else 1.0
        # what the squared errors of pairings exceed those of as many unrelated pairs of games
        surplus = 0.0
        for (first, second, points, games), variance in zip(self._results, variances, strict=True):
            residual = points - games * logistic(strengths[first] - strengths[second])
            surplus += residual * residual / freedom - dispersion * variance
        squares = sum(map(float.__mul__, variances, variances))
        spread = max(0.0, surplus / squares) if squares else 0.0
        self._weights = [1 / (dispersion + spread * variance) for variance in variances]

    def _dispersion(self, strengths: Sequence[float]) -> float:
        """Return how much the results of pairs of games vary, compared with those of independent games."""
        expected_squares = _PRIOR_PAIRS * 0.5  # the variance of a pair of even games
        squares = _MOST_DISPERSION * expected_squares
        for first, second, pairing in self._pairings:
            expected = logistic(strengths[first] - strengths[second])
            squares += _squares(pairing, expected)
            expected_squares += sum(pairing.pairs) * 2 * expected * (1 - expected)
        return min(max(squares / expected_squares, _LEAST_DISPERSION), _MOST_DISPERSION)


def _variance(difference: float) -> float:
    """The variance of the result of a game without draws."""
    expected = logistic(difference)
    return expected * (1 - expected)


def _mirrored(pairing: Pairing) -> Pairing:
    return Pairing(pairing.second, pairing.first, pairing.pairs[::-1], pairing.singles[::-1])


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
