"""An arrival lies between the last check and the read; steps of the wall clock are compensated where possible."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spielleiter.server.core.clock import Arrival, StampSource
from spielleiter.server.net.time_stamps import (
    ATTEMPTS,
    DRIFT,
    LONGEST_COMPARISON,
    LONGEST_DRIFT_TIME,
    MAX_AGE,
    MIN_STEP,
    StampReader,
)

WALL = 1_790_000_000.0
"""Seconds since the epoch when the machine started; a float still has a resolution of microseconds there."""


class Machine:
    """The three clocks of a machine. `now` (the server's) has its own zero; each reading takes `tick` seconds."""

    def __init__(self) -> None:
        self.uptime = 100.0
        self.wall_offset = WALL
        self.tick = 0.0
        self.readings = 0
        self.interruptions: list[float] = []
        """The seconds that each next reading of the server's clock is followed by."""

    def now(self) -> float:
        now = self.uptime - 90.0
        self.uptime += self.interruptions.pop(0) if self.interruptions else 0.0
        return now

    def wall(self) -> float:
        return self.uptime + self.wall_offset

    def monotonic(self) -> float:
        self.readings += 1
        self.uptime += self.tick
        return self.uptime

    def stamps(self) -> StampReader:
        return StampReader(self.now, self.wall, self.monotonic)


def read(stamps: StampReader, machine: Machine, stamp: float | None, *, has_emptied: bool = True) -> Arrival:
    """Return the arrival of bytes that are read now."""
    return stamps.arrival(stamp, read_at=machine.now(), has_emptied=has_emptied)


def reader_of_empty_socket(machine: Machine) -> StampReader:
    """Return the reader of a socket that has just been found empty."""
    stamps = machine.stamps()
    stamps.saw_empty(machine.now())
    return stamps


@given(
    st.floats(0, 3000),
    st.floats(0, LONGEST_DRIFT_TIME),
    st.floats(0, MAX_AGE * 0.99),
    st.floats(-0.9, 0.9),
    st.booleans(),
)
def test_a_stamp_gives_the_arrival_however_late_the_read_is(
    pause: float, thinking: float, lateness: float, drift: float, is_first: bool
) -> None:
    machine = Machine()
    stamps = machine.stamps()
    machine.uptime += pause
    machine.wall_offset += drift * DRIFT * pause  # the wall clock is slewed in between
    if not is_first:
        read(stamps, machine, machine.wall())
    stamps.saw_empty(machine.now())  # the request has been sent
    machine.uptime += thinking
    machine.wall_offset += drift * DRIFT * thinking
    stamp = machine.wall()
    arrived = machine.now()
    machine.uptime += lateness
    arrival = read(stamps, machine, stamp)
    assert arrival.source is StampSource.KERNEL
    assert arrival.instant == pytest.approx(arrived, abs=1e-5)


def test_without_a_stamp_the_arrival_is_the_read() -> None:
    machine = Machine()
    stamps = machine.stamps()
    machine.uptime += 5.0
    assert read(stamps, machine, None) == Arrival(machine.now())


@given(st.floats(0.001, 10.0), st.floats(0.001, 10.0))
def test_no_arrival_is_before_the_last_check_that_found_nothing(before: float, after: float) -> None:
    """The last segment of a packet came out of order, long before the first, and the kernel uses its stamp."""
    machine = Machine()
    stamps = reader_of_empty_socket(machine)
    machine.uptime += 0.1
    stamp = machine.wall()
    machine.uptime += before
    stamps.saw_empty(machine.now())
    last_check = machine.now()
    machine.uptime += after
    assert read(stamps, machine, stamp) == Arrival(last_check, StampSource.KERNEL)


def test_a_read_that_empties_the_socket_is_a_check() -> None:
    machine = Machine()
    stamps = reader_of_empty_socket(machine)
    machine.uptime += 1.0
    stamp = machine.wall()
    machine.uptime += 1.0
    first = read(stamps, machine, stamp, has_emptied=False)
    assert read(stamps, machine, stamp) == first  # the rest of the bytes
    emptied_at = machine.now()
    machine.uptime += 1.0
    assert read(stamps, machine, stamp).instant == emptied_at


@given(
    st.floats(0.1, 1e6),
    st.sampled_from([-1, 1]),
    st.floats(0, 1e6),
    st.floats(0.01, 5.0),
    st.floats(0, 0.09),
    st.sampled_from(["idle", "thinking", "arrived", "read"]),
)
def test_a_step_of_the_wall_clock_at_any_time_moves_no_arrival(
    size: float, sign: int, idle: float, thinking: float, lateness: float, phase: str
) -> None:
    """This holds after any silence. Of two possible candidates the earlier one is used, in favour of the sender."""
    machine = Machine()
    stamps = machine.stamps()

    def passes(seconds: float, name: str) -> None:
        machine.uptime += seconds / 2
        machine.wall_offset += sign * size if name == phase else 0.0
        machine.uptime += seconds / 2

    passes(idle, "idle")
    stamps.saw_empty(machine.now())
    asked = machine.now()
    passes(thinking, "thinking")
    stamp = machine.wall()
    arrived = machine.now()
    passes(lateness, "arrived")
    arrival = read(stamps, machine, stamp)
    if size > thinking + lateness:
        assert arrival.instant == pytest.approx(arrived, abs=1e-3)
    else:
        assert asked <= arrival.instant <= arrived + 1e-3
    assert arrival.source is StampSource.KERNEL
    machine.uptime += thinking
    passes(lateness, "read")
    stamps.saw_empty(machine.now())
    machine.uptime += 1.0
    latest = read(stamps, machine, machine.wall())
    assert latest.source is StampSource.KERNEL
    assert latest.instant == pytest.approx(machine.now())


def test_without_a_possible_candidate_the_arrival_is_the_read() -> None:
    machine = Machine()
    stamps = reader_of_empty_socket(machine)
    machine.uptime += 1.0
    stamp = machine.wall()
    machine.wall_offset -= 30.0
    machine.wall_offset += 45.0  # two steps look like one of 15 s
    machine.uptime += 0.3
    assert read(stamps, machine, stamp + 30.0) == Arrival(machine.now())


def test_the_tolerance_does_not_grow_with_idle_time() -> None:
    machine = Machine()
    stamps = reader_of_empty_socket(machine)
    machine.uptime += 3600.0
    machine.wall_offset += 1.0  # as much as an hour of slewing could cause
    machine.uptime += 0.1
    stamp = machine.wall()
    assert read(stamps, machine, stamp).instant == pytest.approx(machine.now(), abs=1e-6)
    machine.uptime += 3600.0
    stamp = machine.wall()
    arrived = machine.now()
    machine.wall_offset += 1.0
    machine.uptime += 0.3
    assert read(stamps, machine, stamp).instant <= arrived + 1e-6


@pytest.mark.parametrize("age", [-0.001, -3600.0, MAX_AGE + 0.001, 1e9])
def test_a_stamp_from_the_future_or_from_long_ago_is_ignored(age: float) -> None:
    machine = Machine()
    stamps = machine.stamps()
    assert read(stamps, machine, machine.wall() - age) == Arrival(machine.now())


@pytest.mark.parametrize("interruptions", [[0.003], [0.0, 0.003], [0.003, 0.002, 0.001]])
def test_an_interruption_while_the_clocks_are_compared_moves_no_arrival(interruptions: list[float]) -> None:
    """Otherwise the answer to a request would seem to have come before the request."""
    machine = Machine()
    stamps = machine.stamps()
    machine.uptime += 1.0
    stamp, arrived = machine.wall(), machine.now()
    machine.uptime += 0.0001
    read_at = machine.now()
    machine.interruptions = interruptions
    arrival = stamps.arrival(stamp, read_at=read_at, has_emptied=True)
    assert arrival.source is StampSource.KERNEL
    assert arrival.instant == pytest.approx(arrived, abs=1e-5)


def test_an_interrupted_comparison_is_repeated() -> None:
    machine = Machine()
    stamps = machine.stamps()
    readings = machine.readings
    read(stamps, machine, None)
    assert machine.readings == readings + 2
    machine.tick = LONGEST_COMPARISON * 2
    readings = machine.readings
    read(stamps, machine, None)
    assert machine.readings == readings + 2 * ATTEMPTS


def test_the_machine_s_own_clocks_are_the_default() -> None:
    stamps = StampReader(lambda: 5.0)
    assert stamps.arrival(0.0, read_at=5.0, has_emptied=True) == Arrival(5.0)  # an instant in 1970


def test_comparisons_that_are_always_interrupted_neither_find_nor_hide_a_step() -> None:
    machine = Machine()
    stamps = reader_of_empty_socket(machine)
    machine.uptime += 1.0
    stamp = machine.wall()
    arrived = machine.now()
    machine.wall_offset += 5.0
    machine.tick = LONGEST_COMPARISON * 2 + MIN_STEP
    seen = read(stamps, machine, stamp, has_emptied=False)  # not comparable: the last uninterrupted comparison counts
    assert seen.source is StampSource.KERNEL
    assert seen.instant == pytest.approx(arrived, abs=ATTEMPTS * 2 * machine.tick + 1e-6)
    stamps.saw_empty(machine.now())
    machine.uptime += 1.0
    machine.tick = 0.0
    assert read(stamps, machine, machine.wall()).instant == pytest.approx(machine.now())
