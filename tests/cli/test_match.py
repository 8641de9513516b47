from __future__ import annotations

import dataclasses
import json
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import spielleiter.match.runner
from spielleiter.client.defaults import DEFAULT_PASSWORD
from spielleiter.client.editions import DEFAULT_GAME_TYPE
from spielleiter.match.errors import MachineError
from spielleiter.match.plan import PlannedGame
from spielleiter.match.programs.processes import find_processes
from spielleiter.match.programs.program import Command
from spielleiter.match.records.game_record import GameRecord, Verdict
from spielleiter.match.records.journal import load_setup, open_journal, read_journal
from spielleiter.match.setup import MatchSetup
from tests.cli.background import background_server, run
from tests.match.sample_records import fault, game
from tests.patience import PATIENCE

ROOT = Path(__file__).parents[2]
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
MATCH = ("match", "--player1", "builtin:greedy", "--player2", "builtin:random")
ENDLESS = ("--no-timeout", "--start-timeout", str(PATIENCE), "--exit-timeout", str(PATIENCE))
"""For games with real processes: no program is too slow, however busy this machine is."""


@pytest.fixture
def games(monkeypatch: pytest.MonkeyPatch) -> dict[int, GameRecord]:
    """Records by number of the game, used instead of playing it; the first program wins all other games."""
    made_up: dict[int, GameRecord] = {}

    async def play_game(setup: MatchSetup, planned: PlannedGame, _folder: Path, *_more: object) -> GameRecord:
        record = made_up.get(planned.game) or game(planned.game, 0)
        return dataclasses.replace(record, names=setup.names, seats=planned.seats, pair=planned.pair)

    monkeypatch.setattr(spielleiter.match.runner, "play_game", play_game)
    return made_up


def play(folder: Path, *options: str, games: int = 4) -> Any:
    return run(*MATCH, "-n", str(games), "--out", str(folder / "out"), *options)


def setup_of(folder: Path) -> dict[str, Any]:
    return load_setup(folder / "out")


# -- options --------------------------------------------------------------------------------------------------------


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
        (("--start-timeout", "1", "--game-timeout", "9"), {"patience": {"start": 1.0, "exit": 5.0, "game": 9.0}}),
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
        ((*MATCH, "--port", "7", "--soft-timeout", "9"), "set by that server"),
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


# -- exit codes ----------------------------------------------------------------------------------------------------

NOT_COUNTED = {"is_counted": False}


@pytest.mark.parametrize(
    ("records", "options", "code"),
    [
        ([fault(1, 0, Verdict.CRASH)], (), 0),
        ([fault(1, 0, Verdict.CRASH)], ("--fail-on", "crash"), 3),
        ([fault(1, 0, Verdict.CRASH)], ("--fail-on", "timeout,message"), 0),
        ([fault(1, 1, Verdict.HANGS)], ("--fail-on", "timeout", "--fail-on", "message"), 3),
        ([fault(1, 1, Verdict.NONSENSE)], ("--fail-on", "timeout,message"), 3),
        ([fault(1, 1, Verdict.LEFTOVERS)], ("--fail-on", "any"), 3),
        ([fault(1, 1, Verdict.NEVER_ENDS)], ("--fail-on", "any"), 3),
        ([fault(1, 1, Verdict.NEVER_ENDS)], ("--fail-on", "crash,timeout,illegal,message"), 0),
        ([fault(1, 1, Verdict.NEVER_ENDS)], ("--fail-on", "exit"), 3),
        ([fault(1, 1, Verdict.LEFTOVERS)], ("--fail-on", "exit"), 3),
        ([game(1, None, verdict=Verdict.SERVER_FAILED, **NOT_COUNTED)], ("--fail-on", "any"), 4),
        ([game(1, None, verdict=Verdict.OVERLOAD, **NOT_COUNTED)], ("--fail-on", "any"), 0),
        ([fault(1, 0, Verdict.CRASH)], ("--fail-fast",), 0),
    ],
)
def test_the_exit_code_depends_on_faults(
    records: list[GameRecord], options: tuple[str, ...], code: int, games: dict[int, GameRecord], tmp_path: Path
) -> None:
    games |= {record.game: record for record in records}
    assert play(tmp_path, *options).exit_code == code
    assert len(read_journal(tmp_path / "out")) == (1 if "--fail-fast" in options else 4)


