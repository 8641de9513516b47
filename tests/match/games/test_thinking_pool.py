"""The worker processes that compute the moves of built-in players."""

from __future__ import annotations

import itertools
import os
import random
import signal
import sys
from pathlib import Path
from typing import cast

import psutil
import pytest
import trio

from spielleiter.client.choosers import make_chooser
from spielleiter.game.api import Move, State
from spielleiter.match.errors import MachineError
from spielleiter.match.games.thinking_pool import PoolPlayer, ThinkingPool, open_thinking_pool
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


async def test_a_worker_that_ends_is_a_machine_error_for_all_who_wait() -> None:
    if sys.platform == "win32":
        pytest.skip("Windows has nothing like it")
    async with open_thinking_pool(max_workers=1) as pool:
        players = [await pool.new_player("first", seed) for seed in range(2)]
        await choose(players[0])
        (process,) = processes(pool)
        os.kill(process.pid, signal.SIGKILL)
        for player in players:
            with pytest.raises(MachineError, match="built-in players has ended"):
                await choose_moves_for_ever(player)
            player.close()


async def choose_moves_for_ever(player: PoolPlayer) -> None:
    with trio.fail_after(HANG_TIMEOUT):
        while True:
            await choose(player)
