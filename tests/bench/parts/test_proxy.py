"""A short run of the part that measures the proxy."""

from __future__ import annotations

import pytest

from spielleiter.bench.options import Options
from spielleiter.bench.parts.proxy import measure_proxy
from tests.bench.parts.runs import measure, values

EDITION = "blokus-2027"


@pytest.mark.slow
def test_the_proxy_is_compared_with_no_proxy_and_loses_no_byte() -> None:
    options = Options.quick(editions=(EDITION,), proxy_games=(2,), drivers=1)
    steps, records = measure(measure_proxy, options)
    ways = ("direct", "proxy", "proxy --trace")
    assert steps == [
        *(f"proxy, {EDITION}, games at once: 2, {way}" for way in ways),
        *(f"proxy, {EDITION}, bytes at both ends, {way}" for way in ways[1:]),
    ]
    direct, *proxies = map(values, records[:3])
    assert direct["throughput"] > 0
    for found in proxies:
        assert found["to direct"] == found["throughput"] / direct["throughput"]
        assert found["processor per move"] > 0
    for found in map(values, records[3:]):
        assert found["lost"] == 0
        assert found["sent"] == found["passed on, by its own count"] > 1_000_000
