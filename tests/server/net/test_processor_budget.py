"""Players are answered at once; strangers, refused players and those over their budget wait."""

from __future__ import annotations

import pytest
import trio

from spielleiter.server.net.fair_queue import FairQueue
from spielleiter.server.net.processor_budget import BURST, REFUSAL_MEMORY, SUSPECT_AFTER, ProcessorBudget

SHARE = 0.1


class BudgetCase:
    """A connection whose processor time is set by the test."""

    def __init__(self) -> None:
        self.used = 0.0
        self.fair_queue = FairQueue()
        self.budget = ProcessorBudget(self.fair_queue, SHARE, lambda: self.used)

    async def work(self, seconds: float, *, is_granted: bool = False) -> float:
        """Let the connection wait and use processor time; return how long it waited."""
        before = trio.current_time()
        await self.budget.wait()
        waited = trio.current_time() - before
        with self.budget:
            self.used += seconds
            self.budget.has_granted = is_granted
        return waited


async def test_a_stranger_waits_and_a_player_does_not(autojump_clock: object) -> None:
    case = BudgetCase()
    assert case.budget.has_to_wait(0.0)
    case.budget.plays = True
    assert not case.budget.has_to_wait(0.0)


async def test_a_refused_player_waits_for_a_while(autojump_clock: object) -> None:
    case = BudgetCase()
    case.budget.plays = True
    case.budget.note_refusal(5.0)
    assert case.budget.has_to_wait(5.0)
    assert case.budget.has_to_wait(5.0 + REFUSAL_MEMORY - 0.1)
    assert not case.budget.has_to_wait(5.0 + REFUSAL_MEMORY)


@pytest.mark.parametrize("plays", [False, True])
async def test_a_connection_over_its_budget_waits_until_that_is_paid_back(plays: bool, autojump_clock: object) -> None:
    case = BudgetCase()
    case.budget.plays = plays
    assert await case.work(BURST) == 0.0
    assert await case.work(0.03) == 0.0
    assert case.budget.has_to_wait(trio.current_time())
    assert await case.work(0.0) == pytest.approx(0.03 / SHARE)
    total = 0.0
    for _ in range(100):
        total += await case.work(0.01)
    assert total == pytest.approx(99 * 0.01 / SHARE)


async def test_the_unmeasured_cost_is_added(autojump_clock: object) -> None:
    case = BudgetCase()
    case.fair_queue.overhead = 4.0
    await case.work(BURST / 4 + 0.01)
    assert await case.work(0.0) == pytest.approx(4 * 0.01 / SHARE)


async def test_accepted_packets_of_a_player_are_not_charged(autojump_clock: object) -> None:
    case = BudgetCase()
    case.budget.plays = True
    for _ in range(100):
        assert await case.work(BURST, is_granted=True) == 0.0
    assert trio.current_time() == 0.0


async def test_accepted_packets_of_a_player_with_a_debt_are_not_charged(autojump_clock: object) -> None:
    case = BudgetCase()
    case.budget.plays = True
    await case.work(BURST + 0.01)
    assert case.budget.has_to_wait(trio.current_time())
    await case.work(1.0, is_granted=True)
    assert not case.budget.has_to_wait(trio.current_time())


async def test_a_join_is_charged_as_a_packet_of_a_stranger(autojump_clock: object) -> None:
    case = BudgetCase()
    with case.budget:
        case.used += 2 * BURST
        case.budget.has_granted = case.budget.plays = True
    assert case.budget.has_to_wait(trio.current_time())


async def test_accepted_packets_of_a_stranger_are_charged(autojump_clock: object) -> None:
    case = BudgetCase()
    await case.work(2 * BURST, is_granted=True)
    assert await case.work(0.0) == pytest.approx(BURST / SHARE)


async def test_administrators_never_wait_for_their_budget(autojump_clock: object) -> None:
    case = BudgetCase()
    case.budget.plays = case.budget.is_admin = True
    for _ in range(100):
        case.budget.note_refusal(trio.current_time())
        assert await case.work(BURST) == 0.0


async def test_the_cost_of_others_during_a_wait_is_not_charged(autojump_clock: object) -> None:
    case = BudgetCase()
    with case.budget:
        case.used += BURST / 2
        with case.budget.interrupted():
            case.used += 100.0
        case.used += BURST / 2
    assert await case.work(0.0) == 0.0


@pytest.mark.parametrize("reason", ["was refused something", "has used much"])
async def test_suspects_let_newcomers_go_first(reason: str, autojump_clock: object) -> None:
    suspect, new = BudgetCase(), BudgetCase()
    new.budget = ProcessorBudget(suspect.fair_queue, SHARE, lambda: 0.0)
    if reason == "was refused something":
        suspect.budget.note_refusal(0.0)
    else:
        await suspect.work(SUSPECT_AFTER + 0.001)
    order: list[str] = []

    async def wait(budget: ProcessorBudget, name: str) -> None:
        await budget.wait()
        order.append(name)

    async with trio.open_nursery() as nursery:
        for _ in range(10):
            nursery.start_soon(wait, suspect.budget, "suspect")
        await trio.lowlevel.checkpoint()
        nursery.start_soon(wait, new.budget, "new")
    assert order.index("new") < 5
    assert len(order) == 11
