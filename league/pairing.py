"""Who plays next: the pair of games from which the league learns most.

Pure functions: the same candidates, meetings and random numbers give the same pairing. Two anchors never meet, nor do
two versions of one team.

Each rating is taken as a normal distribution. A pair of games between versions with the variances a and b lowers the
sum of all variances by (a² + b²) / (a + b + v), where v, the variance of what the games say about the difference, is
smallest for equal strengths: 1 / (2 p (1 - p)) in units of a strength's logarithm, for the expected score p. That value
prefers uncertain versions, which have few games, and opponents of similar strength. It is divided by the number of
times that the two have met, so that they do not meet again and again, and by the number of games that a version is
playing at the moment.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec

from spielleiter.league.ratings import PRIOR_DEVIATION, expected_score

KNOWN_DEVIATION: Final = 30.0
"""A version counts as no better known than this, so that it goes on playing when all ratings are certain."""
_UNIT: Final = 400 / math.log(10)  # Elo of a natural logarithm of odds
_JITTER: Final = 0.1  # by which share of its value a pairing may be preferred by chance


class Candidate(msgspec.Struct, frozen=True):
    """A version that can play.

    - `version`: its id.
    - `team`: the id of its team; None for an anchor.
    - `rating`, `deviation`: the estimate of its strength and the standard deviation of that, in Elo; that of an anchor
      is 0.
    - `playing`: the number of pairs of games that it is playing now.
    """

    version: int
    team: int | None
    rating: float = 0.0
    deviation: float = PRIOR_DEVIATION
    playing: int = 0


def next_pairing(
    candidates: Sequence[Candidate], meetings: Mapping[tuple[int, int], int], chance: random.Random
) -> tuple[int, int] | None:
    """Choose the next two versions, by their ids; the first one begins the first game of the pair.

    `meetings` holds how many pairs of games two versions have played or are playing, by their ids, the smaller one
    first. Returns None if no two candidates may meet.
    """
    best, best_value = None, 0.0
    for index, one in enumerate(candidates):
        for other in candidates[:index]:
            if one.team == other.team:
                continue
            key = min(one.version, other.version), max(one.version, other.version)
            value = _information(one, other) / (1 + meetings.get(key, 0)) / (1 + one.playing) / (1 + other.playing)
            value *= 1 + _JITTER * chance.random()
            if value > best_value:
                best, best_value = key, value
    if best is not None and chance.random() < 0.5:
        return best[1], best[0]
    return best


def _information(one: Candidate, other: Candidate) -> float:
    """By how much a pair of games lowers the sum of the variances of both ratings, in square Elo."""
    a, b = _variance(one), _variance(other)
    # the distributions overlap, so an unknown version may be as strong as its opponent
    spread = math.sqrt(1 + math.pi / 8 * (a + b) / _UNIT**2)
    expected = expected_score((one.rating - other.rating) / spread)
    noise = _UNIT**2 / (2 * expected * (1 - expected))
    return (a * a + b * b) / (a + b + noise)


def _variance(candidate: Candidate) -> float:
    if candidate.team is None:
        return 0.0
    return max(candidate.deviation, KNOWN_DEVIATION) ** 2


def round_robin(versions: Iterable[int], meetings: Mapping[tuple[int, int], int], rounds: int) -> list[tuple[int, int]]:
    """Return the pairings that are missing until each two of the `versions` have met `rounds` times.

    Every version plays about equally early: the pairings are in the order of the circle method.
    """
    circle: list[int | None] = list(versions)
    if len(circle) % 2:
        circle.append(None)
    missing = []
    for number in range(1, rounds + 1):
        for _ in range(len(circle) - 1):
            for one, other in zip(circle[: len(circle) // 2], reversed(circle[len(circle) // 2 :]), strict=True):
                if one is not None and other is not None:
                    key = min(one, other), max(one, other)
                    if meetings.get(key, 0) < number:
                        missing.append(key)
            circle.insert(1, circle.pop())
    return missing
