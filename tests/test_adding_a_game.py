"""The worked example of docs/adding-a-game.md works, and nothing else is needed.

The example is applied to a copy of the project whose path contains spaces and an umlaut. Everything runs there in
separate processes, which import the copy.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import pytest
from playwright.sync_api import expect

from tests.documents import ROOT
from tests.timeouts import HANG_TIMEOUT
from tests.viewer.browser.browsers import Visit, expect_ply, started_browser

EXAMPLE = ROOT / "examples" / "nim"
GAME = ("--game", "nim")
NOT_COPIED = shutil.ignore_patterns(".*_cache", ".coverage*", ".git", ".hypothesis", ".venv*", "__pycache__", "venv*")
RELAYED = ("PYTEST_", "COV_CORE_", "COVERAGE_", "SPIELLEITER_", "PYTHON")
"""Prefixes of the environment variables that the surrounding test run sets for its own processes."""

EDITION_NAMES = re.compile(r"\b(?:EDITIONS|choose_editions|CURRENT_SEASON|COMMANDS|DOCUMENTS|SOURCES)\b")
"""What a test mentions that runs over all games, over their tables, or over the files of the project."""
NOT_AGAIN = ("tests/bench", "tests/viewer/browser", "tests/test_documents.py", "tests/test_adding_a_game.py")
"""Measurements, the tests of the page, which play the games of the contest, and what applies the example again."""


def files_with_all_games(folder: Path) -> list[str]:
    """Return the files with tests that depend on the table of editions, or on the files of the project."""
    files = sorted((folder / "tests").rglob("test_*.py"))
    names = [path.relative_to(folder).as_posix() for path in files if EDITION_NAMES.search(path.read_text("utf-8"))]
    return [name for name in names if not name.startswith(NOT_AGAIN)]


# -- applying the example -------------------------------------------------------------------------------------------


def patched(text: str, diff: str) -> str:
    """`text` with a diff applied, without its line numbers: the text that a hunk replaces must occur exactly once.

    A hunk that is applied already, by somebody who adds the example to the project itself, changes nothing.
    """
    for hunk in re.split(r"^@@.*\n", diff, flags=re.MULTILINE)[1:]:
        lines = hunk.splitlines(keepends=True)
        if set(text.splitlines(keepends=True)).issuperset(line[1:] for line in lines if line[0] == "+"):
            continue
        old = "".join(line[1:] for line in lines if line[0] in " -")
        assert text.count(old) == 1, f"examples/nim/entries.diff no longer fits, correct these lines:\n{old}"
        text = text.replace(old, "".join(line[1:] for line in lines if line[0] in " +"))
    return text


def patches(diff: str) -> dict[str, str]:
    """The hunks of a diff, by the file that they change."""
    parts = re.split(r"^--- a/.*\n\+\+\+ b/(.*)\n", diff, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def apply(folder: Path) -> tuple[list[str], list[str]]:
    """Do in `folder` what the page says; return the names of the new files, and of those that it changes."""
    new, changed = [], []
    for source in sorted(path for suffix in ("py", "js") for path in EXAMPLE.rglob(f"*.{suffix}")):
        name = source.relative_to(EXAMPLE).as_posix()
        path = folder / name
        assert not path.exists() or path.read_bytes() == source.read_bytes(), f"{path} is there already, but differs"
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, path)
        new.append(name)
    for name, hunks in patches((EXAMPLE / "entries.diff").read_text("utf-8")).items():
        path = folder / name
        path.write_text(patched(path.read_text("utf-8"), hunks), encoding="utf-8")
        changed.append(name)
    assert new
    assert "server/editions.py" in changed
    return new, changed


class Project:
    """A copy of the project with the example applied."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        shutil.copytree(ROOT, folder, symlinks=True, ignore=NOT_COPIED)
        self.new_files, self.changed_files = apply(folder)
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
        slots = ("--slot", "Jörg", "--slot", "Bo")
        room = json.loads(finished(self.start("admin", "prepare", *slots, "--json")))
        return room["roomId"], *room["reservations"]


class Pupil:
    """A client that is no more than a socket, for the packets of Nim."""

    def __init__(self, server: Server, code: str) -> None:
        self._socket = socket.create_connection(("localhost", int(server.port)), HANG_TIMEOUT)
        self._received = ""
        self._send(f'<protocol><joinPrepared reservationCode="{code}"/>')

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def _send(self, text: str) -> None:
        self._socket.sendall(text.encode())

    def move(self, room: str, data: str) -> None:
        self._send(f'<room roomId="{room}">{data}</room>')

    def read_until(self, end: str) -> str:
        """Return what comes up to this text, which is in a packet that the server sends."""
        while end not in self._received:
            chunk = self._socket.recv(4096)
            assert chunk, self._received
            self._received += chunk.decode()
        read, _, self._received = self._received.partition(end)
        return read + end


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


