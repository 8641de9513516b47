"""Packets are sent completely and in order however slowly the peer reads; a peer that reads too slowly is dropped."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st
from trio.testing import MockClock, wait_all_tasks_blocked

from spielleiter.protocol.connection import Connection, Role
from spielleiter.protocol.dialects.blokus_2021 import BLOKUS_2021_R3
from spielleiter.server.net.outbox import Outbox, WriteFailure
from tests.server.wires import ThrottledWire

MAX_BYTES = 1000


@dataclass
class OutboxCase:
    """An outbox, its wire, and the calls of its callbacks."""

    wire: ThrottledWire
    broken: list[WriteFailure] = field(default_factory=list)
    sent: list[tuple[int, float]] = field(default_factory=list)
    endings: int = 0
    outbox: Outbox = field(init=False)

    def __post_init__(self) -> None:
        def count() -> None:
            self.endings += 1

        self.outbox = Outbox(
            self.wire,
            Connection(Role.SERVER, BLOKUS_2021_R3),
            max_bytes=MAX_BYTES,
            progress_timeout=10.0,
            on_ended=count,
        )

    async def run(self) -> None:
        failure = await self.outbox.run()
        if failure is not None:
            self.broken.append(failure)

    def send(self, number: int, size: int = 20) -> bytes:
        """Queue a packet that differs from the others; return it."""
        packet = b"\n  <%06d" % number + b"." * (size - 10)
        self.outbox.send_nowait(packet, lambda now: self.sent.append((number, now)))
        return packet


@asynccontextmanager
async def running(capacity: float = float("inf")) -> AsyncIterator[OutboxCase]:
    case = OutboxCase(ThrottledWire(capacity))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(case.run)
        yield case
        nursery.cancel_scope.cancel()


async def test_packets_that_the_kernel_takes_are_sent_at_once_in_one_write_each(autojump_clock: MockClock) -> None:
    async with running() as case:
        packets = [case.send(number) for number in range(3)]
        assert case.wire.writes == [b"<protocol>" + packets[0], *packets[1:]]
        assert case.sent == [(0, 0.0), (1, 0.0), (2, 0.0)]
        assert case.outbox.queued_bytes == 0


async def test_a_packet_counts_as_sent_before_the_call_in_which_the_peer_may_already_answer(
    mock_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise the kernel could stamp the answer of a quick program before the clock has started."""
    async with running() as case:
        try_send = case.wire.try_send

        def take_a_second(data: bytes | memoryview) -> int:
            mock_clock.jump(1.0)
            return try_send(data)

        monkeypatch.setattr(case.wire, "try_send", take_a_second)
        case.send(0)
        assert case.sent == [(0, 0.0)]


async def test_a_packet_counts_as_sent_when_its_last_byte_is_taken(autojump_clock: MockClock) -> None:
    async with running(capacity=15) as case:
        first, second = case.send(1), case.send(2)
        assert case.outbox.queued_bytes == len(b"<protocol>") + 40 - 15
        await trio.sleep(2)
        case.wire.take(14)
        await wait_all_tasks_blocked()
        assert case.sent == []
        case.wire.take(1)
        await wait_all_tasks_blocked()
        assert case.sent == [(1, 2.0)]
        await trio.sleep(1)
        case.wire.take(100)
        await wait_all_tasks_blocked()
        assert case.sent == [(1, 2.0), (2, 3.0)]
        assert bytes(case.wire.taken) == b"<protocol>" + first + second
        assert case.outbox.queued_bytes == 0


@pytest.mark.parametrize(("is_stalled", "asked_at"), [(True, 1.0), (False, 2.0)])
async def test_a_peer_that_does_not_read_counts_as_asked_at_once_unlike_one_in_a_slow_network(
    is_stalled: bool, asked_at: float, autojump_clock: MockClock
) -> None:
    async with running(capacity=0) as case:
        await trio.sleep(1)
        case.wire.is_stalled = is_stalled
        case.send(1)
        await trio.sleep(1)
        case.wire.take(100)
        await wait_all_tasks_blocked()
        assert case.sent == [(1, asked_at)]


