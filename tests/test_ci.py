"""`.ci/run`: what continuous integration runs, and when it fails."""

from __future__ import annotations

import os
import re
import stat
import subprocess
from pathlib import Path

import pytest

from tests.commands import ROOT, run
from tests.shared import SHARED

FAKE_PYTHON = """\
#!/bin/sh
case "$*" in
*ensurepip*) echo $VERSION ;;
*python_version*) echo $VERSION.0 ;;
"-m venv "*) mkdir -p "$3/bin"; cp "$0" "$3/bin/python"; cp "$0" "$3/bin/uv" ;;
"-m pytest "*) echo "$PYTEST in $PWD with umask $(umask)"; exit $PYTEST_STATUS ;;
esac
"""
FAKE_MAKE = """\
#!/bin/sh
case "$*" in
*setup-dev) cd "$2"; mkdir -p .venv/bin; cp "$PROGRAMS/python3.12" .venv/bin/python; touch .venv/.development ;;
*test) echo "make $*: $PYTEST in $PWD"; exit $MAKE_STATUS ;;
esac
"""


def run_ci(
    folder: Path, prints: str, make_status: int = 0, pytest_status: int = 0, npm: str = "#!/bin/sh\n"
) -> subprocess.CompletedProcess[str]:
    """Run .ci/run for a project in `folder`, as a user other than root, with three fake Pythons and a fake `make`.

    pytest prints `prints`; `make` and pytest exit with the given statuses; `npm` is the script of that name.
    """
    project = folder / "project"
    (project / ".ci").mkdir(parents=True)
    for name in (".ci/run", "Makefile"):
        (project / name).write_bytes((ROOT / name).read_bytes())
    programs = folder / "programs"
    programs.mkdir(parents=True, exist_ok=True)
    fakes = {"id": "#!/bin/sh\necho 1000\n", "make": FAKE_MAKE, "chromium": "#!/bin/sh\n", "npm": npm}
    fakes |= {f"python{version}": FAKE_PYTHON.replace("$VERSION", version) for version in ("3.11", "3.12", "3.13")}
    for name, text in fakes.items():
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    return run(
        "bash",
        str(project / ".ci" / "run"),
        PATH=f"{programs}:{os.environ['PATH']}",
        PROGRAMS=str(programs),
        CI_PYTHONS="python3.12 python3.13 python3.11",
        PYTEST=prints,
        MAKE_STATUS=str(make_status),
        PYTEST_STATUS=str(pytest_status),
        SPIELLEITER_SHARED="",
    )


def test_ci_runs_make_test_and_the_tests_on_all_pythons(tmp_path: Path) -> None:
    done = run_ci(tmp_path, "1 failed, 3 passed, 2 skipped in 1.50s")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    whole, oldest, other = (line for line in lines if " in /" in line)
    workers = int(run("nproc").stdout) + 1
    make = f"make PYTHON=python3.13 ARGS=--numprocesses {workers} test"
    assert whole == f"{make}: 1 failed, 3 passed, 2 skipped in 1.50s in {tmp_path / 'project'}"
    assert oldest.endswith("/Jörgs Spielleiter für später with umask 0077")
    assert other.endswith("/plain-3.12 with umask " + "".join(run("sh", "-c", "umask").stdout.split()))
    rows = [re.split(r" {2,}", line) for line in lines if line.startswith("3.1")]
    assert [(row[0], row[2:5]) for row in rows] == [
        ("3.13.0", ["3", "1", "2"]),
        ("3.11.0", ["3", "1", "2"]),
        ("3.12.0", ["3", "1", "2"]),
    ]
    assert lines[-1].startswith("9 passed, 3 failed, 6 skipped in 3 runs, ")


@pytest.mark.parametrize(("make_status", "pytest_status"), [(2, 0), (0, 1)])
def test_ci_fails_if_the_tests_of_any_run_fail(make_status: int, pytest_status: int, tmp_path: Path) -> None:
    done = run_ci(tmp_path, "1 failed in 1s", make_status, pytest_status)
    assert done.returncode == 1
    assert [line.endswith("FAILED") for line in done.stdout.splitlines() if line.startswith("3.1")] == [
        make_status > 0,
        pytest_status > 0,
        pytest_status > 0,
    ]


def test_ci_fails_and_says_why_if_an_environment_cannot_be_prepared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = FAKE_MAKE.replace("*setup-dev)", "*setup-dev) echo no network; exit 2 ;;\n*never)")
    monkeypatch.setattr("tests.test_ci.FAKE_MAKE", broken)
    done = run_ci(tmp_path, "3 passed in 1s")
    assert done.returncode == 1
    assert "no network" in done.stdout
    assert [line.endswith("FAILED") for line in done.stdout.splitlines() if line.startswith("3.1")] == [
        False,
        False,
        True,
    ]


def test_ci_fails_if_no_tests_ran(tmp_path: Path) -> None:
    assert run_ci(tmp_path, "nothing").returncode == 1


@pytest.mark.parametrize(("has_recordings", "status"), [(False, 0), (True, 1)])
def test_ci_fails_if_tests_are_skipped_although_the_recordings_exist(
    has_recordings: bool, status: int, tmp_path: Path
) -> None:
    if has_recordings:
        (tmp_path / "shared").mkdir()
    skipped = "\nSKIPPED [1] tests/x.py: missing (set SPIELLEITER_SHARED, or ...)\n3 passed, 1 skipped in 1s"
    assert run_ci(tmp_path, skipped).returncode == status


@pytest.mark.parametrize(("works", "status"), [(True, 1), (False, 0)])
def test_ci_fails_if_the_tests_of_bubblewrap_are_skipped_although_it_works(
    works: bool, status: int, tmp_path: Path
) -> None:
    (tmp_path / "programs").mkdir()
    (tmp_path / "programs" / "bwrap").write_text(f"#!/bin/sh\nexit {int(not works)}\n")
    (tmp_path / "programs" / "bwrap").chmod(0o755)
    skipped = "\nSKIPPED [1] tests/x.py: no bubblewrap: it is not installed\n3 passed, 1 skipped in 1s"
    assert run_ci(tmp_path, skipped).returncode == status


@pytest.mark.parametrize("missing", ["Chromium is missing (install it, or ...)", "axe-core is missing (npm ci ...)"])
def test_ci_fails_if_tests_of_the_page_are_skipped_although_there_is_a_browser(missing: str, tmp_path: Path) -> None:
    skipped = f"\nSKIPPED [1] tests/x.py: {missing}\n3 passed, 1 skipped in 1s"
    done = run_ci(tmp_path / "with", skipped)
    assert done.returncode == 1
    assert "tests of the page were skipped" in done.stdout
    done = run_ci(tmp_path / "without", skipped, npm="#!/bin/sh\nexit 1\n")
    assert done.returncode == 0
    assert "left out: the tests of the page" in done.stdout


def test_the_ci_script_is_executable() -> None:
    assert (ROOT / ".ci" / "run").stat().st_mode & stat.S_IXUSR


def test_the_recordings_are_found_where_the_environment_says() -> None:
    assert SHARED is not None or not os.environ.get("SPIELLEITER_SHARED")
