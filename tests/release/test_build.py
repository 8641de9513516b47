"""The one-folder build: it is built here, and does everything in an empty environment, without any Python."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import time
import urllib.request
from pathlib import Path
from urllib.parse import urlencode

import pytest

from release.build import MAN_PAGE, archive_name, build, files_beside, main
from spielleiter.league.database import open_database
from spielleiter.league.games import list_games
from spielleiter.league.settings import change_settings
from tests.contest.packages import make_package
from tests.documents import read
from tests.timeouts import HANG_TIMEOUT

# What Windows itself needs to open a connection; the start of the build needs nothing of it.
EMPTY = {name: os.environ[name] for name in ("SYSTEMROOT",) if sys.platform == "win32"}
BUILT = os.environ.get("BUILT_ARCHIVE")
"""An archive that was built already, to be tested instead of a new one."""


def missing_tool() -> str:
    """Return what PyInstaller needs on Linux and cannot find; empty if nothing is missing."""
    if sys.platform != "linux":
        return ""
    library = str(sysconfig.get_config_var("INSTSONAME"))
    if not Path(sysconfig.get_config_var("LIBDIR"), library).exists():
        return library
    return "" if shutil.which("objdump") else "objdump (binutils)"


MISSING = missing_tool()


class Build:
    """The program that was built, in an environment without variables."""

    def __init__(self, folder: Path, working: Path) -> None:
        self.program = folder / ("spielleiter.exe" if sys.platform == "win32" else "spielleiter")
        self.working = working

    def start(self, *arguments: str | Path) -> subprocess.Popen[str]:
        """Start a command of the program."""
        return subprocess.Popen(
            [self.program, *arguments],
            env=EMPTY,
            cwd=self.working,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="replace",
        )

    def run(self, *arguments: str | Path) -> str:
        """Run a command of the program, which must succeed, and return its output."""
        process = self.start(*arguments)
        output, errors = process.communicate(timeout=HANG_TIMEOUT)
        assert process.returncode == 0, (arguments, output, errors)
        assert "Traceback" not in errors
        return output


def awaited(path: Path, process: subprocess.Popen[str]) -> str:
    """Wait until a process has written a file, and return its content."""
    deadline = time.monotonic() + HANG_TIMEOUT
    while not (path.exists() and path.read_text(encoding="ascii").strip()):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return path.read_text(encoding="ascii").strip()


def unpack(archive: Path, folder: Path) -> None:
    """Unpack as the standard library will do by default; Python before 3.11.4 ignores the filter."""
    if archive.suffix == ".zip":
        shutil.unpack_archive(archive, folder)
        return
    with tarfile.open(archive) as tar:
        tar.extraction_filter = getattr(tarfile, "data_filter", None)
        tar.extractall(folder)


@pytest.mark.slow
@pytest.mark.skipif(bool(MISSING), reason=f"the one-folder build needs {MISSING}")
def test_the_build_does_everything_in_an_empty_environment(tmp_path: Path, subtests: pytest.Subtests) -> None:
    """One test, since building takes about a minute."""
    archive = Path(BUILT).resolve() if BUILT else build(None, tmp_path / "out")
    working = tmp_path / "a folder with spaces"
    working.mkdir()
    # what is tested is what users unpack, in another place than the one where it was built
    unpack(archive, working / "unpacked")
    assert [path.name for path in (working / "unpacked").iterdir()] == ["spielleiter"]
    folder = working / "unpacked" / "spielleiter"
    shutil.rmtree(tmp_path / "out", ignore_errors=True)
    program = Build(folder, working)

    with subtests.test("its version is that of the project"):
        assert program.run("--version") == f"spielleiter {version_of_project()}\n"

    with subtests.test("the settings and the manual are next to it"):
        names = {path.name for path in folder.iterdir()}
        page = set() if sys.platform == "win32" else {MAN_PAGE}
        assert names == {"_internal", program.program.name, *page, *(path.name for path in files_beside())}
        for name in page:
            assert f"spielleiter {version_of_project()}" in (folder / name).read_text(encoding="utf-8")

    with subtests.test("it holds no packages that only the tests need"):
        internal = {path.name.partition("-")[0].lower() for path in (folder / "_internal").iterdir()}
        assert internal & {"pytest", "_pytest", "hypothesis", "greenlet", "yaml", "mypy", "playwright"} == set()
        assert {"spielleiter", "lxml", "trio"} <= internal

    with subtests.test("it plays a demo game"):
        assert re.match(r"(greedy|random) wins \d+:\d+$", program.run("demo", "--seed", "1").splitlines()[-1])

    with subtests.test("it plays a match of built-in players"):
        built_in = ("--player1", "builtin:greedy", "--player2", "builtin:first")
        program.run("match", *built_in, "-n", "2", "--seed", "1", "--out", "first match")
        summary = json.loads((working / "first match" / "summary.json").read_text(encoding="utf-8"))
        assert sum(summary["results"].values()) == 2

    with subtests.test("it starts programs, such as itself"):
        command = f'"{program.program}" play --strategy first'
        program.run("match", "--player1", command, "--player2", command, "-n", "2", "--out", "second match")
        lines = (working / "second match" / "games.jsonl").read_text(encoding="utf-8").splitlines()
        assert [json.loads(line)["verdict"] for line in lines] == ["regular"] * 2

    replays = sorted((working / "first match").rglob("replay.xml.gz"))
    with subtests.test("it writes a replay as a page and as a picture"):
        program.run("replay", replays[0], "--html", "game.html", "--png", "game.png")
        assert b"</html>" in (working / "game.html").read_bytes()
        assert (working / "game.png").read_bytes().startswith(b"\x89PNG")

    with subtests.test("its helper processes are modules of its own"):
        # only its help: the analysis itself runs at the lowest priority, so it takes long on a busy machine
        usage = program.run("--run-python", "-P", "-m", "spielleiter.viewer.analysis", "--help")
        assert usage.startswith("usage: python -m spielleiter.viewer.analysis ")

    with subtests.test("it says what this machine can do"):
        findings = json.loads(program.run("doctor", "--json"))["findings"]
        assert {"python", "game_port", "bubblewrap", "processes"} <= {finding["name"] for finding in findings}

    with subtests.test("it serves games and pages"):
        process = program.start("serve", "--port", "0", "--viewer", "127.0.0.1:0", "--port-file", "port")
        try:
            assert int(awaited(working / "port", process)) > 0
            assert process.stderr is not None
            viewer = next(found[0] for line in process.stderr if (found := re.search(r"http://[\d.]+:\d+/", line)))
            for name, text in {"": b"page.js", "page.js": b"modules", "api/rooms": b"["}.items():
                with urllib.request.urlopen(viewer + name, timeout=HANG_TIMEOUT) as page:
                    assert text in page.read()
        finally:
            process.terminate()
            process.communicate(timeout=HANG_TIMEOUT)

    with subtests.test("it runs a league, with its tables, pages, checks and games"):
        process = program.start("league", "league", "--port", "0", "--helpers-port", "0")
        try:
            play_in_league(program, process)
        finally:
            process.terminate()
            process.communicate(timeout=HANG_TIMEOUT)
        # what runs programs of other PCs starts only when the teacher has switched it on
        program.run("--run-python", "-c", "import spielleiter.league.remote_seat, spielleiter.league.gate")


def play_in_league(program: Build, process: subprocess.Popen[str]) -> None:
    """Set up the league that is starting, upload programs, and wait for the first game."""
    assert process.stdout is not None
    url = process.stdout.readline().partition(" ")[0]
    assert url, process.communicate()
    code = process.stdout.readline().strip().rpartition("=")[2]
    browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())

    def page_of(path: str, form: dict[str, str] | None = None) -> str:
        body = None if form is None else urlencode(form).encode()
        with browser.open(
            urllib.request.Request(url + path, body, {"Origin": url.rstrip("/")}), timeout=HANG_TIMEOUT
        ) as page:
            return str(page.read(), "utf-8")

    assert "{" in page_of("static/league.css")
    form = {"code": code, "password": "korrekt pferd batterie", "name": "7b", "edition": "blokus-2027"}
    sheet = page_of("setup", {**form, "names": "Hasen\nIgel"})
    codes = re.findall(r"\b[2-9A-Z]{4}(?:-[2-9A-Z]{4}){3}\b", sheet)
    assert len(codes) == 2
    with contextlib.closing(open_database(program.working / "league")) as database:
        # as a teacher would on a machine without a sandbox
        database.write_now(change_settings, runs_without_sandbox=True)
        if sys.platform != "win32":  # the packages are shell scripts
            for number, each in enumerate(codes):
                package = make_package(program.working / f"player {number}.zip")
                package.write_bytes(package.read_bytes() + bytes(number))
                assert "plays now" in program.run("upload", package, "--league", url, "--code", each)
            deadline = time.monotonic() + HANG_TIMEOUT
            while not database.read_now(list_games):
                assert process.poll() is None, process.communicate()
                assert time.monotonic() < deadline
                time.sleep(0.2)


def version_of_project() -> str:
    """Return the version in pyproject.toml."""
    found = re.search(r'^version = "(.+)"$', read("pyproject.toml"), re.MULTILINE)
    assert found
    return found[1]


# -- the archive ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("system", "machine", "name"),
    [
        ("win32", "AMD64", "spielleiter-1.2.0-windows-x86_64"),
        ("darwin", "arm64", "spielleiter-1.2.0-macos-arm64"),
        ("linux", "x86_64", "spielleiter-1.2.0-linux-x86_64"),
        ("linux", "aarch64", "spielleiter-1.2.0-linux-arm64"),
        ("freebsd14", "riscv64", "spielleiter-1.2.0-freebsd14-riscv64"),
    ],
)
def test_the_name_of_the_archive_says_what_it_is_for(system: str, machine: str, name: str) -> None:
    assert archive_name("1.2.0", system, machine) == name


def test_a_wheel_that_is_not_there_is_misuse(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["--wheel", "nothing.whl"])
    assert stopped.value.code == 2
    assert capsys.readouterr().err.splitlines()[-1].endswith("error: there is no wheel nothing.whl")
