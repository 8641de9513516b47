"""No command imports a module from the current folder, not even in its child processes.

Pupils start the commands in folders with files of any name: `client.py`, `game.py`, `random.py`.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

from spielleiter.viewer.web.analysis_routes import COMMAND
from tests.cli.background import background_server
from tests.timeouts import HANG_TIMEOUT
from tests.viewer.replay_files import replay_of

PROJECT: Final = Path(__file__).parents[1]
PACKAGES: Final = (
    "bench", "cli", "client", "cluster", "common", "contest", "game", "league", "match", "players", "programs",
    "protocol", "server", "viewer", "wire",
)  # fmt: skip
NAMES: Final = (
    *PACKAGES, "spielleiter", "supervision", "trio", "click", "json", "random", "socket", "struct", "subprocess",
)  # fmt: skip
MODULE: Final = """\
with open(__file__ + ".imported", "w") as file:
    file.write("yes")
raise ImportError("imported " + __file__)
"""
CONSOLE_SCRIPT: Final = [str(Path(sys.executable).with_name("spielleiter"))]
MODULE_COMMAND: Final = [sys.executable, "-P", "-m", "spielleiter"]
PATIENT: Final = ("--no-timeout", "--start-timeout", str(HANG_TIMEOUT), "--exit-timeout", str(HANG_TIMEOUT))
TOURNAMENT: Final = """\
games = 2

[[program]]
name = "a"
command = "builtin:first"

[[program]]
name = "b"
command = "builtin:illegal"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder of modules that must not be imported."""
    path = tmp_path / "pupil"
    path.mkdir()
    for name in NAMES:
        (path / f"{name}.py").write_text(MODULE)
    yield path
    assert imported(path) == []


def imported(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob("*.imported"))


def environment() -> dict[str, str]:
    """The environment of a user: nothing in it changes the import path."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}


def run(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """Run a command in `folder`."""
    return subprocess.run(
        command, cwd=folder, env=environment(), capture_output=True, text=True, timeout=HANG_TIMEOUT, check=False
    )


def test_a_module_in_the_folder_would_be_imported_otherwise(tmp_path: Path) -> None:
    (tmp_path / "random.py").write_text(MODULE)
    assert run(tmp_path, sys.executable, "-c", "import random").returncode == 1
    assert imported(tmp_path) == ["random.py.imported"]


@pytest.mark.slow
@pytest.mark.parametrize("command", [CONSOLE_SCRIPT, MODULE_COMMAND], ids=["console script", "module"])
@pytest.mark.parametrize("arguments", [["--version"], ["match", "--help"], ["bench", "--help"]])
def test_starting_the_command(command: list[str], arguments: list[str], folder: Path) -> None:
    assert run(folder, *command, *arguments).returncode == 0


PLAYERS: Final = ("--player2", "builtin:illegal", "-n", "2", *PATIENT, "--out", "out")
STAYING: Final = shlex.join([*MODULE_COMMAND, "play", "-s", "first", "--stay"])


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        ("match", "--player1", "builtin:first", *PLAYERS),  # one plays in a worker process, the other is supervised
        ("match", "--player1", STAYING, "--restart", "never", *PLAYERS),
        ("tournament", "t.toml", "--out", "out"),
    ],
    ids=["match", "persistent programs", "tournament"],
)
def test_matches(words: tuple[str, ...], folder: Path) -> None:
    (folder / "t.toml").write_text(TOURNAMENT)
    done = run(folder, *CONSOLE_SCRIPT, *words)
    (records,) = (folder / "out").rglob("games.jsonl")
    assert records.read_text().count('"illegal move"') == 2, done.stderr


@pytest.mark.slow
def test_check(folder: Path) -> None:
    done = run(folder, *CONSOLE_SCRIPT, "check", "builtin:illegal", *PATIENT[1:])
    assert "6  failed     keeps the rules" in done.stdout, done.stderr


@pytest.mark.slow
def test_replay_and_its_analysis(folder: Path) -> None:
    (folder / "saved.xml").write_bytes(replay_of("blokus-2027", plies=2))
    done = run(folder, *CONSOLE_SCRIPT, "replay", "saved.xml", "--text", "--html", "page.html", "--png", "picture.png")
    assert "2 plies" in done.stdout, done.stderr
    assert (folder / "page.html").exists()
    done = run(folder, *COMMAND[:-1], "missing.xml")
    assert '"event": "failed"' in done.stdout, done.stderr


@contextmanager
def lending(folder: Path, command: str) -> Iterator[str]:
    """HOST:PORT of `spielleiter lend`, started in `folder`."""
    with subprocess.Popen(
        [*CONSOLE_SCRIPT, "lend", command, "--port", "0"],
        cwd=folder,
        env=environment(),
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            yield f"127.0.0.1:{process.stdout.readline().split()[-1]}"
        finally:
            process.terminate()


@pytest.mark.slow
def test_lend_and_borrow(folder: Path) -> None:
    """The program that is lent starts and is refused its seat, since nothing is reserved for it."""
    with background_server() as server, lending(folder, "builtin:first") as address:
        done = run(folder, *CONSOLE_SCRIPT, "borrow", address, "-p", str(server.port), "-r", "no-such-code")
    assert done.returncode == 1
    assert "Couldn't find a reservation" in done.stderr  # the server's answer, so the program was running


@pytest.mark.slow
@pytest.mark.parametrize("part", ["floor", "start"])
def test_bench(part: str, folder: Path) -> None:
    done = run(folder, *CONSOLE_SCRIPT, "bench", "--quick", "--only", part)
    assert "Error" not in done.stderr
    assert done.stdout
