"""Everything can be imported and used without what only POSIX has, on a console with code page 850.

One process simulates Windows (tests/without_posix/sitecustomize.py), imports all modules and runs the commands.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import spielleiter
from tests.cli.terminal import pty
from tests.contest.packages import make_package
from tests.timeouts import HANG_TIMEOUT

FOLDER = Path(__file__).with_name("without_posix")
SOURCE = Path(spielleiter.__file__).parent
GUARD = re.compile(r'^assert sys\.platform (== "linux"|!= "win32")', re.MULTILINE)


def modules_for_other_platforms() -> set[str]:
    """The modules that say themselves that they are not for Windows."""
    found = set()
    for folder, _, names in os.walk(SOURCE, followlinks=True):  # the folders of an editable install are links
        for path in (Path(folder, name) for name in names if name.endswith(".py")):
            if GUARD.search(path.read_text(encoding="utf-8")):
                parts = path.relative_to(SOURCE.parent).with_suffix("").parts
                found.add(".".join(parts[:-1] if parts[-1] == "__init__" else parts))
    return found


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the process has found; its output is in ``output``."""
    if sys.platform == "win32":
        pytest.skip("this simulates Windows on other systems")
    folder = tmp_path_factory.mktemp("ohne POSIX – größer")
    programs, shell = folder / "bin", folder / "Git" / "bin"
    for path, started in ((programs / "py", sys.executable), (shell / "sh.exe", "/bin/sh")):
        path.parent.mkdir(parents=True)
        path.write_text(f'#!/bin/sh\nexec {shlex.quote(started)} "$@"\n', encoding="utf-8")
        path.chmod(0o755)
    make_package(folder / "player.zip")
    (folder / "temp").mkdir()  # on Windows, every user has one of his own
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("COV_", "PYTEST"))} | {
        "NO_COLOR": "1",
        "PATH": os.pathsep.join([str(programs), str(shell), os.environ["PATH"], str(Path(sys.executable).parent)]),
        "PYTHONIOENCODING": "cp850:strict",
        "PYTHONPATH": str(FOLDER),
        "TMPDIR": str(folder / "temp"),
    }
    done = subprocess.run(
        [sys.executable, "-P", str(FOLDER / "everything.py"), str(folder)],
        env=environment,
        capture_output=True,
        timeout=2 * HANG_TIMEOUT,
        check=False,
    )
    output = (done.stdout + done.stderr).decode("cp850")
    assert done.returncode == 0, output[-4000:]
    assert (folder / "report.json").exists(), output[-4000:]
    reports = {name: json.loads((folder / name).read_text("utf-8")) for name in ("report.json", "missing.json")}
    jobs = (folder / "jobs").read_text("ascii").splitlines()
    return {**json.loads((folder / "found.json").read_text("utf-8")), **reports, "output": output, "jobs": jobs}


@pytest.mark.slow
def test_every_module_is_imported_without_posix_or_says_that_it_needs_it(found: dict[str, Any]) -> None:
    assert set(found["failed imports"]) == modules_for_other_platforms()
    assert set(found["failed imports"].values()) == {"AssertionError()"}
    assert len(found["failed imports"]) < 20


@pytest.mark.slow
def test_every_command_explains_itself_without_posix(found: dict[str, Any]) -> None:
    assert len(found["help"]) > 15
    assert {words: code for words, code in found["help"].items() if code} == {}


@pytest.mark.slow
@pytest.mark.parametrize("command", ["demo", "match", "check", "replay", "html"])
def test_a_command_succeeds_without_posix(command: str, found: dict[str, Any]) -> None:
    assert found[command] == 0, found["output"][-4000:]


@pytest.mark.slow
def test_a_game_is_played_on_a_server_without_posix(found: dict[str, Any]) -> None:
    assert found["serve"] == [0, 0], found["output"][-4000:]
    assert len(found["replays"]) == 1


@pytest.mark.slow
def test_a_python_file_in_a_folder_with_umlauts_plays_a_match_without_posix(found: dict[str, Any]) -> None:
    assert found["verdicts"] == ["regular", "regular"]
    assert found["on end"] == "4"  # the file, its parameter, the folder and the answer


