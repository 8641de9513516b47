"""Built-in players in a match, and the worker processes that compute their moves."""

from __future__ import annotations

import io
import itertools
import os
import pickle
import random
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, cast

import psutil
import pytest
import trio
import trio.testing

from spielleiter.common.errors import MachineError
from spielleiter.game.api import Move, State
from spielleiter.match import builtin_players
from spielleiter.match.builtin_players import (
    MAX_DEATHS,
    RESTART_PAUSE,
    PoolPlayer,
    ThinkTime,
    builtin_strategy,
    open_thinking_pool,
)
from spielleiter.match.builtin_process import HEAD, encode, serve, set_generator, state_of
from spielleiter.match.game_folder import REPLAY
from spielleiter.match.match_server import open_match_server
from spielleiter.match.plan import Entrant
from spielleiter.match.referee import play_game
from spielleiter.match.verdict import Verdict
from spielleiter.players.strategies import make_chooser
from spielleiter.protocol.current_season import DEFAULT_GAME_TYPE
from spielleiter.server.editions import choose_editions
from tests.match.players import LIGHT
from tests.match.refereed import late_position, play, setup_of
from tests.timeouts import HANG_TIMEOUT

COMMAND = builtin_players.worker_command()
STATE: Final = choose_editions({}, {})[DEFAULT_GAME_TYPE].game.new_state(random.Random(1))
"""The first position of a game of the current season."""


async def choose(player: PoolPlayer) -> Move | None:
    with trio.fail_after(HANG_TIMEOUT):
        return (await player.choose_move(STATE, float)).move


def random_moves(count: int) -> list[Move]:
    """Return the moves that the strategy `random` with the seed 5 chooses in the first position."""
    chooser = make_chooser("random", seed=5)
    return [chooser(STATE) for _ in range(count)]


def workers() -> list[psutil.Process]:
    """Return the workers that this process has started."""
    return [each for each in psutil.Process().children() if COMMAND[-1] in each.cmdline()]


def start_workers(monkeypatch: pytest.MonkeyPatch, commands: Callable[[int], list[str]]) -> None:
    """Let `commands` give the command of each worker by its number, from 1."""
    numbers = itertools.count(1)
    monkeypatch.setattr(builtin_players, "worker_command", lambda: commands(next(numbers)))


@pytest.mark.slow
async def test_players_choose_the_same_moves_whichever_workers_compute_them() -> None:
    """The clock of a request starts when a worker begins with it, and no more workers run than allowed."""
    expected = random_moves(3)
    assert len(set(expected)) > 1
    moves: list[list[Move | None]] = []
    started: list[float] = []
    chosen = []

    async def think(player: PoolPlayer) -> None:
        own = [await player.choose_move(STATE, started.append) for _ in expected]
        moves.append([each.move for each in own])
        chosen.extend(own)

    async with open_thinking_pool(max_workers=2) as pool:
        async with trio.open_nursery() as nursery:
            for _ in range(5):
                nursery.start_soon(think, PoolPlayer(pool, "random", 5))
        assert len(workers()) == 2
    assert moves == [expected] * 5
    assert not workers()
    assert sorted(started) == sorted(each.started_at for each in chosen)
    in_order = sorted(chosen, key=lambda each: each.started_at)
    for one, following in zip(in_order, in_order[2:], strict=False):  # two workers
        assert following.started_at >= one.started_at + min(each.seconds for each in chosen)


@pytest.mark.slow
async def test_the_move_of_a_worker_that_is_killed_is_computed_again() -> None:
    started: list[float] = []

    def kill_at_first(now: float) -> None:
        started.append(now)
        if len(started) in {1, 3}:
            workers()[0].kill()

    async with open_thinking_pool(max_workers=1) as pool:
        player = PoolPlayer(pool, "random", 5)
        with trio.fail_after(HANG_TIMEOUT):
            chosen = [await player.choose_move(STATE, kill_at_first) for _ in range(4)]
        assert player.interruptions == 2
        (worker,) = workers()
        worker.kill()  # while it has nothing to do
        worker.wait(HANG_TIMEOUT)
        assert [*(each.move for each in chosen), await choose(player)] == random_moves(5)
    assert [each.started_at for each in chosen] == started  # the clock does not start again
    assert player.interruptions == 2


