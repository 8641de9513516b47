"""A wire with a simulated kernel: when bytes arrive, how they are stamped, and how late they are read.

Invariants: time is trio's virtual clock; the wall clock is that plus `Machine.wall_offset`, which a test may step. The
stamps go through the real `StampReader`, which gets the same calls as from `SocketWire`.
"""

from __future__ import annotations

from dataclasses import dataclass

import trio

from spielleiter.server.core.clock import Arrival
from spielleiter.server.net.wire import StampReader

WALL = 1_790_000_000.0


@dataclass
class Machine:
    wall_offset: float = WALL

    def wall(self) -> float:
        return trio.current_time() + self.wall_offset


class KernelWire:
    """The server's end. `arrive` delivers bytes of the peer; while `is_busy`, the server does not read them."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._stamps = StampReader(trio.current_time, machine.wall, trio.current_time)
        self._buffer: list[tuple[bytes, float]] = []
        self._has_changed = trio.Event()
        self._is_busy = False
        self.taken = bytearray()
        """The bytes that the server has sent."""

    # -- controls of the test ---------------------------------------------------------------------------------------

    def arrive(self, data: bytes, stamp: float | None = None) -> None:
        """Make bytes readable; they are stamped now, or were at `stamp` (by the wall clock of that time)."""
        self._buffer.append((data, self._machine.wall() if stamp is None else stamp))
        self._change()

    def be_busy(self, *, is_busy: bool) -> None:
        self._is_busy = is_busy
        self._change()

    def _change(self) -> None:
        self._has_changed.set()
        self._has_changed = trio.Event()

    # -- Wire -------------------------------------------------------------------------------------------------------

    async def receive(self) -> tuple[bytes, Arrival]:
        await trio.lowlevel.checkpoint()
        while self._is_busy or not self._buffer:
            await self._has_changed.wait()
        data, stamp = b"".join(each for each, _ in self._buffer), self._buffer[-1][1]
        self._buffer.clear()
        return data, self._stamps.arrival(stamp, read_at=trio.current_time(), has_emptied=True)

    def has_unread_input(self) -> bool:
        if not self._buffer:
            self._stamps.saw_empty(trio.current_time())
        return bool(self._buffer)

    def is_peer_stalled(self) -> bool:
        return False

    def has_left(self) -> bool:
        return False

    def try_send(self, data: bytes | memoryview) -> int:
        self.taken += data
        return len(data)

    async def send_some(self, data: memoryview) -> int:
        await trio.lowlevel.checkpoint()
        return self.try_send(data)

    async def send_eof(self) -> None:
        await trio.lowlevel.checkpoint()

    async def aclose(self) -> None:
        await trio.lowlevel.checkpoint()