@pytest.mark.parametrize(
    ("winner", "options", "code"),
    [
        (0, ("--require", "better"), 0),
        (0, ("--require", "not-worse"), 0),
        (None, ("--require", "better"), 1),
        (None, ("--require", "not-worse"), 0),
        (1, ("--require", "better"), 1),
        (1, ("--require", "not-worse"), 1),
        (1, (), 0),
        (0, ("--sprt", "elo0=0 elo1=50"), 0),
        (1, ("--sprt", "elo0=0 elo1=50"), 1),
        (1, ("--significance", "0.05", "--min-tests", "10"), 0),
    ],
)
def test_the_exit_code_depends_on_the_better_program(
    winner: int | None, options: tuple[str, ...], code: int, games: dict[int, GameRecord], tmp_path: Path
) -> None:
    games |= {number: game(number, winner) for number in range(1, 201)}
    done = play(tmp_path, *options, games=200)
    assert done.exit_code == code
    played = len(read_journal(tmp_path / "out"))
    if "--sprt" in options:
        assert played < 200
        assert "SPRT accepted" in done.stdout
        assert "decided before all games were played" in done.stdout
    else:
        assert played == (16 if "--significance" in options else 200)


@pytest.mark.parametrize("requirement", ["better", "not-worse"])
def test_a_requirement_is_refused_with_too_few_games(
    requirement: str, games: dict[int, GameRecord], tmp_path: Path
) -> None:
    games |= {number: game(number, 0) for number in range(1, 13)}
    refused = play(tmp_path, "--require", requirement, games=11)
    assert refused.exit_code == 2
    assert "11 games are too few to decide which program is better, expected at least -n 12" in refused.stderr
    assert not (tmp_path / "out").exists()
    assert play(tmp_path, "--require", requirement, games=12).exit_code == 0


def test_a_requirement_is_not_met_if_too_few_games_count(games: dict[int, GameRecord], tmp_path: Path) -> None:
    games |= {number: game(number, 0) for number in range(1, 12)}
    games[12] = game(12, None, is_counted=False, verdict=Verdict.OVERLOAD)
    done = play(tmp_path, "--require", "not-worse", games=12)
    assert done.exit_code == 1
    assert "too few pairs to tell (5 complete pairs, at least 6 are needed)" in done.stdout


def test_the_standing_is_printed_after_every_n_games(games: dict[int, GameRecord], tmp_path: Path) -> None:
    games |= {number: game(number, 0) for number in range(1, 7)}
    done = play(tmp_path, "--report-every", "4", "--sprt", "elo0=0 elo1=5 model=normalized", games=6)
    interim = [line for line in done.stderr.splitlines() if line.startswith("after ")]
    assert interim == ["after 4 games: +4 =0 -0  LLR +0.04 (-2.94, +2.94)  Elo +∞ [−427.9, +∞]"]


def test_a_machine_that_fails_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(*_: object) -> GameRecord:
        raise MachineError("no space left")

    monkeypatch.setattr(spielleiter.match.runner, "play_game", fail)
    done = play(tmp_path)
    assert (done.exit_code, done.stderr) == (4, "spielleiter match: no space left\n")
    assert (tmp_path / "out" / "summary.json").exists()


@pytest.mark.parametrize("absent", [0, 1])
def test_games_against_a_program_that_cannot_play_do_not_count(
    absent: int, games: dict[int, GameRecord], tmp_path: Path
) -> None:
    reason = "/nowhere/bot: there is no such program"
    games |= {
        number: fault(number, absent, Verdict.NO_START, is_counted=False, reason=reason) for number in range(1, 13)
    }
    done = play(tmp_path, "--require", "not-worse", games=12)
    assert done.exit_code == 4
    assert len(read_journal(tmp_path / "out")) == 2
    name = ("greedy", "random")[absent]
    assert f"{name} cannot play: does not start in game 2 (/nowhere/bot: there is no such program)" in done.stderr
    assert f"it was started as: builtin:{name}" in done.stderr


def test_a_match_without_counted_games_is_no_success(games: dict[int, GameRecord], tmp_path: Path) -> None:
    games |= {number: game(number, None, verdict=Verdict.OVERLOAD, is_counted=False) for number in range(1, 13)}
    assert play(tmp_path, "--require", "not-worse", games=12).exit_code == 4


