"""`spielleiter doctor`: its lines, its JSON and its exit code, and each finding with real sockets and folders."""

from __future__ import annotations

import errno
import io
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import webbrowser
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import TextIO

import click
import psutil
import pytest
import trio
from click.testing import CliRunner

from spielleiter.cli import doctor
from spielleiter.cli.cli import cli
from spielleiter.cli.doctor import LIMITED, MISSING, OK, MachineFinding, shown
from spielleiter.common.errors import SupervisorError
from spielleiter.server.config import Config
from spielleiter.server.core.clock import Arrival
from tests.cli.background import run
from tests.timeouts import HANG_TIMEOUT

FINE = MachineFinding("game_port", OK, "it is free", "Nothing else is needed.")
NO_JAVA = MachineFinding("java", LIMITED, "not found", "Install a Java runtime.")
WRONG = MachineFinding("settings", MISSING, "a wrong value", "Correct it.")


@pytest.fixture(autouse=True)
def current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty current folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def refusing(error: BaseException) -> Callable[..., None]:
    def refuse(*_arguments: object, **_more: object) -> None:
        raise error

    return refuse


NO_BROWSER = refusing(webbrowser.Error("none"))


# -- the command ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("findings", "code"),
    [([FINE], 0), ([NO_JAVA], 0), ([NO_JAVA] * 2, 0), ([WRONG, NO_JAVA], 1), ([WRONG] * 2, 1)],
)
def test_the_exit_code_says_whether_the_server_can_start(
    findings: list[MachineFinding], code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "find_all", lambda: iter(findings))
    result = run("doctor")
    assert result.exit_code == code
    assert ("cannot start" in result.stdout.splitlines()[-1]) == (code == 1)
    assert all(each.meaning in result.stdout for each in findings)
    as_json = json.loads(run("doctor", "--json").stdout)
    assert as_json["is_ready"] == (code == 0)
    assert as_json["findings"] == [
        {"name": each.name, "level": each.level, "state": each.state, "meaning": each.meaning} for each in findings
    ]


@pytest.mark.parametrize("columns", [10, 60, 110])
def test_each_line_says_what_follows_from_it_and_is_wrapped(columns: int) -> None:
    finding = MachineFinding("java", OK, "\x1b]0;x\x07", "日本 " * 40)  # Java and Docker write texts of their own
    text = click.unstyle(shown(finding, columns))
    assert max(map(len, text.splitlines())) <= max(columns, 56)
    assert text.split() == ["ok", "Java", "\\x1b]0;x\\x07", *["日本"] * 40]


@pytest.mark.parametrize(("no_color", "is_colored"), [("", True), ("1", False)])
def test_no_color_turns_colors_off(no_color: str, is_colored: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "find_all", lambda: iter([NO_JAVA]))
    result = CliRunner().invoke(cli, ["doctor"], env={"NO_COLOR": no_color}, color=True)
    assert ("\x1b[" in result.stdout) == is_colored


