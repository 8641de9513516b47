"""`spielleiter demo`: one game between built-in players."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import spielleiter.server.app
from spielleiter.game.blokus.pieces import SIZE
from spielleiter.server.config import Config
from spielleiter.server.errors import StartError
from tests.cli.background import run
from tests.timeouts import HANG_TIMEOUT


@pytest.mark.parametrize(
    ("option", "boards"),
    [((), ["turn 1"]), (("--board",), ["turn 0", "turn 1"]), (("--no-board",), [])],
)
def test_the_last_position_is_drawn_or_every_one_or_none(option: tuple[str, ...], boards: list[str]) -> None:
    result = run("demo", "--first", "first", "--second", "illegal", "--seed", "1", *option)
    assert result.exit_code == 0
    first, *lines, last = result.stdout.splitlines()
    assert first.startswith("server on 127.0.0.1:")
    assert len(lines) == len(boards) * (SIZE + 1)
    assert [line[43:].partition(",")[0].strip() for line in lines if "round" in line] == boards
    assert last.startswith("first wins 5:0; illegal: RULE_VIOLATION ")


def test_a_failing_player_is_reported() -> None:
    result = run("demo", "--first", "crash", "--second", "first", "--seed", "1")
    assert result.exit_code == 0
    assert result.stdout.splitlines()[-1] == "this player broke the connection itself"


def test_another_game_is_drawn_as_well() -> None:
    game = ("--game", "swc_2018_hase_und_igel")
    result = run("demo", *game, "--first", "hui-random", "--second", "crash", "--seed", "1")
    first, *board, last = result.stdout.splitlines()
    assert first.endswith("hui-random against crash")
    assert any(line.startswith("R hui-random: field ") for line in board)
    assert last.startswith("hui-random wins ")


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("--first", "hui-greedy"), "the strategy hui-greedy does not play swc_2027_blokus"),
        (("--first", "level-9@"), "the strategy 'level-9@' is not known, expected level-9@ with 0.01 to 60 seconds"),
        (("--second", "clever"), "the strategy 'clever' is not known, expected first, random, "),
    ],
)
def test_misuse_is_one_line(options: tuple[str, ...], problem: str) -> None:
    result = run("demo", *options)
    assert result.exit_code == 2
    assert result.stderr.startswith(f"spielleiter demo: {problem}")
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("players", "has_timeouts"),
    [((), False), (("--second", "silent"), True), (("--first", "slow"), True)],
)
def test_time_limits_apply_only_with_players_that_are_late_on_purpose(
    monkeypatch: pytest.MonkeyPatch, players: tuple[str, ...], has_timeouts: bool
) -> None:
    async def serve(config: Config, **_: object) -> None:
        raise StartError(f"time limits: {config.has_timeouts}")

    monkeypatch.setattr(spielleiter.server.app, "serve", serve)
    result = run("demo", *players)
    assert (result.exit_code, result.stderr) == (1, f"spielleiter: time limits: {has_timeouts}\n")


@pytest.mark.slow
def test_a_whole_game_is_the_same_for_the_same_seed() -> None:
    options = ["--game", "swc_2018_hase_und_igel", "--first", "hui-greedy", "--second", "hui-random", "--seed", "5"]
    command = [sys.executable, "-m", "spielleiter", "demo", *options]
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2], timeout=HANG_TIMEOUT
    )
    board = done.stdout.split("\n", 1)[1]
    assert board == run("demo", *options).stdout.split("\n", 1)[1]
    assert "hui-greedy wins " in board
    assert done.stderr == ""
