"""A short run of the part that measures many games at once."""

from __future__ import annotations

import pytest

from spielleiter.bench.load.drivers import EndedGames, Measurement
from spielleiter.bench.options import Options
from spielleiter.bench.parts.traffic import ended_values, measure_traffic, traffic_values
from spielleiter.bench.verdicts import Verdicts
from tests.bench.parts.runs import measure, values


@pytest.mark.slow
def test_floor_and_server_are_measured_under_the_same_load() -> None:
    options = Options.quick(editions=("blokus-2027",), games=(2,), observers=(1,), only=("floor", "server"), drivers=1)
    steps, records = measure(measure_traffic, options)
    assert steps == [f"{name}, blokus-2027, games at once: 2, observed" for name in ("floor", "server")]
    floor, server = map(values, records)
    assert set(server) == {*floor, "false verdicts", "games judged"}
    for found in (floor, server):
        assert found["throughput"] > 0
        assert found["games playing"] <= 2  # one may be between two games when the interval ends
    assert server["false verdicts"] == 0


@pytest.mark.slow
def test_only_the_selected_subject_is_measured() -> None:
    options = Options.quick(editions=("blokus-2027",), games=(1,), only=("floor",), seconds=0.1)
    _, (record,) = measure(measure_traffic, options)
    assert record.labels["subject"] == "floor"


def test_figures_follow_from_the_interval() -> None:
    measurement = Measurement(2.0, 100, 1, ((), (0.3, 0.1), (0.2,)), 0.5, (0.4, 0.6), 0.9, (0.7, 0.5), 3)
    found = {name: value for name, (value, _) in traffic_values(measurement).items()}
    assert found["throughput"] == 50
    assert found["latency median"] == 200
    assert found["latency max"] == 900, "a player that still waits has waited longest"
    assert found["start median"] == 500
    assert found["processor per move"] == 5000
    assert (found["processor busy"], found["driver busy"]) == (0.25, 0.6)


def test_broken_games_are_false_verdicts() -> None:
    found = ended_values(EndedGames(over=5, broken=2), Verdicts(games=9, false=1))
    assert found == {"false verdicts": (3, "games"), "games judged": (9, "games")}
