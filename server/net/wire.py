"""The bytes of a connection, and when they arrived.

Invariants: `receive` returns, with the bytes of each read, the instant at which the last of them reached this machine.
On Linux this is the kernel's time stamp (SO_TIMESTAMPNS, read with recvmsg), no matter how late this process reads, but
never an instant before the socket was last seen empty; elsewhere it is the time right after the read. `try_send` never
waits. Bytes that were read are always returned: a cancelled `receive` loses nothing.
"""

from __future__ import annotations

import contextlib
import select
import socket
import struct
import sys
import time
from collections.abc import Callable
from math import inf
from typing import Final, Protocol

import trio

from spielleiter.server.core.clock import Arrival, StampSource

RECEIVE_BYTES: Final = 4096
"""Bytes per read. A move is much shorter, and a buffer of 64 KiB for each read fragments the heap, which then grows."""
SO_TIMESTAMPNS: Final = 35  # <asm-generic/socket.h>; the socket module does not name it
CLOSED_WINDOW: Final = 16 * 1024
"""Bytes; a peer that reads offers a larger window, since even small receive buffers hold several times as much."""
_TCP_INFO_OFFSETS: Final = (16, 24, 144, 228)  # tcpi_snd_mss, tcpi_unacked, tcpi_notsent_bytes, tcpi_snd_wnd
_TCP_INFO_BYTES: Final = 232  # up to these; Linux before 5.4 has fewer
_UNSIGNED: Final = struct.Struct("@I")
TIMESPEC: Final = struct.Struct("@qq" if sys.maxsize > 2**32 else "@ll")
_ANCILLARY_BYTES: Final = socket.CMSG_SPACE(TIMESPEC.size) if hasattr(socket, "CMSG_SPACE") else 0
MAX_AGE: Final = 60.0  # seconds; an older stamp means a wrong clock, not a slow server
MIN_STEP: Final = 0.005  # seconds; a larger difference between the clocks is a step
DRIFT: Final = 0.0005  # seconds per second by which a clock may be slewed (the kernel's own limit)
LONGEST_DRIFT_TIME: Final = 10.0  # the longest time since the last comparison that counts for the drift, in seconds
LONGEST_COMPARISON: Final = 0.0005  # seconds; a comparison that took longer was interrupted and is repeated
ATTEMPTS: Final = 4
_KERNEL: Final = StampSource.KERNEL  # bound here for every read: up to Python 3.11, the look-up is slow


class Wire(Protocol):
    """The interface of a connection that a session needs.

    Its methods raise trio.BrokenResourceError if the connection is broken.
    """

    async def receive(self) -> tuple[bytes, Arrival]:
        """Wait for bytes; return them (`b""` at the end of input) and when they arrived."""
        ...

    def try_send(self, data: bytes | memoryview) -> int:
        """Pass as many bytes to the kernel as it takes now, in one call; return their number."""
        ...

    async def send_some(self, data: memoryview) -> int:
        """Wait until the peer takes some bytes of `data`, which is not empty; return their number."""
        ...

    async def send_eof(self) -> None:
        """End our direction of the connection."""
        ...

    def has_unread_input(self) -> bool:
        """Return whether unread bytes have arrived; if not, bytes that arrive later get no earlier time stamp."""
        ...

    def is_peer_stalled(self) -> bool:
        """Return whether the kernel takes no more because the peer does not read; False where this is not known."""
        ...

    def has_left(self) -> bool:
        """Return whether the peer has ended its direction of the connection, or the connection is broken.

        Elsewhere than on Linux, this is known only when everything before it has been read.
        """
        ...

    async def aclose(self) -> None:
        """Close the connection in both directions."""
        ...


def stamp_arrivals(sock: socket.socket) -> bool:
    """Ask the kernel to stamp arriving bytes; return whether it does.

    Stamping starts a moment after the first socket of the machine asks for it. So listening sockets ask as well: the
    sockets that they accept inherit the option, and their first byte is stamped already.
    """
    if sys.platform != "linux" or not _ANCILLARY_BYTES:
        return False
    try:
        sock.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
    except OSError:
        return False
    return True


