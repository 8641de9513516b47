"""The worker processes that compute the moves of built-in players."""

from __future__ import annotations

import itertools
import os
import random
import sys
from pathlib import Path
from typing import Any, cast

import psutil
import pytest
import trio
import trio.testing

from spielleiter.client.choosers import make_chooser
from spielleiter.game.api import Move, State
from spielleiter.match.errors import MachineError
from spielleiter.match.games import thinking_pool
from spielleiter.match.games.thinking_pool import (
    MAX_DEATHS,
    ChosenMove,
    PoolPlayer,
    ThinkingPool,
    _Request,
    _Worker,
    open_thinking_pool,
)
from spielleiter.protocol.current_season import DEFAULT_GAME_TYPE
from spielleiter.server.editions import choose_editions
from tests.timeouts import HANG_TIMEOUT

STATE = choose_editions({}, {})[DEFAULT_GAME_TYPE].game.new_state(random.Random(1))

pytestmark = pytest.mark.slow


async def choose(player: PoolPlayer) -> Move | None:
    return (await player.choose_move(STATE, float)).move


def processes(pool: ThinkingPool) -> list[trio.Process]:
    return [worker._process for worker in pool._workers if worker._process is not None]


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
        with trio.fail_after(HANG_TIMEOUT):
            while len(pool._queue._idle) < 2:  # noqa: ASYNC110 - until two processes are ready
                await trio.sleep(0.01)
        for turn in range(4):
            busy = pool._workers[turn % 2]
            pool._queue.remove(busy)
            assert await choose(player) == chooser(STATE)
            assert player.worker is pool._workers[(turn + 1) % 2]
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
        assert len(pool._workers) == 1
    assert started == [each.started_at for each in chosen]
    for previous, following in itertools.pairwise(chosen):
        assert following.started_at >= previous.started_at + previous.seconds


async def test_there_are_no_more_workers_than_allowed() -> None:
    async with open_thinking_pool(max_workers=2) as pool:
        for seed in range(5):
            await pool.new_player("first", seed)
        assert len(processes(pool)) == 2


async def test_a_worker_never_uses_more_than_one_core() -> None:
    """It has a single thread, so binding it to a core would only keep it from moving to a free one."""
    async with open_thinking_pool(max_workers=1) as pool:
        player = await pool.new_player("level-8", 1)
        await choose(player)
        (process,) = processes(pool)
        assert psutil.Process(process.pid).num_threads() == 1


async def test_a_cancelled_request_is_dropped_and_its_worker_goes_on() -> None:
    async with open_thinking_pool(max_workers=1) as pool:
        given_up, other = [await pool.new_player("random", 5) for _ in range(2)]
        with trio.CancelScope() as scope:
            await given_up.choose_move(STATE, lambda _now: scope.cancel())
        assert scope.cancelled_caught
        given_up.close()
        assert await choose(other) == make_chooser("random", seed=5)(STATE)


async def test_workers_ignore_modules_in_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("game", "match", "client", "random", "spielleiter"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit(1)\n")
    monkeypatch.chdir(tmp_path)
    async with open_thinking_pool() as pool:
        assert await choose(await pool.new_player("first", 1)) is not None


async def test_a_failing_strategy_reports_its_exception() -> None:
    async with open_thinking_pool() as pool:
        player = await pool.new_player("first", 1)
        chosen = await player.choose_move(cast("State", None), float)
    assert chosen.move is None
    assert chosen.problem


def kill(worker: _Worker | None) -> None:
    assert worker is not None
    assert worker._process is not None
    worker._process.kill()


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
            for _ in range(MAX_DEATHS):
                started = [trio.Event() for _ in players]
                moves: list[Move | None] = []

                async def think(player: PoolPlayer, started: trio.Event, moves: list[Move | None] = moves) -> None:
                    moves.append((await player.choose_move(STATE, lambda _now: started.set())).move)

                async with trio.open_nursery() as nursery:
                    for player, event in zip(players, started, strict=True):
                        nursery.start_soon(think, player, event)
                    await started[0].wait()
                    for worker in list(pool._workers):
                        kill(worker)
                assert len(set(moves)) == 1
        assert len(pool._workers) == 2


async def test_a_worker_that_is_killed_before_it_is_ready_is_replaced() -> None:
    async with open_thinking_pool(max_workers=1) as pool:
        player = await pool.new_player("random", 5)
        kill(pool._workers[0])
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
    monkeypatch.setattr(thinking_pool, "own_python", lambda: [sys.executable, "-I", "-S", "-c", "raise SystemExit(3)"])
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
            patch.setattr(thinking_pool, "own_python", lambda: ["/does/not/exist"])
            with pytest.raises(OSError, match="exist"):
                await pool.new_player("first", 1)
        with trio.fail_after(HANG_TIMEOUT):
            assert await choose(await pool.new_player("first", 1)) is not None


async def test_a_replacement_that_cannot_be_started_is_a_machine_error(monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_thinking_pool(max_workers=1) as pool:
        player = await pool.new_player("first", 1)
        monkeypatch.setattr(thinking_pool, "own_python", lambda: ["/does/not/exist"])
        kill(pool._workers[0])
        with trio.fail_after(HANG_TIMEOUT), pytest.raises(MachineError, match="the last one could not be started: "):
            await choose(player)


async def test_the_time_of_workers_that_ended_is_not_that_of_the_move(autojump_clock: trio.testing.MockClock) -> None:
    player = PoolPlayer(cast("ThinkingPool", None), 1, "first", 1)
    request = player._request = _Request(player, STATE, lambda _now: None)
    assert player.seconds_lost == 0
    await trio.sleep(1)
    request.begin()
    await trio.sleep(2)
    assert player.seconds_lost == 0
    request.interrupt()
    await trio.sleep(4)
    assert player.seconds_lost == 6
    request.begin()
    await trio.sleep(8)
    assert player.seconds_lost == 6


async def test_the_time_in_which_a_worker_does_not_compute_is_lost(autojump_clock: trio.testing.MockClock) -> None:
    player = PoolPlayer(cast("ThinkingPool", None), 1, "first", 1)
    request = player._request = _Request(player, STATE, lambda _now: None)
    request.begin()
    request.chosen = ChosenMove(None, 0.0, 3.0, 1.0)
    assert player.seconds_lost == 2
    request.chosen = ChosenMove(None, 0.0, 1.0, 1.001)  # the two clocks differ a little
    assert player.seconds_lost == 0
