"""The Python that `make` chooses, and what it says on a machine that lacks something."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.commands import run
from tests.documents import ROOT
from tests.timeouts import HANG_TIMEOUT

WITHOUT_ENSUREPIP = """\
#!/bin/sh
case "$2" in *ensurepip*) exit 1 ;; esac
exec "{python}" "$@"
"""


def _without_make() -> dict[str, str]:
    """The environment without what the `make` that runs these tests has added."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}


def make(folder: Path, python: str) -> subprocess.CompletedProcess[str]:
    """Let `make` prepare an environment in `folder`, with `python` as its only candidates."""
    return subprocess.run(
        ["make", "-C", str(ROOT), f"{folder}/venv/.python", f"VENV={folder}/venv", f"PYTHON={python}"],
        env=_without_make(),
        capture_output=True,
        text=True,
        check=False,
        timeout=HANG_TIMEOUT,
    )


@pytest.fixture
def incomplete(tmp_path: Path) -> str:
    """A Python without ensurepip, such as Debian's without the package python3-venv."""
    path = tmp_path / "incomplete"
    path.write_text(WITHOUT_ENSUREPIP.format(python=sys.executable))
    path.chmod(0o755)
    return str(path)


def test_without_ensurepip_one_line_says_what_to_install(incomplete: str, tmp_path: Path) -> None:
    done = make(tmp_path, incomplete)
    assert done.returncode == 2
    messages = [line for line in done.stderr.splitlines() if not line.startswith("make")]
    assert messages == [
        f"{incomplete} cannot make a virtual environment: sudo apt install python3-venv (Debian, Ubuntu)."
    ]
    assert not (tmp_path / "venv").exists()


def test_without_any_python_the_message_says_how_to_choose_one(tmp_path: Path) -> None:
    done = make(tmp_path, "no-such-python")
    assert done.returncode == 2
    assert "spielleiter needs Python 3.11 or newer" in done.stderr
    assert "Choose another one with: make PYTHON=/path/to/python3" in done.stderr


@pytest.mark.parametrize("inherited", [{}, {"PYTHON": sys.executable, "MAKEFLAGS": f" -- PYTHON={sys.executable}"}])
def test_a_python_that_is_too_old_is_reported(
    inherited: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in inherited.items():
        monkeypatch.setenv(name, value)
    tool = shutil.which("make")
    assert tool
    (tmp_path / "python3").write_text("#!/bin/sh\nexit 1  # the answer of an old version to the check of its version\n")
    (tmp_path / "python3").chmod(0o755)
    made = run(tool, "setup", f"VENV={tmp_path / 'venv'}", PATH=str(tmp_path))
    assert "needs Python 3.11 or newer" in made.stderr
    assert made.returncode == 2


@pytest.mark.slow
def test_a_complete_python_is_preferred_to_an_incomplete_one(incomplete: str, tmp_path: Path) -> None:
    (tmp_path / "venv").mkdir()
    complete = tmp_path / "complete"  # make cannot handle spaces in the path of the interpreter
    complete.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} "$@"\n', encoding="utf-8")
    complete.chmod(0o755)
    done = make(tmp_path, f"{incomplete} {complete}")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "venv" / "pyvenv.cfg").exists()


@pytest.mark.slow
def test_ctrl_c_ends_the_server_without_an_error_of_make(tmp_path: Path) -> None:
    if sys.platform == "win32":
        pytest.skip("Windows has nothing like it")
    venv = tmp_path / "venv"
    (venv / "bin").mkdir(parents=True)
    (venv / "bin" / "spielleiter").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m spielleiter "$@"\n')
    (venv / "bin" / "spielleiter").chmod(0o755)
    for name in (".python", ".runtime"):  # the environment is ready
        (venv / name).touch()
    options = "--port 0 --viewer off --log-format json"
    with subprocess.Popen(
        ["make", "-C", str(ROOT), "--no-print-directory", "serve", f"VENV={venv}", f"ARGS={options}"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=_without_make(),
        start_new_session=True,
    ) as serving:
        assert serving.stdout
        started = serving.stdout.readline()
        os.killpg(serving.pid, signal.SIGINT)  # as a terminal does, to make and to the server
        rest = serving.stdout.read()
    assert "server_started" in started
    assert "server_stopped" in rest
    assert "make" not in rest