def kernel_stamp(ancillary: list[tuple[int, int, bytes]]) -> float | None:
    """Return the kernel's stamp in what came with some bytes, in seconds since the epoch; None if there is none."""
    for level, kind, data in ancillary:
        if level == socket.SOL_SOCKET and kind == SO_TIMESTAMPNS and len(data) >= TIMESPEC.size:
            seconds, nanoseconds = TIMESPEC.unpack_from(data)
            return float(seconds + nanoseconds * 1e-9)
    return None


class StampReader:
    """Converts the stamps of one socket to instants on the server's clock.

    `now` is the server's clock; `wall` and `monotonic` are the machine's. The kernel stamps with the wall clock, so a
    stamp is trusted only while the wall clock agrees with the monotonic clock. When it has been stepped, the stamp may
    be from before or after the step. The candidate between the last time the socket was seen empty and the read is
    used, the earlier one if both are, and the instant of the read if none is.
    """

    __slots__ = ("_compared_at", "_empty_since", "_monotonic", "_now", "_offset", "_wall")

    def __init__(
        self,
        now: Callable[[], float],
        wall: Callable[[], float] = time.time,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._now = now
        self._wall = wall
        self._monotonic = monotonic
        self._empty_since = -inf
        self._offset, self._compared_at, _, _ = self._compare()

    def saw_empty(self, at: float) -> None:
        """Note that the socket was found empty, at the instant `at` or after it.

        Bytes that arrive from now on are stamped with the present wall clock.
        """
        self._empty_since = at
        offset, compared_at, _, is_uninterrupted = self._compare()
        if is_uninterrupted:
            self._offset, self._compared_at = offset, compared_at

    def arrival(self, stamp: float | None, *, read_at: float, has_emptied: bool) -> Arrival:
        """Return when the bytes of one read arrived.

        `stamp` is the kernel's, in seconds since the epoch, or None if there is none. `read_at` is the server's instant
        right before the read. `has_emptied` says that the read has left nothing in the socket.
        """
        now = self._now()  # taken first, so that the delay of an interruption counts in favour of the sender
        offset, compared_at, instant, is_uninterrupted = self._compare()
        arrived_at = None
        if stamp is not None:
            latest = now + LONGEST_COMPARISON
            step = offset - self._offset if is_uninterrupted else 0.0  # an interrupted comparison cannot show a step
            if abs(step) <= MIN_STEP + DRIFT * min(LONGEST_DRIFT_TIME, compared_at - self._compared_at):
                stamped_at = instant - (self._offset + step + compared_at - stamp)
                if now - MAX_AGE <= stamped_at <= latest:
                    # bytes that were not complete at the last check have arrived before it; its instant is used
                    arrived_at = min(now, max(self._empty_since, stamped_at))
            else:
                candidates = [instant - (each + compared_at - stamp) for each in (self._offset, offset)]
                earliest = max(self._empty_since - LONGEST_COMPARISON, now - MAX_AGE)
                possible = [each for each in candidates if earliest <= each <= latest]
                if possible:
                    arrived_at = min(now, max(self._empty_since, min(possible)))
        if has_emptied:
            self._empty_since = read_at
            if is_uninterrupted:
                self._offset, self._compared_at = offset, compared_at
        return Arrival(now) if arrived_at is None else Arrival(arrived_at, _KERNEL)

    def _compare(self) -> tuple[float, float, float, bool]:
        """Compare the clocks, which an interruption between two readings would falsify.

        Return wall minus monotonic time, the monotonic instant, the server's instant, and whether nothing interrupted
        the comparison. If something did, the server's instant is too early, in favour of the sender.
        """
        attempts = ATTEMPTS
        while True:
            before = self._monotonic()
            instant = self._now()
            wall = self._wall()
            after = self._monotonic()
            attempts -= 1
            is_uninterrupted = after - before <= LONGEST_COMPARISON
            if is_uninterrupted or not attempts:
                return wall - after, after, instant, is_uninterrupted


class SocketWire:
    """A connected TCP socket, non-blocking, with the kernel's receive time stamps where there are any."""

    def __init__(self, sock: socket.socket) -> None:
        sock.setblocking(False)
        with contextlib.suppress(OSError):  # not TCP: there is no such option
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._sock = sock
        self._has_stamps = stamp_arrivals(sock)
        self._now = trio.lowlevel.current_clock().current_time  # half the cost of trio.current_time
        self._stamps = StampReader(self._now)

    async def receive(self) -> tuple[bytes, Arrival]:
        # wait first: usually nothing has arrived yet, and a peer that never pauses lets others run; there is no
        # checkpoint after the read, so bytes that were read cannot be lost by a cancellation
        while True:
            await trio.lowlevel.wait_readable(self._sock)
            read_at = self._now()
            ancillary: list[tuple[int, int, bytes]] = []
            try:
                if sys.platform == "win32" or not self._has_stamps:
                    data = self._sock.recv(RECEIVE_BYTES)
                else:
                    data, ancillary, _, _ = self._sock.recvmsg(RECEIVE_BYTES, _ANCILLARY_BYTES)
            except BlockingIOError:
                self._stamps.saw_empty(read_at)
                continue
            except OSError as error:
                raise trio.BrokenResourceError(error.strerror or str(error)) from error
            else:
                has_emptied = len(data) < RECEIVE_BYTES
                stamp = kernel_stamp(ancillary)
                return data, self._stamps.arrival(stamp, read_at=read_at, has_emptied=has_emptied)

    def try_send(self, data: bytes | memoryview) -> int:
        try:
            return self._sock.send(data)
        except BlockingIOError:
            return 0
        except OSError as error:
            raise trio.BrokenResourceError(error.strerror or str(error)) from error

    async def send_some(self, data: memoryview) -> int:
        await trio.lowlevel.checkpoint()
        while not (sent := self.try_send(data)):
            await trio.lowlevel.wait_writable(self._sock)
        return sent

    async def send_eof(self) -> None:
        await trio.lowlevel.checkpoint()
        with contextlib.suppress(OSError):  # the peer may be gone already
            self._sock.shutdown(socket.SHUT_WR)

    def has_unread_input(self) -> bool:
        checked_at = self._now()
        try:
            return bool(self._sock.recv(1, socket.MSG_PEEK))
        except BlockingIOError:
            self._stamps.saw_empty(checked_at)
        except OSError:
            pass
        return False

    def is_peer_stalled(self) -> bool:
        told = b""  # struct tcp_info, where there is one
        if sys.platform == "linux":
            with contextlib.suppress(OSError):  # not TCP
                told = self._sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _TCP_INFO_BYTES)
        if len(told) < _TCP_INFO_BYTES:
            return False
        segment, in_flight, unsent, window = (_UNSIGNED.unpack_from(told, offset)[0] for offset in _TCP_INFO_OFFSETS)
        # In a slow network, the peer's window is open and full of bytes on their way. If none are, although some wait,
        # or if the window is small, only the peer is in the way. TCP may wait until a whole segment fits into it.
        return bool(window < max(CLOSED_WINDOW, segment) or (unsent and not in_flight))

    def has_left(self) -> bool:
        if sys.platform == "linux":  # which tells even if bytes are unread
            poll = select.poll()
            poll.register(self._sock, select.POLLRDHUP)
            return bool(poll.poll(0))
        else:  # noqa: RET505 - mypy would take what follows for unreachable
            try:
                return not self._sock.recv(1, socket.MSG_PEEK)
            except BlockingIOError:
                return False
            except OSError:
                return True

    async def aclose(self) -> None:
        trio.lowlevel.notify_closing(self._sock)
        self._sock.close()
        await trio.lowlevel.checkpoint()