@pytest.mark.slow
def test_a_real_machine_is_looked_at(current_folder: Path) -> None:
    command = [sys.executable, "-P", "-m", "spielleiter", "doctor", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=HANG_TIMEOUT, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    findings = json.loads(done.stdout)["findings"]
    assert [each["name"] for each in findings] == [
        *("python", "system", "cores", "memory", "terminal", "browser", "settings", "connections", "game_port"),
        *("page_port", "clock", "time_stamps", "replays", "processes", "bubblewrap", "containers", "java"),
        "player_python",
    ]
    assert all(each["meaning"].endswith(".") for each in findings)
    assert list(current_folder.iterdir()) == []


# -- findings that depend on a value ----------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("finding", "level", "state", "meaning"),
    [
        (lambda: doctor.find_python((3, 10, 13)), MISSING, "3.10.13 (", "Install Python 3.11 or newer."),
        (lambda: doctor.find_python((3, 11, 2)), OK, f"3.11.2 (CPython), {sys.executable}", "Nothing else is needed"),
        (lambda: doctor.find_python((3, 15, 0)), LIMITED, "3.15.0", "try Python 3.14"),
        (lambda: doctor.find_system("linux"), OK, "", "All parts"),
        (lambda: doctor.find_system("darwin"), LIMITED, "", "on Linux only"),
        (lambda: doctor.find_cores(1), LIMITED, "1", "--concurrency 1"),
        (lambda: doctor.find_cores(8), OK, "8", "4 games at a time"),
        (lambda: doctor.find_browser(object), OK, "found", "opens games in it"),
        (lambda: doctor.find_browser(NO_BROWSER, {"DISPLAY": ":0"}), LIMITED, "not found on the PATH", "BROWSER"),
        (lambda: doctor.find_browser(NO_BROWSER, {}), LIMITED, "none without a graphical session", "--html"),
        (lambda: doctor.find_clock(1e-9), OK, "ticks of 1 ns", "exact"),
        (lambda: doctor.find_clock(0.015625), LIMITED, "ticks of 15.6 ms", "just below the limit"),
        (lambda: doctor.find_page_port(None), OK, "turned off", "viewer"),
        (lambda: doctor.find_supervision(lambda: ""), OK, "supervised", "measures and ends"),
        (lambda: doctor.find_supervision(lambda: "stopped"), LIMITED, "not supervised: stopped", "play on Linux"),
        (lambda: doctor.find_bubblewrap(lambda: ""), OK, "works", "without a network"),
        (lambda: doctor.find_bubblewrap(lambda: "It is not here."), LIMITED, "It is not here.", "--image"),
        (lambda: doctor.find_containers(lambda _: ""), OK, "docker and podman can be used", "--image"),
        (lambda: doctor.find_containers(lambda each: "x" * (each == "docker")), OK, "podman can be used", "--image"),
        (lambda: doctor.find_containers("{} is gone.".format), LIMITED, "docker is gone. podman is gone.", "install"),
        (lambda: doctor.find_java(lambda _: None), LIMITED, "not found", "install a Java runtime"),
        (lambda: doctor.find_player_python({"python": sys.executable}.get, "win32"), OK, "Python 3.", "`python FILE`"),
        (
            lambda: doctor.find_player_python({"python3": "x"}.get, "win32"),
            LIMITED,
            "py and python not found",
            "write `",
        ),
        (lambda: doctor.find_player_python(lambda _: None, "linux"), LIMITED, "python3 not found", "write `"),
    ],
)
def test_a_finding(finding: Callable[[], MachineFinding], level: str, state: str, meaning: str) -> None:
    found = finding()
    assert found.level == level
    assert found.state.startswith(state)
    assert meaning in found.meaning