@pytest.mark.slow
def test_a_contest_package_is_run_without_posix_with_the_limits_of_a_job_object(found: dict[str, Any]) -> None:
    states = {each["key"]: each["state"] for each in found["report.json"]["conditions"]}
    played = ("package", "upload-test", "options", "pairing", "two-games", "protocol")
    assert {key: states[key] for key in played} == dict.fromkeys(played, "green")
    assert {states[key] for key in ("memory", "processes")} == {"green"}
    assert states["disk"] == "yellow"
    assert set(found["jobs"]) == {"0x260c 1610612736 512 3600"}  # flags, memory, processes and seconds
    assert len(found["jobs"]) > 10
    gaps = " ".join(found["report.json"]["sandbox"]["gaps"])
    assert "which Windows does not limit" in gaps
    assert "limited on Linux only" not in gaps
    assert found["package"] in {0, 4}  # 4: the machine of the tests was too busy to judge think times


@pytest.mark.slow
def test_a_contest_package_says_which_program_is_missing_on_windows(found: dict[str, Any]) -> None:
    package, upload, *others = found["missing.json"]["conditions"]
    assert (package["state"], upload["state"]) == ("green", "undecided")
    assert "start.sh is started by sh, which is not on the PATH; install Git for Windows" in upload["text"]
    assert {each["state"] for each in others} == {"not checked"}
    assert found["package without sh"] == 4


@pytest.mark.slow
def test_a_command_that_needs_linux_says_so_in_one_line(found: dict[str, Any]) -> None:
    assert found["bench"] != 0
    assert "the bench needs Linux, and this is" in found["output"]
    assert "Traceback" not in found["output"]
    assert "\033[" not in found["output"]


# -- a console -------------------------------------------------------------------------------------------------------


def shown_on_a_console(*words: str, folder: Path, console: str = "old") -> list[str]:
    """Run a command where Windows and its console are simulated, and return the lines that it shows.

    `serve` is ended as soon as it listens.
    """
    if sys.platform == "win32":
        pytest.skip("this simulates Windows on other systems")
    left_out = ("COV_", "PYTEST", "NO_COLOR", "TERM", "COLORTERM")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(left_out)}
    environment |= {"PYTHONPATH": str(FOLDER), "SIMULATED_CONSOLE": console, "PYTHONIOENCODING": "utf-8"}
    command = [sys.executable, "-P", "-m", "spielleiter", *words]
    port = folder / "port"
    if words[0] == "serve":
        command += ["--port", "0", "--viewer", "off", "--port-file", str(port)]
    with pty(rows=50) as terminal:
        process = subprocess.Popen(
            command, env=environment, cwd=folder, stdin=terminal.file, stdout=terminal.file, stderr=terminal.file
        )
        while words[0] == "serve" and not port.exists() and process.poll() is None:
            time.sleep(0.01)
        if words[0] == "serve":
            process.terminate()
        process.wait(HANG_TIMEOUT)
        return terminal.end().splitlines()


@pytest.mark.slow
def test_a_console_of_windows_shows_the_log(tmp_path: Path) -> None:
    lines = shown_on_a_console("serve", folder=tmp_path)
    (started,) = (line for line in lines if "server_started" in line)
    assert re.fullmatch(r"\d\d:\d\d:\d\d\.\d+ \[info +\] server_started +addresses=\['127\.0\.0\.1:\d+'\]", started)


@pytest.mark.slow
def test_a_console_shows_the_log_even_if_the_library_for_its_colours_is_missing(tmp_path: Path) -> None:
    """This Python has no colorama, which structlog needs on Windows."""
    lines = shown_on_a_console("serve", folder=tmp_path, console="new")
    assert "server_started" in [json.loads(line)["event"] for line in lines if line.startswith("{")]
    assert len([line for line in lines if "colorama" in line]) == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("demo", "--seed", "1"), "greedy wins"),
        (("doctor",), "cores"),
        (("match", "--player1=builtin:first", "--player2=builtin:illegal", "-n", "2"), "game 2: "),
    ],
    ids=["demo", "doctor", "match"],
)
def test_a_console_that_knows_no_escapes_gets_none(words: tuple[str, ...], expected: str, tmp_path: Path) -> None:
    lines = shown_on_a_console(*words, folder=tmp_path)
    assert any(expected in line for line in lines)
    assert [line for line in lines if "\x1b" in line] == []


@pytest.mark.slow
def test_a_console_that_knows_escapes_gets_a_board_in_its_place(tmp_path: Path) -> None:
    lines = shown_on_a_console("demo", "--seed", "1", folder=tmp_path, console="new")
    assert any("\x1b[21A\x1b[J" in line for line in lines)
