"""The progression of a match: Elo with its interval and the state of the sequential test, over its games.

Invariants: a point is computed from all games up to it, in the order of their numbers, and equals the summary of these
games. There are about 120 points at most, evenly spaced, and the last one comes after the last game.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from spielleiter.match.records.game_record import GameRecord
from spielleiter.match.stats.counts import Estimate, count_pairs
from spielleiter.match.stats.intervals import estimate_elo
from spielleiter.match.stats.sprt import Sprt

MAX_POINTS: Final = 120


@dataclass(frozen=True, slots=True)
class ProgressionPoint:
    """The state of a match after its first `games` games."""

    games: int
    elo: Estimate
    log_likelihood_ratio: float | None
    """None without a test."""


def progression_of(records: Sequence[GameRecord], sprt: Sprt | None = None) -> tuple[ProgressionPoint, ...]:
    """The progression of the match with these records, sorted by game; empty without a complete pair."""
    pairs = len(records) // 2
    step = max(1, -(-pairs // MAX_POINTS))
    ends = sorted({*range(2 * step, len(records) + 1, 2 * step), len(records)})
    points = []
    for end in ends:
        counts = count_pairs(records[:end])
        elo = estimate_elo(counts)
        if elo is not None:
            ratio = None if sprt is None else sprt.log_likelihood_ratio(counts)
            points.append(ProgressionPoint(end, elo, ratio))
    return tuple(points)
