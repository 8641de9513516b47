"""Wrong passwords: the guard by itself, and in a server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from spielleiter.server import events
from spielleiter.server.errors import Fault
from spielleiter.server.net.password_guard import (
    ALL_ADDRESSES_FACTOR,
    CHECKS_AT_ONCE,
    CHECKS_PER_SECOND,
    LONGEST_WAIT,
    MAX_ADDRESSES,
    PasswordGuard,
)
from spielleiter.server.net.session import LEFT_EARLY
from tests.server.harness import (
    PASSWORD,
    ServerHarness,
    open_harness,
)

WRONG = '<authenticate password="wrong"/>'


def test_after_a_few_failures_each_answer_is_delayed_one_second_more_up_to_the_limit() -> None:
    guard = PasswordGuard(attempts=3, window=60.0, longest_delay=4.0)
    delays = []
    for _ in range(9):
        delays.append(guard.delay("a", 0.0))
        guard.note_failure("a", 0.0)
    assert delays == [0.0, 0.0, 0.0, 1.0, 2.0, 3.0, 4.0, 4.0, 4.0]
    assert guard.delay("b", 0.0) == 0.0


def test_failures_before_the_window_do_not_count() -> None:
    guard = PasswordGuard(attempts=1, window=60.0, longest_delay=30.0)
    guard.note_failure("a", 0.0)
    guard.note_failure("a", 30.0)
    assert guard.delay("a", 59.9) == 2.0
    assert guard.delay("a", 60.0) == 1.0
    assert guard.delay("a", 90.0) == 0.0
    assert guard.delay("a", 90.0) == 0.0


def test_the_number_of_remembered_addresses_is_bounded() -> None:
    guard = PasswordGuard(attempts=300, window=1e9, longest_delay=30.0)
    for _ in range(300):
        guard.note_failure("the oldest", 0.0)
    assert guard.delay("the oldest", 0.0) == 1.0
    for number in range(MAX_ADDRESSES):
        guard.note_failure(str(number), 0.0)
    assert guard.delay("the oldest", 0.0) == 0.0


def test_after_many_failures_of_all_addresses_each_wrong_answer_has_the_longest_delay() -> None:
    """Answers that wait count as failures."""
    guard = PasswordGuard(attempts=2, window=60.0, longest_delay=30.0)
    for number in range(2 * ALL_ADDRESSES_FACTOR - 1):
        assert guard.delay(str(number), 0.0) == 0.0
        guard.note_failure(str(number), 0.0)
    assert guard.delay("another", 0.0) == 0.0
    with guard.waiting("b"):
        assert guard.delay("another", 0.0) == 30.0
    assert guard.delay("another", 0.0) == 0.0
    guard.note_failure("b", 0.0)
    assert guard.delay("another", 59.9) == 30.0
    assert guard.delay("another", 60.0) == 0.0


@dataclass
class Crowd:
    """Callers that wait for their turns: when each of them got it, by name."""

    guard: PasswordGuard
    nursery: trio.Nursery
    turns: dict[str, float] = field(default_factory=dict)

    async def add(self, address: str, count: int) -> None:
        """Add callers, named by their address and number, that wait in this order."""
        for number in range(count):
            self.nursery.start_soon(self.wait, address, f"{address}{number}")
            await wait_all_tasks_blocked()

    async def wait(self, address: str, name: str) -> None:
        """Wait for the turn of a caller."""
        await self.guard.wait_for_turn(address)
        self.turns[name] = trio.current_time()


@asynccontextmanager
async def crowd(*, is_busy: bool) -> AsyncIterator[Crowd]:
    """Let callers wait; if `is_busy`, so many passwords were checked before that every further one has to wait."""
    guard = PasswordGuard(attempts=2, window=60.0, longest_delay=30.0)
    async with trio.open_nursery() as nursery:
        if is_busy:
            for _ in range(int(CHECKS_AT_ONCE)):
                await guard.wait_for_turn("before")
        yield Crowd(guard, nursery)


async def test_passwords_are_checked_at_once_until_there_are_too_many(mock_clock: MockClock) -> None:
    async with crowd(is_busy=False) as waiting:
        begun = trio.current_time()
        await waiting.add("a", int(CHECKS_AT_ONCE))
        assert set(waiting.turns.values()) == {begun}
        await waiting.add("b", 20)
        mock_clock.autojump_threshold = 0.0
    late = [waiting.turns[f"b{number}"] - begun for number in range(20)]
    assert late == pytest.approx([(number + 1) / CHECKS_PER_SECOND for number in range(20)])


async def test_a_password_waits_for_earlier_ones_of_its_address_and_once_for_each_other_address(
    mock_clock: MockClock,
) -> None:
    async with crowd(is_busy=True) as waiting:
        begun = trio.current_time()
        for address, count in (("a", 25), ("b", 15), ("c", 1)):
            await waiting.add(address, count)
        mock_clock.autojump_threshold = 0.0
    assert round((waiting.turns["c0"] - begun) * CHECKS_PER_SECOND) <= 4
    assert round((waiting.turns["b14"] - begun) * CHECKS_PER_SECOND) <= 2 * 15 + 2
    assert round((max(waiting.turns.values()) - begun) * CHECKS_PER_SECOND) == 41
    assert list(waiting.turns)[-1] == "a24"


@pytest.mark.parametrize("addresses", [1, 500])
async def test_no_password_waits_longer_than_the_longest_wait(addresses: int, mock_clock: MockClock) -> None:
    async with crowd(is_busy=True) as waiting:
        begun = trio.current_time()
        for number in range(500):
            waiting.nursery.start_soon(waiting.wait, f"address {number % addresses}", str(number))
        await wait_all_tasks_blocked()
        await waiting.add("late", 1)
        mock_clock.autojump_threshold = 0.0
    assert len(waiting.turns) == 501
    assert max(waiting.turns.values()) - begun == pytest.approx(LONGEST_WAIT)


@pytest.mark.parametrize(("addresses", "connections"), [(1, 1000), (400, 1)])
async def test_guessers_together_are_checked_at_a_limited_rate(
    addresses: int, connections: int, autojump_clock: MockClock
) -> None:
    """Each connection guesses again as soon as it is answered."""
    guard = PasswordGuard(attempts=5, window=60.0, longest_delay=30.0)
    checked = 0
    seconds = 100.0

    def count(_delay: float) -> None:
        nonlocal checked
        checked += 1

    async def guess(address: str) -> None:
        while True:
            await guard.wait_to_answer(address, count, is_right=False)

    with trio.move_on_after(seconds):
        async with trio.open_nursery() as nursery:
            for number in range(addresses * connections):
                nursery.start_soon(guess, str(number % addresses))
    rate = max(CHECKS_PER_SECOND, addresses * connections / LONGEST_WAIT)
    assert checked <= CHECKS_AT_ONCE + rate * seconds + 1


async def test_the_right_password_is_never_delayed_by_wrong_ones(autojump_clock: object) -> None:
    async with open_harness(password_attempts=1, password_delay=30.0) as harness:
        guessing = [await harness.call() for _ in range(8)]
        for caller in guessing:
            await caller.near.send_all(b"<protocol>" + WRONG.encode())
            await wait_all_tasks_blocked()
        before = trio.current_time()
        admin = await harness.call()
        await admin.send(f'<protocol><authenticate password="{PASSWORD}"/>')
        assert len(harness.happened(events.AdminAuthenticated)) == 1
        assert trio.current_time() - before < 1.0
        assert not guessing[-1].is_ended


async def test_a_password_of_a_peer_that_has_left_is_not_checked(autojump_clock: object) -> None:
    async with open_harness() as harness:
        await use_up_checks(harness)
        callers = [await harness.call_throttled(1000, WRONG) for _ in range(30)]
        for _, wire in callers:
            wire.break_off()  # noticed by looks at the connection alone, since nobody reads meanwhile
        await trio.sleep(1.0)
        reasons = [each.reason for each in harness.happened(events.ConnectionClosed)]
        assert len(reasons) == 30
        assert set(reasons) == {LEFT_EARLY, Fault.WRONG_PASSWORD.value}
        assert len(harness.happened(events.RequestRefused)) == reasons.count(Fault.WRONG_PASSWORD.value) < 10


async def use_up_checks(harness: ServerHarness) -> None:
    """Let so many passwords have been checked that every further one has to wait for its turn."""
    for _ in range(int(CHECKS_AT_ONCE)):
        await harness.server.password_guard.wait_for_turn("before")


@pytest.mark.parametrize("addresses", [1, 60])
async def test_guesses_from_other_addresses_hardly_delay_an_administrator(
    addresses: int, mock_clock: MockClock
) -> None:
    async with open_harness() as harness:
        await use_up_checks(harness)
        for number in range(max(24, addresses)):
            caller = await harness.call(f"127.0.1.{number % addresses}")
            await caller.near.send_all(b"<protocol>" + WRONG.encode())
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
            await caller.near.send_all(b"<protocol>" + WRONG.encode())
            await wait_all_tasks_blocked()
        assert [each.delay for each in harness.happened(events.AnswerDelayed)] == [1.0, 2.0, 3.0, 4.0, 4.0, 4.0]
        for seconds in range(4):
            await trio.sleep(0.5)
            assert [caller.is_ended for caller in guessing[:5]] == [number < 2 + seconds for number in range(5)]
            await trio.sleep(0.5)
        await trio.sleep(0.5)
        assert all(caller.is_ended for caller in guessing)
        assert len(harness.happened(events.RequestRefused)) == 8
        later = await harness.call()
        await later.send("<protocol>" + WRONG)
        await trio.sleep(3.9)
        assert not later.is_ended


@pytest.mark.parametrize("way", ["hangs up", "server stops", "everything is cancelled"])
async def test_a_guesser_that_leaves_during_its_delay_leaves_nothing(way: str, autojump_clock: object) -> None:
    async with open_harness(password_attempts=1, password_window=10.0) as harness:
        guard = harness.server.password_guard
        guessing = [await harness.call() for _ in range(3)]
        for caller in guessing:
            await caller.near.send_all(b"<protocol>" + WRONG.encode())
            await wait_all_tasks_blocked()
        assert guard.delay("host", trio.current_time()) == 3.0  # one has failed, two are waiting
        if way == "hangs up":
            for caller in guessing:
                await caller.close()
            await trio.sleep(2.5)
        elif way == "server stops":
            for session in list(harness.server.sessions):
                session.end("the server stops", 1.0)
            await trio.sleep(1.5)
        else:
            harness.nursery.cancel_scope.cancel()
            with trio.CancelScope(shield=True):
                await wait_all_tasks_blocked()
        assert not harness.server.sessions
        assert guard.delay("host", trio.current_time() + 10.0) == 0.0
