"""Counting the games of a match, estimates with 95 % intervals, and the tests that say which program is better.

All functions are pure functions of the counted games, from the point of view of program 0 unless they take a program.
The unit is the pair of games with the sides swapped, never the single game, because the two games of a pair share their
start. A value that the games do not determine is None, never a guess.

Invariant: the interval of Elo excludes 0 if and only if the exact test calls a program better, so the number and the
answer never contradict each other.

Sources:

- *Logistic Elo*: A. Elo, The Rating of Chessplayers, in its logistic form: s = 1 / (1 + 10^(-Elo / 400)).
- *Pentanomial*: M. Van den Bergh, Normalized Elo, and the statistics of Fishtest: the variance is that of the pairs'
  scores 0, 1/4 ... 1.
- *Intervals*: Student (1908), The probable error of a mean, by M. Abramowitz and I. Stegun, Handbook of Mathematical
  Functions, 26.7.3 to 26.7.5; S. S. Wilks (1938), The large-sample distribution of the likelihood ratio; A. B. Owen
  (1988), Empirical likelihood, and (1990), Empirical likelihood ratio confidence regions (the threshold).
- *Exact test*: R. A. Fisher (1935), The Design of Experiments, §21; E. J. G. Pitman (1937), Significance tests which
  may be applied to samples from any populations.
- *Test and interval of a running match*: J. Ville (1939), Étude critique de la notion de collectif; H. Robbins (1970),
  Statistical methods related to the law of the iterated logarithm; A. Ramdas et al. (2023), Game-theoretic statistics
  and safe anytime-valid inference; I. Waudby-Smith and A. Ramdas (2024), Estimating means of bounded random variables
  by betting (hedged capital, with equal parts of the capital on fixed shares).
- *SPRT*: A. Wald (1945), Sequential Tests of Statistical Hypotheses: the bounds ln(beta / (1 - alpha)) and
  ln((1 - beta) / alpha); M. Van den Bergh, A Practical Introduction to the GSPRT: the generalised likelihood ratio over
  the five results of a pair, with the maximum-likelihood distribution of each hypothesis.
"""

from __future__ import annotations

import enum
import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist, fmean, variance
from typing import Any, Final, TypeAlias

from spielleiter.common.quantile import nearest_rank
from spielleiter.match.records import GameRecord
from spielleiter.match.verdict import LEFTOVER_VERDICTS, Verdict

PairCounts: TypeAlias = tuple[int, int, int, int, int]
"""The numbers of pairs in which program 0 scored 0, ½, 1, 1½ and 2 points."""

RISK: Final = 0.025
"""The highest probability of calling an equal program better, for each of the two; together 5 %."""

MIN_PAIRS: Final = 6
"""With fewer pairs no program is called better: one of two equal ones wins five pairs in a row with p = 1/32."""

_GAINS: Final = (-1.0, -0.5, 0.0, 0.5, 1.0)
_STAKES: Final = tuple(sign * (step - 0.5) / 100 for sign in (-1, 1) for step in range(1, 101))
_LOGARITHMS: Final = tuple(tuple(math.log1p(stake * gain) for gain in _GAINS) for stake in _STAKES)
_MANY: Final = 2000


def one_sided_p_value(counts: PairCounts) -> float:
    """The one-sided p-value: the probability that equal programs give program 0 at least this result.

    The test is exact: if the programs are equally strong, a pair with the sides swapped is equally likely to end 0 : 2
    and 2 : 0, and equally likely to end ½ : 1½ and 1½ : ½, whatever advantage a start or a side gives.
    The test takes the absolute difference of each pair as given, and both signs of it as equally likely. Pairs with
    equal scores have no influence. For more than 2,000 other pairs, the normal distribution approximates the sum of two
    binomials.
    """
    return _sign_flip_probabilities(counts)[0]


def likelihood_of_superiority(counts: PairCounts) -> float | None:
    """1 - the one-sided p-value of "program 0 is not better", from 0 to 1; None without a pair.

    The probability of exactly this result is divided equally between both programs (mid-p value), so that their
    likelihoods of superiority add up to 1.
    """
    if not any(counts):
        return None
    at_least, exactly = _sign_flip_probabilities(counts)
    return 1 - at_least + exactly / 2


