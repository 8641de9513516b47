"""Wrong passwords are answered late, and no number of them keeps out the right one."""

from __future__ import annotations

import pytest
import trio
from trio.testing import MockClock, memory_stream_pair, wait_all_tasks_blocked

from spielleiter.server import events
from spielleiter.server.errors import Fault
from spielleiter.server.net.password_guard import CHECKS_AT_ONCE, CHECKS_PER_SECOND, LONGEST_WAIT
from spielleiter.server.net.session import LEFT_EARLY
from tests.server.harness import (
    PASSWORD,
    Caller,
    ServerHarness,
    open_harness,
)
from tests.server.serving import serving
from tests.server.wires import StreamWire


async def test_guessing_passwords_delays_the_answers_to_the_guesser_only(autojump_clock: object) -> None:
    async with open_harness(password_attempts=2, password_delay=3.0) as harness:
        for wait in (0, 0, 1, 2, 3, 3, 3):
            caller = await harness.call()
            await caller.send('<protocol><authenticate password="wrong"/>')
            if wait:
                await trio.sleep(wait - 0.1)
                assert not caller.is_ended
                await trio.sleep(0.2)
            assert caller.is_ended
        assert len(harness.happened(events.RequestRefused)) == 7
        assert [each.delay for each in harness.happened(events.AnswerDelayed)] == [1.0, 2.0, 3.0, 3.0, 3.0]


async def test_the_right_password_is_never_delayed_by_wrong_ones(autojump_clock: object) -> None:
    async with open_harness(password_attempts=1, password_delay=30.0) as harness:
        guessing = [await harness.call() for _ in range(8)]
        for caller in guessing:
            await caller.near.send_all(b'<protocol><authenticate password="wrong"/>')
            await wait_all_tasks_blocked()
        before = trio.current_time()
        admin = await harness.call()
        await admin.send(f'<protocol><authenticate password="{PASSWORD}"/>')
        assert len(harness.happened(events.AdminAuthenticated)) == 1
        assert trio.current_time() - before < 1.0
        assert not guessing[-1].is_ended


@pytest.mark.parametrize("connections", [80, 300])
async def test_guessers_do_not_keep_out_the_right_password(connections: int, autojump_clock: object) -> None:
    """Each guesser guesses again as soon as it is answered."""
    async with open_harness() as harness, trio.open_nursery() as nursery:

        async def authenticate(password: str) -> None:
            near, far = memory_stream_pair()
            harness.nursery.start_soon(harness.server.serve_wire, StreamWire(far), "127.0.0.1:1")
            await near.send_all(f'<protocol><authenticate password="{password}"/><status/>'.encode())
            await near.receive_some()
            await near.aclose()

        async def guess_for_ever() -> None:
            while True:
                await authenticate("wrong")

        for _ in range(connections):
            nursery.start_soon(guess_for_ever)
        for _ in range(5):
            await trio.sleep(1.0)
            before = trio.current_time()
            await authenticate(PASSWORD)
            assert trio.current_time() - before <= LONGEST_WAIT
        nursery.cancel_scope.cancel()
    assert len(harness.happened(events.AdminAuthenticated)) == 5


async def test_a_password_whose_turn_has_not_come_waits_for_it(autojump_clock: object) -> None:
    async with open_harness() as harness:
        await use_up_checks(harness)
        admin = await harness.call()
        await admin.send(f'<protocol><authenticate password="{PASSWORD}"/><status/>')
        assert harness.happened(events.AdminAuthenticated) == []
        await trio.sleep(1.0)
        assert b"<status>" in await admin.receive()
        assert len(harness.happened(events.AdminAuthenticated)) == 1


