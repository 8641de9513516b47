"""The worker processes that compute the moves of built-in players."""

from __future__ import annotations

import itertools
import os
import sys
from typing import Any, cast

import pytest
import trio
import trio.testing

import spielleiter.match.builtin_players
from spielleiter.client.choosers import make_chooser
from spielleiter.common.errors import MachineError
from spielleiter.game.api import Move, State
from spielleiter.match.builtin_players import MAX_DEATHS, PoolPlayer, ThinkingPool, Worker, open_thinking_pool
from tests.match.first_position import STATE
from tests.timeouts import HANG_TIMEOUT

pytestmark = pytest.mark.slow

EXIT_AT_ONCE = [sys.executable, "-I", "-S", "-c", "raise SystemExit(3)"]


@pytest.fixture(autouse=True)
def short_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spielleiter.match.builtin_players, "RESTART_PAUSE", 0.05)


async def choose(player: PoolPlayer) -> Move | None:
    return (await player.choose_move(STATE, float)).move


def processes(pool: ThinkingPool) -> list[trio.Process]:
    return [worker.process for worker in pool.workers if worker.process is not None]


async def wait_for_idle(pool: ThinkingPool, count: int) -> None:
    """Wait until so many workers are ready."""
    with trio.fail_after(HANG_TIMEOUT):
        while len(pool._queue._idle) < count:  # noqa: ASYNC110 - until the processes are ready
            await trio.sleep(0.01)


async def test_a_player_chooses_the_same_moves_whatever_other_players_do() -> None:
    chooser = make_chooser("random", seed=5)
    expected = [chooser(STATE) for _ in range(3)]
    assert len(set(expected)) > 1
    async with open_thinking_pool() as pool:
        players = [await pool.new_player("random", 5) for _ in range(5)]
        assert [[await choose(player) for player in players] for _ in range(3)] == [[move] * 5 for move in expected]


async def test_a_player_that_moves_to_another_worker_continues_with_its_generator() -> None:
    chooser = make_chooser("random", seed=5)
    async with open_thinking_pool(max_workers=2) as pool:
        player, _ = [await pool.new_player("random", 5) for _ in range(2)]
        await wait_for_idle(pool, 2)
        for turn in range(4):
            busy = pool.workers[turn % 2]
            pool._queue.remove(busy)
            assert await choose(player) == chooser(STATE)
            assert player.worker is pool.workers[(turn + 1) % 2]
            pool._queue.set_idle(busy)


async def test_the_clock_of_a_request_starts_when_a_worker_begins_with_it() -> None:
    async with open_thinking_pool(max_workers=1) as pool:
        players = [await pool.new_player("random", seed) for seed in range(3)]
        started: list[float] = []
        chosen = []

        async def think(player: PoolPlayer) -> None:
            chosen.append(await player.choose_move(STATE, started.append))

        async with trio.open_nursery() as nursery:
            for player in players:
                nursery.start_soon(think, player)
        assert len(pool.workers) == 1
    assert started == [each.started_at for each in chosen]
    for previous, following in itertools.pairwise(chosen):
        assert following.started_at >= previous.started_at + previous.seconds


async def test_there_are_no_more_workers_than_allowed() -> None:
    async with open_thinking_pool(max_workers=2) as pool:
        for seed in range(5):
            await pool.new_player("first", seed)
        assert len(processes(pool)) == 2


async def test_a_cancelled_request_is_dropped_and_its_worker_goes_on() -> None:
    async with open_thinking_pool(max_workers=1) as pool:
        given_up, other = [await pool.new_player("random", 5) for _ in range(2)]
        with trio.CancelScope() as scope:
            await given_up.choose_move(STATE, lambda _now: scope.cancel())
        assert scope.cancelled_caught
        given_up.close()
        assert await choose(other) == make_chooser("random", seed=5)(STATE)


def kill(worker: object) -> None:
    assert isinstance(worker, Worker)
    assert worker.process is not None
    worker.process.kill()


