"""A token bucket limits bursts and the average rate; after exceeding them, the caller has to wait."""

from __future__ import annotations

import pytest

from spielleiter.server.core.clock import TokenBucket


def test_a_burst_is_free_and_anything_above_it_has_a_delay() -> None:
    bucket = TokenBucket(rate=2.0, burst=10.0)
    assert bucket.take(10.0, 0.0) == 0.0
    assert bucket.take(1.0, 0.0) == 0.5
    assert bucket.take(0.0, 0.25) == 0.25
    assert bucket.take(0.0, 0.5) == 0.0


def test_silence_accumulates_no_more_than_a_burst() -> None:
    bucket = TokenBucket(rate=2.0, burst=10.0)
    bucket.take(10.0, 0.0)
    assert bucket.take(10.0, 1e6) == 0.0
    assert bucket.take(2.0, 1e6) == pytest.approx(1.0)


def test_the_remaining_amount_grows_up_to_the_burst_and_may_be_negative() -> None:
    bucket = TokenBucket(rate=2.0, burst=10.0)
    bucket.take(13.0, 0.0)
    assert (bucket.left(0.0), bucket.left(2.0), bucket.left(100.0)) == (-3.0, 1.0, 10.0)
