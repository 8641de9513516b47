"""Built-in players in a match."""

from __future__ import annotations

import os
import random
import signal
import sys
from pathlib import Path
from typing import cast

import pytest
import trio

from spielleiter.game.api import State
from spielleiter.match.errors import MachineError
from spielleiter.match.games.builtin_players import WorkerPlayer, builtin_strategy, open_worker_pool
from spielleiter.match.games.match_server import open_match_server
from spielleiter.match.games.referee import play_game
from spielleiter.match.records.game_files import REPLAY
from spielleiter.match.records.game_record import Verdict
from spielleiter.match.setup import Entrant
from spielleiter.protocol.current_season import DEFAULT_GAME_TYPE
from spielleiter.server.editions import choose_editions
from tests.interpreter import PYTHON
from tests.match.setups import lenient_setup
from tests.timeouts import HANG_TIMEOUT

STATE = choose_editions({}, {})[DEFAULT_GAME_TYPE].game.new_state(random.Random(1))


@pytest.mark.parametrize(
    ("command", "strategy"),
    [
        ("builtin:greedy", "greedy"),
        ("builtin:hui-random", "hui-random"),
        ("builtin:silent", None),
        ("builtin:nobody", None),
        ("./greedy", None),
        ("greedy", None),
    ],
)
def test_well_behaved_strategies_need_no_process(command: str, strategy: str | None) -> None:
    assert builtin_strategy(command) == strategy


@pytest.mark.slow
async def test_a_player_chooses_the_same_random_moves_whatever_other_players_do() -> None:
    async with open_worker_pool() as pool:
        single = await pool.new_player("random", 5)
        moves = [(await single.choose_move(STATE)).move for _ in range(3)]
        single.close()
        players = [await pool.new_player("random", 5) for _ in range(5)]
        others = [[(await player.choose_move(STATE)).move for player in players] for _ in range(3)]
    assert moves == [each[0] for each in others]
    assert all(len(set(each)) == 1 for each in others)
    assert len(set(moves)) > 1


@pytest.mark.slow
async def test_workers_ignore_modules_in_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("game", "match", "client", "random", "spielleiter"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit(1)\n")
    monkeypatch.chdir(tmp_path)
    async with open_worker_pool() as pool:
        player = await pool.new_player("first", 1)
        assert (await player.choose_move(STATE)).move is not None


@pytest.mark.slow
async def test_a_failing_strategy_reports_its_exception() -> None:
    async with open_worker_pool() as pool:
        player = await pool.new_player("first", 1)
        chosen = await player.choose_move(cast("State", None))
    assert chosen.move is None
    assert chosen.problem


@pytest.mark.slow
async def test_a_worker_that_ends_is_a_machine_error() -> None:
    if sys.platform == "win32":
        pytest.skip("Windows has nothing like it")
    async with open_worker_pool() as pool:
        player = await pool.new_player("first", 1)
        await player.choose_move(STATE)
        process = player._worker._process
        assert process is not None
        os.kill(process.pid, signal.SIGKILL)
        with pytest.raises(MachineError, match="built-in players has ended"):
            await choose_moves_for_ever(player)


async def choose_moves_for_ever(player: WorkerPlayer) -> None:
    with trio.fail_after(HANG_TIMEOUT):
        while True:
            await player.choose_move(STATE)


async def play_twice(folder: Path, first: str, second: str) -> None:
    setup = lenient_setup(folder, Entrant("new", first), Entrant("old", second))
    with trio.fail_after(HANG_TIMEOUT):
        async with open_match_server(setup) as match_server:
            for name in ("a", "b"):
                record = await play_game(setup, setup.plan()[0], folder / name, match_server=match_server)
                assert record.verdict == Verdict.REGULAR
                assert all(seconds > 0 for seconds in record.cpu_seconds)
                assert record.exit_codes[0] is None


@pytest.mark.slow
@pytest.mark.parametrize("other", ["builtin:random", f"{PYTHON} -m spielleiter play -s first"])
async def test_the_same_plan_gives_the_same_game(other: str, tmp_path: Path) -> None:
    await play_twice(tmp_path, "builtin:greedy", other)
    one, two = ((tmp_path / name / "games" / "0001" / REPLAY).read_bytes() for name in ("a", "b"))
    assert one == two
