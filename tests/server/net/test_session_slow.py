"""A peer that does not read is dropped in time, and no other peer has to wait for it."""

from __future__ import annotations

import math

import pytest
import trio
from trio.testing import memory_stream_pair, wait_all_tasks_blocked

from spielleiter.server import events
from spielleiter.server.core.clock import Arrival
from spielleiter.server.core.room import Phase
from spielleiter.server.net.session import DISCARDED_AT_ONCE
from spielleiter.server.net.wire import RECEIVE_BYTES
from tests.server.answers import Bystanders
from tests.server.harness import PATIENT, Caller, ServerHarness, open_harness
from tests.server.wires import StreamWire, ThrottledWire

# -- receivers that do not read ---------------------------------------------------------------------------------------


async def watch(harness: ServerHarness, room_id: str, capacity: float) -> tuple[Caller, ThrottledWire]:
    """Connect an observer that takes `capacity` bytes altogether."""
    wire = ThrottledWire(capacity)
    near, _ = memory_stream_pair()
    caller = await harness.call_over(near, wire)
    password = harness.config.password
    await wire.feed.send_all(f'<protocol><authenticate password="{password}"/><observe roomId="{room_id}"/>'.encode())
    await wait_all_tasks_blocked()
    return caller, wire


async def test_an_observer_that_never_reads_is_dropped_at_the_bound_and_nobody_waits(autojump_clock: object) -> None:
    async with open_harness(outbox_bytes=65536) as harness:
        game = await harness.game()
        observer, wire = await watch(harness, game.id, 0)
        before = trio.current_time()
        await game.play(20)
        assert trio.current_time() == before
        (slow,) = harness.happened(events.PeerTooSlow)
        assert (slow.connection, slow.why) == (observer.label, "more than 65536 bytes not taken")
        assert 65536 < slow.queued_bytes < 65536 + 8192
        assert wire.has_closed()
        assert list(game.room.observers) == [peer for peer in game.room.observers if peer.label == game.admin.label]
        assert harness.logged("peer_too_slow")[0]["level"] == "warning"
        assert harness.logged("connection_closed")[0]["reason"] == slow.why
        for caller in game.callers:
            assert (await caller.receive()).count(b'class="memento"') == 20


async def test_an_observer_that_takes_nothing_for_a_while_is_dropped(autojump_clock: object) -> None:
    async with open_harness(**PATIENT) as harness:
        game = await harness.game()
        _, wire = await watch(harness, game.id, 100)
        await trio.sleep(9.9)
        assert not wire.has_closed()
        await trio.sleep(0.2)
        assert wire.has_closed()
        (slow,) = harness.happened(events.PeerTooSlow)
        assert slow.why == "nothing taken for 10 s"
        await Bystanders(game).are_unaffected()


async def test_an_observer_that_takes_a_little_now_and_then_stays(autojump_clock: object) -> None:
    async with open_harness(**PATIENT) as harness:
        game = await harness.game()
        _, wire = await watch(harness, game.id, 0)
        for _ in range(30):
            await trio.sleep(9.0)
            wire.take(100)
        assert not wire.has_closed()
        wire.take(math.inf)
        await wait_all_tasks_blocked()
        assert b'class="memento"' in wire.taken
        assert harness.happened(events.PeerTooSlow) == []


async def test_a_player_that_does_not_read_has_left(autojump_clock: object) -> None:
    async with open_harness(**PATIENT) as harness:
        admin = await harness.admin()
        room_id, codes = await harness.prepare(admin)
        wire = ThrottledWire(0)
        near, _ = memory_stream_pair()
        one = await harness.call_over(near, wire)
        await wire.feed.send_all(f'<protocol><joinPrepared reservationCode="{codes[0]}"/>'.encode())
        two = await harness.take_seat(codes[1])
        room = harness.server.lobby.rooms[room_id]
        await trio.sleep(10.1)
        assert room.phase is Phase.OVER
        assert b'cause="LEFT"' in await two.receive()
        assert harness.happened(events.PeerTooSlow)[0].connection == one.label


async def test_a_peer_that_does_not_take_the_end_of_the_stream_is_closed_all_the_same(autojump_clock: object) -> None:
    async with open_harness(outbox_timeout=3.0, close_timeout=1.0) as harness:
        wire = ThrottledWire(0)
        near, _ = memory_stream_pair()
        caller = await harness.call_over(near, wire)
        await wire.feed.send_all(b"<protocol><jion/>")
        await trio.sleep(2.9)
        assert not wire.has_closed()
        await trio.sleep(0.2)
        assert wire.has_closed()
        (closed,) = harness.happened(events.ConnectionClosed, caller.label)
        assert closed.reason == "unknown_packet"  # the reason of the end, even though the answer was not taken


async def test_a_connection_that_breaks_during_a_write_is_lost_and_not_slow(autojump_clock: object) -> None:
    async with open_harness() as harness:
        game = await harness.game()
        observer, wire = await watch(harness, game.id, math.inf)
        wire.break_off()
        await game.play(1)
        assert wire.has_closed()
        assert harness.happened(events.PeerTooSlow) == []
        (closed,) = harness.happened(events.ConnectionClosed, observer.label)
        assert closed.reason == "connection lost: broken off"


class CountingWire(StreamWire):
    """A wire that counts its reads."""

    count = 0

    async def receive(self) -> tuple[bytes, Arrival]:
        data = await super().receive()
        self.count += 1
        return data


@pytest.mark.parametrize(("size", "taken"), [(DISCARDED_AT_ONCE, 1.0), (1_000_000, 0.05)])
async def test_input_after_a_refusal_is_discarded_slowly_if_it_is_a_flood(
    size: int, taken: float, autojump_clock: object
) -> None:
    async with open_harness(close_timeout=5.0) as harness:
        near, far = memory_stream_pair()
        wire = CountingWire(far)
        caller = await harness.call_over(near, wire)
        await caller.send("<protocol><jion/>")
        before = wire.count
        await near.send_all(b"x" * size)
        await trio.sleep(4.9)
        assert len(harness.happened(events.ConnectionClosed)) == 0
        assert (wire.count - before) * RECEIVE_BYTES == pytest.approx(taken * size, abs=4 * RECEIVE_BYTES)
        await trio.sleep(0.2)
        assert len(harness.happened(events.ConnectionClosed)) == 1
