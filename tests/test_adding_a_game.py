"""The worked example of docs/adding-a-game.md works, and nothing else is needed.

The page is applied to a copy of the project whose path contains spaces and an umlaut. Everything runs there in separate
processes, which import the copy.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.documents import ROOT, Block, blocks
from tests.timeouts import HANG_TIMEOUT

PAGE = "docs/adding-a-game.md"
GAME = ("--game", "tic_tac_toe")
NOT_COPIED = shutil.ignore_patterns(".*_cache", ".coverage*", ".git", ".hypothesis", ".venv*", "__pycache__", "venv*")
RELAYED = ("PYTEST_", "COV_CORE_", "COVERAGE_", "SPIELLEITER_", "PYTHON")
"""Prefixes of the environment variables that the surrounding test run sets for its own processes."""

EDITION_NAMES = re.compile(r"\b(?:EDITIONS|choose_editions|CURRENT_SEASON|COMMANDS|DOCUMENTS|SOURCES)\b")
"""What a test mentions that runs over all games, over their tables, or over the files of the project."""
NOT_AGAIN = ("tests/bench", "tests/viewer/browser", "tests/test_readme.py", "tests/test_adding_a_game.py")
"""Measurements, the page, which draws such a game as a table, and what applies this page again."""


def tests_of_all_games(folder: Path) -> list[str]:
    """Return the files with tests that depend on the table of editions, or on the files of the project."""
    files = sorted((folder / "tests").rglob("test_*.py"))
    names = [path.relative_to(folder).as_posix() for path in files if EDITION_NAMES.search(path.read_text("utf-8"))]
    return [name for name in names if not name.startswith(NOT_AGAIN)]


# -- applying the page ----------------------------------------------------------------------------------------------


def file_named_before(block: Block) -> str:
    """The first file that the paragraph before a block names."""
    named = re.search(r"`([\w/]+\.(?:py|md))`", block.lead)
    assert named, f"no file is named before {block}"
    return named[1]


def patched(text: str, diff: str) -> str:
    """`text` with a diff applied whose hunks have no line numbers: the text they replace must occur exactly once.

    A hunk that is applied already, by somebody who follows the page in the project itself, changes nothing.
    """
    for hunk in re.split(r"^@@\n", diff, flags=re.MULTILINE)[1:]:
        lines = hunk.splitlines(keepends=True)
        if text.count("".join(line[1:] for line in lines if line[0] in " +")) == 1:
            continue
        old = "".join(line[1:] for line in lines if line[0] in " -")
        assert text.count(old) == 1, f"{PAGE}: its diff no longer fits, correct these lines:\n{old}"
        text = text.replace(old, "".join(line[1:] for line in lines if line[0] in " +"))
    return text


def with_last_row(text: str, row: str) -> str:
    """`text` with one more row in the table of editions, unless it is there."""
    if row in text:
        return text
    return re.sub(r"^\| gameType \|.*\n(?:\|.*\n)+", lambda table: table[0] + row, text, count=1, flags=re.MULTILINE)


def apply(folder: Path) -> list[str]:
    """Do in `folder` what the page says; return the names of the new files."""
    new = []
    for block in blocks(PAGE, "python"):
        path = folder / file_named_before(block)
        assert not path.exists() or path.read_text("utf-8") == block.text, f"{path} is there already, but differs"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block.text, encoding="utf-8")
        new.append(file_named_before(block))
    (diff,) = blocks(PAGE, "diff")
    (row,) = blocks(PAGE, "markdown")
    changes = {file_named_before(diff): patched, file_named_before(row): with_last_row}
    for block in (diff, row):
        path = folder / file_named_before(block)
        text = path.read_text(encoding="utf-8")
        path.write_text(changes[file_named_before(block)](text, block.text), encoding="utf-8")
        assert "tic_tac_toe" in path.read_text(encoding="utf-8")
    return new


class Project:
    """A copy of the project with the page applied."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        shutil.copytree(ROOT, folder, symlinks=True, ignore=NOT_COPIED)
        self.new_files = apply(folder)
        # these folders come before all installed packages, including the editable installation of the project
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(RELAYED)}
        self.environment = {
            **inherited,
            "PYTHONPATH": os.pathsep.join([str(folder / "src"), str(folder)]),
            "PYTHONUTF8": "1",
        }

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Start this Python with these arguments."""
        return subprocess.Popen(
            [sys.executable, *arguments],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
        )

    def run(self, *arguments: str) -> str:
        """What the process prints; it must succeed."""
        return finished(self.start(*arguments))

    def spielleiter(self, *arguments: str) -> str:
        return self.run("-m", "spielleiter", *arguments)

    @contextmanager
    def serving(self, *options: str) -> Iterator[Server]:
        """A server on a free port; leaving ends it."""
        serving = self.start("-m", "spielleiter", "serve", "--port", "0", "--log-format", "json", *options)
        try:
            yield Server(self, serving)
        finally:
            serving.terminate()
            try:
                serving.communicate(timeout=HANG_TIMEOUT)
            except subprocess.TimeoutExpired:
                serving.kill()
                serving.communicate()


class Server:
    """A server, and commands that talk to it."""

    def __init__(self, project: Project, process: subprocess.Popen[str]) -> None:
        self._project = project
        self._process = process
        self.port = self.wait_for("server_started")["addresses"][0].rpartition(":")[2]

    def wait_for(self, event: str) -> dict[str, Any]:
        """Read the log up to this event and return it."""
        assert self._process.stderr
        for line in self._process.stderr:
            entry: dict[str, Any] = json.loads(line)
            if entry["event"] == event:
                return entry
        raise AssertionError(f"the server ended before {event}")

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        return self._project.start("-m", "spielleiter", *arguments, "--port", self.port, *GAME)

    def prepare(self) -> tuple[str, str, str]:
        """Prepare a game; return the room and the codes of its seats."""
        room = json.loads(finished(self.start("admin", "prepare", "--slot", "Jörg", "--slot", "Bo", "--json")))
        return room["roomId"], *room["reservations"]


def finished(process: subprocess.Popen[str]) -> str:
    """What a process prints; it must succeed."""
    try:
        output, errors = process.communicate(timeout=HANG_TIMEOUT)
    except subprocess.TimeoutExpired:
        process.kill()
        output, errors = process.communicate()
    assert process.returncode == 0, f"{output}\n{errors}"
    return output


@pytest.fixture(scope="session")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    return Project(tmp_path_factory.mktemp("adding a game") / "drei gewinnt für alle")


# -- the checks ----------------------------------------------------------------------------------------------------


def test_a_diff_that_no_longer_fits_is_reported() -> None:
    assert patched("a\nb\n", "--- x\n+++ x\n@@\n a\n+c\n") == "a\nc\nb\n"
    with pytest.raises(AssertionError, match="its diff no longer fits"):
        patched("a\nb\n", "@@\n c\n+d\n")


@pytest.mark.slow
def test_the_copy_is_what_runs(project: Project) -> None:
    modules = (
        "spielleiter.client",
        "spielleiter.game.tic_tac_toe",
        "spielleiter.protocol",
        "spielleiter.server.editions",
        "spielleiter",
        "tests.documents",
    )
    code = f"import importlib\nfor name in {modules}: print(importlib.import_module(name).__file__)"
    files = [Path(line) for line in project.run("-c", code).splitlines()]
    assert len(files) == len(modules)
    assert [file for file in files if not file.is_relative_to(project.folder)] == []


@pytest.mark.slow
def test_its_own_tests_pass_and_reach_every_branch(project: Project) -> None:
    project.run("-m", "ruff", "check", "--no-cache", *project.new_files, "server/editions.py")
    own = [name for name in project.new_files if name.startswith("tests/")]
    measured = ("--cov=spielleiter.game.tic_tac_toe", "--cov=spielleiter.protocol.dialects.tic_tac_toe", "--cov-branch")
    project.run("-m", "pytest", "-q", "-n", "0", *own, *measured, "--cov-report=", "--cov-fail-under=100")


PARALLEL = ("-q", "-n", "2", "-p", "no:cacheprovider")


@pytest.mark.slow
def test_everything_that_depends_on_the_games_passes_with_one_more(project: Project, tmp_path: Path) -> None:
    """The short tests with all games, and of the long ones those that have this game in their name."""
    files = tests_of_all_games(project.folder)
    assert {"tests/game/test_api.py", "tests/cli/test_play.py", "tests/viewer/replays/test_reading.py"} <= set(files)
    base = f"--basetemp={tmp_path / 'base'}"
    project.run("-m", "pytest", *PARALLEL, base, "-m", "not slow and not no_cover", *files)
    of_this_game = ("-m", "slow", "-k", "tic_tac_toe or tic-tac-toe")
    output = project.run("-m", "pytest", *PARALLEL, "-v", base, *of_this_game, *files)
    for test in ("test_every_edition_is_played", "test_every_edition_is_administered"):
        assert f"{test}[tic-tac-toe]" in output


@pytest.mark.slow
def test_the_page_can_be_followed_in_the_project_itself(project: Project) -> None:
    """Then these tests apply it to a copy in which everything is done already."""
    names = (*project.new_files, "server/editions.py", "README.md")
    before = [(project.folder / name).read_bytes() for name in names]
    assert apply(project.folder) == project.new_files
    assert [(project.folder / name).read_bytes() for name in names] == before


@pytest.mark.slow
def test_a_game_is_played_watched_saved_and_resumed(project: Project, tmp_path: Path) -> None:
    with project.serving(f"--save-replay={tmp_path}") as server:
        room, *codes = server.prepare()
        observing = server.start("admin", "observe", room, "--json")
        server.wait_for("observer_joined")
        first, second = (server.start("play", "-s", "first", "-r", code, "--json") for code in codes)
        seen = [json.loads(line) for line in finished(observing).splitlines()]
        reports = [json.loads(finished(each)) for each in (first, second)]
        server.wait_for("replay_saved")
    assert [each["turn"] for each in seen if each["event"] == "state"] == list(range(8))
    # cell by cell, row by row, the first player completes the diagonal with its fourth mark
    assert [(each["outcome"], each["points"], each["movesPlayed"]) for each in reports] == [
        ("won", [[1], [0]], 4),
        ("lost", [[1], [0]], 3),
    ]

    (replay,) = tmp_path.glob("replay_tic_tac_toe_*_Jörg_Bo.xml")
    with project.serving("--load-game-file", str(replay), "--turn", "5") as server:
        _, *codes = server.prepare()
        first, second = (server.start("play", "-s", "first", "-r", code, "--json") for code in codes)
        reports = [json.loads(finished(each)) for each in (first, second)]
    assert [(each["outcome"], each["movesPlayed"]) for each in reports] == [("won", 1), ("lost", 1)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("strategy", "cause", "reason"),
    [("silent", "HARD_TIMEOUT", "Zug gesendet"), ("illegal", "RULE_VIOLATION", "Das Feld ist schon besetzt")],
)
def test_breaking_a_limit_or_a_rule_loses(strategy: str, cause: str, reason: str, project: Project) -> None:
    limits = ("--soft-timeout", "100", "--hard-timeout", "100") if strategy == "silent" else ("--no-timeout",)
    with project.serving(*limits) as server:
        _, *codes = server.prepare()
        offender = server.start("play", "-s", strategy, "-r", codes[0], "--json")
        other = server.start("play", "-s", "first", "-r", codes[1], "--json")
        lost, won = (json.loads(finished(each)) for each in (offender, other))
    assert (lost["outcome"], lost["cause"], won["outcome"]) == ("lost", cause, "won")
    assert reason in lost["reason"]


@pytest.mark.slow
def test_a_match_and_a_demo_are_played(project: Project, tmp_path: Path) -> None:
    players = ("--player1", "builtin:greedy", "--player2", "builtin:random", "--no-timeout")
    output = project.spielleiter("match", *GAME, *players, "-n", "4", "--seed", "1", "--out", str(tmp_path / "out"))
    assert "4 of 4 games played, 4 counted" in output
    demo_output = project.spielleiter("demo", *GAME, "--first", "first", "--second", "first")
    assert demo_output.splitlines()[-1].startswith("first wins 1:0")
