"""Who guesses passwords waits longer and longer; nobody else does."""

from __future__ import annotations

from server.guard import ADDRESSES, PasswordGuard


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
    guard = PasswordGuard(attempts=1, window=1e9, longest_delay=30.0)
    for number in range(ADDRESSES + 1):
        guard.has_failed(str(number), float(number))
    assert guard.delay("0", 0.0) == 0.0
    assert guard.delay("1", 0.0) == 1.0


def test_answers_that_wait_count_as_long_as_they_do() -> None:
    guard = PasswordGuard(attempts=1, window=60.0, longest_delay=30.0)
    guard.has_failed("a", 0.0)
    with guard.waiting("a"):
        with guard.waiting("a"), guard.waiting("b"):
            assert (guard.delay("a", 1.0), guard.delay("b", 1.0)) == (3.0, 0.0)
        assert guard.delay("a", 1.0) == 2.0
    assert guard.delay("a", 1.0) == 1.0
    assert not guard._waiting