@pytest.mark.slow
def test_the_copy_is_what_runs(project: Project) -> None:
    modules = (
        "spielleiter.client",
        "spielleiter.game.nim",
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
    touched = [name for name in (*project.new_files, *project.changed_files) if name.endswith(".py")]
    project.run("-m", "ruff", "check", "--no-cache", *touched)
    project.run("-m", "ruff", "format", "--no-cache", "--check", *touched)
    own = [name for name in project.new_files if name.startswith("tests/")]
    pure = ("game.nim", "protocol.dialects.nim")
    measured = [*(f"--cov=spielleiter.{module}" for module in pure), "--cov-branch", "--cov-report="]
    project.run("-m", "pytest", "-q", "-n", "0", *own, *measured, "--cov-fail-under=100")


PARALLEL = ("-q", "-n", "2", "-p", "no:cacheprovider")


@pytest.mark.slow
def test_everything_that_depends_on_the_games_passes_with_one_more(project: Project, tmp_path: Path) -> None:
    """The short tests with all games, and of the long ones those that have this game in their name."""
    files = files_with_all_games(project.folder)
    assert {"tests/game/test_api.py", "tests/cli/test_play.py", "tests/viewer/test_replay_files.py"} <= set(files)
    base = f"--basetemp={tmp_path / 'base'}"
    project.run("-m", "pytest", *PARALLEL, base, "-m", "not slow and not no_cover", *files)
    of_this_game = ("-m", "slow", "-k", "[nim or nim]")
    output = project.run("-m", "pytest", *PARALLEL, "-vv", base, *of_this_game, *files)
    assert "test_a_replay_of_each_edition_is_recognised[nim]" in output


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
    assert [each["turn"] for each in seen if each["event"] == "state"] == list(range(16))
    # one stick at a time, the first player takes the last of fifteen
    assert [(each["outcome"], each["points"], each["movesPlayed"]) for each in reports] == [
        ("won", [[1], [0]], 8),
        ("lost", [[1], [0]], 7),
    ]

    (replay,) = tmp_path.glob("replay_nim_*_Jörg_Bo.xml")
    with project.serving("--load-game-file", str(replay), "--turn", "13") as server:
        _, *codes = server.prepare()
        first, second = (server.start("play", "-s", "first", "-r", code, "--json") for code in codes)
        reports = [json.loads(finished(each)) for each in (first, second)]
    assert [(each["outcome"], each["movesPlayed"]) for each in reports] == [("won", 1), ("lost", 1)]


@pytest.mark.slow
def test_a_match_and_a_demo_are_played(project: Project, tmp_path: Path) -> None:
    players = ("--player1", "builtin:greedy", "--player2", "builtin:random", "--no-timeout")
    output = project.spielleiter("match", *GAME, *players, "-n", "4", "--seed", "1", "--out", str(tmp_path / "out"))
    assert "4 of 4 games played, 4 counted" in output
    demo_output = project.spielleiter("demo", *GAME, "--first", "first", "--second", "first")
    assert demo_output.splitlines()[-1].startswith("first wins 1:0")


REQUEST = 'class="sc.framework.plugins.protocol.MoveRequest"/>'


@pytest.mark.slow
def test_a_player_gives_up_with_a_packet_that_no_other_game_has(project: Project, tmp_path: Path) -> None:
    with project.serving("--no-timeout", f"--save-replay={tmp_path}") as server:
        room, *codes = server.prepare()
        with Pupil(server, codes[0]) as pupil:
            other = server.start("play", "-s", "first", "-r", codes[1], "--json")
            assert '<state turn="0" sticks="15"/>' in pupil.read_until(REQUEST)
            pupil.move(room, '<data class="take" count="2"/>')
            answer = pupil.read_until(REQUEST)
            assert [int(sticks) for sticks in re.findall(r'sticks="(\d+)"', answer)] == [13, 12]
            pupil.move(room, '<data class="giveUp"/>')
            answer = pupil.read_until("</protocol>")
        report = json.loads(finished(other))
        server.wait_for("replay_saved")
    assert '<state turn="3" sticks="12">\n        <lastMove class="giveUp"/>' in answer
    assert '<winner displayName="Bo">' in answer
    assert (report["outcome"], report["cause"]) == ("won", "REGULAR")

    (replay,) = tmp_path.glob("replay_nim_*.xml")
    picture = tmp_path / "nim.png"
    moves = project.spielleiter("replay", str(replay), "--text", "--png", str(picture))
    assert "give up" in moves
    assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_the_page_shows_the_board_while_the_game_is_played(project: Project) -> None:
    with started_browser() as browser, project.serving("--viewer", "127.0.0.1:0", "--no-timeout") as server:
        url = server.wait_for("viewer_started")["url"]
        room, *codes = server.prepare()
        with Pupil(server, codes[0]) as pupil, Pupil(server, codes[1]):
            pupil.read_until(REQUEST)
            context = browser.new_context(viewport={"width": 1280, "height": 800}, locale="de-DE")
            watching = Visit(url, context, context.new_page())
            page = watching.open(f"#/room/{room}")
            expect_ply(page, 0)
            expect(page.get_by_role("img", name="15 Hölzer")).to_be_visible()
            expect(page.locator(".nim rect[fill=currentColor]")).to_have_count(15)
            pupil.move(room, '<data class="take" count="3"/>')
            expect_ply(page, 1)
            expect(page.get_by_role("img", name="12 Hölzer")).to_be_visible()
            expect(page.locator(".nim rect[fill=currentColor]")).to_have_count(12)
            expect(page.locator(".nim rect")).to_have_count(15)
            watching.screenshot("nim")
            watching.close()
