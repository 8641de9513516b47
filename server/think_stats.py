"""How long a player thought in a game, in a few numbers.

Law: seconds; percentiles are values that were measured (nearest rank), not interpolated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from spielleiter.server.quantile import nearest_rank


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
        return cls(len(ordered), nearest_rank(ordered, 0.5), nearest_rank(ordered, 0.95), ordered[-1])
