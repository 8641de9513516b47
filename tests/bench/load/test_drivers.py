"""Several driver processes: they measure the same interval, and their ends are reported."""

from __future__ import annotations

import math

import pytest

from spielleiter.bench.load.drivers import Drivers, Measurement, quantile, running_drivers
from spielleiter.bench.load.plan import plan_of
from spielleiter.bench.load.scripts import load_of
from spielleiter.bench.subject import BenchError, end, running_floor, start_python

EDITION = "blokus-2027"


@pytest.mark.parametrize(
    ("ordered", "share", "value"),
    [([1.0], 0.5, 1.0), ([1.0, 2.0, 3.0, 4.0], 0.5, 2.0), (list(range(1, 201)), 0.99, 198), ([1.0, 9.0], 1.0, 9.0)],
)
def test_a_quantile_is_a_value_that_was_measured(ordered: list[float], share: float, value: float) -> None:
    assert quantile(ordered, share) == value


def test_the_quantile_of_no_values_is_nan() -> None:
    assert math.isnan(quantile([], 0.5))


def test_quantities_follow_from_what_was_counted() -> None:
    measured = Measurement(2.0, 100, 1, ((), (0.3, 0.1), (0.2,)), 0.5, (0.4,), 0.1, (), 3)
    assert measured.moves_per_second == 50
    assert measured.processor_per_move == 0.005
    assert measured.ordered == [0.1, 0.2, 0.3]


def counted(measured: Measurement) -> int:
    """The number of moves by their latencies, and by the start times for the first moves of games."""
    return sum(map(len, measured.latencies)) + len(measured.start_times)


@pytest.mark.slow
@pytest.mark.parametrize("observers", [0, 1])
def test_several_drivers_measure_the_same_interval(observers: int) -> None:
    load = load_of(EDITION)
    with running_floor(load, observers) as floor:
        plan = plan_of(load, floor.port, 3, pid=floor.pid, observers=observers)
        with running_drivers(plan, 2) as drivers:
            measured, seconds = drivers.measure(0.2), 0.2
            while seconds < 10 and (measured.moves <= 50 or abs(measured.moves - counted(measured)) > 10):
                seconds *= 4  # on a busy machine a driver is late, which matters less in a long interval
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
    with running_floor(load, 0) as floor, running_drivers(plan_of(load, floor.port, 2, ends_games=True)) as drivers:
        drivers.measure(0.05)
    assert drivers.ended.over >= 2
    assert (drivers.ended.broken, drivers.ended.cut_off) == (0, set())


def test_a_driver_that_exits_is_an_error() -> None:
    process = start_python(["-c", "import sys; sys.exit(3)"], stdin=-1, stdout=-1)
    try:
        with pytest.raises(BenchError, match="exit code 3"):
            Drivers([process]).await_ready()
    finally:
        end(process)


@pytest.mark.slow
def test_a_driver_that_crashes_is_an_error_of_one_line(capfd: pytest.CaptureFixture[str]) -> None:
    unused_port = 1
    with (
        pytest.raises(
            BenchError, match=r"^a driver has ended before its time \(exit code 1: ConnectionRefusedError: .*\)$"
        ),
        running_drivers(plan_of(load_of(EDITION), unused_port, 1)),
    ):
        pass
    assert capfd.readouterr().err == ""