def test_concurrency_is_limited_to_what_can_be_judged(games: dict[int, GameRecord], tmp_path: Path) -> None:
    done = play(tmp_path, "-j", "1000")
    assert done.exit_code == 0
    assert done.stderr.startswith("1000 games at a time are too many for ")


# -- resuming -------------------------------------------------------------------------------------------------------


def test_a_resumed_match_plays_the_missing_games(games: dict[int, GameRecord], tmp_path: Path) -> None:
    assert play(tmp_path, "--seed", "7").exit_code == 0
    journal = tmp_path / "out" / "games.jsonl"
    lines = journal.read_text().splitlines(keepends=True)
    journal.write_text("".join([lines[0], lines[2], lines[3][:40]]))
    games |= {number: game(number, 1) for number in range(1, 5)}
    done = run("match", "--resume", str(tmp_path / "out"))
    assert done.exit_code == 0
    assert "greedy against random, 4 games, seed 7" in done.stdout
    assert {record.game: record.winner for record in read_journal(tmp_path / "out")} == {1: 0, 2: 1, 3: 0, 4: 1}


@pytest.mark.usefixtures("games")
def test_a_resumed_match_refuses_changed_options(tmp_path: Path) -> None:
    out = str(tmp_path / "out")
    assert play(tmp_path, "--seed", "7").exit_code == 0
    done = run(*MATCH, "--resume", out, "-n", "6", "--seed", "7", "--soft-timeout", "9", "-j", "2")
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr == (
        f"spielleiter: --resume {out}: the match was begun with other options: --games 6 (begun with 4), "
        "--soft-timeout 9 (begun with 2000); leave those options out to continue it, "
        "or begin another match in another folder\n"
    )
    again = run(*MATCH, "--resume", out, "--out", out, "-n", "4", "--seed", "7", "-j", "2", "--fail-on", "any")
    assert again.exit_code == 0
    assert len(read_journal(tmp_path / "out")) == 4


def test_resuming_without_a_match_is_misuse(tmp_path: Path) -> None:
    done = run("match", "--resume", str(tmp_path))
    assert done.exit_code == 2
    assert "is there a match?" in done.stderr


