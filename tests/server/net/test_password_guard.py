"""Each further wrong password from an address is answered later; other addresses are not affected."""

from __future__ import annotations

import heapq
from contextlib import ExitStack

import pytest

from spielleiter.server.net.password_guard import (
    ALL_ADDRESSES_FACTOR,
    MAX_ADDRESSES,
    MAX_WAITING,
    MAX_WAITING_PER_ADDRESS,
    NEWCOMERS_BURST,
    NEWCOMERS_RATE,
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
    crowded = [guard.is_crowded]
    with ExitStack() as stack:
        for number in range(MAX_WAITING):
            stack.enter_context(guard.waiting(str(number)))
            crowded.append(guard.is_crowded)
            if number == MAX_WAITING - 2:
                assert guard.delay("another", 0.0) == 30.0
        assert guard.delay("another", 0.0) == 0.0
    assert crowded == [False] * MAX_WAITING + [True]
    assert (guard.is_crowded, guard.delay("another", 0.0)) == (False, 0.0)


def test_too_many_waiting_answers_to_one_address_do_not_affect_others() -> None:
    guard = PasswordGuard(attempts=2, window=60.0, longest_delay=30.0)
    with ExitStack() as stack:
        for _ in range(MAX_WAITING_PER_ADDRESS):
            assert guard.admit("a", 0.0)
            stack.enter_context(guard.waiting("a"))
        assert [guard.admit(address, 0.0) for address in "ab"] == [False, True]
    assert guard.admit("a", 0.0)


def test_while_too_many_answers_wait_newcomers_are_admitted_at_a_bounded_rate() -> None:
    guard = PasswordGuard(attempts=2, window=60.0, longest_delay=30.0)
    guard.note_failure("was wrong", 0.0)
    burst, rate = int(NEWCOMERS_BURST), int(NEWCOMERS_RATE)
    with ExitStack() as stack:
        for number in range(MAX_WAITING):
            stack.enter_context(guard.waiting(str(number)))
        assert not guard.admit("was wrong", 59.9)
        assert guard.admit("right", 0.0)
        assert not guard.admit("1", 60.0)
        assert burst <= sum(guard.admit(f"new {number}", 60.0) for number in range(2 * burst)) <= burst + 1
        assert rate - 1 <= sum(guard.admit(f"new {number}", 61.0) for number in range(2 * burst)) <= rate + 1
        assert guard.admit("was wrong", 62.0)


def guesses(guard: PasswordGuard, addresses: int, connections: int, seconds: float) -> int:
    """Return how many passwords are checked if each connection guesses again as soon as it is answered.

    A connection that is refused without a check tries again five seconds later.
    """
    checked = 0
    callers = [(0.0, number, str(number % addresses)) for number in range(addresses * connections)]
    waits: dict[int, ExitStack] = {}
    while callers[0][0] < seconds:
        now, number, address = callers[0]
        if number in waits:
            waits.pop(number).close()
            guard.note_failure(address, now)
        if not guard.admit(address, now):
            heapq.heapreplace(callers, (now + 5.0, number, address))
            continue
        checked += 1
        delay = guard.delay(address, now)
        if delay:
            waits[number] = ExitStack()
            waits[number].enter_context(guard.waiting(address))
        else:
            guard.note_failure(address, now)
        heapq.heapreplace(callers, (now + delay + 0.001, number, address))
    return checked


def test_many_addresses_together_guess_no_more_often_than_documented() -> None:
    guard = PasswordGuard(attempts=5, window=60.0, longest_delay=30.0)
    free, at_once = 5 * ALL_ADDRESSES_FACTOR, MAX_WAITING * 2  # MAX_WAITING answers every 30 s
    newcomers = 400 - free - MAX_WAITING
    assert guesses(guard, addresses=400, connections=1, seconds=60.0) == free + at_once + newcomers


def test_one_address_guesses_no_more_often_than_documented() -> None:
    guard = PasswordGuard(attempts=5, window=60.0, longest_delay=30.0)
    assert guesses(guard, addresses=1, connections=256, seconds=60.0) / 60.0 == pytest.approx(2.7, abs=0.05)
