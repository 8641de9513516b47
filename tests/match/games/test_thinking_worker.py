"""One worker process of the pool."""

from __future__ import annotations

import random
from pathlib import Path
from typing import cast

import psutil
import pytest
import trio

from spielleiter.game.api import State
from spielleiter.match.games.thinking_pool import open_thinking_pool
from spielleiter.match.games.thinking_worker import Worker
from spielleiter.protocol.current_season import DEFAULT_GAME_TYPE
from spielleiter.server.editions import choose_editions
from tests.timeouts import HANG_TIMEOUT

STATE = choose_editions({}, {})[DEFAULT_GAME_TYPE].game.new_state(random.Random(1))

pytestmark = pytest.mark.slow


def pid_of(worker: Worker) -> int:
    assert worker.process is not None
    return worker.process.pid


async def test_a_worker_never_uses_more_than_one_core() -> None:
    """It has a single thread, so binding it to a core would only keep it from moving to a free one."""
    async with open_thinking_pool(max_workers=1) as pool:
        player = await pool.new_player("level-8", 1)
        await player.choose_move(STATE, float)
        assert psutil.Process(pid_of(*pool.workers)).num_threads() == 1


async def test_workers_ignore_modules_in_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("game", "match", "client", "random", "spielleiter"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit(1)\n")
    monkeypatch.chdir(tmp_path)
    async with open_thinking_pool() as pool:
        assert (await (await pool.new_player("first", 1)).choose_move(STATE, float)).move is not None


async def test_a_failing_strategy_reports_its_exception() -> None:
    async with open_thinking_pool() as pool:
        player = await pool.new_player("first", 1)
        chosen = await player.choose_move(cast("State", None), float)
    assert chosen.move is None
    assert chosen.problem


async def test_the_time_in_which_a_worker_is_stopped_is_lost_before_it_answers() -> None:
    async with open_thinking_pool(max_workers=1) as pool:
        player = await pool.new_player("level-8", 1)
        await player.choose_move(STATE, float)  # it is ready
        process = psutil.Process(pid_of(*pool.workers))
        process.suspend()

        async def answer() -> None:
            await player.choose_move(STATE, lambda _now: started.set())

        started = trio.Event()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(answer)
            await started.wait()
            before = trio.current_time()
            await trio.sleep(0.3)
            assert 0.2 < player.seconds_lost <= trio.current_time() - before + 0.01
            process.resume()


async def test_the_time_in_which_a_worker_computes_is_not_lost() -> None:
    async with open_thinking_pool(max_workers=1) as pool:
        player = await pool.new_player("first", 1)
        await player.choose_move(STATE, float)
        worker = pool.workers[0]
        elapsed = worker._cpu_stopwatch()
        with trio.fail_after(HANG_TIMEOUT):
            while not elapsed():  # each move costs a little
                await player.choose_move(STATE, float)
        assert 0 < (elapsed() or 0) < 5


async def test_the_processor_time_of_a_worker_that_has_ended_is_unknown() -> None:
    async with open_thinking_pool(max_workers=1) as pool:
        await pool.new_player("first", 1)
        (worker,) = pool.workers
        elapsed = worker._cpu_stopwatch()
    assert elapsed() is None
