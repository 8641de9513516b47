"""The estimate of this machine's speed, with a clock that the test controls."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from spielleiter.contest.calibration import MAX_SPEED, MIN_SPEED, REPETITIONS, Speed, measure_speed

_REFERENCE = (0.0147, 0.0260, 0.0140)


def clock_of(*seconds: float) -> Callable[[], float]:
    """A clock by which the tasks take these seconds, each of them in every run but the first, which is disturbed."""
    ticks = [0.0]
    for task in seconds:
        for run in range(REPETITIONS):
            ticks += [ticks[-1], ticks[-1] + (task if run else 10 * task)]
    return iter(ticks[1:]).__next__


@pytest.mark.parametrize("fast", range(len(_REFERENCE)))
def test_the_tasks_have_equal_weight_whatever_disturbs_a_single_run(fast: int) -> None:
    seconds = [each / 8 if task == fast else each for task, each in enumerate(_REFERENCE)]
    assert measure_speed(clock_of(*seconds)).factor == pytest.approx(2)


@pytest.mark.parametrize(("seconds", "factor"), [(0.0, MAX_SPEED), (1e9, MIN_SPEED)])
def test_the_factor_is_bounded_however_coarse_the_clock_is(seconds: float, factor: float) -> None:
    assert measure_speed(clock_of(seconds, seconds, seconds)).factor == factor


def test_texts_say_that_it_is_an_estimate_and_where_it_comes_from() -> None:
    measured, given = Speed(1.54, is_measured=True).text, Speed(0.5, is_measured=False).text
    assert "estimated to be 1.5 times as fast" in measured
    assert "measurement" in measured
    assert "0.5 times" in given
    assert "--speed" in given


@pytest.mark.slow
def test_the_real_clock_gives_a_usable_factor() -> None:
    speed = measure_speed()
    assert MIN_SPEED <= speed.factor <= MAX_SPEED
    assert speed.is_measured
