"""Tests of significance: an exact test after the last game, and one that may be evaluated after every game.

Invariants: the unit of both tests is the pair of games, and their counts are from the point of view of program 0. Both
are exact: their error rate is at most the nominal one for any number of pairs, whatever advantage a start or a side
gives. They rest on one fact: if the programs are equally strong, a pair with the sides swapped is equally likely to end
0 : 2 and 2 : 0, and equally likely to end ½ : 1½ and 1½ : ½.

Sources:

- *Sign-flip test*: R. A. Fisher (1935), The Design of Experiments, §21; E. J. G. Pitman (1937), Significance tests
  which may be applied to samples from any populations.
- *Test after every game*: J. Ville (1939), Étude critique de la notion de collectif; H. Robbins (1970), Statistical
  methods related to the law of the iterated logarithm; A. Ramdas et al. (2023), Game-theoretic statistics and safe
  anytime-valid inference.
"""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Final, TypeAlias

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

    The test takes the absolute difference of each pair as given, and both signs of it as equally likely. Pairs with
    equal scores have no influence. For more than 2,000 other pairs, the normal distribution approximates the sum of two
    binomials.
    """
    at_least, _ = _sign_flip_probabilities(counts)
    return at_least


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


def log_evidence(counts: PairCounts) -> float:
    """The logarithm of the evidence (e-value) against "the programs are equal"; 0 without a pair.

    The evidence is the final value of a capital of 1 that is bet on both programs in 200 equal parts: with each pair, a
    part with the stake λ is multiplied by 1 + λ x, where x from -1 to 1 is the result of the pair. If the programs are
    equal, no bet has an expected gain, so the probability that the capital ever reaches 1 / P is at most P, however
    often it is evaluated (Ville's inequality).
    """
    powers = [
        sum(count * logarithm for count, logarithm in zip(counts, logarithms, strict=True))
        for logarithms in _LOGARITHMS
    ]
    greatest = max(powers)
    return greatest + math.log(sum(math.exp(power - greatest) for power in powers) / len(powers))


def better_program_by_evidence(counts: PairCounts, risk: float) -> int | None:
    """The program that is better; None: not decided.

    `risk` is the highest probability of calling one of two equal programs better. It holds for the whole match and both
    programs together, even if this is evaluated after every game.
    """
    if log_evidence(counts) < -math.log(risk):
        return None
    return 0 if 2 * (counts[4] - counts[0]) + counts[3] - counts[1] > 0 else 1
