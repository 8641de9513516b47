"""The fair queue and the budgets of connections: who is served when, and at whose cost."""

from __future__ import annotations

import itertools

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from spielleiter.protocol.messages import MoveData, RoomMessage
from spielleiter.server import events
from spielleiter.server.net.fair_queue import (
    ANSWERS_PER_ADMISSION,
    BURST,
    MAX_OVERHEAD,
    OVERHEAD_INTERVAL,
    RECENT_PLAY,
    REFUSAL_MEMORY,
    SHARED_BURST,
    SHORT_WORK,
    SUSPECTS_SHARE,
    FairQueue,
    ProcessorBudget,
    WorkMeter,
)
from tests.server.harness import (
    PATIENT,
    Caller,
    ServerHarness,
    joined,
    legal_move,
    open_all_games,
    open_harness,
    playing,
)
from tests.timeouts import HANG_TIMEOUT

TASKS = 30


@pytest.mark.parametrize("debt", [0.0, 0.1])
async def test_admission_is_in_order_with_a_turn_for_others_in_between(debt: float, autojump_clock: object) -> None:
    """Also if all tasks come while the first one waits until a debt is paid."""
    fair_queue = FairQueue()
    fair_queue.note_answer(trio.current_time())
    fair_queue.charge(SHARED_BURST + debt, trio.current_time())
    admitted: list[int] = []
    has_begun = trio.Event()

    async def wait(number: int) -> None:
        await fair_queue.wait_for_turn()
        admitted.append(number)
        has_begun.set()

    async with trio.open_nursery() as nursery:
        for number in range(TASKS):
            nursery.start_soon(wait, number)
            await trio.lowlevel.checkpoint()
        assert bool(admitted) == (not debt)
        await has_begun.wait()
        while len(admitted) < TASKS:
            before = len(admitted)
            await trio.lowlevel.checkpoint()
            assert len(admitted) <= before + 1
    assert admitted == list(range(TASKS))


async def test_many_answers_admit_more_tasks_nearly_in_order() -> None:
    fair_queue = FairQueue()
    admitted: list[int] = []
    most = 4 * 5

    async def wait(number: int) -> None:
        await fair_queue.wait_for_turn()
        admitted.append(number)

    async def play() -> None:
        while True:
            for _ in range(5 * ANSWERS_PER_ADMISSION):
                fair_queue.note_answer(trio.current_time())
            await trio.lowlevel.checkpoint()
            assert fair_queue.allowance <= most, "no more than the answers since the last turn admit"

    async with trio.open_nursery() as nursery:
        nursery.start_soon(play)
        for number in range(TASKS):
            nursery.start_soon(wait, number)
            await trio.lowlevel.checkpoint()
        turns = 0
        while len(admitted) < TASKS:
            await trio.lowlevel.checkpoint()
            turns += 1
        nursery.cancel_scope.cancel()
    assert turns < TASKS / 2
    assert sorted(admitted) == list(range(TASKS))
    assert all(abs(number - position) < most for position, number in enumerate(admitted)), (
        "in order, except within a turn"
    )


async def test_tasks_can_be_cancelled_in_any_order() -> None:
    for order in itertools.permutations(range(4)):
        fair_queue = FairQueue()
        scopes = [trio.CancelScope() for _ in range(4)]

        async def wait(fair_queue: FairQueue, scope: trio.CancelScope) -> None:
            with scope:
                await fair_queue.wait_for_turn()

        async with trio.open_nursery() as nursery:
            for scope in scopes:
                nursery.start_soon(wait, fair_queue, scope)
            await trio.lowlevel.checkpoint()
            for number in order:
                scopes[number].cancel()
                fair_queue.note_answer(trio.current_time())
                await trio.lowlevel.checkpoint()
        with trio.fail_after(HANG_TIMEOUT):
            await fair_queue.wait_for_turn()


@pytest.mark.parametrize("others_play", [True, False])
async def test_admitted_tasks_use_no_more_than_their_share_while_others_play(
    others_play: bool, autojump_clock: object
) -> None:
    fair_queue = FairQueue(share=0.25)
    fair_queue.note_answer(trio.current_time())
    await trio.sleep(RECENT_PLAY)
    before = trio.current_time()
    for _ in range(400):
        if others_play:
            fair_queue.note_answer(trio.current_time())
        await fair_queue.wait_for_turn()
        fair_queue.charge(0.01, trio.current_time())
    expected = (400 * 0.01 - SHARED_BURST) / 0.25 if others_play else 0.0
    assert trio.current_time() - before == pytest.approx(expected, rel=0.01)