def test_a_resumed_match_starts_its_programs_where_it_was_begun(
    games: dict[int, GameRecord], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, other = tmp_path / "begun", tmp_path / "other"
    begun.mkdir()
    other.mkdir()
    (begun / "my bot").touch(0o755)
    monkeypatch.chdir(begun)
    assert run("match", "--player1", "my bot", "--player2", "builtin:first", "-n", "2", "--out", "out").exit_code == 0
    seen: list[tuple[str, ...]] = []

    async def play_game(setup: MatchSetup, planned: PlannedGame, *_: object) -> GameRecord:
        seen.append((setup.cwd, Command.parse(setup.entrants[0].command, setup.cwd).words[0]))
        return game(planned.game, 0)

    monkeypatch.setattr(spielleiter.match.runner, "play_game", play_game)
    (begun / "out" / "games.jsonl").write_text("")
    monkeypatch.chdir(other)
    done = run("match", "--resume", "../begun/out")
    assert done.exit_code == 0, done.stderr
    assert seen == [(str(begun), "./my bot")] * 2

    (begun / "out").rename(other / "out")
    (begun / "my bot").unlink()
    begun.rmdir()
    done = run("match", "--resume", "out")
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr == f"spielleiter: {begun}: the directory that the programs are started in does not exist\n"


@pytest.mark.usefixtures("games")
def test_a_folder_that_cannot_be_used_is_misuse_before_the_first_game(tmp_path: Path) -> None:
    assert play(tmp_path).exit_code == 0
    out = tmp_path / "out"
    with open_journal(out):
        done = run("match", "--resume", str(out))
    assert (done.exit_code, done.stderr) == (2, f"spielleiter: {out}: another match is being played in this folder\n")
    (tmp_path / "file").touch()
    done = run(*MATCH, "--out", str(tmp_path / "file" / "out"))
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert "cannot be written (Not a directory)" in done.stderr


def test_control_characters_in_names_are_escaped(games: dict[int, GameRecord], tmp_path: Path) -> None:
    games[1] = fault(1, 1, Verdict.CRASH, reason="\x1b[2J")
    done = play(tmp_path, "--name1", "a\x1b[2J\u202e", games=2)
    assert done.exit_code == 0
    assert done.stdout.replace("\n", "").isprintable()
    assert done.stderr.replace("\n", "").isprintable()
    assert r"a\x1b[2J\u202e: +2 =0 -0" in done.stdout


# -- processes -------------------------------------------------------------------------------------------------------


def start(folder: Path, *options: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "spielleiter", *MATCH, *ENDLESS, "-n", "8", "-j", "2", "--out", str(folder)]
    command += options
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def wait_for_game(process: subprocess.Popen[str]) -> None:
    """Wait until a line reports the end of the first game."""
    assert process.stderr
    output = []
    for line in process.stderr:
        if line.startswith("game "):
            return
        output.append(line)
    raise AssertionError(f"no game was played: {''.join(output)}")


def processes_of(folder: Path) -> list[str]:
    return [process.name for process in find_processes(f"{load_setup(folder)['run_id']}/")]


@pytest.mark.slow
def test_two_programs_play_as_processes(tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = run(*MATCH, *ENDLESS, "-n", "6", "-j", "2", "--seed", "3", "--out", str(out))
    assert done.exit_code == 0, done.stderr
    records = read_journal(out)
    assert [record.game for record in records] == [1, 2, 3, 4, 5, 6]
    assert {record.verdict for record in records} == {Verdict.REGULAR}
    for first, second in zip(records[::2], records[1::2], strict=True):
        assert (first.start, first.seed) == (second.start, second.seed)
        assert (first.seats, second.seats) == ((0, 1), (1, 0))
    assert processes_of(out) == []


@pytest.mark.slow
def test_two_programs_play_on_a_running_server(tmp_path: Path) -> None:
    with background_server() as server:
        done = run(*MATCH, *ENDLESS[1:], "-n", "2", "--out", str(tmp_path / "out"), "--port", str(server.port))
    assert done.exit_code == 0, done.stderr
    assert {record.verdict for record in read_journal(tmp_path / "out")} == {Verdict.REGULAR}


@pytest.mark.slow
@pytest.mark.parametrize("is_killed", [True, False])
def test_an_interrupted_match_is_resumed(is_killed: bool, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with start(out) as process:
        wait_for_game(process)
        process.send_signal(signal.SIGKILL if is_killed else signal.SIGINT)
        process.wait(PATIENCE)
        assert process.returncode == (-signal.SIGKILL if is_killed else 130)
    kept = {record.game: record for record in read_journal(out)}
    assert 1 <= len(kept) < 8
    if not is_killed:
        assert processes_of(out) == []
    done = run("match", "--resume", str(out), "-j", "2")
    assert done.exit_code == 0, done.stderr
    records = {record.game: record for record in read_journal(out)}
    assert sorted(records) == list(range(1, 9))
    assert {number: records[number] for number in kept} == kept
    assert len((out / "games.jsonl").read_text().splitlines()) == 8
    assert processes_of(out) == []


@pytest.mark.slow
def test_the_second_signal_ends_the_games_at_once(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with start(out, "--player2", "builtin:silent", "--player1", "builtin:first") as process:
        deadline = time.monotonic() + PATIENCE
        while len(list(out.glob("games/*/program2.stdout.log"))) < 2:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        assert process.stderr
        assert any("finishing the running games" in line for line in process.stderr)
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 130
    assert read_journal(out) == ()
    assert processes_of(out) == []


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
        (("--cwd1", "here"), "builtin:greedy has no process of its own"),
        (("--soft-timeout2", "20000"), "the soft time limit (20000 ms) is above the hard one (10000 ms)"),
        (("--time-factor1", "2", "--server", "localhost:1"), "greedy: time limits are set by that server"),
        (("--cores-per-game", "1000"), "1000 cores for each game cannot be had"),
        (("--player1", "sleep 1", "--cwd1", "no-such-folder"), "the directory that sleep is started in does not exist"),
    ],
)
def test_impossible_settings_of_a_program_are_refused(options: tuple[str, ...], problem: str, tmp_path: Path) -> None:
    done = play(tmp_path, *options)
    assert done.exit_code == 2
    assert problem in done.stderr
    assert not (tmp_path / "out").exists()
