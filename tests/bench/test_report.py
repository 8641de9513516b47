"""Figures and records, the targets, and the report as text."""

from __future__ import annotations

import json
import math

import pytest

from spielleiter.bench.report import (
    WIDTH,
    Figure,
    Records,
    Target,
    report_text,
    targets_of,
)

TRAFFIC = {
    "throughput": (12_345.6, "moves/s"),
    "latency median": (1234.5, "ms"),
    "latency p99": (2345.6, "ms"),
    "latency max": (3456.7, "ms"),
    "start median": (12_345.6, "ms"),
    "games playing": (500.0, "games"),
    "processor per move": (123.4, "us"),
    "memory peak": (296.7, "MiB"),
    "false verdicts": (0.0, "games"),
    "games judged": (1234.0, "games"),
}


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


def traffic(records: Records, subject: str, games: int, **values: float) -> None:
    labels: dict[str, str | int] = {"part": "traffic", "subject": subject, "edition": "e"}
    labels |= {"games": games, "observers": 0}
    named = {name.replace("_", " "): (value, "") for name, value in values.items()}
    records.add(labels, {"driver busy": (0.5, ""), **named})


def by_name(records: Records) -> dict[str, Target]:
    return {target.name: target for target in targets_of(records)}


def test_the_server_is_compared_with_the_floor_round_by_round() -> None:
    records = Records()
    for floor, server in ((10.0, 5.0), (100.0, 30.0), (1000.0, 400.0)):
        traffic(records, "floor", 1, throughput=floor, latency_median=1.0)
        traffic(records, "server", 1, throughput=server, latency_median=2.6)
    found = by_name(records)
    assert found["throughput, 1 game at once"].figure == pytest.approx(0.4)
    assert found["throughput, 1 game at once"].is_reached
    assert found["latency median, 1 game at once"].figure == pytest.approx(2.6)
    assert not found["latency median, 1 game at once"].is_reached


def test_a_busy_driver_makes_a_ratio_doubtful() -> None:
    records = Records()
    traffic(records, "floor", 100, throughput=10.0, latency_p99=1.0, driver_busy=0.9)
    traffic(records, "server", 100, throughput=5.0, latency_p99=3.1)
    found = by_name(records)
    assert not found["throughput, 100 games at once"].is_sure
    assert not found["latency p99, 100 games at once"].is_reached


def test_matches_have_bounds_for_the_longest_one() -> None:
    records = Records()
    figures = {"runner's processor, a game": (51.0, "ms"), "disk, a game": (60.0, "KiB"), "spoilt": (0.0, "games")}
    records.add({"part": "match", "edition": "e", "programs": "scripted", "games": 9}, figures)
    for games, seconds in ((10, 30.0), (20, 20.0)):
        values = {
            "200 games": (seconds, "s"),
            "memory, 1,000 games more": (11.0, "MiB"),
            "spoilt": (games - 10.0, "games"),
        }
        records.add({"part": "match", "programs": "built-in", "games": games}, values)
    assert [(target.name, target.edition, target.is_reached) for target in targets_of(records)] == [
        ("match, runner's processor a game", "e", False),
        ("match, disk a game, scripted players", "e", True),
        ("match, spoilt games, scripted players", "e", True),
        ("match, 200 games of built-in players", "all", True),
        ("match, memory for 1,000 games more", "all", False),
        ("match, spoilt games, built-in players", "all", False),
    ]


def records_of(busy: float) -> Records:
    records = Records()
    for factor in (0.9, 1.0, 1.1):
        values = {name: (value * factor, unit) for name, (value, unit) in TRAFFIC.items()}
        values["driver busy"] = (busy * factor, "of a core")
        for subject in ("floor", "server"):
            labels = {"part": "traffic", "subject": subject, "edition": "blokus-2021-r3", "games": 500, "observers": 1}
            records.add(labels, values)
        records.add({"part": "start"}, {"server to bare Python": (1.5, "times")})
        labels = {"part": "match", "programs": "built-in", "games": 20}
        records.add(labels, {"games/s": (5e6 * factor, "1/s"), "spoilt": (0.0, "games")})
    return records


def test_a_report_has_every_part_and_no_long_line() -> None:
    records = records_of(0.5)
    text = report_text({"processor": "some", "cores": 2}, records, targets_of(records))
    assert text.startswith("processor    some\ncores        2\n")
    for expected in (
        "12,346 (11,111-13,580)",
        "5M (4.50M-5.50M)",
        "start to accepting",
        "match, spoilt games, built-in players",
    ):
        assert expected in text
    assert "> 12,346" not in text
    assert max(map(len, text.splitlines())) <= WIDTH
