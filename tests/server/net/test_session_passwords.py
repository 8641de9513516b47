"""Answers to wrong passwords are delayed, and the answer to the right one never is."""

from __future__ import annotations

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from spielleiter.server import events
from spielleiter.server.errors import Fault
from spielleiter.server.net import password_guard as guard
from spielleiter.server.net.session import GUESSES_WAITING
from tests.server.answers import refusals
from tests.server.harness import (
    PASSWORD,
    Caller,
    ServerHarness,
    open_harness,
)


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


async def test_while_too_many_guesses_wait_no_password_is_checked(
    autojump_clock: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guard, "MAX_WAITING", 3)
    async with open_harness(password_attempts=1, password_delay=4.0) as harness:
        guessing = [await harness.call() for _ in range(4)]  # the first one is answered at once
        for caller in guessing:
            await caller.near.send_all(b'<protocol><authenticate password="wrong"/>')
            await wait_all_tasks_blocked()
        for password in ("wrong", PASSWORD):
            caller = await harness.call()
            await caller.send(f'<protocol><authenticate password="{password}"/>')
            assert GUESSES_WAITING in (await caller.receive()).decode()
            assert refusals(harness, caller) == [(Fault.GUESSES_WAITING.value, GUESSES_WAITING)]
        await trio.sleep(10.0)
        admin = await harness.call()
        await admin.send(f'<protocol><authenticate password="{PASSWORD}"/>')
        assert len(harness.happened(events.AdminAuthenticated)) == 1


async def guess(harness: ServerHarness, hosts: list[str]) -> list[Caller]:
    """Send one wrong password from each of `hosts`; some answers may be delayed."""
    callers = [await harness.call(host) for host in hosts]
    for caller in callers:
        await caller.near.send_all(b'<protocol><authenticate password="wrong"/>')
        await wait_all_tasks_blocked()
    return callers


@pytest.mark.parametrize("addresses", [1, 4, 400])
async def test_guesses_from_other_addresses_never_delay_an_administrator(
    addresses: int, autojump_clock: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guard, "MAX_WAITING", 16)
    monkeypatch.setattr(guard, "MAX_WAITING_PER_ADDRESS", 4)
    async with open_harness(password_attempts=1, password_delay=30.0) as harness:
        await guess(harness, [f"127.0.1.{number % addresses}" for number in range(max(24, addresses))])
        waiting = harness.server._guard._waiting
        assert waiting.total() == (4 if addresses == 1 else 16)
        before = trio.current_time()
        admin = await harness.call("127.0.0.1")
        await admin.send(f'<protocol><authenticate password="{PASSWORD}"/>')
        assert len(harness.happened(events.AdminAuthenticated)) == 1
        assert trio.current_time() - before < 1.0
        assert not admin.is_ended


async def test_a_wrong_password_from_a_new_address_is_answered_at_once_while_too_many_wait(
    autojump_clock: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guard, "MAX_WAITING", 3)
    async with open_harness(password_attempts=1, password_delay=30.0) as harness:
        await guess(harness, ["a"] * 4)
        first, second = await guess(harness, ["b", "b"])
        assert refusals(harness, first)[0][0] == Fault.WRONG_PASSWORD.value
        assert refusals(harness, second) == [(Fault.GUESSES_WAITING.value, GUESSES_WAITING)]
        assert first.is_ended
        assert second.is_ended


async def test_a_delayed_wrong_password_is_reported_as_wrong(
    autojump_clock: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guard, "MAX_WAITING", 4)
    async with open_harness(password_attempts=1, password_delay=4.0) as harness:
        _, waited, *_ = await guess(harness, ["a"] * 5)
        await trio.sleep(0.9)
        await guess(harness, ["b", "b"])
        await trio.sleep(0.2)
        assert waited.is_ended
        assert [kind for kind, _ in refusals(harness, waited)] == [Fault.WRONG_PASSWORD.value]


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
