"""A kernel's stamp is believed exactly while the wall clock keeps step; otherwise the instant is that of the read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.clock import Arrival, StampSource
from server.stamps import ATTEMPTS, DRIFT, MAX_AGE, SHARP, STEP, StampReader

WALL = 1_790_000_000.0
"""Seconds since the epoch when the machine started; a float still tells microseconds apart there."""


class Machine:
    """Its three clocks. `now` (the server's) has its own zero; reading them takes `tick` seconds."""

    def __init__(self) -> None:
        self.uptime = 100.0
        self.wall_offset = WALL
        self.tick = 0.0
        self.readings = 0

    def now(self) -> float:
        return self.uptime - 90.0

    def wall(self) -> float:
        return self.uptime + self.wall_offset

    def monotonic(self) -> float:
        self.readings += 1
        self.uptime += self.tick
        return self.uptime

    def stamps(self) -> StampReader:
        return StampReader(self.now, self.wall, self.monotonic)


@given(st.floats(0, 3000), st.floats(0, MAX_AGE * 0.99), st.floats(-0.9, 0.9))
def test_a_stamp_says_when_however_late_the_read_is(pause: float, lateness: float, drift: float) -> None:
    machine = Machine()
    stamps = machine.stamps()
    machine.uptime += pause
    machine.wall_offset += drift * DRIFT * pause  # the wall clock is slewed meanwhile
    stamp = machine.wall()
    arrived = machine.now()
    machine.uptime += lateness
    arrival = stamps.arrival(stamp)
    assert arrival.source is StampSource.KERNEL
    assert arrival.instant == pytest.approx(arrived, abs=1e-5)


def test_without_a_stamp_the_instant_is_that_of_the_read() -> None:
    machine = Machine()
    stamps = machine.stamps()
    machine.uptime += 5.0
    assert stamps.arrival(None) == Arrival(machine.now())


@given(st.floats(STEP * 1.1, 1e6), st.sampled_from([-1, 1]), st.floats(0, 1.0))
def test_after_a_step_of_the_wall_clock_one_stamp_is_not_believed_and_the_next_one_is(
    step: float, sign: int, lateness: float
) -> None:
    machine = Machine()
    stamps = machine.stamps()
    stamp = machine.wall()
    machine.wall_offset += sign * step
    machine.uptime += lateness / 10  # too little for so much drift
    assert stamps.arrival(stamp) == Arrival(machine.now())
    stamp = machine.wall()
    machine.uptime += lateness
    assert stamps.arrival(stamp).source is StampSource.KERNEL


@pytest.mark.parametrize("age", [-0.001, -3600.0, MAX_AGE + 0.001, 1e9])
def test_a_stamp_from_the_future_or_from_long_ago_is_not_believed(age: float) -> None:
    machine = Machine()
    stamps = machine.stamps()
    assert stamps.arrival(machine.wall() - age) == Arrival(machine.now())


def test_a_comparison_that_was_interrupted_is_made_again() -> None:
    machine = Machine()
    stamps = machine.stamps()
    readings = machine.readings
    stamps.arrival(None)
    assert machine.readings == readings + 2
    machine.tick = SHARP * 2
    readings = machine.readings
    stamps.arrival(None)
    assert machine.readings == readings + 2 * ATTEMPTS


def test_the_machine_s_own_clocks_are_the_default() -> None:
    stamps = StampReader(lambda: 5.0)
    assert stamps.arrival(0.0) == Arrival(5.0)  # 1970 is long ago


def test_a_comparison_that_is_interrupted_every_time_neither_finds_a_step_nor_hides_one() -> None:
    machine = Machine()
    stamps = machine.stamps()
    stamp = machine.wall()
    machine.tick = SHARP * 2 + STEP
    assert stamps.arrival(stamp).source is StampSource.KERNEL
    machine.wall_offset += 1.0
    assert stamps.arrival(stamp).source is StampSource.KERNEL  # cannot tell yet
    machine.tick = 0.0
    assert stamps.arrival(machine.wall()).source is StampSource.MONOTONIC
