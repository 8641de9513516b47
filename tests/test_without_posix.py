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
from pathlib import Path
from typing import Any

import pytest

import spielleiter
from tests.test_imports import module_name, python_files
from tests.timeouts import HANG_TIMEOUT

FOLDER = Path(__file__).with_name("without_posix")
SOURCE = Path(spielleiter.__file__).parent
GUARD = re.compile(r'^assert sys\.platform (== "linux"|!= "win32")', re.MULTILINE)


def modules_for_other_platforms() -> set[str]:
    """The modules that say themselves that they are not for Windows."""
    return {
        module_name(path, SOURCE) for path in python_files(SOURCE) if GUARD.search(path.read_text(encoding="utf-8"))
    }


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the process has found; its output is in ``output``."""
    if sys.platform == "win32":
        pytest.skip("this simulates Windows on other systems")
    folder = tmp_path_factory.mktemp("ohne POSIX – größer")
    launcher = folder / "bin" / "py"
    launcher.parent.mkdir()
    launcher.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} "$@"\n', encoding="utf-8")
    launcher.chmod(0o755)
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("COV_", "PYTEST"))} | {
        "NO_COLOR": "1",
        "PATH": os.pathsep.join([str(launcher.parent), os.environ["PATH"]]),
        "PYTHONIOENCODING": "cp850:strict",
        "PYTHONPATH": str(FOLDER),
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
    return {**json.loads((folder / "found.json").read_text(encoding="utf-8")), "output": output}


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
def test_a_command_that_needs_linux_says_so_in_one_line(found: dict[str, Any]) -> None:
    assert found["bench"] != 0
    assert "the bench needs Linux, and this is" in found["output"]
    assert "Traceback" not in found["output"]
    assert "\033[" not in found["output"]
