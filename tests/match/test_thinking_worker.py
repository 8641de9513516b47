"""One worker process of the pool."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import cast

import psutil
import pytest
import trio

import spielleiter.match.builtin_players
from spielleiter.client.choosers import make_chooser
from spielleiter.game.api import Move, State
from spielleiter.match.builtin_players import Worker, open_thinking_pool
from tests.match.first_position import STATE
from tests.timeouts import HANG_TIMEOUT

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


async def test_what_a_strategy_prints_is_not_taken_for_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    code = """if True:
        import runpy
        from spielleiter.client import choosers
        first = choosers.CHOOSERS["first"]
        choosers.CHOOSERS = {"first": lambda state, rng, _: print("thinking", flush=True) or first(state, rng)}
        runpy.run_module("spielleiter.match.builtin_process", run_name="__main__")
    """
    monkeypatch.setattr(spielleiter.match.builtin_players, "own_python", lambda: [sys.executable, "-c", code])
    async with open_thinking_pool(max_workers=1) as pool:
        player = await pool.new_player("first", 1)
        with trio.fail_after(HANG_TIMEOUT):
            chosen = await player.choose_move(STATE, float)
    assert chosen.move == make_chooser("first", seed=1)(STATE)
    assert player.interruptions == 0


READY = """import os, pickle, struct, sys, time
def write(message):
    data = pickle.dumps(message)
    os.write(1, struct.pack("!I", len(data)) + data)
write(None)
"""
READ = "os.read(0, 1)\n"
WAIT = "time.sleep(600)\n"


@pytest.mark.parametrize(
    ("code", "how"),
    [
        (READY + READ + "os.write(1, b'some text')\n" + WAIT, "wrote something that is not an answer"),
        (READY + READ + "write('no answer')\n" + WAIT, "wrote something that is not an answer"),
        (READY + READ + "write(None)\n" + WAIT, "wrote something that is not an answer"),
        (READY + READ + "write((1, 2))\n" + WAIT, "wrote something that is not an answer"),
        (
            READY.replace("write(None)", "write(((None, 0.0, 0.0, ''), b''))") + WAIT,
            "wrote something that is not an answer",
        ),
        (READY + READ + "os.close(1)\n" + WAIT, "closed its output"),
        (READY.replace("write(None)", "os.close(0); write(None)") + WAIT, ""),
        (READY + READ + "raise SystemExit(5)\n", "ended with exit code 5"),
    ],
    ids=["text", "message", "ready-twice", "numbers", "unasked", "output-closed", "input-closed", "exit"],
)
async def test_a_worker_that_does_not_answer_as_agreed_is_replaced(
    code: str, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    starts: list[Worker] = []
    original = Worker.start

    async def start(worker: Worker) -> None:
        starts.append(worker)
        with monkeypatch.context() as patch:
            if len(starts) == 1:
                patch.setattr(spielleiter.match.builtin_players, "own_python", lambda: [sys.executable, "-c", code])
            await original(worker)

    monkeypatch.setattr(Worker, "start", start)
    monkeypatch.setattr(
        spielleiter.match.builtin_players, "_EXIT_TIMEOUT", 0.01 if how == "closed its output" else HANG_TIMEOUT
    )
    async with open_thinking_pool(max_workers=1) as pool:
        player = await pool.new_player("random", 5)
        with trio.fail_after(HANG_TIMEOUT):
            chosen = await player.choose_move(STATE, float)
    assert chosen.move == make_chooser("random", seed=5)(STATE)
    assert len(starts) == 2
    assert how in starts[0].end_text


async def test_a_worker_that_does_not_answer_an_abandoned_request_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spielleiter.match.builtin_players, "ABANDONED_TIMEOUT", 0.01)
    async with open_thinking_pool(max_workers=1) as pool:
        abandoned, other = [await pool.new_player("random", 5) for _ in range(2)]
        assert (await abandoned.choose_move(STATE, float)).move is not None
        (stopped,) = pool.workers
        psutil.Process(pid_of(stopped)).suspend()
        with trio.CancelScope() as scope:
            await abandoned.choose_move(STATE, lambda _now: scope.cancel())
        abandoned.close()
        with trio.fail_after(HANG_TIMEOUT):
            chosen = await other.choose_move(STATE, float)
        assert chosen.move == make_chooser("random", seed=5)(STATE)
        assert stopped.end_text == "did not answer for 0.01 s"


async def test_a_worker_that_does_not_read_can_be_told_to_forget_any_number_of_players() -> None:
    async with open_thinking_pool(max_workers=1) as pool:
        player = await pool.new_player("first", 1)
        await player.choose_move(STATE, float)
        psutil.Process(pid_of(*pool.workers)).suspend()
        for _ in range(2000):
            player.close()


async def test_the_time_of_a_worker_that_has_ended_is_lost_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its processor time cannot be read any more, so nothing else would say that the player is not at fault."""
    wait, ended, checked = trio.Process.wait, trio.Event(), trio.Event()

    async def wait_until_checked(process: trio.Process) -> int:
        code = await wait(process)
        ended.set()
        await checked.wait()
        return code

    moves: list[Move | None] = []

    async def think() -> None:
        moves.append((await player.choose_move(STATE, started)).move)

    def started(_now: float) -> None:
        psutil.Process(pid_of(*pool.workers)).suspend()
        begun.set()

    begun = trio.Event()
    async with open_thinking_pool(max_workers=1) as pool:
        player = await pool.new_player("first", 1)
        await player.choose_move(STATE, float)
        monkeypatch.setattr(trio.Process, "wait", wait_until_checked)
        with trio.fail_after(HANG_TIMEOUT):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(think)
                await begun.wait()
                before = trio.current_time()
                await trio.sleep(0.05)
                psutil.Process(pid_of(*pool.workers)).kill()
                await ended.wait()
                assert player.seconds_lost >= 0.04
                assert player.seconds_lost <= trio.current_time() - before + 0.05
                checked.set()
    assert moves[0] is not None