@pytest.mark.parametrize("debt", [0.0, 0.1])
async def test_answers_given_while_nobody_waits_or_in_a_pause_do_not_admit_many_tasks(
    debt: float, autojump_clock: object
) -> None:
    fair_queue = FairQueue(share=0.25)
    fair_queue.charge(SHARED_BURST + debt, trio.current_time())
    for _ in range(100):
        fair_queue.note_answer(trio.current_time())
    async with trio.open_nursery() as nursery:
        nursery.start_soon(fair_queue.wait_for_turn)
        if debt:
            await wait_all_tasks_blocked()
            for _ in range(100):
                fair_queue.note_answer(trio.current_time())
    assert fair_queue.allowance == 1


async def test_suspects_use_only_a_part_of_the_share_while_others_play(autojump_clock: object) -> None:
    fair_queue = FairQueue(share=0.25)
    used = {True: 0.0, False: 0.0}

    async def wait(*, is_suspect: bool) -> None:
        while trio.current_time() < 100.0:
            await fair_queue.wait_for_turn(is_suspect=is_suspect)
            now = trio.current_time()
            fair_queue.charge(0.01, now, is_suspect=is_suspect)
            used[is_suspect] += 0.01
            fair_queue.note_answer(now)

    async with trio.open_nursery() as nursery:
        for _ in range(3):
            nursery.start_soon(lambda: wait(is_suspect=True))
            nursery.start_soon(lambda: wait(is_suspect=False))
    assert used[True] + used[False] == pytest.approx(100.0 * 0.25, rel=0.05)
    assert used[True] == pytest.approx(100.0 * 0.25 * SUSPECTS_SHARE, rel=0.1)


@pytest.mark.parametrize(("overhead", "counted"), [(0.5, 1.0), (3.0, 3.0), (1000.0, MAX_OVERHEAD)])
async def test_unmeasured_cost_is_added_in_proportion(overhead: float, counted: float, autojump_clock: object) -> None:
    used = before = 0.0
    fair_queue = FairQueue(0.25, lambda: used)
    for number in range(2400):
        if number == 400:
            before = trio.current_time()
        used += overhead * OVERHEAD_INTERVAL
        fair_queue.note_answer(trio.current_time())
        await fair_queue.wait_for_turn()
        fair_queue.charge(OVERHEAD_INTERVAL, trio.current_time())
    assert trio.current_time() - before == pytest.approx(2000 * OVERHEAD_INTERVAL * counted / 0.25, rel=0.01)


@pytest.mark.parametrize(("cost", "most"), [(0.1, 1), (0.05 / 4.01, 4), (0.0, 50)])
async def test_admitted_tasks_are_expected_to_take_half_as_long_as_the_answers(
    cost: float, most: int, autojump_clock: object
) -> None:
    fair_queue = FairQueue()
    for _ in range(200):
        fair_queue.charge(cost, trio.current_time())
    await trio.sleep(200 * cost)  # no debt is left
    allowances: list[int] = []

    async def take_turn() -> None:
        await fair_queue.wait_for_turn()
        allowances.append(fair_queue.allowance)
        for _ in range(50 * ANSWERS_PER_ADMISSION):
            fair_queue.note_answer(trio.current_time(), 0.001)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(take_turn)
        nursery.start_soon(take_turn)
    assert allowances == [1, most]


async def send_at_once(harness: ServerHarness, packets: list[tuple[Caller, bytes]]) -> list[type[events.ServerEvent]]:
    """Collect the kinds of the following events, in order."""
    before = len(harness.server_events)
    async with trio.open_nursery() as nursery:
        for caller, data in packets:
            nursery.start_soon(caller.near.send_all, data)
    await wait_all_tasks_blocked()
    return [type(each) for each in harness.server_events[before:]]


