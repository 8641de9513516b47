"""A connected socket: bytes and the instants of their arrival, with the kernel and with scripted clocks."""

from __future__ import annotations

import contextlib
import select
import socket
import struct
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st
from trio.testing import wait_all_tasks_blocked

from spielleiter.server.core.clock import Arrival, StampSource
from spielleiter.server.net.wire import (
    ATTEMPTS,
    CLOSED_WINDOW,
    DRIFT,
    LONGEST_COMPARISON,
    LONGEST_DRIFT_TIME,
    MAX_AGE,
    MIN_STEP,
    RECEIVE_BYTES,
    SO_TIMESTAMPNS,
    TIMESPEC,
    SocketWire,
    StampReader,
    kernel_stamp,
    stamp_arrivals,
)
from tests.timeouts import HANG_TIMEOUT

LATE = 0.02  # seconds


def tcp_pair() -> tuple[socket.socket, socket.socket]:
    """Return both ends of a TCP connection on loopback."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        near = socket.create_connection(listening.getsockname())
        far, _ = listening.accept()
    return near, far


@pytest.fixture(scope="module", autouse=True)
def stamps_everything() -> Iterator[None]:
    """Wait until the kernel stamps, as it does while a server listens; it starts doing so in the background."""
    with socket.socket() as listening:
        if stamp_arrivals(listening):
            until = time.monotonic() + HANG_TIMEOUT
            while not is_stamped_at_once():
                assert time.monotonic() < until, "the kernel does not stamp"
        yield


def is_stamped_at_once() -> bool:
    if sys.platform == "win32":
        pytest.skip("Windows has nothing like it")
    near, far = tcp_pair()
    with near, far:
        stamp_arrivals(far)
        near.sendall(b"x")
        return bool(far.recvmsg(1, 64)[1])


def test_a_socket_that_the_kernel_cannot_stamp_is_reported() -> None:
    sock = socket.socket()
    sock.close()
    assert not stamp_arrivals(sock)


@asynccontextmanager
async def wired(buffer: int | None = None) -> AsyncIterator[tuple[socket.socket, SocketWire, socket.socket]]:
    """Yield the peer's socket, our wire, and its socket.

    `buffer` is the size of each of the kernel's two buffers on the way to the peer (Linux doubles it). Otherwise
    they grow with the data, by an amount that depends on the machine and its load.
    """
    near, far = tcp_pair()
    if buffer is not None:
        far.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, buffer)
        near.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
    wire = SocketWire(far)
    try:
        yield near, wire, far
    finally:
        near.close()
        await wire.aclose()


def read_late(sock: socket.socket, seconds: float = LATE) -> None:
    """Wait until there is something to read, and then block the thread for a while."""
    assert select.select([sock], [], [], HANG_TIMEOUT)[0]
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        pass


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux stamps what arrives on a TCP socket")
async def test_the_kernel_stamps_bytes_that_are_read_late() -> None:
    async with wired() as (near, wire, far):
        before = trio.current_time()
        near.sendall(b"in time")
        sent = trio.current_time()
        read_late(far)
        read = trio.current_time()
        data, arrival = await wire.receive()
        assert data == b"in time"
        assert arrival.source is StampSource.KERNEL
        assert before - 0.001 <= arrival.instant <= sent + LATE / 2
        assert read - arrival.instant >= LATE / 2


async def test_without_time_stamps_the_arrival_is_the_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "elsewhere")
    async with wired() as (near, wire, far):
        near.sendall(b"x")
        read_late(far)
        before = trio.current_time()
        _, arrival = await wire.receive()
        assert arrival.source is StampSource.MONOTONIC
        assert before <= arrival.instant <= trio.current_time()


async def test_a_socket_without_these_options_works_all_the_same() -> None:
    near, far = socket.socketpair()  # not TCP
    wire = SocketWire(far)
    near.sendall(b"x")
    assert (await wire.receive())[0] == b"x"
    near.close()
    await wire.aclose()


@pytest.mark.parametrize(
    "ancillary",
    [
        [],
        [(socket.SOL_SOCKET, SO_TIMESTAMPNS + 1, bytes(16))],
        [(socket.IPPROTO_TCP, SO_TIMESTAMPNS, bytes(16))],
        [(socket.SOL_SOCKET, SO_TIMESTAMPNS, bytes(3))],
    ],
)
def test_other_ancillary_data_is_no_stamp(ancillary: list[tuple[int, int, bytes]]) -> None:
    assert kernel_stamp(ancillary) is None
    stamp = TIMESPEC.pack(5, 250_000_000)
    assert kernel_stamp([*ancillary, (socket.SOL_SOCKET, SO_TIMESTAMPNS, stamp)]) == 5.25


async def test_bytes_that_were_read_are_returned_despite_a_cancellation() -> None:
    async with wired() as (near, wire, _):
        with trio.CancelScope() as reading:
            near.sendall(b"first")
            assert (await wire.receive())[0] == b"first"
            near.sendall(b"second")
            reading.cancel()
            await wire.receive()
        assert reading.cancelled_caught
        assert wire.has_unread_input()
        assert (await wire.receive())[0] == b"second"


async def test_a_peer_that_never_pauses_lets_others_run() -> None:
    async with wired() as (near, wire, _):
        turns = 0

        async def other() -> None:
            nonlocal turns
            while True:
                turns += 1
                await trio.lowlevel.checkpoint()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(other)
            for _ in range(20):
                near.sendall(b"x")
                await wire.receive()
            assert turns >= 15
            nursery.cancel_scope.cancel()


async def test_the_kernel_takes_what_fits_and_the_rest_waits_for_room() -> None:
    async with wired(buffer=1 << 16) as (near, wire, _):
        data = bytes(range(256)) * 40_000
        sent = wire.try_send(data)
        while size := wire.try_send(data[sent:]):  # until nothing is taken; a moment later there may be room again
            sent += size
        assert 0 < sent < len(data)
        received = bytearray()

        async def read() -> None:
            near.setblocking(False)
            while len(received) < len(data):
                await trio.lowlevel.wait_readable(near)
                received.extend(near.recv(RECEIVE_BYTES))

        async def write() -> None:
            rest = memoryview(data)[sent:]
            while rest:
                rest = rest[await wire.send_some(rest) :]

        async with trio.open_nursery() as nursery:
            nursery.start_soon(write)
            await wait_all_tasks_blocked()  # there is no room, or the writer is waiting for it
            nursery.start_soon(read)
        assert bytes(received) == data


def fill(wire: SocketWire) -> None:
    """Send until the kernel takes no more, and it has sent as much of it as it can."""
    idle = 0
    while idle < 5:
        idle = 0 if wire.try_send(bytes(1 << 16)) else idle + 1
        time.sleep(0.01)


@pytest.mark.skipif(sys.platform != "linux", reason="no other system tells")
@pytest.mark.parametrize("buffer", [4096, 1 << 16])
async def test_a_peer_that_does_not_read_is_told_from_one_that_does(buffer: int) -> None:
    async with wired(buffer=buffer) as (near, wire, _):
        assert not wire.is_peer_stalled()
        fill(wire)
        assert wire.is_peer_stalled()
        near.recv(100)
        assert wire.is_peer_stalled(), "reading a little is not enough"
        near.settimeout(0.1)
        with contextlib.suppress(TimeoutError):  # everything was read
            while True:
                near.recv(1 << 20)
        # a peer whose whole buffer is smaller than a packet has itself to blame
        assert wire.is_peer_stalled() is (buffer < CLOSED_WINDOW)


@pytest.mark.parametrize(
    ("unsent", "in_flight", "window", "is_stalled"),
    [
        (100_000, 40, 65_536, False),  # a slow network: the window is open, and full of bytes that are on their way
        (100_000, 40, 16_384, False),
        (100_000, 10, 14_600, True),
        (100_000, 0, 65_536, True),
        (100_000, 0, 0, True),
        (0, 40, 0, True),  # a window that was closed after the bytes had been sent
        (0, 0, 65_536, False),
    ],
)
async def test_a_slow_network_is_not_blamed_on_the_peer(
    unsent: int, in_flight: int, window: int, is_stalled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(socket, "TCP_INFO", 11, raising=False)
    told = bytearray(232)
    for offset, value in ((16, 1460), (24, in_flight), (144, unsent), (228, window)):
        struct.pack_into("@I", told, offset, value)

    class TellingSocket(socket.socket):
        """A socket whose kernel tells this about the connection."""

        told = b""

        def getsockopt(self, *_: int) -> bytes:  # type: ignore[override]
            return self.told

    with TellingSocket() as sock:
        wire = SocketWire(sock)
        sock.told = bytes(told)
        assert wire.is_peer_stalled() is is_stalled
        sock.told = bytes(told[:104])
        assert not wire.is_peer_stalled(), "an old kernel does not tell"


async def test_a_reset_breaks_reading_and_writing() -> None:
    async with wired() as (near, wire, _):
        near.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        near.close()
        with pytest.raises(trio.BrokenResourceError, match=r"^[^\[]+$"):
            await wire.receive()
        with pytest.raises(trio.BrokenResourceError):
            wire.try_send(b"x")
        with pytest.raises(trio.BrokenResourceError):
            await wire.send_some(memoryview(b"x"))
        assert not wire.has_unread_input()
        await wire.send_eof()  # the peer is gone


async def test_unread_input_is_seen_without_being_read() -> None:
    async with wired() as (near, wire, far):
        assert not wire.has_unread_input()
        near.sendall(b"x")
        select.select([far], [], [], HANG_TIMEOUT)
        assert wire.has_unread_input()
        assert wire.has_unread_input()
        assert (await wire.receive())[0] == b"x"
        assert not wire.has_unread_input()
        near.close()
        select.select([far], [], [], HANG_TIMEOUT)
        assert not wire.has_unread_input()  # the end of the input is not input


@pytest.mark.parametrize("unread", [b"", b"x"])
@pytest.mark.parametrize("platform", ["linux", "darwin"])
async def test_a_peer_that_has_left_is_noticed(unread: bytes, platform: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if platform == "linux" != sys.platform:
        pytest.skip("only Linux tells this while bytes are unread")
    monkeypatch.setattr(sys, "platform", platform)
    async with wired() as (near, wire, _):
        assert not wire.has_left()
        near.sendall(unread)
        assert not wire.has_left()
        near.shutdown(socket.SHUT_WR)
        if unread and platform != "linux":
            assert not wire.has_left()
            assert (await wire.receive())[0] == unread
        assert wire.has_left()


async def test_the_end_of_our_stream_leaves_the_other_direction_open() -> None:
    async with wired() as (near, wire, far):
        assert far.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        assert not far.getblocking()
        wire.try_send(b"bye")
        await wire.send_eof()
        assert near.recv(10) == b"bye"
        assert near.recv(10) == b""
        near.sendall(b"you too")
        near.shutdown(socket.SHUT_WR)
        assert (await wire.receive())[0] == b"you too"
        assert (await wire.receive())[0] == b""


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
    pause: float, thinking: float, read_delay: float, drift: float, is_first: bool
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
    machine.uptime += read_delay
    arrival = read(stamps, machine, stamp)
    assert arrival.source is StampSource.KERNEL
    assert arrival.instant == pytest.approx(arrived, abs=1e-5)


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
    first = read(stamps, machine, stamp, has_emptied=False)
    assert first == Arrival(last_check, StampSource.KERNEL)
    assert read(stamps, machine, stamp) == first  # the rest of the bytes; this read leaves nothing, so it is a check
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
    size: float, sign: int, idle: float, thinking: float, read_delay: float, phase: str
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
    passes(read_delay, "arrived")
    arrival = read(stamps, machine, stamp)
    if size > thinking + read_delay:
        assert arrival.instant == pytest.approx(arrived, abs=1e-3)
    else:
        assert asked <= arrival.instant <= arrived + 1e-3
    assert arrival.source is StampSource.KERNEL
    machine.uptime += thinking
    passes(read_delay, "read")
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


@pytest.mark.parametrize("age", [-0.001, MAX_AGE + 0.001, None])
def test_a_stamp_from_the_future_or_from_long_ago_is_ignored_like_a_missing_one(age: float | None) -> None:
    machine = Machine()
    stamps = machine.stamps()
    machine.uptime += 5.0
    assert read(stamps, machine, None if age is None else machine.wall() - age) == Arrival(machine.now())


@pytest.mark.parametrize("interruptions", [[0.003], [0.003, 0.002, 0.001]])
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
