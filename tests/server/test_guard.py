"""Who guesses passwords waits longer and longer; nobody else does."""

from __future__ import annotations

from contextlib import ExitStack

from server.guard import ADDRESSES, AT_ONCE, EVERYBODY, PasswordGuard


def test_a_few_mistakes_are_free_then_each_answer_waits_a_second_more_up_to_the_limit() -> None:
    guard = PasswordGuard(attempts=3, window=60.0, longest_delay=4.0)
    delays = []
    for _ in range(9):
        delays.append(guard.delay("a", 0.0))
        guard.has_failed("a", 0.0)
    assert delays == [0.0, 0.0, 0.0, 1.0, 2.0, 3.0, 4.0, 4.0, 4.0]
    assert guard.delay("b", 0.0) == 0.0


def test_mistakes_are_forgotten_when_their_window_has_passed() -> None:
    guard = PasswordGuard(attempts=1, window=60.0, longest_delay=30.0)
    guard.has_failed("a", 0.0)
    guard.has_failed("a", 30.0)
    assert guard.delay("a", 59.9) == 2.0
    assert guard.delay("a", 60.0) == 1.0
    assert guard.delay("a", 90.0) == 0.0
    assert guard.delay("a", 90.0) == 0.0


def test_no_more_addresses_are_remembered_than_allowed() -> None:
    guard = PasswordGuard(attempts=ADDRESSES, window=1e9, longest_delay=30.0)
    for number in range(ADDRESSES + 1):
        guard.has_failed(str(number), float(number))
    assert "0" not in guard._failures
    assert len(guard._failures) == ADDRESSES


def test_answers_that_wait_count_as_long_as_they_do() -> None:
    guard = PasswordGuard(attempts=1, window=60.0, longest_delay=30.0)
    guard.has_failed("a", 0.0)
    with guard.waiting("a"):
        with guard.waiting("a"), guard.waiting("b"):
            assert (guard.delay("a", 1.0), guard.delay("b", 1.0)) == (3.0, 0.0)
        assert guard.delay("a", 1.0) == 2.0
    assert guard.delay("a", 1.0) == 1.0
    assert not guard._waiting


def test_all_addresses_together_are_free_a_few_times_then_each_wrong_answer_waits_as_long_as_any() -> None:
    guard = PasswordGuard(attempts=2, window=60.0, longest_delay=30.0)
    for number in range(2 * EVERYBODY):
        assert guard.delay(str(number), 0.0) == 0.0
        guard.has_failed(str(number), 0.0)
    assert guard.delay("another", 59.9) == 30.0
    assert guard.delay("another", 60.0) == 0.0


def test_answers_that_wait_at_all_addresses_count_together() -> None:
    guard = PasswordGuard(attempts=2, window=60.0, longest_delay=30.0)
    with ExitStack() as stack:
        for number in range(AT_ONCE):
            assert not guard.is_crowded
            stack.enter_context(guard.waiting(str(number)))
        assert guard.is_crowded
        assert guard.delay("another", 0.0) == 30.0
    assert not guard.is_crowded
    assert guard.delay("another", 0.0) == 0.0