def test_a_frozen_program_brings_its_own_python_along(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    assert doctor.find_python().state.endswith(", part of this program")
    assert doctor.find_player_python(lambda _word: None).meaning.endswith("install Python for those.")


@pytest.mark.parametrize(
    ("memory", "level", "state"),
    [
        (refusing(FileNotFoundError("/proc/meminfo")), OK, "not told by this system"),  # as in some containers
        (lambda: SimpleNamespace(available=2**30), LIMITED, "1.0 GB free"),
        (lambda: SimpleNamespace(available=2**33), OK, "8.0 GB free"),
    ],
)
def test_memory(memory: Callable[[], object], level: str, state: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(psutil, "virtual_memory", memory)
    finding = doctor.find_memory()
    assert (finding.level, finding.state) == (level, state)
    assert "1.5 GB in the contest" in finding.meaning


class _Terminal(io.TextIOWrapper):
    def isatty(self) -> bool:
        return True


def stream(encoding: str, kind: type[io.TextIOWrapper] = io.TextIOWrapper) -> TextIO:
    return kind(io.BytesIO(), encoding=encoding)


@pytest.mark.parametrize(
    ("out", "system", "is_frozen", "state", "meaning"),
    [
        (stream("utf-8", _Terminal), "linux", False, "a terminal, encoding utf-8", "Every character can be shown."),
        (stream("utf-8"), "linux", False, "no terminal, encoding utf-8", "on terminals only."),
        # on Windows, only files and pipes lack characters; `chcp` changes nothing for them
        (stream("cp850"), "win32", False, "no terminal, encoding cp850", "set the variable PYTHONUTF8 to 1."),
        (stream("cp850"), "win32", True, "no terminal, encoding cp850", "in a window."),
        (stream("cp850"), "linux", False, "no terminal, encoding cp850", "LANG=C.UTF-8."),
    ],
)
def test_what_the_output_can_show(
    out: TextIO, system: str, is_frozen: bool, state: str, meaning: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "frozen", is_frozen, raising=False)
    finding = doctor.find_terminal(out, system)
    assert (finding.level, finding.state) == (OK if "utf-8" in state else LIMITED, state)
    assert finding.meaning.endswith(meaning)


# -- findings with real sockets, folders and processes ----------------------------------------------------------------


def test_the_settings_of_the_current_folder_are_used(current_folder: Path) -> None:
    finding, config = doctor.find_settings({})
    assert (finding.level, finding.state, config) == (OK, "the defaults", Config())
    properties = current_folder / "server.properties"
    properties.write_text("port = 13051\n", encoding="utf-8")
    finding, config = doctor.find_settings({})
    assert (finding.level, config.port, Path(finding.state)) == (OK, 13051, properties.resolve())
    properties.write_text("prot = 13051\n", encoding="utf-8")
    finding, config = doctor.find_settings({})
    assert (finding.level, config) == (MISSING, Config())
    assert "prot" in finding.state


def test_without_connections_nobody_can_play(monkeypatch: pytest.MonkeyPatch) -> None:
    assert doctor.find_connections().level == OK
    monkeypatch.setattr(socket, "create_connection", refusing(OSError(errno.EACCES, "Permission denied")))
    finding = doctor.find_connections()
    assert (finding.level, finding.state) == (MISSING, "Permission denied")
    assert "firewall" in finding.meaning
    assert doctor.find_time_stamps().level == LIMITED


def test_ports_that_are_taken_and_ports_that_are_free() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = ("127.0.0.1", taken.getsockname()[1])
        game, page = doctor.find_game_port(*address), doctor.find_page_port(address)
    assert (game.level, page.level) == (LIMITED, LIMITED)
    assert f"{address[0]}:{address[1]} is in use already" in game.state
    assert "--port 0" in game.meaning
    assert "any free port" in page.meaning
    game, page = doctor.find_game_port("127.0.0.1", 0), doctor.find_page_port(("127.0.0.1", 0))
    assert (game.level, page.level) == (OK, OK)


def test_the_kernel_or_the_server_stamps_arrivals(monkeypatch: pytest.MonkeyPatch) -> None:
    if sys.platform == "linux":
        assert doctor.find_time_stamps().state == "by the kernel"

    async def unstamped() -> Arrival:
        await trio.lowlevel.checkpoint()
        return Arrival(0.0)

    monkeypatch.setattr(doctor, "measured_arrival", unstamped)
    finding = doctor.find_time_stamps()
    assert (finding.level, finding.state) == (LIMITED, "by the server")


def test_a_folder_for_replays_is_tried_and_not_made(monkeypatch: pytest.MonkeyPatch, current_folder: Path) -> None:
    finding = doctor.find_replays(Path("deep") / "replays")
    assert finding.level == OK
    assert finding.state.startswith(str(current_folder / "deep" / "replays"))
    assert list(current_folder.iterdir()) == []
    usage = shutil.disk_usage(".")
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: usage._replace(free=doctor.LEAST_SPACE - 1))
    assert doctor.find_replays(Path("replays")).level == LIMITED
    refusal = PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    monkeypatch.setattr(tempfile, "TemporaryFile", refusing(refusal))
    finding = doctor.find_replays(Path("replays"))
    assert (finding.level, finding.state) == (LIMITED, f"{current_folder}: {os.strerror(errno.EACCES)}")
    assert "--save-replay FOLDER" in finding.meaning


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has supervisors")
@pytest.mark.slow
def test_programs_are_supervised_here_unless_supervisors_do_not_start(monkeypatch: pytest.MonkeyPatch) -> None:
    assert doctor.supervision_problem() == ""
    start = "spielleiter.programs.linux.start_supervised_process"
    monkeypatch.setattr(start, lambda _spec: None)
    assert doctor.supervision_problem() == "there are no supervisors on this system"
    monkeypatch.setattr(start, refusing(SupervisorError("it was stopped")))
    assert doctor.supervision_problem() == "it was stopped"


def test_a_job_object_keeps_programs_together_on_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[str] = []
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setattr(doctor, "open_job", lambda: SimpleNamespace(close=lambda: closed.append("job")))
    assert (doctor.supervision_problem(), closed) == ("", ["job"])
    monkeypatch.setattr(doctor, "open_job", refusing(OSError(5, "access denied")))
    assert doctor.supervision_problem() == "Windows refuses a Job Object ([Errno 5] access denied)"


@pytest.mark.slow
def test_java_and_python_are_started(tmp_path: Path) -> None:
    """On macOS and Windows, programs of these names may only say that there is no Java, or open the Store."""
    scripts = {
        "java": """echo 'openjdk version "17.0.1"' >&2; echo more >&2""",
        "no-java": "exit 1",
        "store": "echo 'Python was not found'; exit 49",
    }
    for name, script in scripts.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        (tmp_path / name).chmod(0o755)
    java, no_java, store = (str(tmp_path / name) for name in scripts)
    finding = doctor.find_java(lambda _word: java)
    assert (finding.level, finding.state) == (OK, f'openjdk version "17.0.1", {java}')
    finding = doctor.find_java(lambda _word: no_java)
    assert (finding.level, finding.state.partition(": ")[0]) == (LIMITED, f"{no_java} does not run")
    finding = doctor.find_player_python({"python": store}.get, "win32")
    assert (finding.level, finding.state.partition(": ")[0]) == (LIMITED, f"{store} does not run")
    works = doctor.find_player_python({"py": sys.executable, "python": store}.get, "win32")
    assert works.state.startswith("Python 3.")
