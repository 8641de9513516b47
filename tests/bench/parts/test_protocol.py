"""A short run of the part that measures reading and writing."""

from __future__ import annotations

import pytest

from spielleiter.bench.options import Options
from spielleiter.bench.parts.protocol import TURNS, measure_protocol
from tests.bench.parts.runs import measure, values


@pytest.mark.slow
def test_moves_are_read_and_positions_written_in_both_ways() -> None:
    steps, (record,) = measure(measure_protocol, Options.quick(editions=("blokus-2027",)))
    assert steps == ["protocol, blokus-2027"]
    assert set(record.figures) == {"decode a move"} | {
        f"encode turn {turn} {where}" for turn in TURNS for where in ("alone", "in its room")
    }
    assert {figure.unit for figure in record.figures.values()} == {"us"}
    assert all(value > 0 for value in values(record).values())
