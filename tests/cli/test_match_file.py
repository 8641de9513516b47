"""`spielleiter match FILE.toml`: keys of the file, and their errors."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

import spielleiter.match.runner
from spielleiter.match.plan import MatchSetup, PlannedGame
from spielleiter.match.records import GameRecord, load_setup
from spielleiter.match.runner import Conditions
from tests.cli.background import run
from tests.documents import blocks
from tests.match.sample_records import game

FILE = """
games = 4
seed = 7
soft_timeout = 1500
fail_on = ["crash", "illegal"]
start_server = true

[[program]]
name = "new"
command = "builtin:greedy"
timeout = false

[[program]]
command = "builtin:random"
time_factor = 2.5
hard_timeout = 20000
"""


@pytest.fixture(autouse=True)
def _games(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace the games: none is played, and the first program wins."""

    async def play_game(setup: MatchSetup, planned: PlannedGame, _folder: Path, *_more: object) -> GameRecord:
        record = game(planned.game, 0)
        return dataclasses.replace(record, names=setup.names, seats=planned.seats, pair=planned.pair)

    monkeypatch.setattr(spielleiter.match.runner, "play_game", play_game)


def play(folder: Path, *options: str, text: str = FILE) -> Any:
    (folder / "m.toml").write_text(text, encoding="utf-8")
    return run("match", *options, str(folder / "m.toml"), "--out", str(folder / "out"))


def test_a_file_sets_the_same_options(tmp_path: Path) -> None:
    done = play(tmp_path)
    assert done.exit_code == 0, done.stderr
    setup = MatchSetup.from_json(load_setup(tmp_path / "out"))
    assert (setup.games, setup.seed, setup.names) == (4, 7, ("new", "random"))
    assert [entrant.can_timeout for entrant in setup.entrants] == [False, True]
    assert setup.server_options == {"soft_timeout": 1.5}
    assert (setup.entrants[1].time_factor, setup.entrants[1].hard_timeout) == (2.5, 20.0)


def test_options_take_precedence_over_the_file(tmp_path: Path) -> None:
    assert play(tmp_path, "-n", "6", "--name1", "newer", "--time-factor2", "1").exit_code == 0
    setup = MatchSetup.from_json(load_setup(tmp_path / "out"))
    assert (setup.games, setup.names, setup.entrants[1].time_factor) == (6, ("newer", "random"), 1.0)


def test_a_match_from_a_file_is_resumed_without_it(tmp_path: Path) -> None:
    assert play(tmp_path).exit_code == 0
    assert run("match", "--resume", str(tmp_path / "out")).exit_code == 0
    refused = run("match", "--resume", str(tmp_path / "out"), "--time-factor2", "3")
    assert "--time-factor2 3.0 (begun with 2.5)" in refused.stderr
    both = run("match", str(tmp_path / "m.toml"), "--resume", str(tmp_path / "out"))
    assert (both.exit_code, both.stderr) == (2, "spielleiter match: expected a FILE, or --resume DIR, and not both\n")


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (("games = 4", "kind = 'gauntlet'"), "m.toml: kind: there is no such key, expected program, cwd, games"),
        (("games = 4", "player1 = 'x'"), "m.toml: player1: there is no such key"),
        (("games = 4", "games = 'many'"), "m.toml: games 'many': expected a whole number"),
        (("games = 4", "cwd = 'here'"), "m.toml: cwd 'here': expected an absolute path"),
        (('[[program]]\nname = "new"', '[[program]]\ncommand = "builtin:first"\n[[program]]'), "expected 2 programs"),
        (("time_factor = 2.5", "time_factor = 0"), "m.toml: time_factor 0: expected a number above 0"),
        (("time_factor = 2.5", "memory = 9"), "builtin:random plays without a process of its own"),
        (("games = 4", "games ="), "m.toml: Invalid value"),
        (("games = 4", f"games = {'9' * 5000}"), "m.toml: "),
        (("games = 4", "start_timeout = true"), "m.toml: start_timeout True: expected a number"),
    ],
)
def test_errors_in_a_file_are_reported(change: tuple[str, str], problem: str, tmp_path: Path) -> None:
    done = play(tmp_path, text=FILE.replace(*change))
    assert done.exit_code == 2
    assert problem in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("number", ["2.7", "true", '"4"'])
def test_a_number_of_games_is_a_whole_number(number: str, tmp_path: Path) -> None:
    done = play(tmp_path, text=FILE.replace("games = 4", f"games = {number}"))
    assert done.exit_code == 2
    assert "expected a whole number" in done.stderr


def test_a_book_has_the_same_key_as_in_a_tournament_file(tmp_path: Path) -> None:
    done = play(tmp_path, text=FILE.replace("games = 4", 'book = "/nowhere/replays"'))
    assert done.exit_code == 2
    assert "/nowhere/replays" in done.stderr


def test_a_book_is_named_once(tmp_path: Path) -> None:
    done = play(tmp_path, text=FILE.replace("games = 4", 'book = "a"\nopenings = "b"'))
    assert done.exit_code == 2
    assert "m.toml: book and openings are two names of the same setting" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_book_is_named_once_on_the_command_line(tmp_path: Path) -> None:
    done = play(tmp_path, "--book", "a", "--openings", "b")
    assert done.exit_code == 2
    assert "--book and --openings are names of the same option, expected one value, not a, b" in done.stderr


@pytest.mark.parametrize("key", ["book", "openings"])
def test_the_path_of_a_book_is_relative_to_the_file(key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    text = FILE.replace("games = 4", f'{key} = "none.txt"')
    assert f"openings {tmp_path / 'none.txt'}: cannot be read" in play(tmp_path, text=text).stderr
    assert "openings other.txt: cannot be read" in play(tmp_path, f"--{key}", "other.txt", text=text).stderr


def test_the_output_folder_is_relative_to_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    (tmp_path / "m.toml").write_text(FILE.replace("games = 4", 'out = "result"'), encoding="utf-8")
    assert run("match", str(tmp_path / "m.toml")).exit_code == 0
    assert (tmp_path / "result" / "summary.json").exists()


def test_the_files_in_the_documents_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Conditions] = []
    monkeypatch.setattr(spielleiter.match.runner, "usable_cores", lambda: [0, 1, 2, 3])
    original = spielleiter.match.runner.allocate_cores

    def allocate_cores(conditions: Conditions) -> Any:
        seen.append(conditions)
        return original(conditions)

    monkeypatch.setattr(spielleiter.match.runner, "allocate_cores", allocate_cores)
    (block,) = blocks("docs/match.md", "toml", "A match in a file")
    (tmp_path / "new").mkdir()
    bot = tmp_path / "new" / "bot"
    bot.write_text("#!/bin/sh\n")
    bot.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    done = play(tmp_path, text=block.text)
    assert done.exit_code == 0, done.stderr
    setup = MatchSetup.from_json(load_setup(tmp_path / "out"))
    assert setup.entrants[0].environment == {"BOT_LEVEL": "3"}
    assert setup.cwd_of(0) == str(tmp_path / "new")
    assert seen[-1].cores_per_game == 2
    assert json.loads((tmp_path / "out" / "summary.json").read_text())["sprt"]["decision"] == "H1"
