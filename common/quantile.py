"""The nearest-rank quantile, for think times, statistics and benchmarks."""

from __future__ import annotations

import math
from collections.abc import Sequence


def nearest_rank(ordered: Sequence[float], share: float) -> float:
    """Return the smallest value that at least `share` (0 to 1) of all values do not exceed; for 0, the minimum.

    It is one of the values; nothing is interpolated.
    `ordered` holds the values in ascending order. Raises IndexError if it is empty.
    """
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]
