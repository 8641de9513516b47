"""The command with the options and the output of the organisers' test-client.jar.

The expected texts follow the format strings of its source (release 27.0.4, `TestClient.java` and `logback-tests.xml`).
"""

from __future__ import annotations

import re
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from spielleiter.cli.test_client import Scores, accuracy_lines, log_line
from spielleiter.match.records import GameRecord, load_setup
from spielleiter.match.summary import summarise
from spielleiter.match.verdict import Verdict
from spielleiter.server.editions import EDITIONS
from tests.cli.background import background_server, run
from tests.match.sample_records import absence, game

NAMES = ("Alice", "Bob")
FRAGMENTS = EDITIONS["blokus-2027"].dialect.score_definition
TIME = re.compile(r"^\d\d:\d\d:\d\d\.\d\d ", re.MULTILINE)


def printed(records: list[GameRecord], planned: int = 4) -> list[tuple[str, str]]:
    lines: list[tuple[str, str]] = []
    scores = Scores(NAMES, planned, FRAGMENTS, lambda level, text: lines.append((level, text)))
    for record in records:
        scores.game_finished(record)
    scores.finish()
    return lines


def play(folder: Path, *options: str) -> Any:
    players = ("--player1", "builtin:greedy", "--player2", "builtin:random")
    return run("test-client", *players, "--out", str(folder / "out"), *options)


def test_a_line_of_the_log_is_that_of_logback() -> None:
    now = datetime(2026, 11, 27, 13, 5, 9, 987_654)  # noqa: DTZ001 - the local time of a test
    assert log_line("WARN", "text", now) == "13:05:09.98 WARN                         sc.TestClient - text"
    assert log_line("ERROR", "text", now) == "13:05:09.98 ERROR                        sc.TestClient - text"


def test_the_lines_of_a_match_are_those_of_the_official_program() -> None:
    records = [game(1, 0, reason=""), game(2, None, reason="Beide Spieler sind gleichauf"), game(3, 1, reason="")]
    scores = "New scores after {} of 3 games: Alice[Siegpunkte  {}, ∅Punkte {}] Bob[Siegpunkte  {}, ∅Punkte {}]"
    table = (
        "\n=============== SCORES ================\nAlice: 3\nBob: 3\n"
        "=======================================\n0 of 3 games ended irregularly!"
    )
    assert printed(records, planned=3) == [
        ("WARN", "Game 0 ended regularly - Winner: Alice"),
        ("INFO", scores.format(1, "2.00", "80.00", "0.00", "60.00")),
        ("WARN", "Game 1 ended regularly - Winner: Beide Spieler sind gleichauf"),
        ("INFO", scores.format(2, "3.00", "75.00", "1.00", "65.00")),
        ("WARN", "Game 2 ended regularly - Winner: Bob"),
        ("INFO", scores.format(3, "3.00", "70.00", "3.00", "70.00")),
        ("WARN", table),
    ]


def test_faults_are_irregular_and_a_crash_is_said() -> None:
    late = game(1, 1, verdict=Verdict.TIMEOUT, offender=0, causes=("SOFT_TIMEOUT", "REGULAR"), reason="too late")
    crashed = absence(2, 0)
    uncounted = game(3, None, is_counted=False, verdict=Verdict.SERVER_FAILED, causes=("", ""), reason="no server")
    lines = printed([late, crashed, uncounted])
    assert ("WARN", "Game 0 ended irregularly! Winner: too late") in lines
    assert [text for level, text in lines if level == "ERROR" and text.startswith("Alice crashed, look into ")]
    assert ("ERROR", "Game 2 does not count: no server") in lines
    assert ("WARN", "Game 2 ended irregularly! Winner: null") in lines
    assert lines[-1][1].endswith("3 of 3 games ended irregularly!")


def test_without_a_game_there_is_no_table() -> None:
    assert printed([]) == []


def test_the_result_has_its_accuracy() -> None:
    records = [game(number, 0 if number % 4 else 1) for number in range(1, 41)]
    first, second, elo, answer = accuracy_lines(summarise(records, NAMES))
    share, margin = map(float, re.findall(r"\d+\.\d", first)[:2])
    assert (share, second.startswith("Bob: 25.0 % ± ")) == (75.0, True)
    assert 5 < margin < 25
    assert elo.startswith("Elo of Alice: +190.8 [")
    assert answer == "Alice is better than Bob"
    assert len(accuracy_lines(summarise([], NAMES))) == 1


@pytest.mark.usefixtures("games")
def test_the_documented_command_works(tmp_path: Path) -> None:
    """As in the documentation of the organisers, with the options of all seasons."""
    done = play(tmp_path, "--start-server", "--tests", "4", "--name1", "A", "--name2", "B", "--port", "13051")
    assert (done.exit_code, done.stderr) == (0, "")
    lines = TIME.sub("", done.stdout).splitlines()
    assert lines[0] == (
        "INFO                         sc.TestClient - Players: "
        "[ClientPlayer{name='A', executable='builtin:greedy', isJar=false, canTimeout=true}, "
        "ClientPlayer{name='B', executable='builtin:random', isJar=false, canTimeout=true}]"
    )
    assert lines[-10:-5] == [
        "=============== SCORES ================",
        "A: 8",
        "B: 0",
        "=======================================",
        "0 of 4 games ended irregularly!",
    ]
    assert lines[-1] == f"report: {tmp_path / 'out' / 'report.html'}"
    assert load_setup(tmp_path / "out")["server"] is None


@pytest.mark.usefixtures("games")
def test_options_of_every_season_are_accepted(tmp_path: Path) -> None:
    def limits(name: str, *options: str) -> list[bool]:
        assert play(tmp_path / name, "-t", "2", *options).exit_code == 0
        return [entrant["can_timeout"] for entrant in load_setup(tmp_path / name / "out")["entrants"]]

    assert limits("2018", "--timeout1", "true", "--timeout2", "false") == [True, False]
    assert limits("2021", "--no-timeout1", "--server", "server.jar") == [False, True]
    assert limits("2027", "--no-timeout", "--start-server", "true", "--loglevel", "ERROR") == [False, False]
    server = load_setup(tmp_path / "2021" / "out")["server"]
    assert list(server) == ["127.0.0.1", 13050]


@pytest.mark.usefixtures("games")
def test_levels_equal_names_and_an_early_end(tmp_path: Path) -> None:
    done = play(tmp_path, "--start-server", "--name1", "x", "--name2", "x", "--loglevel", "warn", "-t", "2")
    assert "Both players have the same name, adding suffixes!" in done.stdout
    assert " INFO " not in done.stdout
    assert "\nx-1: 4\nx-2: 0\n" in done.stdout
    done = play(tmp_path / "2", "--start-server", "--significance", "0.05", "--min-tests", "4", "--loglevel", "loud")
    assert "loud is not a valid LogLevel!" in done.stdout
    assert "player1 is significantly better!" in done.stdout
    assert "of 100 games" in done.stdout
    assert "100 of 100" not in done.stdout


def test_without_a_program_one_line_says_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = run("test-client", "--player1", "builtin:first")
    assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "--player2 is missing, and there is no defaultplayer.jar" in done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_games_are_played_on_a_running_server(tmp_path: Path) -> None:
    with background_server(has_timeouts=False) as server:
        done = play(tmp_path, "-t", "2", "-p", str(server.port), "--no-timeout")
        server.wait_for("game_ended")
    assert done.exit_code == 0
    assert "2 of 2 games:" in done.stdout
