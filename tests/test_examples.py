"""The scripts in `examples/`: each one does what its help says, from any folder."""

from __future__ import annotations

import gzip
import os
import random
import re
import runpy
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest
from msgspec import structs

from spielleiter.players.choosers import ladder_of
from spielleiter.protocol.thinking import Candidate, Mark, Thinking, read_thinking
from spielleiter.server.editions import EDITIONS
from tests.cli.background import BackgroundServer, background_server
from tests.documents import ROOT, blocks
from tests.match.conftest import players
from tests.match.players import LIGHT
from tests.match.refereed import write_late_replay
from tests.shell import end_of, saved_game

__all__ = ["players"]  # a fixture of these tests, too

ENVIRONMENT = {
    **{name: value for name, value in os.environ.items() if not name.startswith(("SPIELLEITER_", "PYTHONPATH"))},
    "SPIELLEITER_RECENT_GAMES": "0",
}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[BackgroundServer]:
    """A server whose games begin shortly before their end."""
    with background_server(load_game_file=write_late_replay(tmp_path)) as started:
        yield started


def start(folder: Path, example: str, *arguments: str) -> subprocess.Popen[str]:
    """Start an example in `folder`, with its errors among its output."""
    return subprocess.Popen(
        [sys.executable, str(ROOT / "examples" / example), *arguments],
        cwd=folder,
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def run(folder: Path, example: str, *arguments: str) -> str:
    """Run an example to its end, and return its output."""
    started = start(folder, example, *arguments)
    output = end_of(started)
    assert started.returncode == 0, output
    return output


def run_here(monkeypatch: pytest.MonkeyPatch, example: str, *arguments: str) -> None:
    """Run an example in this process."""
    monkeypatch.setattr(sys, "argv", [example, *arguments])
    runpy.run_path(str(ROOT / "examples" / example), run_name="__main__")


def test_legal_moves_lists_the_moves_of_a_position(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = run(tmp_path, "legal_moves.py", "--turn", "8", "--seed", "0").splitlines()
    board, moves = lines[:20], lines[22:]
    assert all(re.fullmatch(r"([.BYRG] ){19}[.BYRG]", line) for line in board)
    assert {letter for line in board for letter in line} == set(" .BYRG")
    counted = re.fullmatch(r"Turn 8: BLUE can place a piece in (\d+) ways\.", lines[21])
    assert counted
    run_here(monkeypatch, "legal_moves.py", "--turn", "500")
    assert "The game is over after" in capsys.readouterr().out
    assert int(counted[1]) == sum(int(line.split()[1].rstrip(",")) for line in moves) > 100


@pytest.mark.slow
def test_my_player_plays_a_game(server: BackgroundServer, tmp_path: Path) -> None:
    server.add_player("random")
    output = run(tmp_path, "my_player.py", "--port", str(server.port))
    assert re.fullmatch(r"(won|lost|draw) after \d moves\n", output)
    server.wait_for("game_ended")
    assert '"causes": ["REGULAR", "REGULAR"]' in server.log


@pytest.mark.slow
def test_observe_game_prints_a_prepared_game(server: BackgroundServer, tmp_path: Path) -> None:
    observing = start(tmp_path, "observe_game.py", "Alice", "Bob", "--port", str(server.port))
    assert observing.stdout
    printed = [observing.stdout.readline() for _ in range(2)]
    commands = [re.fullmatch(r"(Alice|Bob): spielleiter (play .*) --reservation (\S+)\n", line) for line in printed]
    assert [command[1] for command in commands if command] == ["Alice", "Bob"], printed
    first, second = (command[3] for command in commands if command)
    player = start(tmp_path, "my_player.py", "-h", "127.0.0.1", "-p", str(server.port), "-r", first)
    server.add_player("illegal", reservation=second)
    assert end_of(player).startswith("won after 1 moves\nSpieler 2: ")
    lines = end_of(observing).splitlines()
    assert observing.returncode == 0, lines
    assert all(re.fullmatch(r"turn \d\d:  \d\d : \d\d\d", line) for line in lines[:2]), lines
    assert lines[-3:-1] == ["Alice wins", "Alice: REGULAR"]
    assert lines[-1].startswith("Bob: RULE_VIOLATION Nur eigene Spielfiguren ")


@pytest.mark.slow
@pytest.mark.usefixtures("players")
def test_run_match_plays_two_programs(tmp_path: Path) -> None:
    programs = f"{LIGHT} first", f"{LIGHT} illegal"
    output = run(tmp_path, "run_match.py", *programs, "--games", "2", "--out", "reports")
    assert output.splitlines()[:2] == ["game 1: illegal move", "game 2: illegal move"]
    assert re.search(r"^\S+ \(1\): at fault in 0 games", output, re.MULTILINE)
    assert re.search(r"^\S+ \(2\): at fault in 2 games", output, re.MULTILINE)
    assert "Elo difference " in output
    assert (tmp_path / "reports" / "report.html").exists()


@pytest.mark.slow
def test_read_replay_prints_a_saved_game(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "game.xml").write_bytes(saved_game(tmp_path))
    lines = run(tmp_path, "read_replay.py", "game.xml").splitlines()
    assert lines[0] == "turn  0:   0 :   0"
    assert re.fullmatch(r"turn  1:   5 :   0  BLUE PENTO_\w .*", lines[1])
    assert re.fullmatch(r"player [12] wins|draw", lines[-1])
    assert len(lines) > 30
    compressed = tmp_path / "replay.xml.gz"
    compressed.write_bytes(gzip.compress((tmp_path / "game.xml").read_bytes()))
    run_here(monkeypatch, "read_replay.py", str(compressed))
    assert capsys.readouterr().out.splitlines() == lines


@pytest.mark.slow
@pytest.mark.parametrize(
    ("example", "words", "printed"),
    [
        ("run_match.py", ["./missing", "builtin:first"], r"the match cannot be played: .*\./missing.*"),
        ("read_replay.py", [__file__], r".*test_examples\.py: .+"),
        ("read_replay.py", ["missing.xml"], r"missing\.xml: .+"),
    ],
)
def test_an_error_is_one_line(
    example: str, words: list[str], printed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        run_here(monkeypatch, example, *words)
    assert re.fullmatch(printed, str(ended.value))  # which Python prints before it ends with exit code 1
    assert list(tmp_path.iterdir()) == []


def test_the_ladder_of_hase_und_igel_measures_every_level_against_its_neighbours() -> None:
    file = tomllib.loads((ROOT / "examples" / "ladder-hase-und-igel.toml").read_text(encoding="utf-8"))
    levels = len(ladder_of(EDITIONS[file["edition"]].game.new_state(random.Random(1))))
    commands = [program["command"] for program in file["program"]]
    pairs = {frozenset(pair) for pair in product(commands[: file["tested"]], commands[file["tested"] :])}
    assert {frozenset({f"builtin:level-{n}", f"builtin:level-{n + 1}"}) for n in range(1, levels)} <= pairs
    assert sorted(commands) == [f"builtin:level-{n}" for n in range(1, levels + 1)]


AWKWARD = Thinking(texts=('"quoted" \\ ä ',))
"""What the helpers say of an infinite value, and of a text with a quotation mark, a backslash and a line end."""


def thoughts_of(folder: Path, *command: str) -> list[Thinking | None]:
    """What a program says that is started with these words in `folder`."""
    done = subprocess.run(command, cwd=folder, env=ENVIRONMENT, capture_output=True, check=True)
    return [read_thinking(line) for line in done.stderr.splitlines()]


def copy_helper(folder: Path, name: str, language: str) -> str:
    """Copy a helper into `folder`; return the example of its use in the document."""
    shutil.copy(ROOT / "examples" / "thinking" / name, folder)
    (example,) = blocks("docs/thinking.md", language)
    return example.text


def test_the_helper_for_python_says_what_a_program_thinks(tmp_path: Path) -> None:
    example = copy_helper(tmp_path, "think.py", "python")
    awkward = 'think(value=float("inf"), text=\'"quoted" \\\\ ä\\n\')\n'
    (tmp_path / "bot.py").write_text(example + awkward, encoding="utf-8")
    said, odd = thoughts_of(tmp_path, sys.executable, "bot.py")
    assert said == Thinking(8, 12.5, ("to the corner",), {"depth": 4.0}, (Mark(3, 4, 0.8),))
    assert odd == Thinking(texts=('"quoted" \\ ä\n',))


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("javac"), reason="there is no compiler for Java")
def test_the_helper_for_java_says_what_a_program_thinks(tmp_path: Path) -> None:
    example = copy_helper(tmp_path, "Think.java", "java")
    awkward = (
        'Think.think(-1, Double.POSITIVE_INFINITY, "\\"quoted\\" \\\\ \\u00e4\\n", new double[0][], Map.of("x", 1.0));'
    )
    source = f"import java.util.Map; class Bot {{ public static void main(String[] words) {{ {example} {awkward} }} }}"
    (tmp_path / "Bot.java").write_text(source, encoding="utf-8")
    subprocess.run(["javac", "-encoding", "UTF-8", "Bot.java", "Think.java"], cwd=tmp_path, check=True)
    said, odd = thoughts_of(tmp_path, "java", "-Dstderr.encoding=UTF-8", "-cp", ".", "Bot")
    moves = (Candidate("PENTO_W", 9.0),)
    assert said == Thinking(8, 12.5, ("to the corner",), cells=(Mark(3, 4, 0.8),), moves=moves)
    assert odd == structs.replace(AWKWARD, moves=(Candidate("x", 1.0),))


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("g++"), reason="there is no compiler for C++")
def test_the_helper_for_cpp_says_what_a_program_thinks(tmp_path: Path) -> None:
    example = copy_helper(tmp_path, "think.hpp", "cpp")
    awkward = 'think(-1, 1 / 0.0, "\\"quoted\\" \\\\ ä\\n", {{1, 2, -0.5}, {5, 6, 1e-7}});'
    source = f'#include "think.hpp"\nint main() {{ {example} {awkward} }}\n'
    (tmp_path / "bot.cpp").write_text(source, encoding="utf-8")
    subprocess.run(["g++", "-std=c++17", "-Wall", "-Werror", "-o", "bot", "bot.cpp"], cwd=tmp_path, check=True)
    said, odd = thoughts_of(tmp_path, str(tmp_path / "bot"))
    moves = (Candidate("PENTO_W", 9.0),)
    assert said == Thinking(8, 12.5, ("to the corner",), cells=(Mark(3, 4, 0.8),), moves=moves)
    assert odd == structs.replace(AWKWARD, cells=(Mark(1, 2, -0.5), Mark(5, 6, 1e-7)))
