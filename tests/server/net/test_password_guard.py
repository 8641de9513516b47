"""Wrong passwords are checked at a limited rate and answered late; no number of them keeps out the right one."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass, field

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from spielleiter.server.net.password_guard import (
    ALL_ADDRESSES_FACTOR,
    CHECKS_AT_ONCE,
    CHECKS_PER_SECOND,
    LONGEST_WAIT,
    MAX_ADDRESSES,
    PasswordGuard,
)


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
    guard = PasswordGuard(attempts=MAX_ADDRESSES, window=1e9, longest_delay=30.0)
    for number in range(MAX_ADDRESSES + 1):
        guard.note_failure(str(number), float(number))
    assert "0" not in guard._failures
    assert len(guard._failures) == MAX_ADDRESSES


def test_waiting_answers_count_as_failures() -> None:
    guard = PasswordGuard(attempts=1, window=60.0, longest_delay=30.0)
    guard.note_failure("a", 0.0)
    with guard.waiting("a"):
        with guard.waiting("a"), guard.waiting("b"):
            assert (guard.delay("a", 1.0), guard.delay("b", 1.0)) == (3.0, 1.0)
        assert guard.delay("a", 1.0) == 2.0
    assert guard.delay("a", 1.0) == 1.0
    assert not guard._waiting


def test_after_many_failures_of_all_addresses_each_wrong_answer_has_the_longest_delay() -> None:
    guard = PasswordGuard(attempts=2, window=60.0, longest_delay=30.0)
    for number in range(2 * ALL_ADDRESSES_FACTOR):
        assert guard.delay(str(number), 0.0) == 0.0
        guard.note_failure(str(number), 0.0)
    assert guard.delay("another", 59.9) == 30.0
    assert guard.delay("another", 60.0) == 0.0


def test_waiting_answers_to_all_addresses_count_together() -> None:
    guard = PasswordGuard(attempts=2, window=60.0, longest_delay=30.0)
    with ExitStack() as stack:
        for number in range(2 * ALL_ADDRESSES_FACTOR):
            assert guard.delay("another", 0.0) == 0.0
            stack.enter_context(guard.waiting(str(number)))
        assert guard.delay("another", 0.0) == 30.0
    assert guard.delay("another", 0.0) == 0.0


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


@pytest.mark.parametrize("addresses", [1, 7, 500])
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


async def test_a_right_password_uses_up_nothing(mock_clock: MockClock) -> None:
    guard = PasswordGuard(attempts=2, window=60.0, longest_delay=30.0)
    for _ in range(3 * int(CHECKS_AT_ONCE)):
        await guard.wait_for_turn("a")
        guard.note_success()
    assert trio.current_time() == 0.0


async def test_callers_that_are_cancelled_keep_nobody_waiting(mock_clock: MockClock) -> None:
    async with crowd(is_busy=True) as waiting:
        begun = trio.current_time()
        with trio.CancelScope() as left:
            async with trio.open_nursery() as nursery:
                for _ in range(40):
                    nursery.start_soon(waiting.guard.wait_for_turn, "a")
                await wait_all_tasks_blocked()
                left.cancel()
        await waiting.add("a", 1)
        mock_clock.autojump_threshold = 0.0
    assert waiting.turns["a0"] - begun == pytest.approx(1 / CHECKS_PER_SECOND)


@pytest.mark.parametrize(("addresses", "connections"), [(1, 80), (1, 1000), (400, 1), (20, 50)])
async def test_guessers_together_are_checked_at_a_limited_rate(
    addresses: int, connections: int, autojump_clock: MockClock
) -> None:
    """Each connection guesses again as soon as it is answered."""
    guard = PasswordGuard(attempts=5, window=60.0, longest_delay=30.0)
    checked = 0
    seconds = 100.0

    async def guess(address: str) -> None:
        nonlocal checked
        while True:
            await guard.wait_for_turn(address)
            checked += 1
            await guard.answer_late(address, guard.delay(address, trio.current_time()))

    with trio.move_on_after(seconds):
        async with trio.open_nursery() as nursery:
            for number in range(addresses * connections):
                nursery.start_soon(guess, str(number % addresses))
    rate = max(CHECKS_PER_SECOND, addresses * connections / LONGEST_WAIT)
    assert checked <= CHECKS_AT_ONCE + rate * seconds + 1
