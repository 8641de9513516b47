"""Figures, their ratios, and records by labels."""

from __future__ import annotations

import json
import math

from spielleiter.bench.figures import Figure, Records, ratio_of


def test_a_figure_has_median_minimum_and_maximum() -> None:
    figure = Figure("ms", (3.0, 1.0, 8.0))
    assert (figure.median, figure.least, figure.most) == (3.0, 1.0, 8.0)
    assert figure.to_json() == {"unit": "ms", "median": 3.0, "min": 1.0, "max": 8.0, "rounds": [3.0, 1.0, 8.0]}


def test_a_ratio_is_computed_for_each_round() -> None:
    assert ratio_of(Figure("s", (5.0, 30.0, 400.0)), Figure("s", (10.0, 100.0, 1000.0))) == 0.4
    assert ratio_of(None, Figure("s", (1.0,))) is None
    assert ratio_of(Figure("s", (1.0,)), None) is None


def test_values_that_are_not_finite_are_null_in_json() -> None:
    written = Figure("ms", (math.nan,)).to_json()
    assert json.loads(json.dumps(written, allow_nan=False))["median"] is None
    assert written["rounds"] == [None]


def test_rounds_with_the_same_labels_are_one_record() -> None:
    records = Records()
    for value in (2.0, 4.0):
        records.add({"part": "x", "games": 1}, {"speed": (value, "m/s")})
    records.add({"part": "x", "games": 2}, {"speed": (9.0, "m/s"), "weight": (1.0, "g")})
    assert [record.labels for record in records] == [{"part": "x", "games": 1}, {"part": "x", "games": 2}]
    assert records.figure("speed", part="x", games=1) == Figure("m/s", (2.0, 4.0))
    assert records.figure("weight", part="x") == Figure("g", (1.0,))
    assert records.figure("weight", games=1) is None
    assert len(records.where(part="x")) == 2
    assert records.where(part="y") == []
    assert next(iter(records)).to_json() == {
        "part": "x",
        "games": 1,
        "figures": {"speed": {"unit": "m/s", "median": 3.0, "min": 2.0, "max": 4.0, "rounds": [2.0, 4.0]}},
    }
