"""A short run of the part that measures starts."""

from __future__ import annotations

import pytest

from spielleiter.bench.options import Options
from spielleiter.bench.parts.start import LEAST, measure_start
from tests.bench.parts.runs import measure, values


@pytest.mark.slow
def test_the_server_and_bare_python_are_started() -> None:
    steps, (record,) = measure(measure_start, Options.quick(rounds=LEAST))
    assert steps == ["start"]
    found = values(record)
    assert set(found) == {"bare Python", "server", "server to bare Python", "server, first answer"}
    assert found["server to bare Python"] == pytest.approx(found["server"] / found["bare Python"])
    assert 0 < found["server"] < found["server, first answer"]


@pytest.mark.slow
def test_a_run_of_few_rounds_has_enough_starts() -> None:
    _, (record,) = measure(measure_start, Options.quick(rounds=LEAST - 1))
    assert len(record.figures["server"].rounds) == 2
