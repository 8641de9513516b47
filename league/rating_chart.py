"""The history of a rating as a picture: where its points, its intervals and its scale are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from spielleiter.league.model import RatingOfDay


@dataclass(frozen=True, slots=True)
class Chart:
    """The ratings of a team by day, as points of a picture."""

    line: str
    """The coordinates of the points."""
    band: str
    """The coordinates around all intervals."""
    dots: list[tuple[float, float, RatingOfDay]]
    scale: list[tuple[float, float]]
    """Ratings with their vertical coordinates."""
    days: list[RatingOfDay]


WIDTH: Final = 640
HEIGHT: Final = 200
_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 12, 12, 24


def rating_chart(history: Sequence[RatingOfDay]) -> Chart | None:
    """Return the picture of the ratings; None if there are none.

    On a day on which two versions played, the newer one counts.
    """
    by_day = {each.day: each for each in sorted(history, key=lambda each: (each.day, each.version_id))}
    days = list(by_day.values())
    if not days:
        return None
    low, high = min(each.low for each in days), max(each.high for each in days)
    step = next(step for step in (10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10**6) if (high - low) / step <= 4)
    low, high = low // step * step, -(-high // step) * step
    high = max(high, low + step)

    def x(index: int) -> float:
        return round(_LEFT + (WIDTH - _LEFT - _RIGHT) * (index / (len(days) - 1) if len(days) > 1 else 0.5), 1)

    def y(rating: float) -> float:
        return round(_TOP + (HEIGHT - _TOP - _BOTTOM) * (high - rating) / (high - low), 1)

    dots = [(x(index), y(each.rating), each) for index, each in enumerate(days)]
    upper = [f"{x(index)},{y(each.high)}" for index, each in enumerate(days)]
    lower = [f"{x(index)},{y(each.low)}" for index, each in enumerate(days)]
    count = round((high - low) / step)
    scale = [(low + step * number, y(low + step * number)) for number in range(count + 1)]
    return Chart(
        " ".join(f"{left},{top}" for left, top, _ in dots), " ".join([*upper, *reversed(lower)]), dots, scale, days
    )