@pytest.mark.slow
async def test_a_request_that_is_given_up_takes_its_worker_with_it_even_one_that_hangs() -> None:
    def hang_and_cancel(_now: float) -> None:
        (worker,) = workers()
        worker.suspend()
        scope.cancel()

    async with open_thinking_pool(max_workers=1) as pool:
        given_up = PoolPlayer(pool, "random", 5)
        with trio.CancelScope() as scope:
            await given_up.choose_move(STATE, hang_and_cancel)
        assert scope.cancelled_caught
        assert not workers()
        assert [await choose(PoolPlayer(pool, "random", 5))] == random_moves(1)


class Lethal:
    """A position that ends each process that reads it."""

    def __reduce__(self) -> tuple[Any, ...]:
        return os._exit, (4,)


@pytest.mark.slow
async def test_a_request_that_ends_every_worker_is_not_repeated_for_ever() -> None:
    """Others may get answers in the meantime, so the workers do not end in a row."""
    async with open_thinking_pool(max_workers=1, restart_pause=0) as pool:
        player = PoolPlayer(pool, "random", 5)
        moves = [await choose(player)]
        with trio.fail_after(HANG_TIMEOUT), pytest.raises(MachineError, match="the last one ended with exit code 4"):
            await player.choose_move(cast("State", Lethal()), lambda _now: None)
        assert player.interruptions == MAX_DEATHS
        moves.append(await choose(player))
    assert moves == random_moves(2)


READY = """import os, pickle, struct, sys, time
def write(message):
    data = pickle.dumps(message)
    os.write(1, struct.pack("!I", len(data)) + data)
write(None)
"""
READ = "os.read(0, 1)\n"
WAIT = "time.sleep(600)\n"


