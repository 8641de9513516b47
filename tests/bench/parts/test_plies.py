"""A short run of the part that measures the plies of a game."""

from __future__ import annotations

import pytest

from spielleiter.bench.options import Options
from spielleiter.bench.parts.plies import EARLY, LATE, measure_plies
from tests.bench.parts.runs import measure, values


@pytest.mark.slow
def test_early_and_late_plies_are_measured_alone_and_beside_idle_rooms() -> None:
    options = Options.quick(editions=("blokus-2027",), idle_rooms=2, seconds=0.5)
    steps, (record,) = measure(measure_plies, options)
    assert steps == ["plies, blokus-2027, alone", "plies, blokus-2027, beside 2 idle rooms"]
    found = values(record)
    early, late = found[f"plies {EARLY[0]}-{EARLY[-1]}"], found[f"plies {LATE[0]}-{LATE[-1]}"]
    assert found["late to early"] == pytest.approx(late / early)
    assert found["beside to alone"] == pytest.approx(found["beside idle rooms"] / found["all plies"])
    assert all(value > 0 for value in found.values())
