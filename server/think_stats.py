"""How long a player thought in a game, in a few numbers.

Law: seconds; percentiles are values that were measured (nearest rank), not interpolated.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ThinkStats:
    """One player's think times; all 0 where it was never asked."""

    count: int = 0
    median: float = 0.0
    p95: float = 0.0
    maximum: float = 0.0

    def as_dict(self) -> dict[str, float]:
        """As it is logged and kept."""
        return {"count": self.count, "median": self.median, "p95": self.p95, "maximum": self.maximum}

    @classmethod
    def of(cls, think_times: Sequence[float]) -> ThinkStats:
        if not think_times:
            return cls()
        ordered = sorted(think_times)
        return cls(len(ordered), _percentile(ordered, 0.5), _percentile(ordered, 0.95), ordered[-1])


def _percentile(ordered: Sequence[float], share: float) -> float:
    return ordered[math.ceil(share * len(ordered)) - 1]
