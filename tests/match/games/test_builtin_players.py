from __future__ import annotations

import os
import random
import signal
from pathlib import Path
from typing import cast

import pytest
import trio

from spielleiter.game.api import State
from spielleiter.match.errors import MachineError
from spielleiter.match.games.builtin_players import Thinker, builtin_strategy, open_workers
from spielleiter.match.games.match_server import open_match_server
from spielleiter.match.games.referee import play_game
from spielleiter.match.records.game_files import REPLAY
from spielleiter.match.records.game_record import Verdict
from spielleiter.match.setup import Entrant
from spielleiter.protocol.current_season import DEFAULT_GAME_TYPE
from spielleiter.server.editions import choose_editions
from tests.interpreter import PYTHON
from tests.match.setups import lenient_setup
from tests.patience import PATIENCE

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
def test_good_strategies_need_no_process(command: str, strategy: str | None) -> None:
    assert builtin_strategy(command) == strategy


@pytest.mark.slow
async def test_a_player_keeps_its_luck_whoever_else_thinks() -> None:
    async with open_workers() as workers:
        alone = await workers.new_player("random", 5)
        moves = [(await alone.think(STATE)).move for _ in range(3)]
        alone.close()
        players = [await workers.new_player("random", 5) for _ in range(5)]
        others = [[(await player.think(STATE)).move for player in players] for _ in range(3)]
    assert moves == [each[0] for each in others]
    assert all(len(set(each)) == 1 for each in others)
    assert len(set(moves)) > 1


@pytest.mark.slow
async def test_players_think_in_a_folder_that_holds_modules_of_the_same_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("game", "match", "client"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit(1)\n")
    monkeypatch.chdir(tmp_path)
    async with open_workers() as workers:
        player = await workers.new_player("first", 1)
        assert (await player.think(STATE)).move is not None


@pytest.mark.slow
async def test_a_strategy_that_fails_says_why() -> None:
    async with open_workers() as workers:
        player = await workers.new_player("first", 1)
        thought = await player.think(cast("State", None))
    assert thought.move is None
    assert thought.problem


@pytest.mark.slow
async def test_a_worker_that_ends_is_the_machines_fault() -> None:
    async with open_workers() as workers:
        player = await workers.new_player("first", 1)
        await player.think(STATE)
        process = player._worker._process
        assert process is not None
        os.kill(process.pid, signal.SIGKILL)
        with pytest.raises(MachineError, match="built-in players has ended"):
            await think_on(player)


async def think_on(player: Thinker) -> None:
    with trio.fail_after(PATIENCE):
        while True:
            await player.think(STATE)


async def play_twice(folder: Path, first: str, second: str) -> None:
    setup = lenient_setup(folder, Entrant("new", first), Entrant("old", second))
    with trio.fail_after(PATIENCE):
        async with open_match_server(setup) as match_server:
            for place in ("a", "b"):
                record = await play_game(setup, setup.plan()[0], folder / place, match_server=match_server)
                assert record.verdict == Verdict.REGULAR
                assert all(seconds > 0 for seconds in record.cpu_seconds)
                assert record.exit_codes[0] is None


@pytest.mark.slow
@pytest.mark.parametrize("other", ["builtin:random", f"{PYTHON} -m spielleiter play -s first"])
async def test_the_same_plan_gives_the_same_game(other: str, tmp_path: Path) -> None:
    await play_twice(tmp_path, "builtin:greedy", other)
    one, two = ((tmp_path / place / "games" / "0001" / REPLAY).read_bytes() for place in ("a", "b"))
    assert one == two
