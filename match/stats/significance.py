"""Whether one program is better: an exact test after the last game, and one that may be asked after every game.

Invariants: both tests are seen from program 0, take the pair of games for the unit, and are exact: their error is at
most the nominal one with any number of pairs, whatever the start or side is worth. They rest on this: if the two
programs are equal, a pair with the sides swapped is as likely to end 0 : 2 as 2 : 0, and ½ : 1½ as 1½ : ½.

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
"""How many pairs brought program 0 no point, a half, one, one and a half, two."""

RISK: Final = 0.025
"""The risk of calling a program better that is not, for each of the two: 95 % confidence in the answer."""

MIN_PAIRS: Final = 6
"""With fewer pairs nobody can be called better: equal programs win five pairs in a row in 1 of 32 matches."""

_GAINS: Final = (-1.0, -0.5, 0.0, 0.5, 1.0)
_STAKES: Final = tuple(sign * (step - 0.5) / 100 for sign in (-1, 1) for step in range(1, 101))
_LOGARITHMS: Final = tuple(tuple(math.log1p(stake * gain) for gain in _GAINS) for stake in _STAKES)
_MANY: Final = 2000


def one_sided_p_value(counts: PairCounts) -> float:
    """The probability that equal programs end at least as well for program 0: the one-sided p-value, between 0 and 1.

    The test takes from each pair how far it is from even, and considers every sign for it to be equally likely.
    Even pairs say nothing. With more than 2,000 others the normal distribution stands for the sum of two binomials.
    """
    at_least, _ = _flip(counts)
    return at_least


def likelihood_of_superiority(counts: PairCounts) -> float | None:
    """1 minus the one-sided p-value of "program 0 is not better"; None without a pair.

    Results exactly as good as the one that came are halved between both programs (mid-p), so that the two likelihoods
    of superiority add up to 1.
    """
    if not any(counts):
        return None
    at_least, exactly = _flip(counts)
    return 1 - at_least + exactly / 2


def _flip(counts: PairCounts) -> tuple[float, float]:
    """The probabilities of a sum at least as great as the one there is, and of exactly that one."""
    lost, quarter, _, three, won = counts
    small, great = quarter + three, lost + won
    total = three - quarter + 2 * (won - lost)
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
        # of the smaller differences at least `wanted` have to be in favour
        twice = total + small - 2 * (2 * ups - great)
        wanted = max(0, -(-twice // 2))
        if wanted <= small:
            at_least += chance * tails[wanted]
            exactly += chance * chances[wanted] if twice == 2 * wanted else 0.0
    return min(at_least, 1.0), exactly


def _binomial(count: int) -> list[float]:
    base = math.lgamma(count + 1) - count * math.log(2)
    return [math.exp(base - math.lgamma(ups + 1) - math.lgamma(count - ups + 1)) for ups in range(count + 1)]


# -- after every game -----------------------------------------------------------------------------------------------


def log_evidence(counts: PairCounts) -> float:
    """The logarithm of the evidence against "the programs are equal"; 0 without a pair.

    It is what a capital of 1 has become that was put, in 200 equal parts, on either program: a part with the stake λ
    grows by 1 + λ x with each pair, x between -1 and 1. If the programs are equal, no bet gains in the mean, and
    the capital reaches 1 / P in a share of at most P of all matches, however often one looks (Ville's inequality).
    """
    powers = [
        sum(count * logarithm for count, logarithm in zip(counts, logarithms, strict=True))
        for logarithms in _LOGARITHMS
    ]
    greatest = max(powers)
    return greatest + math.log(sum(math.exp(power - greatest) for power in powers) / len(powers))


def better_program_by_evidence(counts: PairCounts, risk: float) -> int | None:
    """The program that is better, with the probability `risk` of saying so of equal ones; None: not decided.

    It may be asked after every game; the risk is that of the whole match, and of both programs together.
    """
    if log_evidence(counts) < -math.log(risk):
        return None
    return 0 if 2 * (counts[4] - counts[0]) + counts[3] - counts[1] > 0 else 1