@settings(max_examples=20)
@given(st.lists(st.integers(10, 60), max_size=25), st.integers(0, 200), st.booleans(), st.integers(0, 2**32 - 1))
def test_the_stream_is_complete_and_in_order_whatever_is_taken_at_a_time(
    sizes: list[int], capacity: int, with_end_tag: bool, seed: int
) -> None:
    # not `st.randoms()`: old versions of Hypothesis do not recognise their own exceptions in a nursery's group
    chance = random.Random(seed)

    async def main() -> None:
        case = OutboxCase(ThrottledWire(capacity))
        expected = b""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(case.run)
            for number, size in enumerate(sizes):
                expected += case.send(number, size)
                if chance.random() < 0.7:
                    case.wire.take(chance.randrange(80))
                    await wait_all_tasks_blocked()
                assert case.outbox.queued_bytes <= MAX_BYTES + max(sizes)
            case.outbox.end_nowait(with_end_tag=with_end_tag)
            case.outbox.end_nowait()
            case.send(99)  # nothing is queued after the end of the stream
            assert case.endings == 1
            while not case.wire.is_eof_sent and not case.broken:
                case.wire.take(chance.randrange(1, 80))
                await wait_all_tasks_blocked()
        end_tag = b"\n</protocol>" if sizes else b"<protocol/>"
        whole = (b"<protocol>" + expected if sizes else b"") + (end_tag if with_end_tag else b"")
        if case.broken:
            assert whole.startswith(bytes(case.wire.taken))
            assert sum(sizes) > MAX_BYTES - capacity
        else:
            assert bytes(case.wire.taken) == whole
            assert [number for number, _ in case.sent] == list(range(len(sizes)))

    trio.run(main, clock=MockClock(autojump_threshold=0))


async def test_a_peer_over_the_bound_is_dropped_at_once_even_during_a_write(autojump_clock: MockClock) -> None:
    async with running(capacity=5) as case:
        case.send(1, 500)
        await wait_all_tasks_blocked()  # now the writer waits for the peer
        case.send(2, 490)
        assert case.broken == []
        case.send(3, 500)
        assert case.broken == []  # returned by the writer's task, not during a decision
        case.send(4, 500)
        assert case.outbox.queued_bytes < MAX_BYTES + 500
        await wait_all_tasks_blocked()
        assert case.broken == [WriteFailure("more than 1000 bytes not taken", "outbox_bytes")]
        assert trio.current_time() == 0.0
        assert case.sent == []


async def test_a_peer_that_takes_everything_too_late_is_dropped_nevertheless(autojump_clock: MockClock) -> None:
    async with running(capacity=0) as case:
        case.send(1, 900)
        await wait_all_tasks_blocked()
        case.wire.take(5000)
        case.send(2, 900)  # before the writer's task has run
        await wait_all_tasks_blocked()
        assert case.broken == [WriteFailure("more than 1000 bytes not taken", "outbox_bytes")]
        assert case.sent == []


async def test_every_byte_that_is_taken_restarts_the_timeout_and_silence_has_none(autojump_clock: MockClock) -> None:
    async with running(capacity=0) as case:
        case.send(1)
        for _ in range(30):
            await trio.sleep(9.9)
            case.wire.take(1)
        await trio.sleep(1000)
        case.send(2)
        assert case.broken == []
        assert [number for number, _ in case.sent] == [1]
        await trio.sleep(9.9)
        assert case.broken == []
        await trio.sleep(0.2)
        assert case.broken == [WriteFailure("nothing taken for 10 s", "outbox_timeout")]


@pytest.mark.parametrize("is_waiting", [False, True])
async def test_a_lost_connection_is_reported_once(is_waiting: bool, autojump_clock: MockClock) -> None:
    async with running(capacity=0 if is_waiting else 1000) as case:
        case.send(1)
        await wait_all_tasks_blocked()
        case.wire.break_off()
        case.send(2)
        case.send(3)
        await wait_all_tasks_blocked()
        assert case.broken == [WriteFailure("connection lost: broken off")]
        assert [number for number, _ in case.sent] == ([] if is_waiting else [1])
        case.outbox.end_nowait()
        assert not case.wire.is_eof_sent
