"""The scripts of development: .ci/run, and the Python that make chooses on a machine that lacks something."""

from __future__ import annotations

import atexit
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Final

import pytest

from tests.documents import ROOT
from tests.timeouts import HANG_TIMEOUT


def run(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a command with further environment variables to its end, and capture its output."""
    # `make PYTHON=... test` passes its variables to the tests; a `make` that a test runs must not inherit them
    of_make = ("MAKE", "MFLAGS", "PYTHON", "VENV", "ARGS", "FACTOR")
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(of_make)}
    return subprocess.run(
        words,
        cwd=ROOT,
        env={**inherited, **environment},
        capture_output=True,
        text=True,
        timeout=HANG_TIMEOUT,
        check=False,
    )


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
    **dict.fromkeys(("groff", "systemd-analyze", "chromium", "chromium-headless-shell", "npm", "chown"), "#!/bin/sh\n"),
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
    folder: Path, prints: str, make_status: int = 0, pytest_status: int = 0, user: int = 1000, **given: str | None
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


def skipped(reason: str) -> str:
    """What pytest prints if one of the tests is skipped for this reason."""
    return f"\nSKIPPED [1] tests/x.py: {reason}\n3 passed, 1 skipped in 1s"


CHROMIUM, AXE = "Chromium is missing (install it, or ...)", "axe-core is missing (npm ci ...)"
FAILING = "#!/bin/sh\nexit 1\n"
CHECKED = "/packages/dist/spielleiter.whl"
UNPREPARED = FAKE_MAKE.replace("*setup-dev)", "*setup-dev) echo no network; exit 2 ;;\n*never)")
REST = "\nLeft out: no wheels\n3 passed in 1s"


@pytest.mark.parametrize(
    ("prints", "given", "status", "told"),
    [
        ("nothing", {}, 1, ""),
        ("3 passed in 1s", {"TWINE_STATUS": "0"}, 0, CHECKED),
        ("3 passed in 1s", {"TWINE_STATUS": "1"}, 1, "The packages cannot be published."),
        (
            "3 passed in 1s",
            {"make": FAKE_MAKE.replace("*test)", "*docs) exit 2 ;;\n*test)")},
            1,
            "documents cannot be made",
        ),
        ("3 passed in 1s", {"REST": REST, "REST_STATUS": "0"}, 0, "ci:   Left out: no wheels"),
        ("3 passed in 1s", {"REST": REST, "REST_STATUS": "2"}, 1, "ci:   Left out: no wheels"),
        (skipped("missing (set SPIELLEITER_SHARED, or ...)"), {}, 0, ""),
        (skipped("missing (set SPIELLEITER_SHARED, or ...)"), {"shared": "recordings"}, 1, ""),
        (skipped("no bubblewrap: it is not installed"), {"bwrap": FAILING}, 0, ""),
        (skipped("no bubblewrap: it is not installed"), {"bwrap": "#!/bin/sh\n"}, 1, ""),
        (skipped(CHROMIUM), {}, 1, "tests of the page were skipped"),
        (skipped(AXE), {}, 1, "tests of the page were skipped"),
        (skipped(AXE), {"npm": FAILING}, 0, "left out: the tests of the page"),
        (
            "3 passed in 1s",
            {"make": FAKE_MAKE.replace("*setup-dev)", "*setup-dev) echo lost; exit 2 ;;\n*never)")},
            1,
            "lost",
        ),
    ],
)
def test_ci_fails_for_what_went_wrong_and_for_what_was_left_out_needlessly(
    prints: str, given: dict[str, str], status: int, told: str, tmp_path: Path
) -> None:
    if "shared" in given:
        (tmp_path / "shared").mkdir()
    done = run_ci(tmp_path, prints, 0, 0, 1000, **{name: text for name, text in given.items() if name != "shared"})
    assert done.returncode == status, done.stdout
    assert told in done.stdout


def test_ci_says_without_root_what_it_did_not_test(tmp_path: Path) -> None:
    skips = (
        "SKIPPED [2] tests/x.py:3: no bubblewrap: it is not installed",
        "SKIPPED [1] tests/x.py:9: only Windows has Job Objects",
    )
    done = run_ci(tmp_path, "\n".join(("", *skips, "3 passed, 3 skipped in 1s")), bwrap=None)
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


WITHOUT_ENSUREPIP = """\
#!/bin/sh
case "$2" in *ensurepip*) exit 1 ;; esac
exec "{python}" "$@"
"""


def make_environment(folder: Path, python: str) -> subprocess.CompletedProcess[str]:
    """Let `make` prepare an environment in `folder`, with `python` as its only candidates."""
    return run("make", "-C", str(ROOT), f"{folder}/venv/.python", f"VENV={folder}/venv", f"PYTHON={python}")


@pytest.fixture
def incomplete(tmp_path: Path) -> str:
    """A Python without ensurepip, such as Debian's without the package python3-venv."""
    path = tmp_path / "incomplete"
    path.write_text(WITHOUT_ENSUREPIP.format(python=sys.executable))
    path.chmod(0o755)
    return str(path)


def test_without_ensurepip_one_line_says_what_to_install(incomplete: str, tmp_path: Path) -> None:
    done = make_environment(tmp_path, incomplete)
    assert done.returncode == 2
    messages = [line for line in done.stderr.splitlines() if not line.startswith("make")]
    assert messages == [
        f"{incomplete} cannot make a virtual environment: sudo apt install python3-venv (Debian, Ubuntu)."
    ]
    assert not (tmp_path / "venv").exists()


def test_without_any_python_the_message_says_how_to_choose_one(tmp_path: Path) -> None:
    done = make_environment(tmp_path, "no-such-python")
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
    done = make_environment(tmp_path, f"{incomplete} {complete}")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "venv" / "pyvenv.cfg").exists()


@pytest.mark.slow
def test_make_plays_a_demo_and_ctrl_c_ends_the_server_without_an_error_of_make(tmp_path: Path) -> None:
    if sys.platform == "win32":
        pytest.skip("Windows has nothing like it")
    venv = tmp_path / "venv"
    (venv / "bin").mkdir(parents=True)
    (venv / "bin" / "spielleiter").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m spielleiter "$@"\n')
    (venv / "bin" / "spielleiter").chmod(0o755)
    for name in (".python", ".runtime"):  # the environment is ready
        (venv / name).touch()
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    make = ["make", "-C", str(ROOT), "--no-print-directory", f"VENV={venv}"]
    demo = run(*make, "demo", "ARGS=--first first --second first --seed 1")
    assert re.match(r"first wins \d+:\d+$", demo.stdout.splitlines()[-1])
    options = "--port 0 --viewer off --log-format json"
    with subprocess.Popen(
        [*make, "serve", f"ARGS={options}"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=inherited,
        start_new_session=True,
    ) as serving:
        assert serving.stdout
        started = serving.stdout.readline()
        os.killpg(serving.pid, signal.SIGINT)  # as a terminal does, to make and to the server
        rest = serving.stdout.read()
    assert "server_started" in started
    assert "server_stopped" in rest
    assert "make" not in rest
