"""The nearest-rank quantile agrees with its definition."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spielleiter.common.quantile import nearest_rank


def test_textbook_example() -> None:
    shares = {0.0: 15.0, 0.05: 15.0, 0.3: 20.0, 0.4: 20.0, 0.5: 35.0, 1.0: 50.0}
    assert {share: nearest_rank([15.0, 20.0, 35.0, 40.0, 50.0], share) for share in shares} == shares
    with pytest.raises(IndexError):
        nearest_rank([], 0.5)


@given(st.lists(st.floats(0, 1e6), min_size=1), st.fractions(0, 1, max_denominator=100))
def test_a_quantile_is_the_smallest_value_that_bounds_the_share_of_values(values: list[float], share: float) -> None:
    ordered = sorted(values)
    quantile = nearest_rank(ordered, share)
    assert sum(value <= quantile for value in values) >= share * len(values)
    assert quantile == ordered[0] or sum(value < quantile for value in values) < share * len(values)
