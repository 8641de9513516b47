"""`spielleiter match` and `tournament` with contest packages."""

from __future__ import annotations

import json
import os
import shlex
import sys
from pathlib import Path

import pytest

from spielleiter.match.records import read_journal
from tests.cli.background import run
from tests.cli.matches import ENDLESS
from tests.programs.packages.broken_packages import BROKEN
from tests.programs.packages.making import zipped
from tests.programs.packages.official_packages import python_package

PLAYER = f"""#!/bin/sh
ls > files.txt
cat files.txt >&2
exec {shlex.quote(sys.executable)} -P -m spielleiter play -s first "$@"
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "player.zip").write_bytes(zipped({"start.sh": PLAYER, "data/book.txt": "x"}))
    (tmp_path / "broken.zip").write_bytes(BROKEN["line ends of Windows"].content)
    return tmp_path


@pytest.mark.slow
def test_a_package_plays_a_match_and_resumes_it(folder: Path) -> None:
    options = ("--player1", "player.zip --seed 3", "--player2", "builtin:random", "-n", "2", "--out", "out")
    done = run("match", *options, *ENDLESS)
    assert done.exit_code == 0, done.stderr
    records = read_journal(folder / "out")
    assert [record.verdict for record in records] == ["regular", "regular"]
    setup = json.loads((folder / "out" / "match.json").read_text())
    assert (setup["entrants"][0]["name"], setup["entrants"][0]["command"]) == ("player", "player.zip --seed 3")
    assert not (folder / "files.txt").exists()
    (log,) = (folder / "out" / "games").glob("*2/program*.stderr.log")
    assert [line.split()[-1] for line in log.read_text().splitlines()[:3]] == ["data", "files.txt", "start.sh"]
    journal = folder / "out" / "games.jsonl"
    journal.write_text(journal.read_text().splitlines(keepends=True)[0])
    assert run("match", "--resume", "out").exit_code == 0
    assert [record.verdict for record in read_journal(folder / "out")] == ["regular", "regular"]


_LIBRARY = """\
import os, sys

def play():
    words = [sys.executable, "-P", "-m", "spielleiter", "play", "-s", "first", *sys.argv[1:]]
    os.environ.pop("PYTHONPATH")  # where this module is
    os.execv(sys.executable, words)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows cannot start a shell script by itself")
def test_a_package_of_the_official_builder_for_python_plays_as_it_comes(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its script is in a folder, is started above it, and installs the wheels that are beside it."""
    tools = folder / "tools"
    tools.mkdir()
    for name, module in {"pip": "-m pip", "python3": ""}.items():
        (tools / name).write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {module} "$@"\n')
        (tools / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}{os.pathsep}{os.environ['PATH']}")
    source = "from socha.starter import play\n\nplay()\n"
    (folder / "built.zip").write_bytes(python_package(source, {"socha/starter.py": _LIBRARY}))
    programs = ("--player1", "built.zip", "--player2", "builtin:random", "-n", "2", "--out", "out")
    done = run("match", *programs, *ENDLESS)
    assert done.exit_code == 0, done.stderr
    assert [record.verdict for record in read_journal(folder / "out")] == ["regular", "regular"]


def test_a_package_that_cannot_be_started_is_misuse(folder: Path) -> None:
    done = run("match", "--player1", "broken.zip", "--player2", "builtin:random", "--out", "out")
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr == (
        "spielleiter: broken.zip: start.sh has the line ends of Windows (CR LF), so Linux cannot execute it; "
        "save it with LF\n"
    )
    assert not (folder / "out").exists()


def test_a_program_of_a_tournament_can_be_a_package(folder: Path) -> None:
    file = folder / "tournament.toml"
    program = '[[program]]\nname = "{}"\ncommand = "{}"\n'
    file.write_text(program.format("a", "broken.zip") + program.format("b", "builtin:first"))
    done = run("tournament", str(file), "--out", "out")
    assert done.exit_code == 2
    assert "broken.zip: start.sh has the line ends" in done.stderr


def test_the_main_file_is_an_option_and_a_key(folder: Path) -> None:
    options = ("--player1", "player.zip", "--player2", "builtin:first", "--out", "out")
    done = run("match", *options, "--main1", "data")
    assert done.exit_code == 2
    assert "data is a folder" in done.stderr
    file = folder / "match.toml"
    file.write_text('[[program]]\ncommand = "player.zip"\nmain = "star.sh"\n[[program]]\ncommand = "builtin:first"\n')
    done = run("match", str(file), "--out", "out")
    assert done.exit_code == 2
    assert "there is no file star.sh in the ZIP file (did you mean 'start.sh'?)" in done.stderr


def test_warnings_are_printed(folder: Path) -> None:
    (folder / "yellow.zip").write_bytes(BROKEN["unusual interpreter"].content)
    options = ("--player1", "yellow.zip", "--player2", "yellow.zip", "--out", "out")
    done = run("match", *options, "--require", "better", "-n", "2")
    assert done.exit_code == 2  # too few games for that, so that nothing is played
    assert done.stderr.count("yellow.zip: warning: main.jl names the interpreter julia") == 1


@pytest.mark.parametrize("command", ["lend"])
def test_other_commands_refuse_a_package(command: str, folder: Path) -> None:
    done = run(command, "player.zip")
    assert done.exit_code == 2
    assert "a ZIP file cannot be started here; unpack it" in done.stderr


@pytest.mark.parametrize(("command", "code"), [("match", 2), ("check", 3)])
def test_a_package_with_nested_folders_is_a_sentence(command: str, code: int, folder: Path) -> None:
    """The exit code 1 of `match` would mean that the first program is worse."""
    (folder / "deep.zip").write_bytes(BROKEN["1,800 nested folders"].content)
    programs = ("--player1", "deep.zip", "--player2", "builtin:random", "-n", "2", "--out", "out")
    done = run(command, *(programs if command == "match" else ("deep.zip",)))
    assert done.exit_code == code
    assert "has a path of more than 2048 bytes or 64 folders" in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such paths")
@pytest.mark.slow
def test_what_a_program_leaves_behind_breaks_neither_this_match_nor_the_next(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "scratch").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder / "scratch"))
    nest = "import os\nfor _ in range(3000): os.mkdir('d'); os.chdir('d')\n"
    start = f"""#!/bin/sh
{shlex.quote(sys.executable)} nest.py
chmod 0 d
exec {shlex.quote(sys.executable)} -P -m spielleiter play -s first "$@"
"""
    (folder / "nesting.zip").write_bytes(zipped({"start.sh": start, "nest.py": nest}))
    for out in ("first", "second"):
        options = ("--player1", "nesting.zip", "--player2", "builtin:random", "-n", "2", "--out", out)
        done = run("match", *options, *ENDLESS)
        assert (done.exit_code, "Traceback" in done.stderr) == (0, False), done.stderr
    assert list((folder / "scratch").glob("*/*")) == []
