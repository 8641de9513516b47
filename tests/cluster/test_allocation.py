"""Which pairs are played next, and which answers count; no machine and no clock is needed."""

from __future__ import annotations

import random

import pytest

from spielleiter.cluster.allocation import HOLD, MAX_FAILURES, MAX_HOLD, Allocation, PairAttempt, Standing


def ready(allocation: Allocation, address: str, slots: int = 1, speed: float = 1.0) -> None:
    allocation.join(address)
    allocation.make_ready(address, address, slots, speed)


def test_pairs_are_handed_out_in_order_up_to_the_number_of_slots() -> None:
    allocation = Allocation([1, 2, 3, 4, 5])
    assert allocation.next_attempts(0) == []
    ready(allocation, "a", 2)
    ready(allocation, "b", 1)
    first, second, third = allocation.next_attempts(0)
    assert [first.pair, second.pair, third.pair] == [1, 2, 3]
    assert [first.address, second.address, third.address] == ["a", "a", "b"]
    assert allocation.next_attempts(0) == []
    assert allocation.accept(second)
    [fourth] = allocation.next_attempts(0)
    assert (fourth.pair, fourth.address) == (4, "a")
    assert not allocation.is_done


def test_the_pairs_of_a_machine_that_is_held_take_no_slots_of_others() -> None:
    allocation = Allocation([1, 2, 3, 4])
    ready(allocation, "a", 2)
    first, second = allocation.next_attempts(0)
    allocation.refuse(second, "busy", 0, is_overloaded=True)
    ready(allocation, "b", 1)
    [third] = allocation.next_attempts(0)
    assert (third.address, allocation.running) == ("b", {first.pair: first, third.pair: third})


def test_a_pair_is_accepted_once_whichever_attempt_comes_first() -> None:
    allocation = Allocation([1])
    ready(allocation, "a")
    [first] = allocation.next_attempts(0)
    allocation.lose(first)
    [second] = allocation.next_attempts(0)
    assert (second.pair, second.number) == (1, first.number + 1)
    assert allocation.accept(first)  # it was only late
    assert not allocation.accept(second)
    assert allocation.is_done
    assert allocation.next_attempts(0) == []


def test_a_busy_machine_gets_no_pairs_for_a_growing_while() -> None:
    allocation = Allocation([1])
    ready(allocation, "a")
    now, hold = 100.0, HOLD
    for _ in range(10):
        [attempt] = allocation.next_attempts(now)
        allocation.refuse(attempt, "busy", now, is_overloaded=True)
        assert allocation.next_attempts(now + hold - 0.1) == []
        now += hold
        hold = min(MAX_HOLD, 2 * hold)
    assert allocation.machines["a"].standing is Standing.READY
    [attempt] = allocation.next_attempts(now)
    assert allocation.accept(attempt)
    assert allocation.machines["a"].refusals == 0


def test_a_machine_that_fails_repeatedly_gets_no_more_pairs() -> None:
    allocation, now = Allocation([1]), 0.0
    ready(allocation, "a")
    for _ in range(MAX_FAILURES):
        assert not allocation.is_hopeless
        [attempt] = allocation.next_attempts(now)
        allocation.refuse(attempt, "disk full", now, is_overloaded=False)
        now += HOLD
    assert allocation.is_hopeless
    assert allocation.machines["a"].reason == "disk full"
    assert allocation.next_attempts(now) == []
    ready(allocation, "b")
    [attempt] = allocation.next_attempts(now)
    assert attempt.address == "b"
    allocation.leave("b")
    allocation.refuse(attempt, "?", now, is_overloaded=True)  # its answer was on the way
    assert list(allocation.pairs) == [1]


def test_machines_that_are_too_slow_are_left_out() -> None:
    allocation = Allocation([1, 2, 3], max_slowdown=2)
    ready(allocation, "slow", speed=0.9)
    assert [each.address for each in allocation.eligible(0)] == ["slow"]
    ready(allocation, "fast", speed=2)
    ready(allocation, "medium", speed=1)
    allocation.join("new")
    assert [each.address for each in allocation.eligible(0)] == ["fast", "medium"]
    assert not Allocation([1]).is_hopeless  # workers may still join


@pytest.mark.parametrize("seed", range(50))
def test_every_pair_is_accepted_exactly_once_whatever_happens(seed: int) -> None:
    rng = random.Random(seed)
    allocation = Allocation(range(30))
    under_way: list[PairAttempt] = []
    accepted: list[int] = []
    for number in range(3):
        ready(allocation, f"m{number}", rng.randint(1, 3))
    names, now = 3, 0.0
    while not allocation.is_done:
        now += 1
        new = allocation.next_attempts(now)
        for each in allocation.machines.values():
            assert sum(attempt.address == each.address for attempt in allocation.running.values()) <= each.slots
        under_way += new
        event = rng.random()
        if under_way and event < 0.5:
            attempt = under_way.pop(rng.randrange(len(under_way)))
            if allocation.accept(attempt):
                accepted.append(attempt.pair)
        elif under_way and event < 0.7:
            allocation.lose(rng.choice(under_way))  # its answer may still come
        elif under_way and event < 0.8:
            attempt = under_way.pop()
            allocation.refuse(attempt, "busy", now, is_overloaded=True)
        elif event < 0.9 and len(allocation.machines) > 1:
            allocation.leave(rng.choice(list(allocation.machines)))
        else:
            ready(allocation, f"m{names}", rng.randint(1, 3))
            names += 1
    assert sorted(accepted) == list(range(30))
