"""Matches with real processes."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from spielleiter.match.records import load_setup, read_journal
from spielleiter.match.verdict import Verdict
from spielleiter.programs.processes import find_processes
from tests.cli.background import background_server, run
from tests.cli.matches import ENDLESS, MATCH
from tests.timeouts import HANG_TIMEOUT

ROOT = Path(__file__).parents[2]


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
    if sys.platform == "win32":
        pytest.skip("Windows has nothing like it")
    out = tmp_path / "out"
    with start(out) as process:
        wait_for_game(process)
        process.send_signal(signal.SIGKILL if is_killed else signal.SIGINT)
        process.wait(HANG_TIMEOUT)
        assert process.returncode == (-signal.SIGKILL if is_killed else 130)
    earlier = {record.game: record for record in read_journal(out)}
    assert 1 <= len(earlier) < 8
    if not is_killed:
        assert processes_of(out) == []
    done = run("match", "--resume", str(out), "-j", "2")
    assert done.exit_code == 0, done.stderr
    records = {record.game: record for record in read_journal(out)}
    assert sorted(records) == list(range(1, 9))
    assert {number: records[number] for number in earlier} == earlier
    assert len((out / "games.jsonl").read_text().splitlines()) == 8
    assert processes_of(out) == []


@pytest.mark.slow
def test_the_second_signal_ends_the_games_at_once(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with start(out, "--player2", "builtin:silent", "--player1", "builtin:first") as process:
        deadline = time.monotonic() + HANG_TIMEOUT
        while len(list(out.glob("games/*/program2.stdout.log"))) < 2:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        assert process.stderr
        assert any("finishing the running games" in line for line in process.stderr)
        process.send_signal(signal.SIGINT)
        assert process.wait(HANG_TIMEOUT) == 130
    assert read_journal(out) == ()
    assert processes_of(out) == []
