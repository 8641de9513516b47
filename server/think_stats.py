"""A summary of a player's think times in a game.

Invariants: times are in seconds. Percentiles are measured values (nearest rank), not interpolated ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from spielleiter.common.quantile import nearest_rank


@dataclass(frozen=True, slots=True)
class ThinkStats:
    """One player's think times; all values are 0 if no move was requested."""

    count: int = 0
    median: float = 0.0
    p95: float = 0.0
    maximum: float = 0.0

    def as_dict(self) -> dict[str, float]:
        """Return the JSON object that the log and the results contain."""
        return {"count": self.count, "median": self.median, "p95": self.p95, "maximum": self.maximum}

    @classmethod
    def of(cls, think_times: Sequence[float]) -> ThinkStats:
        """Return the summary of `think_times`, which may be in any order."""
        if not think_times:
            return cls()
        ordered = sorted(think_times)
        return cls(len(ordered), nearest_rank(ordered, 0.5), nearest_rank(ordered, 0.95), ordered[-1])