async def test_the_move_of_a_worker_that_is_killed_is_computed_again() -> None:
    chooser = make_chooser("random", seed=5)
    expected = [chooser(STATE) for _ in range(4)]
    started: list[float] = []
    async with open_thinking_pool(max_workers=1) as pool:
        player = await pool.new_player("random", 5)

        def kill_at_first(now: float) -> None:
            started.append(now)
            if len(started) in {1, 3}:
                kill(player.worker)

        with trio.fail_after(HANG_TIMEOUT):
            chosen = [await player.choose_move(STATE, kill_at_first) for _ in expected]
    assert [each.move for each in chosen] == expected
    assert [each.started_at for each in chosen] == started  # the clock does not start again
    assert player.interruptions == 2


async def test_all_workers_are_replaced_if_they_are_killed_together() -> None:
    async with open_thinking_pool(max_workers=2) as pool:
        players = [await pool.new_player("random", 5) for _ in range(4)]
        with trio.fail_after(HANG_TIMEOUT):
            for _ in range(MAX_DEATHS - 1):
                started = [trio.Event() for _ in players]
                moves: list[Move | None] = []

                async def think(player: PoolPlayer, started: trio.Event, moves: list[Move | None] = moves) -> None:
                    moves.append((await player.choose_move(STATE, lambda _now: started.set())).move)

                async with trio.open_nursery() as nursery:
                    for player, event in zip(players, started, strict=True):
                        nursery.start_soon(think, player, event)
                    await started[0].wait()
                    for worker in list(pool.workers):
                        kill(worker)
                assert len(set(moves)) == 1
        await wait_for_idle(pool, 2)


async def test_a_worker_that_is_killed_before_it_is_ready_is_replaced() -> None:
    async with open_thinking_pool(max_workers=1) as pool:
        player = await pool.new_player("random", 5)
        kill(pool.workers[0])
        with trio.fail_after(HANG_TIMEOUT):
            assert await choose(player) == make_chooser("random", seed=5)(STATE)
    assert player.interruptions == 0


async def test_a_request_that_was_given_up_is_not_repeated() -> None:
    async with open_thinking_pool(max_workers=1) as pool:
        given_up, other = [await pool.new_player("random", 5) for _ in range(2)]

        def kill_and_cancel(_now: float) -> None:
            kill(given_up.worker)
            scope.cancel()

        with trio.CancelScope() as scope:
            await given_up.choose_move(STATE, kill_and_cancel)
        with trio.fail_after(HANG_TIMEOUT):
            assert await choose(other) == make_chooser("random", seed=5)(STATE)
        assert given_up.interruptions == 0


