"""Attacks by clients that know the source cost them their game or their connection, and affect no other client.

Whole servers in virtual time. `benchmarks.under_attack` measures what such clients cost in real time.
"""

from __future__ import annotations

import math
import random
import socket
import sys
from dataclasses import dataclass

import pytest
import trio
from trio.testing import memory_stream_pair, wait_all_tasks_blocked

from spielleiter.game.blokus.state import BLOKUS_2027
from spielleiter.protocol.messages import MoveData, RoomMessage
from spielleiter.server import events
from spielleiter.server.core.clock import Arrival
from spielleiter.server.core.room import Room
from spielleiter.server.editions import EDITIONS
from spielleiter.server.net.wire import StampReader
from tests.server.harness import Caller, ServerHarness, joined, legal_move, open_all_games, open_harness
from tests.server.serving import serving
from tests.server.wires import ThrottledWire
from tests.timeouts import HANG_TIMEOUT

GAME_2027 = "swc_2027_blokus"
JOIN_2027 = f'<protocol><join gameType="{GAME_2027}"/>'.encode()
REFUSED = b'<joinPrepared reservationCode="nobody"/>'


def move_of(room: Room) -> bytes:
    """Return a packet with a legal move of the side to move."""
    move = next(iter(room.state.generate_legal_moves()))
    return room.edition.dialect.encode(RoomMessage(room.id, MoveData(move)))


