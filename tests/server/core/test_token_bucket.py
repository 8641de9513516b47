"""What is used at once and in the long run is bounded; a debt has to be waited for."""

from __future__ import annotations

import pytest

from spielleiter.server.core.token_bucket import TokenBucket


def test_a_burst_is_free_and_what_is_beyond_it_has_to_be_paid_back() -> None:
    allowance = TokenBucket(rate=2.0, burst=10.0)
    assert allowance.take(10.0, 0.0) == 0.0
    assert allowance.take(1.0, 0.0) == 0.5
    assert allowance.take(0.0, 0.25) == 0.25
    assert allowance.take(0.0, 0.5) == 0.0


def test_silence_saves_up_no_more_than_a_burst() -> None:
    allowance = TokenBucket(rate=2.0, burst=10.0)
    allowance.take(10.0, 0.0)
    assert allowance.take(10.0, 1e6) == 0.0
    assert allowance.take(2.0, 1e6) == pytest.approx(1.0)


def test_what_is_left_grows_up_to_the_burst_and_may_be_a_debt() -> None:
    allowance = TokenBucket(rate=2.0, burst=10.0)
    allowance.take(13.0, 0.0)
    assert (allowance.left(0.0), allowance.left(2.0), allowance.left(100.0)) == (-3.0, 1.0, 10.0)
