"""A sender that exceeds the rate limits of a dedicated port is delayed, at its own expense."""

from __future__ import annotations

import trio
from trio.testing import memory_stream_pair

from spielleiter.protocol.messages import Slot
from spielleiter.server import events
from spielleiter.server.core.clock import TokenBucket
from spielleiter.server.core.lobby import DedicatedPort
from tests.server.dedicated import open_room
from tests.server.harness import legal_move, open_harness
from tests.server.wires import StreamWire


async def test_a_sender_that_exceeds_the_rate_is_delayed(autojump_clock: object) -> None:
    async with open_harness("blokus-2027") as harness:
        near, far = memory_stream_pair()
        edition = next(iter(harness.server.editions.values()))
        room = harness.server.lobby.open_prepared(edition, (Slot("Eins"), Slot("Zwei")))
        port = DedicatedPort(room, 0, packets=TokenBucket(10, 5), received=TokenBucket(1000, 500))
        started = trio.current_time()
        async with trio.open_nursery() as nursery:
            serving = trio.CancelScope()

            async def serve() -> None:
                with serving:
                    await harness.server.serve_wire(StreamWire(far), "host:1", label="x", dedicated_port=port)

            nursery.start_soon(serve)
            await near.send_all(b"<protocol>" + b"<step />" * 25)
            await trio.sleep(1)
            assert 14 <= len(harness.happened(events.RequestRefused, "x")) <= 16
            await trio.sleep(1.5)
            assert len(harness.happened(events.RequestRefused, "x")) == 25
            await near.send_all(b" " * 2500)
            await near.send_all(b"<step />")
            await trio.sleep(0.9)
            assert len(harness.happened(events.RequestRefused, "x")) == 25
            await trio.sleep(2)
            assert len(harness.happened(events.RequestRefused, "x")) == 26
            serving.cancel()
        assert trio.current_time() - started < 6


async def test_a_flood_before_a_late_move_does_not_count_as_lateness_of_the_server(autojump_clock: object) -> None:
    async with open_harness("blokus-2027", soft_timeout=2.0, hard_timeout=1000.0) as harness:
        dedicated = open_room(harness)
        slow = await dedicated.begin()
        await trio.sleep(3)
        flood = b'<step roomId="r"/>' * 1200  # exceeds the burst that a port accepts
        await slow.send(flood + legal_move(dedicated.room))
        with trio.move_on_after(60):
            while not harness.happened(events.TimeVerdict):  # noqa: ASYNC110 - virtual time
                await trio.sleep(0.1)
        (verdict,) = harness.happened(events.TimeVerdict)
        assert verdict.think_time >= 3.0
        assert verdict.loop_lag < 0.1


async def test_a_flood_at_the_hard_limit_gains_no_time_and_does_not_count_as_lateness(autojump_clock: object) -> None:
    async with open_harness("blokus-2027", soft_timeout=2.0, hard_timeout=4.0) as harness:
        dedicated = open_room(harness)
        slow = await dedicated.begin()
        await trio.sleep(3.9)
        flood = b'<step roomId="r"/>' * 2000  # delays the sender for longer than the verdict takes
        await slow.send(flood + legal_move(dedicated.room))
        with trio.move_on_after(60):
            while not harness.happened(events.TimeVerdict):  # noqa: ASYNC110 - virtual time
                await trio.sleep(0.01)
        (verdict,) = harness.happened(events.TimeVerdict)
        assert verdict.is_hard
        assert 4.0 <= verdict.think_time < 5.1
        assert verdict.loop_lag < 0.1