# -- the clock --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_stalled", [False, True])
async def test_a_full_outbox_does_not_keep_the_clock_from_starting(is_stalled: bool, autojump_clock: object) -> None:
    """The attacker causes errors without end, reads just enough to stay connected, and moves as late as it likes."""
    async with open_all_games() as harness:
        honest = await joined(harness, GAME_2027)
        staller, wire = await harness.call_throttled(math.inf, f'<join gameType="{GAME_2027}"/>')
        (room,) = harness.server.lobby.rooms.values()
        wire.capacity = 0
        wire.is_stalled = is_stalled
        await wire.feed.send_all(REFUSED * 20)
        await honest.send(move_of(room))
        asked = trio.current_time()
        for _ in range(8):
            await trio.sleep(2.0)
            wire.take(1)
        await wire.feed.send_all(move_of(room))
        await wait_all_tasks_blocked()
        (verdict,) = harness.happened(events.TimeVerdict)
        assert (verdict.seat, verdict.is_hard) == (1, True)
        ended = next(each for each in harness.happened(events.GameEnded))
        assert ended.causes == ("REGULAR", "HARD_TIMEOUT")
        latest = harness.config.hard_timeout + (0.0 if is_stalled else harness.config.delivery_timeout)
        assert verdict.think_time <= latest < trio.current_time() - asked
        if is_stalled:
            assert verdict.think_time == latest
        assert staller.label not in {each.label for each in room.observers}


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="no other system tells why the kernel takes no more")
@pytest.mark.parametrize("read_bytes", [0, 2000])
async def test_a_player_that_never_reads_gains_no_time(read_bytes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its buffers are full of the answers to its own requests, so the request for its move cannot reach it.

    Nor does a player that reads a little before its opponent moves, so that its receive window may open.
    """
    pause = 0.2
    # with the buffers that Linux chooses on loopback, it would take minutes to fill them
    monkeypatch.setattr(
        "spielleiter.server.app.notice_vanished",
        lambda sock: sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096),
    )
    # on a busy machine, the player would otherwise be dropped before its opponent has moved
    running = serving(default_game=GAME_2027, start_piece="PENTO_L", outbox_timeout=HANG_TIMEOUT)
    async with running as harness, harness.admin() as admin:
        honest, deaf = socket.socket(), socket.socket()
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        with honest, deaf:
            for player in (honest, deaf):
                await trio.to_thread.run_sync(player.connect, ("127.0.0.1", harness.port))
                await trio.to_thread.run_sync(player.sendall, JOIN_2027)
                await trio.to_thread.run_sync(player.recv, 10)
            (room_id,) = {each["room"] for each in harness.logged("player_joined")}
            while not (await admin.status())["queuedBytes"]:
                await trio.to_thread.run_sync(deaf.sendall, REFUSED * 10)
            state = BLOKUS_2027.with_options({"startPiece": "PENTO_L"}).new_state(random.Random(0))
            if read_bytes:
                await trio.to_thread.run_sync(deaf.recv, read_bytes)
            for player, wait in ((honest, 0.0), (deaf, pause)):
                await trio.sleep(wait)
                move = next(iter(state.generate_legal_moves()))
                packet = EDITIONS["blokus-2027"].dialect.encode(RoomMessage(room_id, MoveData(move)))
                await trio.to_thread.run_sync(player.sendall, packet)
                state = state.play(move)
                while len(harness.logged("move_played")) < state.turn:  # noqa: ASYNC110 - the log has no event
                    await trio.sleep(0.01)
    assert harness.logged("move_played")[1]["think_time"] >= pause


# -- stamps -----------------------------------------------------------------------------------------------------------


class Machine:
    """Its time is trio's virtual clock; the wall clock is that plus an offset, which a test may step."""

    wall_offset = 1_790_000_000.0

    def wall(self) -> float:
        return trio.current_time() + self.wall_offset


class KernelWire(ThrottledWire):
    """A wire with a simulated kernel: when bytes arrive, how they are stamped, and how late they are read.

    The stamps go through the real `StampReader`, which gets the same calls as from `SocketWire`.
    """

    def __init__(self, machine: Machine) -> None:
        super().__init__()
        self._machine = machine
        self._stamps = StampReader(trio.current_time, machine.wall, trio.current_time)
        self._buffer: list[tuple[bytes, float]] = []
        self._has_changed = trio.Event()
        self._is_busy = False

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


IN_TIME, LATE = 1.9, 2.1
"""Seconds; the limit is 2 s."""


@dataclass
class Stamped:
    """A game whose first player is the side to move and is connected through a simulated kernel."""

    harness: ServerHarness
    room: Room
    machine: Machine
    wire: KernelWire
    other: Caller

    def verdicts(self) -> list[tuple[int, float]]:
        return [(each.seat, each.think_time) for each in self.harness.happened(events.TimeVerdict)]


async def stamped_game(harness: ServerHarness, *, waits: float = 0.0) -> Stamped:
    """Start a game in which the second player joins after some seconds; the request has just been sent."""
    machine = Machine()
    wire = KernelWire(machine)
    near, _ = memory_stream_pair()
    admin = await harness.admin()
    room_id, codes = await harness.prepare(admin)
    await harness.call_over(near, wire)
    wire.arrive(f'<protocol><joinPrepared reservationCode="{codes[0]}"/>'.encode())
    await trio.sleep(waits)
    other = await harness.take_seat(codes[1])
    await wait_all_tasks_blocked()
    return Stamped(harness, harness.server.lobby.rooms[room_id], machine, wire, other)


async def test_a_segment_sent_out_of_order_does_not_make_a_late_move_early(autojump_clock: object) -> None:
    """The kernel stamps one read with the stamp of its last segment, which came long before the first."""
    async with open_harness() as harness:
        game = await stamped_game(harness)
        await trio.sleep(0.1)
        stamp = game.machine.wall()
        await trio.sleep(8.9)
        game.wire.arrive(legal_move(game.room), stamp)
        await wait_all_tasks_blocked()
        ((seat, think_time),) = game.verdicts()
        assert seat == 0
        assert think_time >= harness.config.soft_timeout


@pytest.mark.parametrize("step", [-5.0, 5.0])
@pytest.mark.parametrize("phase", ["waiting", "asked", "thinking", "arrived", "read"])
@pytest.mark.parametrize("think_time", [IN_TIME, LATE])
@pytest.mark.parametrize("lag", [0.0, 0.3])
async def test_a_step_of_the_wall_clock_decides_no_game(
    step: float, phase: str, think_time: float, lag: float, autojump_clock: object
) -> None:
    async with open_harness() as harness:
        game = await stamped_game(harness, waits=300.0)

        async def passes(seconds: float, name: str) -> None:
            await trio.sleep(seconds / 2)
            game.machine.wall_offset += step if name == phase else 0.0
            await trio.sleep(seconds / 2)

        if phase == "waiting":  # before the second request to this player
            game.wire.arrive(legal_move(game.room))
            await wait_all_tasks_blocked()
            await passes(1.0, "waiting")
            await game.other.send(legal_move(game.room))
        await passes(0.0, "asked")
        await passes(think_time, "thinking")
        game.wire.be_busy(is_busy=lag > 0.0)
        game.wire.arrive(legal_move(game.room))
        await passes(lag, "arrived")
        game.wire.be_busy(is_busy=False)
        await wait_all_tasks_blocked()
        await passes(0.0, "read")
        moves = harness.happened(events.MovePlayed)
        if think_time == LATE:
            ((seat, judged),) = game.verdicts()
            assert seat == 0
            assert judged >= harness.config.soft_timeout
        else:
            assert game.verdicts() == []
            assert moves[-1].think_time == pytest.approx(think_time)
