from __future__ import annotations

import math

import pytest

from spielleiter.bench.load.drivers import Drivers, Measured, driving, quantile
from spielleiter.bench.load.plan import Plan, PlannedGame, plan_of, shares
from spielleiter.bench.load.scripts import load_of
from spielleiter.bench.subject import BenchError, end, relaying, start_python

EDITION = "blokus-2027"


@pytest.mark.parametrize(
    ("ordered", "share", "value"),
    [([1.0], 0.5, 1.0), ([1.0, 2.0, 3.0, 4.0], 0.5, 2.0), (list(range(1, 201)), 0.99, 198), ([1.0, 9.0], 1.0, 9.0)],
)
def test_a_quantile_is_a_value_that_was_measured(ordered: list[float], share: float, value: float) -> None:
    assert quantile(ordered, share) == value


def test_there_is_no_quantile_of_nothing() -> None:
    assert math.isnan(quantile([], 0.5))


@pytest.mark.parametrize(
    ("games", "processes", "each"), [(1, 1, [1]), (7, 3, [3, 2, 2]), (2, 4, [1, 1]), (500, 2, [250, 250])]
)
def test_games_are_shared_by_the_drivers(games: int, processes: int, each: list[int]) -> None:
    assert shares(games, processes) == each


def test_a_plan_comes_across_as_it_was() -> None:
    plan = Plan(1, "g", "end", (PlannedGame((0, 1), ("a", "b\n")),), 3, pace=0.5)
    line = plan.to_json()
    assert "\n" not in line
    assert Plan.from_json(line) == plan


@pytest.mark.slow
def test_the_end_of_a_request_holds_in_every_room() -> None:
    load = load_of(EDITION)
    plan = plan_of(load, 1, 2, observers=1)
    assert load.request.endswith(plan.request.encode())
    assert "roomId" not in plan.request
    assert plan.observers == 1


def test_quantities_follow_from_what_was_counted() -> None:
    measured = Measured(2.0, 100, 1, ((), (0.3, 0.1), (0.2,)), 0.5, (0.4,), 0.1, (), 3)
    assert measured.moves_per_second == 50
    assert measured.processor_per_move == 0.005
    assert measured.ordered == [0.1, 0.2, 0.3]


def counted(measured: Measured) -> int:
    """The moves one by one; with the first of a game nobody waits for a request."""
    return sum(map(len, measured.latencies)) + len(measured.start_times)


@pytest.mark.slow
@pytest.mark.parametrize("observers", [0, 1])
def test_several_drivers_measure_the_same_interval(observers: int) -> None:
    load = load_of(EDITION)
    with relaying(load, observers) as floor:
        plan = plan_of(load, floor.port, 3, pid=floor.pid, observers=observers)
        with driving(plan, 2) as drivers:
            measured, seconds = drivers.measure(0.2), 0.2
            while seconds < 10 and (measured.moves <= 50 or abs(measured.moves - counted(measured)) > 10):
                seconds *= 4  # on a busy machine a driver is late, which weighs less in a long interval
                measured = drivers.measure(seconds)
        assert floor.resident_kib <= floor.peak_kib
    assert measured.moves > 50
    assert measured.moves == pytest.approx(counted(measured), abs=10, rel=0 if seconds < 1 else 0.1)
    assert seconds / 2 < measured.seconds
    assert len(measured.driver_busy) == 2
    assert 0 < measured.subject_seconds < measured.seconds * 1.1
    assert drivers.ended.broken == 0
    assert 0 < len(drivers.ended.cut_off) <= 3


@pytest.mark.slow
def test_games_can_be_played_to_their_end() -> None:
    load = load_of(EDITION)
    with relaying(load, 0) as floor, driving(plan_of(load, floor.port, 2, ends_games=True)) as drivers:
        drivers.measure(0.05)
    assert drivers.ended.over >= 2
    assert (drivers.ended.broken, drivers.ended.cut_off) == (0, set())


def test_a_driver_that_dies_is_told() -> None:
    process = start_python(["-c", "import sys; sys.exit(3)"], stdin=-1, stdout=-1)
    try:
        with pytest.raises(BenchError, match="exit code 3"):
            Drivers([process]).await_ready()
    finally:
        end(process)


@pytest.mark.slow
def test_a_driver_that_crashes_is_told_in_one_line(capfd: pytest.CaptureFixture[str]) -> None:
    nobody_listens = 1
    with (
        pytest.raises(
            BenchError, match=r"^a driver has ended before its time \(exit code 1: ConnectionRefusedError: .*\)$"
        ),
        driving(plan_of(load_of(EDITION), nobody_listens, 1)),
    ):
        pass
    assert capfd.readouterr().err == ""