def _sign_flip_probabilities(counts: PairCounts) -> tuple[float, float]:
    """The probabilities of a sum of differences that is at least the observed one, and of exactly the observed one."""
    lost, half, _, more, won = counts
    small, great = half + more, lost + won
    total = more - half + 2 * (won - lost)
    if small + great > _MANY:
        width, step = math.sqrt(small + 4 * great), 1 if small else 2
        low, high = (NormalDist().cdf((total + side * step) / width) for side in (-1, 1))
        return 1 - low, high - low
    chances = _binomial(small)
    tails = [*chances, 0.0]
    for index in range(small, -1, -1):
        tails[index] += tails[index + 1]
    at_least = exactly = 0.0
    for ups, chance in enumerate(_binomial(great)):
        # at least `wanted` of the differences of half a point must be positive
        twice = total + small - 2 * (2 * ups - great)
        wanted = max(0, -(-twice // 2))
        if wanted <= small:
            at_least += chance * tails[wanted]
            exactly += chance * chances[wanted] if twice == 2 * wanted else 0.0
    return min(at_least, 1.0), exactly


def _binomial(count: int) -> list[float]:
    base = math.lgamma(count + 1) - count * math.log(2)
    return [math.exp(base - math.lgamma(ups + 1) - math.lgamma(count - ups + 1)) for ups in range(count + 1)]


# -- the test after every game -------------------------------------------------------------------------------------


def log_e_value(counts: PairCounts) -> float:
    """The logarithm of the e-value against "the programs are equal"; 0 without a pair.

    The e-value is the final value of a capital of 1 that is bet on both programs in 200 equal parts: with each pair, a
    part with the stake λ is multiplied by 1 + λ x, where x from -1 to 1 is the result of the pair. If the programs are
    equal, no bet has an expected gain, so the probability that the capital ever reaches 1 / P is at most P, however
    often it is evaluated (Ville's inequality).
    """
    powers = [
        sum(count * logarithm for count, logarithm in zip(counts, logarithms, strict=True))
        for logarithms in _LOGARITHMS
    ]
    return _log_of_mean(powers)


def _log_of_mean(logarithms: Sequence[float]) -> float:
    """The logarithm of the mean of numbers that are given by their logarithms; without overflow."""
    greatest = max(logarithms)
    return greatest + math.log(sum(math.exp(each - greatest) for each in logarithms) / len(logarithms))


def better_program_by_e_value(counts: PairCounts, risk: float) -> int | None:
    """The program that is better; None: not decided.

    `risk` is the highest probability of calling one of two equal programs better. It holds for the whole match and both
    programs together, even if this is evaluated after every game.
    """
    if log_e_value(counts) < -math.log(risk):
        return None
    return 0 if 2 * (counts[4] - counts[0]) + counts[3] - counts[1] > 0 else 1


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
    return _estimate_mean([fmean(points[program] for points in pair) for pair in _values_of_pairs(records, _points)])


def estimate_point_difference(records: Iterable[GameRecord]) -> Estimate | None:
    """The mean points of program 0 minus those of program 1 in a game, from the same pairs as `estimate_points`."""
    return _estimate_mean([fmean(own - other for own, other in pair) for pair in _values_of_pairs(records, _points)])


def estimate_figures(records: Iterable[GameRecord], program: int) -> dict[str, Estimate]:
    """The mean of each part of a program's score in a game, by name, from the same pairs as `estimate_points`."""
    games = list(records)
    estimates = {
        name: _estimate_mean([fmean(values[program] for values in pair) for pair in _values_of_pairs(games, figure)])
        for name, figure in ((name, _figure(name)) for name in figure_names(games))
    }
    return {name: estimate for name, estimate in estimates.items() if estimate is not None}


def figure_names(records: Iterable[GameRecord]) -> tuple[str, ...]:
    """The names of the parts of scores, in their order; all games of a match have the same."""
    return tuple(dict.fromkeys(name for record in records for figures in record.figures for name in figures))


def _points(record: GameRecord) -> tuple[int | None, int | None]:
    return record.points


def _figure(name: str) -> Callable[[GameRecord], tuple[int | None, int | None]]:
    return lambda record: (record.figures[0].get(name), record.figures[1].get(name))


def _values_of_pairs(
    records: Iterable[GameRecord], values_of: Callable[[GameRecord], tuple[int | None, int | None]]
) -> list[list[tuple[int, int]]]:
    played = [record for record in records if record.verdict in PLAYED_OUT]
    pairs = [[values_of(game) for game in pair] for pair in complete_pairs(played)]
    return [
        [(own, other) for own, other in pair if own is not None and other is not None]
        for pair in pairs
        if not any(None in values for values in pair)
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


_LEAST: Final = 1e-300


def find_multiplier(weights: Sequence[float], deviations: Sequence[float]) -> float:
    """The multiplier t that solves sum w d / (1 + t d) = 0.

    Under the constraint that the mean of the deviations d_i is 0, the distribution with the maximum likelihood for the
    counts n_i is q_i = n_i / (N (1 + t d_i)).
    `weights` are the counts w, and `deviations` the values d, which must have both signs. The sum decreases strictly
    between the two poles where all 1 + t d are positive. If the outermost results did not occur (weight 0), there may
    be no root between the poles. The nearer pole is then returned, and the remaining probability belongs to results
    that did not occur.
    """
    low, high = -1 / max(deviations), -1 / min(deviations)
    terms = [(weight, deviation) for weight, deviation in zip(weights, deviations, strict=True) if weight]
    t = following = 0.0
    for _ in range(200):
        t = following
        value = slope = 0.0
        for weight, deviation in terms:  # a single plain loop, since this runs after every pair of a match
            ratio = deviation / (1 + t * deviation)
            weighted = weight * ratio
            value += weighted
            slope += weighted * ratio
        if value > 0:
            low = t
        else:
            high = t
        # Newton's step, or bisection if that would leave the bracket
        following = t + value / slope if slope else (low + high) / 2
        if not low < following < high:
            following = (low + high) / 2
        if abs(following - t) <= 1e-12 * (1 + abs(t)) or not low < following < high:
            break
    return following


def log_ratio(weights: Sequence[float], deviations: Sequence[float], multiplier: float) -> float:
    """The loss of log-likelihood, 0 or more, caused by the constraint with this multiplier."""
    return sum(
        weight * math.log(max(1 + multiplier * deviation, _LEAST))
        for weight, deviation in zip(weights, deviations, strict=True)
        if weight
    )


NORMALIZED_UNIT: Final = 800 / math.log(10)
"""The normalized Elo of a score that is one standard deviation of a game above 1/2."""

_PRECISION: Final = 1e-9
_RUNNING_PRECISION: Final = 1e-6
_SHARES: Final = tuple((step - 0.5) / 40 for step in range(1, 41))


@lru_cache(maxsize=64)
def estimate_score(counts: PairCounts) -> Estimate | None:
    """The expected score of program 0 in a game, from 0 to 1; None without a pair.

    The interval is the smallest one that contains all of:

    - Student's t, which is exact for normally distributed pairs and good from about 20 pairs on;
    - the likelihood-ratio interval over the five possible results of a pair, including those that did not occur: if
      (nearly) all pairs ended alike, their variance is (nearly) 0, and Student's t would be certain after three pairs.
      The threshold N ln(1 + t² / (N - 1)) is the exact one for normally distributed pairs;
    - the value 1/2, unless the exact test calls a program better.
    """
    pairs = sum(counts)
    if not pairs:
        return None
    mean, spread = mean_and_variance(counts)
    if pairs == 1:
        return Estimate(mean, 0.0, 1.0)
    quantile = student_quantile((1 + CONFIDENCE) / 2, pairs - 1)
    error = quantile * math.sqrt(spread / (pairs - 1))
    threshold = pairs * math.log1p(quantile**2 / (pairs - 1)) / 2
    low = min(mean - error, _bound(counts, mean, 0.0, threshold))
    high = max(mean + error, _bound(counts, mean, 1.0, threshold))
    if one_sided_p_value(counts) > RISK:
        low = min(low, 0.5)
    if one_sided_p_value(mirror(counts)) > RISK:
        high = max(high, 0.5)
    return Estimate(mean, max(low, 0.0), min(high, 1.0))


def _bound(counts: PairCounts, inside: float, outside: float, threshold: float) -> float:
    """The mean between `inside` and `outside` at which the logarithm of the likelihood has fallen by `threshold`."""
    if inside == outside:
        return outside
    pairs = sum(counts)
    middle = (inside + outside) / 2
    while abs(outside - inside) > _PRECISION:
        deviations = [score - middle for score in PAIR_SCORES]
        multiplier = find_multiplier(counts, deviations)
        surplus = log_ratio(counts, deviations, multiplier) - threshold
        if surplus > 0:
            outside = middle
        else:
            inside = middle
        # Newton's step: the derivative of the logarithm with respect to the mean is -N t
        following = middle + surplus / (pairs * multiplier) if multiplier else inside
        if abs(following - middle) < _PRECISION:
            return following
        middle = following if min(inside, outside) < following < max(inside, outside) else (inside + outside) / 2
    return outside


def estimate_elo(counts: PairCounts) -> Estimate | None:
    """The logistic Elo of program 0, converted from the score; None without a pair, infinite for a score of 0 or 1."""
    score = estimate_score(counts)
    if score is None:
        return None
    return Estimate(elo_of_score(score.value), elo_of_score(score.low), elo_of_score(score.high))


def estimate_normalized_elo(counts: PairCounts) -> Estimate | None:
    """The normalized Elo of program 0: its score minus 1/2 in standard deviations of a game, times 347.4.

    The interval is converted from that of the score, with the observed variance of the pairs. None if that variance is
    0: without a pair, and if all pairs ended alike.
    """
    score = estimate_score(counts)
    if score is None or max(counts) == sum(counts):
        return None
    unit = NORMALIZED_UNIT / math.sqrt(2 * mean_and_variance(counts)[1])
    return Estimate(unit * (score.value - 0.5), unit * (score.low - 0.5), unit * (score.high - 0.5))


def better_program(counts: PairCounts) -> int | None:
    """The program that is better with 95 % confidence; None: not decided."""
    score = estimate_score(counts)
    if score is None or score.low <= 0.5 <= score.high:
        return None
    return 0 if score.low > 0.5 else 1


# -- while the match is running -------------------------------------------------------------------------------------


def running_elo(counts: PairCounts) -> Estimate | None:
    """The logistic Elo of program 0 so far, with an interval that may be looked at after every game.

    The probability that the interval ever excludes the true value is 5 % at most, however often it is looked at and
    whatever the reason to stop is. So it is wider than that of `estimate_elo`, which holds for one look after a number
    of games that was fixed before. None without a pair.
    """
    if not any(counts):
        return None
    score, low, high = mean_and_variance(counts)[0], _running_bound(counts), 1 - _running_bound(mirror(counts))
    return Estimate(elo_of_score(score), elo_of_score(low), elo_of_score(high))


def log_e_value_of_score(counts: PairCounts, score: float) -> float:
    """The logarithm of the e-value against "the expected score is `score`, or lower"; 0 without a pair.

    A capital of 1 is divided among bets that the score is above `score`, which is between 0 and 1. With each pair of
    result x, a part with the share s is multiplied by 1 + s (x / score - 1), which has the expected value 1 if `score`
    is true. So the probability that the capital ever reaches 1 / P is at most P (Ville's inequality).
    """
    factors = [(count, result / score - 1) for count, result in zip(counts, PAIR_SCORES, strict=True) if count]
    return _log_of_mean([sum(count * math.log1p(share * factor) for count, factor in factors) for share in _SHARES])


@lru_cache(maxsize=64)
def _running_bound(counts: PairCounts) -> float:
    """The lower bound of the expected score: the greatest one against which the e-value reaches 1 / RISK."""
    low, high = 0.0, mean_and_variance(counts)[0]
    while high - low > _RUNNING_PRECISION:
        middle = (low + high) / 2
        if log_e_value_of_score(counts, middle) >= -math.log(RISK):
            low = middle
        else:
            high = middle
    return low


def mirror(counts: PairCounts) -> PairCounts:
    """The same pairs from the point of view of program 1."""
    return counts[4], counts[3], counts[2], counts[1], counts[0]


MODELS: Final = ("logistic", "normalized")
"""The units of Elo that a test can use; the first one is the default."""

_UNSEEN: Final = 1e-3
_MAX_ITERATIONS: Final = 60
_TILT_PRECISION: Final = 1e-11


class SprtError(Exception):
    """The parameters do not define a test; the text says why."""


class Decision(enum.Enum):
    """The hypothesis that the test accepted."""

    H0 = "H0"
    H1 = "H1"


@dataclass(frozen=True, slots=True)
class Sprt:
    """A test of `elo0` against the higher `elo1`. Raises SprtError for invalid parameters.

    H0 says that program 0 is at most `elo0` stronger, H1 that it is at least `elo1` stronger. The `model` is the unit
    of both. *logistic*: the mean score of a pair is 1 / (1 + 10^(-Elo / 400)). *normalized*: it is √2 Elo ln(10) / 800
    standard deviations of a pair above 1/2, so the same bounds need about the same number of games, however many games
    are drawn. The test may be evaluated after each pair without exceeding its error rates.

    `alpha` is the probability of accepting H1 if H0 is true, `beta` that of accepting H0 if H1 is true.
    """

    elo0: float
    elo1: float
    alpha: float = 0.05
    beta: float = 0.05
    model: str = MODELS[0]

    def __post_init__(self) -> None:
        if self.model not in MODELS:
            raise SprtError(f"SPRT: model={self.model}: expected {' or '.join(MODELS)}")
        if not all(map(math.isfinite, (self.elo0, self.elo1, self.alpha, self.beta))):
            raise SprtError("SPRT: every parameter must be finite")
        if self.elo0 >= self.elo1:
            raise SprtError(f"SPRT: elo0={self.elo0:g} must be below elo1={self.elo1:g}")
        if min(self.alpha, self.beta) <= 0 or self.alpha + self.beta >= 1:
            raise SprtError(f"SPRT: alpha={self.alpha:g} and beta={self.beta:g} must be above 0, and below 1 together")

    @classmethod
    def parse(cls, text: str) -> Sprt:
        """Parse a text such as ``elo0=0 elo1=50 alpha=0.05 beta=0.05 model=normalized``. Raises SprtError.

        Values are separated by blanks or commas. `alpha` and `beta` default to 0.05, and `model` to logistic.
        """
        values: dict[str, Any] = {}
        for word in re.split(r"[\s,]+", text.strip()):
            name, _, value = word.partition("=")
            if name not in cls.__slots__ or name in values:
                raise SprtError(
                    f"SPRT: {word!r} where one of elo0=, elo1=, alpha=, beta=, model= was expected, each once"
                )
            if name == "model":
                values[name] = value
                continue
            try:
                values[name] = float(value)
            except ValueError:
                raise SprtError(f"SPRT: {value!r} is not a number for {name}") from None
        for name in ("elo0", "elo1"):
            if name not in values:
                raise SprtError(f"SPRT: {name}= is missing")
        return cls(**values)

    def __str__(self) -> str:
        return f"elo0={self.elo0:zg} elo1={self.elo1:zg} alpha={self.alpha:g} beta={self.beta:g} model={self.model}"

    @property
    def lower(self) -> float:
        """H0 is accepted if the log-likelihood ratio is at or below this bound."""
        return math.log(self.beta / (1 - self.alpha))

    @property
    def upper(self) -> float:
        """H1 is accepted if the log-likelihood ratio is at or above this bound."""
        return math.log((1 - self.beta) / self.alpha)

    def log_likelihood_ratio(self, counts: PairCounts) -> float:
        """The logarithm of the likelihood of the pairs under H1, divided by that under H0; 0 without a pair."""
        if not any(counts):
            return 0.0
        weights = [float(count) or _UNSEEN for count in counts]
        tilt = _normalized_tilt if self.model == "normalized" else _logistic_tilt
        under_h0, under_h1 = tilt(weights, self.elo0), tilt(weights, self.elo1)
        return sum(weight * math.log(h0 / h1) for weight, h0, h1 in zip(weights, under_h0, under_h1, strict=True))

    def decide(self, counts: PairCounts) -> Decision | None:
        """The accepted hypothesis; None: undecided, more games are needed."""
        ratio = self.log_likelihood_ratio(counts)
        if ratio >= self.upper:
            return Decision.H1
        if ratio <= self.lower:
            return Decision.H0
        return None


def _logistic_tilt(weights: list[float], elo: float) -> list[float]:
    """The factors by which the maximum-likelihood distribution with this mean divides the share of each result."""
    mean = score_of_elo(elo)
    deviations = [score - mean for score in PAIR_SCORES]
    multiplier = find_multiplier(weights, deviations)
    return [1 + multiplier * deviation for deviation in deviations]


def _normalized_tilt(weights: list[float], elo: float) -> list[float]:
    """The same for the distribution whose mean is a number of standard deviations above 1/2, given by `elo`.

    That constraint is not linear in the distribution. It is linearised at the previous distribution, and this is
    repeated until nothing changes. The first distribution, of won and lost pairs only, satisfies the constraint
    exactly; since the standard deviation is concave, the deviations of every later linearisation have both signs.
    """
    ratio = math.sqrt(2) * elo / NORMALIZED_UNIT
    won = 0.5 + 0.5 * ratio / math.sqrt(1 + ratio**2)
    shares = [1 - won, 0.0, 0.0, 0.0, won]
    total = sum(weights)
    tilt = [1.0] * len(weights)
    for _ in range(_MAX_ITERATIONS):
        mean = sum(share * score for share, score in zip(shares, PAIR_SCORES, strict=True))
        spread = math.sqrt(sum(share * (score - mean) ** 2 for share, score in zip(shares, PAIR_SCORES, strict=True)))
        deviations = [score - 0.5 - ratio * spread / 2 * (1 + ((score - mean) / spread) ** 2) for score in PAIR_SCORES]
        multiplier = find_multiplier(weights, deviations)
        tilt = [1 + multiplier * deviation for deviation in deviations]
        following = [weight / total / each for weight, each in zip(weights, tilt, strict=True)]
        change = max(abs(new - old) for new, old in zip(following, shares, strict=True))
        shares = following
        if change < _TILT_PRECISION:
            break
    return tilt
