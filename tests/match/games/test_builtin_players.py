"""Built-in players in a match."""

from __future__ import annotations

from pathlib import Path

import pytest
import trio

from spielleiter.match.games.builtin_players import builtin_strategy
from spielleiter.match.games.match_server import open_match_server
from spielleiter.match.games.referee import play_game
from spielleiter.match.records.game_files import REPLAY
from spielleiter.match.records.game_record import Verdict
from spielleiter.match.setup import Entrant
from tests.interpreter import PYTHON
from tests.match.setups import lenient_setup
from tests.timeouts import HANG_TIMEOUT


@pytest.mark.parametrize(
    ("command", "strategy"),
    [
        ("builtin:greedy", "greedy"),
        ("builtin:hui-random", "hui-random"),
        ("builtin:level-8", "level-8"),
        ("builtin:silent", None),
        ("builtin:nobody", None),
        ("./greedy", None),
        ("greedy", None),
    ],
)
def test_well_behaved_strategies_need_no_process(command: str, strategy: str | None) -> None:
    assert builtin_strategy(command) == strategy


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