async def test_a_move_does_not_wait_for_many_strangers(autojump_clock: object) -> None:
    async with open_harness(**PATIENT) as harness:
        game = await harness.game()
        strangers = [await harness.call() for _ in range(TASKS)]
        mover = (game.one, game.two)[game.room.state.seat_on_turn]
        requests = [(stranger, b"<protocol><foo/>") for stranger in strangers]
        kinds = await send_at_once(harness, [*requests, (mover, legal_move(game.room))])
    assert kinds.count(events.ProtocolBroken) == TASKS
    assert kinds[: kinds.index(events.MovePlayed)].count(events.ProtocolBroken) < 5


@pytest.mark.slow
async def test_a_move_does_not_wait_for_repeated_refused_requests(autojump_clock: object) -> None:
    """Uses an edition in which refused peers stay connected; the first refusal does not count."""
    game_type, refused_request = "swc_2027_blokus", b'<joinPrepared reservationCode="nobody"/>'
    async with open_all_games(**PATIENT) as harness:
        room_id, *players = await playing(harness, game_type)
        callers = [await joined(harness, game_type) for _ in range(TASKS)]
        await send_at_once(harness, [(each, refused_request) for each in callers])
        room = harness.server.lobby.rooms[room_id]
        legal = next(iter(room.state.generate_legal_moves()))
        move = room.edition.dialect.encode(RoomMessage(room_id, MoveData(legal)))
        mover = players[room.state.seat_on_turn]
        kinds = await send_at_once(harness, [*((each, refused_request * 20) for each in callers), (mover, move)])
    assert kinds.count(events.RequestRefused) == 20 * TASKS
    assert kinds[: kinds.index(events.MovePlayed)].count(events.RequestRefused) < 5


@pytest.mark.parametrize(
    ("processor_time", "elapsed", "used"),
    [
        (SHORT_WORK / 4, SHORT_WORK / 2, SHORT_WORK / 2),  # not read
        (0.02, 0.05, 0.02),  # other programs have used the rest
        (0.02 + SHORT_WORK, 0.02, 0.02),  # some of it was used before
    ],
)
def test_the_processor_time_is_read_for_long_work_only(processor_time: float, elapsed: float, used: float) -> None:
    now, processor, reads = 10.0, 5.0, 0

    def read() -> float:
        nonlocal reads
        reads += 1
        return processor

    meter = WorkMeter(read, lambda: now)
    for _ in range(3):
        meter.begin()
        assert meter.end() == 0.0
    assert reads == 1
    meter.begin()
    now += elapsed
    processor += processor_time
    assert meter.end() == pytest.approx(used)
    assert reads == 1 + (elapsed > SHORT_WORK)


SHARE = 0.1


class BudgetCase:
    """A connection whose processor time is set by the test."""

    def __init__(self) -> None:
        self.used = 0.0
        self.fair_queue = FairQueue()
        self.budget = ProcessorBudget(self.fair_queue, SHARE, WorkMeter(lambda: self.used, lambda: self.used))

    async def work(self, seconds: float, *, is_granted: bool = False) -> float:
        """Let the connection wait and use processor time; return how long it waited."""
        before = trio.current_time()
        await self.budget.wait()
        waited = trio.current_time() - before
        with self.budget:
            self.used += seconds
            self.budget.has_granted = is_granted
        return waited


async def test_strangers_and_for_a_while_refused_players_wait(autojump_clock: object) -> None:
    case = BudgetCase()
    assert case.budget.has_to_wait(0.0)
    case.budget.plays = True
    assert not case.budget.has_to_wait(0.0)
    case.budget.note_refusal(5.0)
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
    """Not even while it has a debt."""
    case = BudgetCase()
    case.budget.plays = True
    await case.work(BURST + 0.01)
    assert case.budget.has_to_wait(trio.current_time())
    await case.work(1.0, is_granted=True)
    before = trio.current_time()
    for _ in range(100):
        assert await case.work(BURST, is_granted=True) == 0.0
    assert trio.current_time() == before


@pytest.mark.parametrize("joins", [False, True])
async def test_accepted_packets_of_a_stranger_are_charged_even_if_they_make_it_a_player(
    joins: bool, autojump_clock: object
) -> None:
    case = BudgetCase()
    with case.budget:
        case.used += 2 * BURST
        case.budget.has_granted = True
        case.budget.plays = joins
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
    new.budget = ProcessorBudget(suspect.fair_queue, SHARE, WorkMeter(lambda: 0.0, lambda: 0.0))
    if reason == "was refused something":
        suspect.budget.note_refusal(0.0)
    else:
        await suspect.work(BURST / 2)
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