@pytest.mark.slow
async def test_a_password_of_a_peer_that_has_left_is_not_checked() -> None:
    async with serving() as harness:
        waiting = 300
        streams = [await harness.connect() for _ in range(waiting)]
        for stream in streams:
            await stream.send_all(b'<protocol><authenticate password="wrong"/><status/>')
        while len(harness.logged("connection_opened")) < waiting:  # noqa: ASYNC110 - as above
            await trio.sleep(0.01)
        for stream in streams:
            await stream.aclose()
        while len(harness.logged("connection_closed")) < waiting:  # noqa: ASYNC110 - as above
            await trio.sleep(0.01)
    reasons = [each["reason"] for each in harness.logged("connection_closed")]
    assert set(reasons) == {LEFT_EARLY, Fault.WRONG_PASSWORD.value}
    refused = len(harness.logged("request_refused"))
    assert refused == reasons.count(Fault.WRONG_PASSWORD.value) < waiting


async def use_up_checks(harness: ServerHarness) -> None:
    """Let so many passwords have been checked that every further one has to wait for its turn."""
    for _ in range(int(CHECKS_AT_ONCE)):
        await harness.server._guard.wait_for_turn("before")


async def guess(harness: ServerHarness, hosts: list[str]) -> list[Caller]:
    """Send one wrong password from each of `hosts`; some answers may be delayed."""
    callers = [await harness.call(host) for host in hosts]
    for caller in callers:
        await caller.near.send_all(b'<protocol><authenticate password="wrong"/>')
        await wait_all_tasks_blocked()
    return callers


@pytest.mark.parametrize("addresses", [1, 4, 400])
async def test_guesses_from_other_addresses_hardly_delay_an_administrator(
    addresses: int, mock_clock: MockClock
) -> None:
    async with open_harness() as harness:
        await use_up_checks(harness)
        await guess(harness, [f"127.0.1.{number % addresses}" for number in range(max(24, addresses))])
        admin = await harness.call("127.0.0.1")
        await admin.send(f'<protocol><authenticate password="{PASSWORD}"/>')
        mock_clock.autojump_threshold = 0.0
        before = trio.current_time()
        while not harness.happened(events.AdminAuthenticated):  # noqa: ASYNC110 - as above
            await trio.sleep(0.01)
        assert trio.current_time() - before <= min(LONGEST_WAIT, (addresses + 2) / CHECKS_PER_SECOND) + 0.01
        assert not admin.is_ended


async def test_parallel_guesses_are_delayed_like_consecutive_ones(autojump_clock: object) -> None:
    async with open_harness(password_attempts=2, password_delay=4.0) as harness:
        guessing = [await harness.call() for _ in range(8)]
        for caller in guessing:
            await caller.near.send_all(b'<protocol><authenticate password="wrong"/>')
            await wait_all_tasks_blocked()
        assert [each.delay for each in harness.happened(events.AnswerDelayed)] == [1.0, 2.0, 3.0, 4.0, 4.0, 4.0]
        for seconds in range(4):
            await trio.sleep(0.5)
            assert [caller.is_ended for caller in guessing[:5]] == [number < 2 + seconds for number in range(5)]
            await trio.sleep(0.5)
        await trio.sleep(0.5)
        assert all(caller.is_ended for caller in guessing)


@pytest.mark.parametrize("way", ["hangs up", "server stops", "everything is cancelled"])
async def test_a_guesser_that_leaves_during_its_delay_leaves_nothing(way: str, autojump_clock: object) -> None:
    async with open_harness(password_attempts=1, password_window=10.0) as harness:
        guard = harness.server._guard
        guessing = [await harness.call() for _ in range(3)]
        for caller in guessing:
            await caller.near.send_all(b'<protocol><authenticate password="wrong"/>')
            await wait_all_tasks_blocked()
        assert guard.delay("host", trio.current_time()) == 3.0  # one has failed, two are waiting
        if way == "hangs up":
            for caller in guessing:
                await caller.close()
            await trio.sleep(2.5)
        elif way == "server stops":
            for session in list(harness.server._sessions):
                session.end("the server stops", 1.0)
            await trio.sleep(1.5)
        else:
            harness.nursery.cancel_scope.cancel()
            with trio.CancelScope(shield=True):
                await wait_all_tasks_blocked()
        assert not harness.server._sessions
        assert not guard._waiting
        assert guard.delay("host", trio.current_time() + 10.0) == 0.0
