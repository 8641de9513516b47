"""A short run of the part that measures the proxy."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from spielleiter.bench.figures import Records
from spielleiter.bench.options import Options
from spielleiter.bench.parts import proxy as proxy_part
from spielleiter.bench.parts.proxy import PLAIN, measure_proxy, running_proxy
from spielleiter.bench.subject import BenchError
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
        assert found["lost"] == found["added"] == 0
        assert found["sent"] == found["passed on, by its own count"] > 1_000_000


@pytest.mark.slow
def test_a_proxy_that_has_ended_too_early_is_an_error(tmp_path: Path) -> None:
    with (
        pytest.raises(BenchError, match=r"^the proxy has ended before its time \(exit code -9\)$"),
        running_proxy(1, PLAIN, tmp_path) as proxy,
    ):
        psutil.Process(proxy.pid).kill()


@pytest.mark.slow
def test_a_proxy_that_does_not_start_says_why(tmp_path: Path) -> None:
    with (
        pytest.raises(BenchError, match=r"^the proxy does not start \(exit code 2\): .*99999"),
        running_proxy(99999, PLAIN, tmp_path),
    ):
        pass


def test_no_move_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proxy_part, "_measure_games", lambda *_: SimpleNamespace(moves_per_second=0.0))
    options = Options.quick(editions=(EDITION,), proxy_games=(2,))
    with pytest.raises(BenchError, match="no move was made"):
        list(measure_proxy(options, Records()))
