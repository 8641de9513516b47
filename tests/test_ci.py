"""`.ci/run`: what continuous integration runs, and when it fails."""

from __future__ import annotations

import atexit
import os
import re
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path
from typing import Final

import pytest

from tests.commands import ROOT, run

FAKE_PYTHON = """\
#!/bin/sh
case "$*" in
*ensurepip*) echo $VERSION ;;
*python_version*) echo $VERSION.0 ;;
"-m venv "*) mkdir -p "$3/bin"; cp "$0" "$3/bin/python"; cp "$0" "$3/bin/uv" ;;
"-P -m hatchling "*) mkdir -p dist; touch dist/spielleiter.whl ;;
"-m twine "*) echo "checked ${*#-m twine check --strict }"; exit ${TWINE_STATUS:-0} ;;
"-m pytest "*) echo "$PYTEST in $PWD with umask $(umask)"; exit $PYTEST_STATUS ;;
esac
"""
FAKE_MAKE = """\
#!/bin/sh
case "$*" in
*setup-dev) cd "$2"; mkdir -p .venv/bin; cp "$PROGRAMS/python3.12" .venv/bin/python; touch .venv/.development ;;
*test) echo "make $*: $PYTEST in $PWD"; exit $MAKE_STATUS ;;
*test-rest) echo "make $*: ${REST:-$PYTEST}"; exit ${REST_STATUS:-0} ;;
esac
"""


FAKES: Final[dict[str, str | None]] = {
    "id": "",
    "make": FAKE_MAKE,
    # whether or not this machine has them; those of the sandboxes fail, as where nothing may be isolated
    **dict.fromkeys(("bwrap", "podman", "runc", "busybox", "objdump", "apt-get"), "#!/bin/sh\nexit 1\n"),
    **dict.fromkeys(("groff", "systemd-analyze", "chromium", "npm", "chown"), "#!/bin/sh\n"),
    "runuser": '#!/bin/sh\nshift 3\nexec "$@"\n',
    **{f"python{version}": FAKE_PYTHON.replace("$VERSION", version) for version in ("3.11", "3.12", "3.13")},
}
"""The programs that .ci/run finds, by name."""


@cache
def _others() -> Path:
    """Return a folder with the commands of this machine, without those that are faked."""
    folder = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, folder)
    for place in reversed(os.get_exec_path()):
        try:
            commands = {each.name for each in Path(place).iterdir()}
        except OSError:  # there is no such folder, or it belongs to another user
            continue
        for name in commands - FAKES.keys():
            (folder / name).unlink(missing_ok=True)
            (folder / name).symlink_to(Path(place, name))
    return folder


def run_ci(
    folder: Path,
    prints: str,
    make_status: int = 0,
    pytest_status: int = 0,
    user: int = 1000,
    **given: str | None,
) -> subprocess.CompletedProcess[str]:
    """Run .ci/run for a project in `folder`, with three fake Pythons and a fake `make`.

    pytest prints `prints`; `make` and pytest exit with the given statuses. `user` is the number of the user. Other
    arguments in small letters are programs: the script of that name, None for none; those in capitals are variables.
    """
    project = folder / "project"
    (project / ".ci").mkdir(parents=True)
    for name in (".ci/run", "Makefile"):
        (project / name).write_bytes((ROOT / name).read_bytes())
    programs = folder / "programs"
    programs.mkdir(parents=True, exist_ok=True)
    fakes = FAKES | {"id": f'#!/bin/sh\n[ "$1" = -un ] && echo somebody || echo {user}\n'}
    fakes |= {name.replace("_", "-"): text for name, text in given.items() if name.islower()}
    for name, text in fakes.items():
        if text is not None:
            (programs / name).write_text(text)
            (programs / name).chmod(0o755)
    variables = {name: text for name, text in given.items() if name.isupper() and text is not None}
    return run(
        "bash",
        str(project / ".ci" / "run"),
        PATH=f"{programs}:{_others()}",
        PROGRAMS=str(programs),
        CI_PYTHONS="python3.12 python3.13 python3.11",
        PYTEST=prints,
        MAKE_STATUS=str(make_status),
        PYTEST_STATUS=str(pytest_status),
        SPIELLEITER_SHARED="",
        **variables,
    )


def test_ci_runs_make_test_its_rest_and_the_tests_on_all_pythons(tmp_path: Path) -> None:
    done = run_ci(tmp_path, "1 failed, 3 passed, 2 skipped in 1.50s", REST="5 passed in 1s")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    whole, oldest, other = (line for line in lines if " in /" in line)
    workers = int(run("nproc").stdout) + 1
    make = f"make PYTHON=python3.13 ARGS=--numprocesses {workers} test"
    assert whole == f"{make}: 1 failed, 3 passed, 2 skipped in 1.50s in {tmp_path / 'project'}"
    assert f"{make}-rest: 5 passed in 1s" in lines
    assert oldest.endswith("/Jörgs Spielleiter für später with umask 0077")
    assert other.endswith("/plain-3.12 with umask " + "".join(run("sh", "-c", "umask").stdout.split()))
    rows = [re.split(r" {2,}", line) for line in lines if line.startswith("3.1")]
    assert [(row[0], row[2:5]) for row in rows] == [
        ("3.13.0", ["3", "1", "2"]),
        ("3.13.0", ["5", "0", "0"]),
        ("3.11.0", ["3", "1", "2"]),
        ("3.12.0", ["3", "1", "2"]),
    ]
    assert lines[-1].startswith("14 passed, 3 failed, 6 skipped in 4 runs, ")


