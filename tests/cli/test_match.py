"""The options of a match, and what it prints and saves."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

import spielleiter.match.runner
from spielleiter.match.records import GameRecord, load_setup, read_journal
from spielleiter.match.verdict import Verdict
from spielleiter.protocol.current_season import DEFAULT_GAME_TYPE
from spielleiter.protocol.defaults import DEFAULT_PASSWORD
from tests.cli.background import run
from tests.cli.matches import MATCH, play, setup_of
from tests.match.sample_records import fault, game

REPORTS = {
    "games.csv",
    "games.jsonl",
    "junit.xml",
    "match.json",
    "report.html",
    "summary.json",
    "summary.md",
}
HASE, BLOKUS_2021 = "swc_2018_hase_und_igel", "swc_2021_blokus"


def test_a_match_is_printed_and_saved(games: dict[int, GameRecord], tmp_path: Path) -> None:
    games[1] = game(1, 0, reason="")
    games[3] = fault(3, 1, Verdict.CRASH, reason="ended by signal 11")
    done = play(tmp_path, "--seed", "7")
    assert done.exit_code == 0
    assert f"greedy against random, 4 games, seed 7, into {tmp_path / 'out'}" in done.stdout
    assert "game 1: greedy - random 80:60, greedy wins\n" in done.stderr
    assert "game 3: greedy - random -:-, greedy wins (random crash: ended by signal 11)\n" in done.stderr
    assert "game 1" not in done.stdout
    assert "4 of 4 games played, 4 counted, 2 complete pairs" in done.stdout
    assert (
        "        1 crash, 0 timeouts, 0 illegal moves, 0 bad messages, 0 times left running after the game"
        in done.stdout
    )
    assert {path.name for path in (tmp_path / "out").iterdir()} - {".lock"} == REPORTS
    assert [record.game for record in read_journal(tmp_path / "out")] == [1, 2, 3, 4]


@pytest.mark.usefixtures("games")
def test_faults_are_aligned_below_a_name_of_wide_characters(tmp_path: Path) -> None:
    done = play(tmp_path, "--name1", "日本語日本")
    assert "\n日本語日本: +" in done.stdout
    assert "\n            0 crashes" in done.stdout


@pytest.mark.usefixtures("games")
def test_options_of_the_official_test_client_are_understood(tmp_path: Path) -> None:
    done = run(
        *("match", "--tests", "4", "--player1", "builtin:first", "--player2", "builtin:first", "--name1", "new"),
        *(
            "--name2",
            "old",
            "--no-timeout1",
            "--start-server",
            "--server",
            "server.jar",
            "--host",
            "localhost",
        ),
        *("--port", "13051", "--loglevel", "DEBUG", "--significance", "0.05", "--min-tests", "30"),
        *("--out", str(tmp_path / "out")),
    )
    assert done.exit_code == 0, done.stderr
    setup = setup_of(tmp_path)
    assert [(each["name"], each["can_timeout"]) for each in setup["entrants"]] == [("new", False), ("old", True)]
    assert (setup["games"], setup["server"], setup["significance"], setup["min_games"]) == (4, None, 0.05, 30)


@pytest.mark.usefixtures("games")
@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ((), {"server": None, "game_type": DEFAULT_GAME_TYPE, "openings": [], "server_options": {}, "sprt": None}),
        (("--server", "example.org:7"), {"server": ["example.org", 7]}),
        (("--server", "[::1]:7"), {"server": ["::1", 7]}),
        (("--host", "example.org"), {"server": ["example.org", 13050]}),
        (("-p", "7"), {"server": ["127.0.0.1", 7]}),
        (
            ("--soft-timeout", "1500", "--hard-timeout", "3000"),
            {"server_options": {"soft_timeout": 1.5, "hard_timeout": 3.0}},
        ),
        (("--soft-timeout", "20000", "--no-timeout"), {"server_options": {"soft_timeout": 20.0}}),
        (("--start-piece", "PENTO_Y"), {"server_options": {"start_piece": "PENTO_Y"}}),
        (("--sprt", "elo0=0 elo1=50"), {"sprt": "elo0=0 elo1=50"}),
        (("--start-timeout", "1", "--game-timeout", "9"), {"timeouts": {"start": 1.0, "exit": 5.0, "game": 9.0}}),
    ],
)
def test_options_are_saved_for_resuming(options: tuple[str, ...], expected: dict[str, Any], tmp_path: Path) -> None:
    assert play(tmp_path, *options).exit_code == 0
    setup = setup_of(tmp_path)
    assert {key: setup[key] for key in expected} == expected
    assert DEFAULT_PASSWORD not in json.dumps(setup)


@pytest.mark.usefixtures("games")
def test_programs_are_named_after_their_files(tmp_path: Path) -> None:
    bot, other = tmp_path / "my bot.py", tmp_path / "other" / "my bot.py"
    other.parent.mkdir()
    for path in (bot, other):
        path.write_text("#!/bin/sh\n")
        path.chmod(0o755)
    names = {}
    for number, (first, second) in enumerate(
        [("builtin:first", "builtin:first"), (str(bot), "sh --fast"), (str(bot), str(other))]
    ):
        out = tmp_path / str(number)
        assert run("match", "--player1", first, "--player2", second, "-n", "2", "--out", str(out)).exit_code == 0
        names[number] = [each["name"] for each in load_setup(out)["entrants"]]
    assert names == {
        0: ["first (1)", "first (2)"],
        1: ["my bot", "sh"],
        2: [f"{tmp_path.name}/my bot", "other/my bot"],
    }


@pytest.mark.usefixtures("games")
def test_the_season_is_in_the_first_line(tmp_path: Path) -> None:
    assert play(tmp_path).stdout.startswith("swc_2027_blokus (blokus-2027): ")


def test_openings_are_read_before_the_first_game(games: dict[int, GameRecord], tmp_path: Path) -> None:
    done = play(tmp_path, "--openings", str(tmp_path))
    assert (done.exit_code, games) == (2, {})
    assert "holds no replay" in done.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.usefixtures("games")
def test_a_book_is_played_in_its_order_or_in_a_random_one(book: Path, tmp_path: Path) -> None:
    orders = []
    for number, options in enumerate([(), ("--order", "random"), ("--order", "random"), ()]):
        folder = tmp_path / str(number)
        assert play(folder, "--book" if number < 3 else "--openings", str(book), "--seed", "7", *options).exit_code == 0
        orders.append([opening["turn"] for opening in setup_of(folder)["openings"]])
    assert orders[0] == orders[3] == [0, 1] * 4
    assert orders[1] == orders[2] != orders[0]
    again = run("match", "--resume", str(tmp_path / "1" / "out"), "--book", str(book), "--order", "random")
    assert again.exit_code == 0
    refused = run("match", "--resume", str(tmp_path / "1" / "out"), "--order", "sequential")
    assert refused.exit_code == 2
    assert "--order sequential (begun with random)" in refused.stderr


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("match", "--player1", "builtin:first"), "--player2 is missing"),
        ((*MATCH, "--order", "random"), "--order has no effect without --book"),
        ((*MATCH, "--player1", "builtin:clever"), "there is no such strategy"),
        ((*MATCH, "--player1", "./no-such-bot"), "program './no-such-bot': there is no file ./no-such-bot"),
        ((*MATCH, "--server", "example.org"), "expected HOST:PORT"),
        ((*MATCH, "--server", "example.org:0"), "expected HOST:PORT"),
        ((*MATCH, "--port", "7", "--soft-timeout", "9"), "set by the running server"),
        ((*MATCH, "--sprt", "elo0=9 elo1=0"), "SPRT"),
        ((*MATCH, "--fail-on", "crash,oh"), "--fail-on 'oh': expected crash, timeout, illegal, message, exit, any"),
        ((*MATCH, "--start-piece", "TRIANGLE"), "startPiece: 'TRIANGLE' is not one of"),
        ((*MATCH, "--start-piece", "PENTO_V", "--game", HASE), f"{HASE} has no option startPiece"),
        ((*MATCH, "--start-piece", "PENTO_X", "--game", BLOKUS_2021), "'PENTO_X' is not one of"),
        ((*MATCH, "--soft-timeout", "10001"), "the soft time limit (10001 ms) is above the hard one (10000 ms)"),
        ((*MATCH, "--soft-timeout", "9" * 23), "' cannot be used, expected a whole number from 1 to 2147483647"),
        ((*MATCH, "-n", "9" * 9), "999999999 games cannot be played, expected 1 to 1000000"),
        ((*MATCH, "-j", "9" * 9), "' cannot be used, expected a whole number from 1 to 1024"),
        ((*MATCH, "-n", "0"), "0"),
        ((*MATCH, "--pin", "-j", "1000"), "need 2000 cores"),
    ],
)
def test_misuse_is_one_line(options: tuple[str, ...], problem: str, tmp_path: Path) -> None:
    done = run(*options, "--out", str(tmp_path / "out"))
    assert done.exit_code == 2
    assert problem in done.stderr.splitlines()[-1]


def test_a_folder_with_a_match_is_not_overwritten(games: dict[int, GameRecord], tmp_path: Path) -> None:
    assert play(tmp_path).exit_code == 0
    games[1] = game(1, 1)
    done = play(tmp_path)
    assert done.exit_code == 2
    assert "holds a match already" in done.stderr
    assert read_journal(tmp_path / "out")[0].winner == 0


@pytest.mark.usefixtures("games")
def test_conditions_that_distort_a_match_are_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spielleiter.match.runner, "count_cores", lambda: 2)
    done = play(tmp_path, "-j", "3", games=3)
    assert "3 games at a time on 2 processor cores" in done.stderr
    assert "the last one has no counterpart" in done.stderr
    assert all(line.startswith("game ") for line in play(tmp_path / "two", "-j", "2").stderr.splitlines())


def test_an_edition_names_its_game(games: dict[int, GameRecord], tmp_path: Path) -> None:
    assert play(tmp_path, "--edition", "blokus-2021-r1").exit_code == 0
    setup = setup_of(tmp_path)
    assert (setup["game_type"], setup["edition"]) == ("swc_2021_blokus", "blokus-2021-r1")
    refused = play(tmp_path / "other", "--edition", "blokus-2021-r1", "--game", "swc_2027_blokus")
    assert refused.exit_code == 2
    assert "that edition is of swc_2021_blokus" in refused.stderr
    again = run(*MATCH, "--resume", str(tmp_path / "out"), "--edition", "blokus-2021-r2")
    assert again.exit_code == 2
    assert "--edition blokus-2021-r2 (begun with blokus-2021-r1)" in again.stderr


@pytest.mark.usefixtures("games")
def test_a_command_is_run_at_the_end_and_changes_no_exit_code(tmp_path: Path) -> None:
    script = tmp_path / "on_end.py"
    script.write_text("import pathlib, sys; pathlib.Path(sys.argv[1], 'called').write_text(sys.argv[2]); sys.exit(9)")
    done = play(tmp_path, "--on-end", f"{shlex.quote(sys.executable)} {shlex.quote(str(script))}")
    assert done.exit_code == 0
    assert done.stderr.splitlines()[-1] == f"--on-end {sys.executable}: ended with exit code 9"
    assert (tmp_path / "out" / "called").read_text() == str(tmp_path / "out" / "summary.json")


@pytest.mark.usefixtures("games")
@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("--on-end", "no-such-program"), "there is no program no-such-program"),
        (("--env1", "A"), "'A': expected NAME=VALUE"),
        (("--pass-env2", "A,"), "'': expected NAME, or NAME,NAME"),
        (("--pass-env2", "A=b"), "'A=b': expected NAME, or NAME,NAME"),
        (("--cwd1", "here"), "builtin:greedy plays without a process of its own"),
        (("--soft-timeout2", "20000"), "the soft time limit (20000 ms) is above the hard one (10000 ms)"),
        (("--time-factor1", "2", "--server", "localhost:1"), "greedy: time limits are set by the running server"),
        (("--cores-per-game", "1000"), "each game needs 1000 cores"),
        (("--player1", "sleep 1", "--cwd1", "no-such-folder"), "the directory that sleep is started in does not exist"),
    ],
)
def test_impossible_settings_of_a_program_are_refused(options: tuple[str, ...], problem: str, tmp_path: Path) -> None:
    done = play(tmp_path, *options)
    assert done.exit_code == 2
    assert problem in done.stderr
    assert not (tmp_path / "out").exists()
