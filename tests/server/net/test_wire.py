"""Bytes come with the instant at which they reached this machine, and bytes that were read are never lost."""

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
from trio.testing import wait_all_tasks_blocked

from spielleiter.server.core.clock import StampSource
from spielleiter.server.net import wire as module
from spielleiter.server.net.wire import CLOSED_WINDOW, RECEIVE_BYTES, SO_TIMESTAMPNS, SocketWire, stamp_arrivals
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


async def test_bytes_come_in_order_and_then_the_end() -> None:
    async with wired() as (near, wire, _):
        near.sendall(b"one")
        assert (await wire.receive())[0] == b"one"
        near.sendall(b"two")
        near.shutdown(socket.SHUT_WR)
        assert (await wire.receive())[0] == b"two"
        assert (await wire.receive())[0] == b""


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


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux stamps what arrives on a TCP socket")
async def test_the_stamp_is_that_of_the_last_byte() -> None:
    async with wired() as (near, wire, far):
        near.sendall(b"the beginning")
        read_late(far)
        before = trio.current_time()
        near.sendall(b" and the end")
        read_late(far)
        data, arrival = await wire.receive()
        assert data == b"the beginning and the end"
        assert before - 0.001 <= arrival.instant <= before + LATE / 2


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux stamps what arrives on a TCP socket")
def test_accepted_sockets_inherit_time_stamps() -> None:
    if sys.platform == "win32":
        pytest.skip("Windows has nothing like it")
    with socket.create_server(("127.0.0.1", 0)) as listening:
        assert stamp_arrivals(listening)
        with socket.create_connection(listening.getsockname()) as near, listening.accept()[0] as far:
            near.sendall(b"x")
            (stamp,) = far.recvmsg(1, 64)[1]
    assert stamp[:2] == (socket.SOL_SOCKET, SO_TIMESTAMPNS)


def test_a_socket_that_refuses_has_no_stamps() -> None:
    sock = socket.socket()
    sock.close()
    assert not stamp_arrivals(sock)


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
async def test_other_ancillary_data_is_no_stamp(ancillary: list[tuple[int, int, bytes]]) -> None:
    async with wired() as (_, wire, _):
        assert wire._stamp(ancillary) is None
        stamp = module._TIMESPEC.pack(5, 250_000_000)
        assert wire._stamp([*ancillary, (socket.SOL_SOCKET, SO_TIMESTAMPNS, stamp)]) == 5.25


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
@pytest.mark.parametrize("buffer", [4096, 1 << 16, 1 << 20])
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
    async with wired() as (_, wire, _):
        told = bytearray(232)
        for offset, value in ((16, 1460), (24, in_flight), (144, unsent), (228, window)):
            struct.pack_into("@I", told, offset, value)
        monkeypatch.setattr(wire, "_tcp_info", lambda: bytes(told))
        assert wire.is_peer_stalled() is is_stalled
        monkeypatch.setattr(wire, "_tcp_info", lambda: bytes(told[:104]))
        assert not wire.is_peer_stalled(), "an old kernel does not tell"


async def test_a_cancelled_send_has_sent_nothing() -> None:
    """The kernel can make room at any moment: the send is repeated until one of them is cancelled."""
    async with wired(buffer=1 << 16) as (near, wire, _):
        sent: list[int] = []

        async def send() -> None:
            sent.append(await wire.send_some(memoryview(b"late")))

        tries = 0
        while tries == len(sent):
            tries += 1
            while wire.try_send(bytes(RECEIVE_BYTES)):
                pass
            async with trio.open_nursery() as nursery:
                nursery.start_soon(send)
                await wait_all_tasks_blocked()
                nursery.cancel_scope.cancel()
        await wire.send_eof()
        near.setblocking(False)
        received: list[bytes] = []
        while not received or received[-1]:
            await trio.lowlevel.wait_readable(near)
            received.append(near.recv(RECEIVE_BYTES))
        assert len(b"".join(received).replace(b"\0", b"")) == sum(sent)


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


async def test_no_stamp_is_before_a_check_that_found_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with wired() as (near, wire, far):
        monkeypatch.setattr(wire, "_stamp", lambda _: time.time() - 5.0)  # of a segment that came out of order
        near.sendall(b"x")
        arrival = (await wire.receive())[1]
        assert arrival.instant < trio.current_time() - 4.0  # there was no check before
        checked_at = trio.current_time()
        assert not wire.has_unread_input()
        near.sendall(b"x")
        arrival = (await wire.receive())[1]
        assert checked_at <= arrival.instant <= trio.current_time()
        select.select([], [far], [], HANG_TIMEOUT)
        emptied_at = arrival.instant
        near.sendall(b"x")
        arrival = (await wire.receive())[1]
        assert emptied_at <= arrival.instant  # the previous read was a check, too


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
    async with wired() as (near, wire, _):
        wire.try_send(b"bye")
        await wire.send_eof()
        assert near.recv(10) == b"bye"
        assert near.recv(10) == b""
        near.sendall(b"you too")
        assert (await wire.receive())[0] == b"you too"


async def test_packets_are_not_delayed_by_nagle_s_algorithm() -> None:
    async with wired() as (_, _, far):
        assert far.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        assert not far.getblocking()