@pytest.mark.parametrize(("make_status", "pytest_status"), [(2, 0), (0, 1)])
def test_ci_fails_if_the_tests_of_any_run_fail(make_status: int, pytest_status: int, tmp_path: Path) -> None:
    done = run_ci(tmp_path, "1 failed in 1s", make_status, pytest_status)
    assert done.returncode == 1
    assert [line.endswith("FAILED") for line in done.stdout.splitlines() if line.startswith("3.1")] == [
        make_status > 0,
        False,
        pytest_status > 0,
        pytest_status > 0,
    ]


@pytest.mark.parametrize("status", [0, 1])
def test_ci_fails_if_the_packages_cannot_be_published(
    status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TWINE_STATUS", str(status))
    done = run_ci(tmp_path, "3 passed in 1s")
    assert done.returncode == status
    assert re.search(r"^checked /\S+/packages/dist/spielleiter\.whl$", done.stdout, re.MULTILINE)
    assert ("The packages cannot be published." in done.stdout) is bool(status)


def test_ci_fails_and_says_why_if_an_environment_cannot_be_prepared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = FAKE_MAKE.replace("*setup-dev)", "*setup-dev) echo no network; exit 2 ;;\n*never)")
    monkeypatch.setitem(FAKES, "make", broken)
    done = run_ci(tmp_path, "3 passed in 1s")
    assert done.returncode == 1
    assert "no network" in done.stdout
    assert [line.endswith("FAILED") for line in done.stdout.splitlines() if line.startswith("3.1")] == [
        False,
        False,
        False,
        True,
    ]


@pytest.mark.parametrize("status", [0, 2])
def test_ci_fails_if_the_rest_of_the_tests_fails(status: int, tmp_path: Path) -> None:
    done = run_ci(tmp_path, "3 passed in 1s", REST="\nLeft out: no wheels\n3 passed in 1s", REST_STATUS=str(status))
    assert done.returncode == (1 if status else 0)
    (row,) = (line for line in done.stdout.splitlines() if " make test-rest  " in line)
    assert row.endswith("FAILED" if status else "passed")
    assert "ci:   Left out: no wheels" in done.stdout


def test_ci_says_without_root_what_it_did_not_test(tmp_path: Path) -> None:
    skipped = (
        "SKIPPED [2] tests/x.py:3: no bubblewrap: it is not installed",
        "SKIPPED [1] tests/x.py:9: only Windows has Job Objects",
    )
    done = run_ci(tmp_path, "\n".join(("", *skipped, "3 passed, 3 skipped in 1s")), bwrap=None)
    told = done.stdout[done.stdout.index("ci: not tested:") :]
    assert "tests/x.py: no bubblewrap: it is not installed" in told
    assert "what needs bwrap, which is not installed (package bubblewrap)" in told
    assert "this is not root" in told
    assert "Job Objects" not in told
    assert done.returncode == 0  # nobody could install it


APT = """\
#!/bin/sh
echo "apt-get $*" >>"$PROGRAMS/apt.log"
case "$*" in *update*) exit 0 ;; *busybox-static*) exit $BUSYBOX_STATUS ;; esac
case "$*" in *--simulate*) exit 0 ;; esac
for package in "$@"; do
    case "$package" in
    bubblewrap) name=bwrap ;;
    groff-base) name=groff ;;
    *) continue ;;
    esac
    printf '#!/bin/sh\\n' >"$PROGRAMS/$name"
    chmod +x "$PROGRAMS/$name"
done
"""


def test_ci_installs_the_other_packages_if_apt_refuses_one(tmp_path: Path) -> None:
    """A list that names one package which conflicts with what is installed is refused as a whole."""
    done = run_ci(
        tmp_path, "3 passed in 1s", user=0, bwrap=None, groff=None, busybox=None, apt_get=APT, BUSYBOX_STATUS="1"
    )
    calls = [
        line.split()[5:]
        for line in (tmp_path / "programs" / "apt.log").read_text().splitlines()
        if "install -y" in line
    ]
    assert [call for call in calls if len(call) == 1][:3] == [["bubblewrap"], ["busybox-static"], ["groff-base"]]
    assert "ci: cannot install busybox-static" in done.stdout
    told = done.stdout[done.stdout.index("ci: not tested:") :]
    assert "busybox" in told
    assert "bwrap" not in told
    assert "groff" not in told
    assert done.returncode == 0, done.stdout  # apt does not have it


def test_ci_fails_if_root_lacks_a_program_that_could_be_installed(tmp_path: Path) -> None:
    done = run_ci(tmp_path, "3 passed in 1s", user=0, busybox=None, apt_get=APT, BUSYBOX_STATUS="0")
    assert "ci:   what needs busybox" in done.stdout
    assert done.returncode == 1


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
    skipped = "\nSKIPPED [1] tests/x.py: no bubblewrap: it is not installed\n3 passed, 1 skipped in 1s"
    assert run_ci(tmp_path, skipped, bwrap=f"#!/bin/sh\nexit {int(not works)}\n").returncode == status


@pytest.mark.parametrize("missing", ["Chromium is missing (install it, or ...)", "axe-core is missing (npm ci ...)"])
def test_ci_fails_if_tests_of_the_page_are_skipped_although_there_is_a_browser(missing: str, tmp_path: Path) -> None:
    skipped = f"\nSKIPPED [1] tests/x.py: {missing}\n3 passed, 1 skipped in 1s"
    done = run_ci(tmp_path / "with", skipped)
    assert done.returncode == 1
    assert "tests of the page were skipped" in done.stdout
    done = run_ci(tmp_path / "without", skipped, npm="#!/bin/sh\nexit 1\n")
    assert done.returncode == 0
    assert "left out: the tests of the page" in done.stdout
