"""What `make` says on a machine that lacks something, and which Python it takes."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.documents import ROOT
from tests.patience import PATIENCE

WITHOUT_ENSUREPIP = """\
#!/bin/sh
case "$2" in *ensurepip*) exit 1 ;; esac
exec "{python}" "$@"
"""


def make(folder: Path, python: str) -> subprocess.CompletedProcess[str]:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    return subprocess.run(
        ["make", "-C", str(ROOT), f"{folder}/venv/.python", f"VENV={folder}/venv", f"PYTHON={python}"],
        env=inherited,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )


@pytest.fixture
def incomplete(tmp_path: Path) -> str:
    """A Python as Debian has it without the package python3-venv."""
    path = tmp_path / "incomplete"
    path.write_text(WITHOUT_ENSUREPIP.format(python=sys.executable))
    path.chmod(0o755)
    return str(path)


def test_without_ensurepip_one_line_says_what_to_install(incomplete: str, tmp_path: Path) -> None:
    done = make(tmp_path, incomplete)
    assert done.returncode == 2
    told = [each for each in done.stderr.splitlines() if not each.startswith("make")]
    assert told == [f"{incomplete} cannot make a virtual environment: sudo apt install python3-venv (Debian, Ubuntu)."]
    assert not (tmp_path / "venv").exists()


def test_without_any_python_one_may_be_named(tmp_path: Path) -> None:
    done = make(tmp_path, "no-such-python")
    assert done.returncode == 2
    assert "spielleiter needs Python 3.11 or newer" in done.stderr


@pytest.mark.slow
def test_a_python_that_can_is_taken_instead(incomplete: str, tmp_path: Path) -> None:
    (tmp_path / "venv").mkdir()
    complete = tmp_path / "complete"  # make takes no path with blanks
    complete.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} "$@"\n', encoding="utf-8")
    complete.chmod(0o755)
    done = make(tmp_path, f"{incomplete} {complete}")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "venv" / "pyvenv.cfg").exists()
