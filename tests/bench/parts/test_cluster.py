"""The part `cluster`: what it computes, and a short run on one simulated machine."""

from __future__ import annotations

import pytest

import spielleiter.bench.parts.cluster
from spielleiter.bench.options import Options
from spielleiter.bench.parts.cluster import measure_cluster, used_share
from tests.bench.parts.runs import measure, values


def record(machine: str, start: int, seconds: float) -> dict[str, object]:
    return {"machine": machine, "started_at": f"2026-01-01T10:{start // 60:02}:{start % 60:02}+00:00"} | {
        "wall_seconds": seconds
    }


def test_the_use_of_machines_counts_from_the_start_of_the_last_one() -> None:
    even = [record("a", 0, 10), record("a", 10, 10), record("b", 5, 15)]
    assert used_share(even) == 1
    assert used_share([record("a", 0, 10), record("b", 0, 5)]) == 0.75
    assert used_share([*even, record("a", 21, 9), record("b", 20, 10)]) == pytest.approx(49 / 50)


@pytest.mark.slow
def test_simulated_machines_are_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spielleiter.bench.parts.cluster, "WORKERS", ())
    monkeypatch.setattr(spielleiter.bench.parts.cluster, "PAIRS_PER_MACHINE", 1)
    steps, [found] = measure(measure_cluster, Options(cluster_machines=(1,), pair_seconds=0.2))
    assert steps == ["cluster, 1 simulated machines, pairs of 0.2 s"]
    assert found.labels == {"part": "cluster", "machines": 1, "programs": "sleeping"}
    assert 0 < values(found)["of linear"] <= 1
