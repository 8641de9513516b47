"""The targets: bounds, ratios by round, and whether they are reached."""

from __future__ import annotations

import pytest

from spielleiter.bench.figures import Records
from spielleiter.bench.targets import Target, targets_of


def traffic(records: Records, subject: str, games: int, **values: float) -> None:
    labels: dict[str, str | int] = {"part": "traffic", "subject": subject, "edition": "e"}
    labels |= {"games": games, "observers": 0}
    named = {name.replace("_", " "): (value, "") for name, value in values.items()}
    records.add(labels, {"driver busy": (0.5, ""), **named})


def by_name(records: Records) -> dict[str, Target]:
    return {target.name: target for target in targets_of(records)}


def test_there_are_no_targets_without_figures() -> None:
    assert targets_of(Records()) == []
    records = Records()
    traffic(records, "server", 1, throughput=5.0, latency_median=1.0)
    assert targets_of(records) == []


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


def test_many_games_are_compared_with_fewer() -> None:
    records = Records()
    traffic(records, "server", 100, throughput=100.0)
    traffic(records, "server", 500, throughput=79.0)
    assert [(target.name, target.is_reached) for target in targets_of(records)] == [
        ("throughput, 500 games at once", False)
    ]


def test_a_single_false_verdict_misses_the_target() -> None:
    records = Records()
    for count in (0.0, 1.0, 0.0):
        traffic(records, "server", 1, false_verdicts=count)
    target = by_name(records)["false verdicts"]
    assert (target.figure, target.is_reached) == (1, False)


def test_memory_start_and_plies_have_bounds() -> None:
    records = Records()
    records.add({"part": "start"}, {"server to bare Python": (1.7, "times")})
    records.add({"part": "memory", "connections": 5}, {"idle": (60.0, "MiB")})
    records.add({"part": "memory", "edition": "e", "from": 1, "to": 2}, {"each game more": (151.0, "KiB")})
    records.add({"part": "plies", "edition": "e"}, {"late to early": (2.0, "times"), "beside to alone": (1.3, "times")})
    assert [(target.name, target.is_reached) for target in targets_of(records)] == [
        ("start to accepting", False),
        ("memory, idle", True),
        ("memory, each game more", False),
        ("late plies to early ones", True),
        ("beside idle rooms to alone", False),
    ]


def test_the_proxy_may_cost_a_third_and_lose_nothing() -> None:
    records = Records()
    labels: dict[str, str | int] = {"part": "proxy", "edition": "e", "way": "proxy"}
    for ratio, lost in ((0.6, 0), (0.7, 1), (0.68, 0)):
        records.add({**labels, "games": 20}, {"to direct": (ratio, "x")})
        records.add({**labels, "games": ""}, {"lost": (lost, "bytes"), "added": (0, "bytes")})
    assert [(target.name, target.figure, target.is_reached) for target in targets_of(records)] == [
        ("throughput, proxy, 20 games at once", 0.68, True),
        ("bytes lost, proxy", 1, False),
        ("bytes added, proxy", 0, True),
    ]


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


def test_a_target_in_json_has_a_lower_or_an_upper_bound() -> None:
    written = Target("throughput", "e", 0.4, True, 0.5, "of floor", False).to_json()
    assert written == {
        "target": "throughput",
        "edition": "e",
        "least": 0.4,
        "figure": 0.5,
        "unit": "of floor",
        "reached": True,
        "sure": False,
    }
    assert Target("p99", "e", 3.0, False, 5.0, "x floor").to_json()["most"] == 3.0
