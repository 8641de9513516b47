"""A summary of think times consists of measured values."""

from __future__ import annotations

import dataclasses

from hypothesis import given
from hypothesis import strategies as st

from spielleiter.server.events import ThinkStats


def test_the_summary_of_a_player() -> None:
    times = [float(number) for number in range(100, 0, -1)]
    assert ThinkStats.of(times) == ThinkStats(100, 50.0, 95.0, 100.0)


def test_without_requests_all_values_are_zero() -> None:
    assert ThinkStats.of([]) == ThinkStats(0, 0.0, 0.0, 0.0)


@given(st.lists(st.floats(0, 1e6), min_size=1))
def test_every_value_was_measured_and_they_are_in_order(times: list[float]) -> None:
    stats = ThinkStats.of(times)
    assert {stats.median, stats.p95, stats.maximum} <= set(times)
    assert stats.median <= stats.p95 <= stats.maximum == max(times)
    assert 2 * sum(time <= stats.median for time in times) >= len(times)


def test_the_dictionary_has_every_field() -> None:
    stats = ThinkStats(3, 0.1, 0.2, 0.3)
    assert stats.as_dict() == dataclasses.asdict(stats)