def script(code: str) -> list[str]:
    return [sys.executable, "-I", "-S", "-c", code]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "how"),
    [
        (["/does/not/exist"], "could not be started: "),
        (script("raise SystemExit(3)"), "ended with exit code 3"),
        (script(READY + READ + "raise SystemExit(5)\n"), "ended with exit code 5"),
        (script(READY + READ + "os.write(1, b'some text')\n" + WAIT), "wrote something that is not an answer"),
        (script(READY + READ + "os.write(1, b'\\0\\0\\0\\3abc')\n" + WAIT), "wrote something that is not an answer"),
        (script(READY + READ + "write('no answer')\n" + WAIT), "wrote something that is not an answer"),
        (script(READY.replace("write(None)", "write((1, 2))") + WAIT), "wrote something that is not an answer"),
        (script(READY + READ + "os.close(1)\n" + WAIT), "closed its output"),
        (script(READY.replace("write(None)", "os.close(0); write(None)") + WAIT), "ended"),
    ],
    ids=["not-there", "at-once", "exit", "text", "no-pickle", "message", "unasked", "output-closed", "input-closed"],
)
async def test_workers_that_do_not_answer_as_agreed_are_replaced_and_given_up_in_the_end(
    command: list[str], how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    start_workers(monkeypatch, lambda number: COMMAND if number == 2 and how[-1] == "3" else command)
    async with open_thinking_pool(max_workers=1, restart_pause=0) as pool:
        if how[-1] == "3":  # one of the rows has a worker between that does answer
            assert [await choose(PoolPlayer(pool, "random", 5))] == random_moves(1)
            workers()[0].kill()
        with pytest.raises(MachineError, match=how):
            await choose(PoolPlayer(pool, "random", 5))
        assert not workers()


@pytest.mark.slow
async def test_there_is_a_pause_before_a_replacement_is_replaced(
    monkeypatch: pytest.MonkeyPatch, autojump_clock: trio.testing.MockClock
) -> None:
    """The workers cannot even be started, so no time passes but the pauses."""
    times: list[float] = []

    def command(_number: int) -> list[str]:
        times.append(trio.current_time())
        return ["/does/not/exist"]

    start_workers(monkeypatch, command)
    async with open_thinking_pool() as pool:
        with pytest.raises(MachineError):
            await PoolPlayer(pool, "random", 5).choose_move(STATE, float)
    pauses = [following - one for one, following in itertools.pairwise(times)]
    assert pauses == pytest.approx([0, *(MAX_DEATHS - 2) * [RESTART_PAUSE]])


@pytest.mark.slow
async def test_a_worker_never_uses_more_than_one_core_and_ignores_modules_in_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has a single thread, so binding it to a core would only keep it from moving to a free one."""
    for name in ("game", "match", "client", "random", "spielleiter"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit(1)\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SECRET", "of the match")
    async with open_thinking_pool(max_workers=1) as pool:
        assert (await PoolPlayer(pool, "level-8", 1).choose_move(late_position(), float)).move is not None
        (worker,) = workers()
        assert worker.num_threads() == 1
        assert "SECRET" not in worker.environ()  # a program can read them


def changed_worker(change: str) -> list[str]:
    """A worker whose choosers are changed by `change`, an expression of `name` and `choose`."""
    code = f"""if True:
        import os, runpy
        from dataclasses import replace
        from spielleiter.players import strategies
        def changed(name, choose):
            return lambda state, rng, budget: ({change}) or choose(state, rng, budget)
        kinds = [kind for kind in strategies.STRATEGIES.values() if kind.choose]
        strategies.STRATEGIES = {{kind.name: replace(kind, choose=changed(kind.name, kind.choose)) for kind in kinds}}
        runpy.run_module("spielleiter.match.builtin_process", run_name="__main__")
    """
    return [sys.executable, "-c", code]


@pytest.mark.slow
async def test_what_a_strategy_prints_is_not_taken_for_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    start_workers(monkeypatch, lambda _: changed_worker("print('thinking', flush=True)"))
    async with open_thinking_pool(max_workers=1) as pool:
        player = PoolPlayer(pool, "first", 1)
        assert await choose(player) == make_chooser("first", seed=1)(STATE)
    assert player.interruptions == 0


# -- the time that the machine took ------------------------------------------------------------------------------------


@pytest.mark.slow
async def test_the_time_in_which_a_worker_is_stopped_or_ended_is_lost() -> None:
    async with open_thinking_pool(max_workers=1) as pool:
        player = PoolPlayer(pool, "level-8", 1)

        def stop(_now: float) -> None:
            workers()[0].suspend()
            stopped.set()

        stopped = trio.Event()
        with trio.fail_after(HANG_TIMEOUT):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(player.choose_move, STATE, stop)
                await stopped.wait()
                while player.seconds_lost < 0.1:  # noqa: ASYNC110 - it grows with the time
                    await trio.sleep(0.01)
                workers()[0].kill()
                while not player.interruptions:
                    await trio.sleep(0.01)
                    assert player.seconds_lost >= 0.1
                nursery.cancel_scope.cancel()


@pytest.mark.parametrize(
    ("cpu_seconds", "while_thinking", "in_the_end"), [(0.5, 8.5, 2.5), (3.0, 6.0, 0), (3.01, 6.0, 0), (None, 6.0, 0)]
)
def test_lost_is_what_went_to_ended_workers_and_in_which_the_present_one_does_not_compute(
    cpu_seconds: float | None, while_thinking: float, in_the_end: float
) -> None:
    time = ThinkTime()
    assert time.seconds_lost(1) == 0
    assert time.begin(1, lambda: 2.0) == 1
    assert time.seconds_lost(3) == 0
    time.interrupt()
    assert time.seconds_lost(7) == 6
    assert time.begin(7, lambda: cpu_seconds) == 1
    assert time.seconds_lost(10) == while_thinking
    # the think time is that of the worker that answered, so nothing may be subtracted from it for the others
    time.end(3.0, 3.0 if cpu_seconds is None else cpu_seconds)
    assert time.seconds_lost(20) == in_the_end


# -- the process -------------------------------------------------------------------------------------------------------


def answers_to(*requests: Any) -> Iterator[Any]:
    written = io.BytesIO()
    serve(io.BytesIO(b"".join(map(encode, requests))), written)
    written.seek(0)
    while head := written.read(HEAD.size):
        yield pickle.loads(written.read(HEAD.unpack(head)[0]))


def test_a_failure_affects_one_move_only_and_a_search_without_time_is_reported_as_cut() -> None:
    state = STATE
    for _ in range(8):
        state = state.play(make_chooser("first", seed=1)(state))
    requests = ("first", 1, state, 1.8), ("first", 1, None, 1.8), ("first", 1, state, 1.8), ("level-8", 1, state, 0.0)
    ready, first, failed, second, cut = answers_to(*requests)
    assert ready is None
    assert first[0] == second[0] is not None
    assert first[1] >= 0 <= first[2]
    assert first[3:5] == ("", False)
    assert failed[0] is None
    assert failed[3].startswith("AttributeError: ")
    assert (cut[0] is not None, cut[4]) == (True, True)


def test_a_generator_continues_from_its_state() -> None:
    own, other = random.Random(5), random.Random(6)
    own.gauss(0, 1)
    set_generator(other, state_of(own))
    assert [own.gauss(0, 1), own.random()] == [other.gauss(0, 1), other.random()]
    set_generator(other, 5)
    assert other.random() == random.Random(5).random()


@pytest.mark.parametrize(
    ("command", "strategy"),
    [
        ("builtin:level-8", "level-8"),
        ("builtin:level-9@0.5", "level-9@0.5"),
        ("builtin:silent", None),
        ("builtin:nobody", None),
        ("greedy", None),
    ],
)
def test_well_behaved_strategies_need_no_process(command: str, strategy: str | None) -> None:
    assert builtin_strategy(command) == strategy


# -- whole games -------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.usefixtures("players")
async def test_the_same_plan_gives_the_same_game(tmp_path: Path) -> None:
    setup = setup_of("builtin:greedy", f"{LIGHT} first", run_id=str(tmp_path))
    replays = []
    with trio.fail_after(HANG_TIMEOUT):
        async with open_match_server(setup) as match_server:
            for name in ("a", "b"):
                record = await play_game(setup, setup.plan()[0], tmp_path / name, match_server=match_server)
                assert record.verdict == Verdict.REGULAR
                assert all(seconds > 0 for seconds in record.cpu_seconds)
                assert record.exit_codes[0] is None
                replays.append((tmp_path / name / record.folder / REPLAY).read_bytes())
    assert replays[0] == replays[1]


@pytest.mark.slow
async def test_killed_workers_change_nothing_in_the_game(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    replays, remarks = [], []
    for folder, numbers in ((tmp_path / "a", ()), (tmp_path / "b", (1, 3, 6))):
        folder.mkdir()
        # they end when they compute a move with one of these numbers, counted from 1, in all of them
        count = f"open({str(folder / 'moves')!r}, 'ab', 0)"
        change = f"[f for f in [{count}] if f.write(b'.') and f.tell() in {numbers!r} and os._exit(3)]"
        start_workers(monkeypatch, lambda _, change=change: changed_worker(change))  # type: ignore[misc]
        record = await play(folder, "builtin:greedy", "builtin:random")
        assert record.verdict == Verdict.REGULAR
        replays.append((folder / record.folder / REPLAY).read_bytes())
        remarks.append(record.remarks)
    assert replays[0] == replays[1]
    again = "the process that computed its move ended, and another one computed the move again"
    assert remarks == [((), ()), ((f"2 times {again}",), (f"1 time {again}",))]


@pytest.mark.slow
async def test_a_time_limit_that_passes_because_a_worker_was_killed_is_not_the_players_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The processes in place of the one that ended are never ready."""
    start_workers(monkeypatch, lambda number: script(READY + READ if number == 1 else "import time; " + WAIT))
    limits = {"soft_timeout": 0.3, "hard_timeout": 0.3}
    record = await play(tmp_path, "builtin:first", "builtin:first", server_options=limits)
    assert (record.verdict, record.is_counted) == (Verdict.OVERLOAD, False)


@pytest.mark.slow
async def test_cut_searches_are_in_the_record(tmp_path: Path) -> None:
    """The limit of one player is so short that each of its searches is cut; the other one has none."""
    hurried = Entrant("new", "builtin:level-8", soft_timeout=0.0001)
    record = await play(tmp_path, hurried, Entrant("old", "builtin:level-5", can_timeout=False))
    assert any("ended early" in remark for remark in record.remarks[0])
    assert record.remarks[1] == ()