async def test_workers_that_end_again_and_again_are_a_machine_error_for_all_who_wait(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(spielleiter.match.builtin_players, "own_python", lambda: EXIT_AT_ONCE)
    failed = 0

    async def expect_failure(player: PoolPlayer) -> None:
        nonlocal failed
        with pytest.raises(MachineError, match=r"the last one ended with exit code 3\); see whether"):
            await choose(player)
        failed += 1

    async with open_thinking_pool(max_workers=2) as pool:
        players = [await pool.new_player("first", seed) for seed in range(3)]
        with trio.fail_after(HANG_TIMEOUT):
            async with trio.open_nursery() as nursery:
                for player in players:
                    nursery.start_soon(expect_failure, player)
            await expect_failure(await pool.new_player("first", 4))
    assert failed == 4


class Lethal:
    """A position that ends each process that reads it."""

    def __reduce__(self) -> tuple[Any, ...]:
        return os._exit, (4,)


async def test_a_request_that_ends_every_worker_is_not_repeated_for_ever() -> None:
    """Others may get answers in the meantime, so the workers do not end in a row."""
    async with open_thinking_pool(max_workers=1) as pool:
        player = await pool.new_player("first", 1)
        await choose(player)
        with trio.fail_after(HANG_TIMEOUT), pytest.raises(MachineError, match="exit code 4"):
            await player.choose_move(cast("State", Lethal()), lambda _now: None)
    assert player.interruptions == MAX_DEATHS


async def test_a_worker_that_could_not_be_started_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_thinking_pool(max_workers=1) as pool:
        with monkeypatch.context() as patch:
            patch.setattr(spielleiter.match.builtin_players, "own_python", lambda: ["/does/not/exist"])
            with pytest.raises(OSError, match="exist"):
                await pool.new_player("first", 1)
        with trio.fail_after(HANG_TIMEOUT):
            assert await choose(await pool.new_player("first", 1)) is not None


async def test_a_replacement_that_cannot_be_started_is_a_machine_error(monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_thinking_pool(max_workers=1) as pool:
        player = await pool.new_player("first", 1)
        monkeypatch.setattr(spielleiter.match.builtin_players, "own_python", lambda: ["/does/not/exist"])
        kill(pool.workers[0])
        with trio.fail_after(HANG_TIMEOUT), pytest.raises(MachineError, match="the last one could not be started: "):
            await choose(player)


async def test_a_worker_that_cannot_be_replaced_is_given_up_while_the_others_go_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    starts = 0

    def own_python() -> list[str]:
        nonlocal starts
        starts += 1
        return EXIT_AT_ONCE

    async with open_thinking_pool(max_workers=2) as pool:
        players = [await pool.new_player("random", 5) for _ in range(2)]
        await wait_for_idle(pool, 2)
        monkeypatch.setattr(spielleiter.match.builtin_players, "own_python", own_python)
        killed, healthy = pool.workers
        kill(killed)
        with trio.fail_after(HANG_TIMEOUT):
            while pool._kept_workers > 1:  # the answers of the other one in the meantime change nothing
                for player in players:
                    assert await choose(player) is not None
        assert starts == MAX_DEATHS - 1
        # a new player does not start it again
        assert await choose(await pool.new_player("random", 5)) is not None
        assert starts == MAX_DEATHS - 1
        assert pool.workers == [healthy]


async def test_there_is_a_pause_before_a_replacement_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spielleiter.match.builtin_players, "RESTART_PAUSE", HANG_TIMEOUT)
    starts = trio.Event()

    def own_python() -> list[str]:
        starts.set()
        return EXIT_AT_ONCE

    async with open_thinking_pool(max_workers=1) as pool:
        await pool.new_player("random", 5)
        await wait_for_idle(pool, 1)
        monkeypatch.setattr(spielleiter.match.builtin_players, "own_python", own_python)
        kill(pool.workers[0])
        with trio.fail_after(HANG_TIMEOUT):
            await starts.wait()  # the first time without a pause
            starts = trio.Event()
            while pool.workers:  # noqa: ASYNC110 - until it has ended
                await trio.sleep(0.01)
        with trio.move_on_after(0.2) as waiting:
            await starts.wait()
        assert waiting.cancelled_caught


async def start_for_ever(_worker: Worker) -> None:
    await trio.sleep_forever()


async def test_a_new_player_that_is_cancelled_leaves_the_place_of_its_worker_free(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with open_thinking_pool(max_workers=1) as pool:
        with monkeypatch.context() as patch, trio.move_on_after(0) as scope:
            patch.setattr(Worker, "start", start_for_ever)
            await pool.new_player("first", 1)
        assert scope.cancelled_caught
        with trio.fail_after(HANG_TIMEOUT):
            assert await choose(await pool.new_player("first", 1)) is not None


@pytest.mark.parametrize("is_early", [True, False])
async def test_a_player_that_relied_on_a_worker_that_could_not_be_started_gets_another_one(
    is_early: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One worker is allowed, and a second player comes while the first one waits for it."""
    start, fail, moves = Worker.start, trio.Event(), []

    async def fail_to_start(_worker: Worker) -> None:
        monkeypatch.setattr(Worker, "start", start)
        await fail.wait()
        raise OSError(12, "Cannot allocate memory")

    async def expect_failure() -> None:
        with pytest.raises(OSError, match="memory"):
            await pool.new_player("random", 5)

    async def think() -> None:
        moves.append(await choose(other))

    monkeypatch.setattr(Worker, "start", fail_to_start)
    with trio.fail_after(HANG_TIMEOUT):
        async with open_thinking_pool(max_workers=1) as pool, trio.open_nursery() as nursery:
            nursery.start_soon(expect_failure)
            await trio.testing.wait_all_tasks_blocked()
            other = await pool.new_player("random", 5)
            if is_early:
                nursery.start_soon(think)
                await trio.testing.wait_all_tasks_blocked()
                fail.set()
            else:
                fail.set()
                await trio.testing.wait_all_tasks_blocked()
                nursery.start_soon(think)
            while not moves:  # noqa: ASYNC110 - until it has an answer
                await trio.sleep(0.01)
    assert moves == [make_chooser("random", seed=5)(STATE)]
