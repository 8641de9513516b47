"""Built-in players in a match."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path

import pytest
import trio

from spielleiter.match import builtin_players
from spielleiter.match.builtin_players import builtin_strategy
from spielleiter.match.game_folder import REPLAY
from spielleiter.match.match_server import open_match_server
from spielleiter.match.plan import Entrant
from spielleiter.match.referee import play_game
from spielleiter.match.verdict import Verdict
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


def end_workers_at(monkeypatch: pytest.MonkeyPatch, folder: Path, *numbers: int) -> None:
    """Let the workers end when they compute a move with one of these numbers, counted from 1, in all of them."""
    code = f"""if True:
        import os, runpy
        from spielleiter.client import choosers
        def counting(choose):
            def chooser(*arguments):
                with open({str(folder / "moves")!r}, "ab", 0) as file:
                    file.write(b".")
                    if file.tell() in {numbers!r}:
                        os._exit(3)
                return choose(*arguments)
            return chooser
        choosers.CHOOSERS = {{name: counting(choose) for name, choose in choosers.CHOOSERS.items()}}
        runpy.run_module("spielleiter.match.builtin_process", run_name="__main__")
    """
    monkeypatch.setattr(builtin_players, "worker_command", lambda: [sys.executable, "-c", code])


@pytest.mark.slow
async def test_killed_workers_change_nothing_in_the_game(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    setup = lenient_setup(tmp_path, Entrant("new", "builtin:greedy"), Entrant("old", "builtin:random"))
    replays, remarks = [], []
    for folder, numbers in ((tmp_path / "a", ()), (tmp_path / "b", (1, 6, 22))):
        folder.mkdir()
        end_workers_at(monkeypatch, folder, *numbers)
        with trio.fail_after(HANG_TIMEOUT):
            record = await play_game(setup, setup.plan()[0], folder)
        assert record.verdict == Verdict.REGULAR
        replays.append((folder / "games" / "0001" / REPLAY).read_bytes())
        remarks.append(record.remarks)
    assert replays[0] == replays[1]
    again = "the process that computed its move ended, and another one computed the move again"
    assert remarks == [((), ()), ((f"2 times {again}",), (f"1 time {again}",))]


BREAKS_OFF = """import os, pickle, struct
ready = pickle.dumps(None)
os.write(1, struct.pack("!I", len(ready)) + ready)
os.read(0, 1)
"""
"""A worker that ends without an answer to its first request."""


@pytest.mark.slow
async def test_a_time_limit_that_passes_because_a_worker_was_killed_is_not_the_players_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The processes in place of the one that ended are never ready."""
    limits = {"soft_timeout": 1.0, "hard_timeout": 1.0}
    strict = Entrant("new", "builtin:first"), Entrant("old", "builtin:first")
    setup = dataclasses.replace(lenient_setup(tmp_path, *strict), server_options=limits)
    commands = iter([[sys.executable, "-I", "-S", "-c", BREAKS_OFF]])
    never_ready = [sys.executable, "-I", "-S", "-c", "import time; time.sleep(10_000)"]
    monkeypatch.setattr(builtin_players, "worker_command", lambda: next(commands, never_ready))
    with trio.fail_after(HANG_TIMEOUT):
        record = await play_game(setup, setup.plan()[0], tmp_path)
    assert record.verdict == Verdict.OVERLOAD
    assert not record.is_counted


@pytest.mark.slow
async def test_cut_searches_are_in_the_record(tmp_path: Path) -> None:
    """The limit of one player is so short that each of its searches is cut; the other one has none."""
    setup = lenient_setup(tmp_path, Entrant("new", "builtin:level-8"), Entrant("old", "builtin:level-5"))
    hurried = dataclasses.replace(setup.entrants[0], soft_timeout=0.0001)
    calm = dataclasses.replace(setup.entrants[1], can_timeout=False)
    setup = dataclasses.replace(setup, entrants=(hurried, calm))
    with trio.fail_after(HANG_TIMEOUT):
        record = await play_game(setup, setup.plan()[0], tmp_path)
    assert any("ended early" in remark for remark in record.remarks[0])
    assert record.remarks[1] == ()
