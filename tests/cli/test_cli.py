"""The command itself: help, version, imports, failures, exit codes, Ctrl-C, and outputs that nobody reads."""

from __future__ import annotations

import errno
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import click
import pytest
import trio
import trio.testing
from click.testing import CliRunner

from spielleiter.cli.cli import COMMANDS, LazyGroup
from spielleiter.cli.running import (
    Failure,
    Misuse,
    run_async,
    run_until_stopped,
)
from spielleiter.common.errors import SetupError
from spielleiter.game.api import package_of
from spielleiter.protocol.current_season import DEFAULT_DIALECT
from spielleiter.server.editions import EDITIONS
from spielleiter.server.errors import StartError
from tests.cli.background import run
from tests.timeouts import HANG_TIMEOUT

ROOT = Path(__file__).parents[2]
AT_IMPORT = """
import sys
class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == MODULE:
            interrupt()
sys.meta_path.insert(0, Interrupting())
"""
IN_A_CALLBACK = """
import signal, weakref
class Thing: ...
def interrupt():
    thing = Thing()
    kept = weakref.ref(thing, lambda _: signal.raise_signal(signal.SIGINT))
    del thing
"""
"""An exception in such a callback is printed and forgotten; `import` itself has one for each module."""
DIRECTLY = """
import signal
def interrupt():
    signal.raise_signal(signal.SIGINT)
"""
AT_EXIT = """
import atexit, signal
atexit.register(signal.raise_signal, signal.SIGINT)
"""


def test_every_command_has_help() -> None:
    text = run("--help").stdout
    for name, (_, line) in COMMANDS.items():
        assert f"  {name} " in text
        assert line in text
        result = run(name, "--help")
        assert (result.exit_code, result.stdout.startswith(f"Usage: spielleiter {name} ")) == (0, True)
    assert "_SPIELLEITER_COMPLETE=bash_source" in text


def test_a_group_alone_says_how_to_begin() -> None:
    result = run()
    assert (result.exit_code, len(result.stdout.splitlines())) == (0, 5)
    assert set(re.findall(r"spielleiter ([a-z]+) ", result.stdout)) == {"demo", "serve", "play"} < set(COMMANDS)
    result = run("admin")
    assert (result.exit_code, "  prepare " in result.stdout) == (0, True)


def loaded_by(arguments: list[str], folder: Path) -> set[str]:
    """Return the modules that a command has loaded when it ends."""
    program = (
        "import runpy, sys\n"
        f"sys.argv = ['spielleiter', *{arguments}]\n"
        "try:\n    runpy.run_module('spielleiter', run_name='__main__', alter_sys=True)\n"
        "except SystemExit:\n    pass\n"
        "print('\\n\\n' + ' '.join(sys.modules))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=folder)
    return set(done.stdout.rpartition("\n\n")[2].split())


NEEDLESS = {"lxml", "structlog", "javaproperties", "jinja2", "rich", "distributed", "psutil", "difflib"}


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [["--help"], ["match", "--help"]])
def test_the_help_loads_nothing_it_does_not_need(arguments: list[str], tmp_path: Path) -> None:
    loaded = loaded_by(arguments, tmp_path)
    assert "click" in loaded
    assert not (NEEDLESS | {"trio"}) & loaded


@pytest.mark.slow
def test_a_server_starts_without_what_it_does_not_need_yet(tmp_path: Path) -> None:
    """A game that it does not have ends it right before it would listen."""
    loaded = loaded_by(["serve", "--default-game", "chess"], tmp_path)
    assert {"spielleiter.server.app", "spielleiter.viewer.web.companion"} <= loaded
    # libraries of pages and traces, and what takes as long to import as many modules of our own
    libraries = NEEDLESS | {"h11", "starlette", "anyio", "prometheus_client", "xml.etree"}
    if sys.version_info < (3, 14):  # whose traceback imports them
        libraries |= {"dataclasses"}
    parts = ("wire", "client", "players", "match", "programs", "contest", "viewer.positions", "viewer.web.site")
    assert not libraries & loaded
    assert [each for each in parts if f"spielleiter.{each}" in loaded] == []
    # of the games only that of the current season
    modules = {
        f"spielleiter.{str(reference).partition(':')[0]}"
        for edition in EDITIONS.values()
        if package_of(edition.game) != package_of(EDITIONS[DEFAULT_DIALECT.name].game)
        for reference in (edition.rules, edition.wire_form)
    }
    assert modules
    assert not modules & loaded


@click.command()
@click.argument("what")
def fail(what: str) -> None:
    """Fails in several ways."""
    raise {
        "failure": Failure("went\nwrong"),
        "misuse": Misuse("asked wrongly"),
        "usage": click.UsageError("not like this"),
        "interrupt": KeyboardInterrupt(),
        "exit": click.exceptions.Exit(7),
        "setup": SetupError("no such file"),
        "start": StartError("the port is taken"),
        "machine": PermissionError(errno.EACCES, "Permission denied", "there/file"),
        "bug": RecursionError("too deep"),
        "disk": OSError(errno.ENOSPC, "No space left on device"),
    }[what]


@click.group(
    cls=LazyGroup,
    lazy={"fail": (f"{__name__}:fail", "Fails."), "late": ("no.such.module:x", "Not imported by the help.")},
)
def group() -> None:
    """Several commands."""


@pytest.mark.parametrize(
    ("what", "code", "line"),
    [
        ("failure", 1, "tool: went wrong\n"),
        ("misuse", 2, "tool: asked wrongly\n"),
        ("usage", 2, "tool fail: not like this\n"),
        ("interrupt", 130, ""),
        ("setup", 2, "tool: no such file\n"),
        ("start", 2, "tool: the port is taken\n"),
        ("machine", 1, "tool: there/file: Permission denied\n"),
        ("disk", 1, "tool: No space left on device\n"),
        ("exit", 7, ""),
    ],
)
def test_a_failure_is_one_line_and_a_code(what: str, code: int, line: str) -> None:
    result = CliRunner().invoke(group, ["fail", what], prog_name="tool")
    assert (result.exit_code, result.stderr.lstrip("\n")) == (code, line)


def test_a_bug_is_a_traceback_and_a_code_of_its_own() -> None:
    result = CliRunner().invoke(group, ["fail", "bug"], prog_name="tool")
    assert result.exit_code == 70
    assert result.stderr.startswith("Traceback")
    assert result.stderr.endswith("RecursionError: too deep\n")


@pytest.mark.parametrize(
    ("arguments", "near"),
    [(["fial"], "'fail'"), (["laet"], "'late'"), (["--hlep"], "'--help'"), (["fail", "x", "--hlp"], "'--help'")],
)
def test_misspelt_names_are_answered_with_similar_ones(arguments: list[str], near: str) -> None:
    result = CliRunner().invoke(group, arguments, prog_name="tool")
    assert result.exit_code == 2
    assert result.stderr.endswith(f"Did you mean {near}?\n")
    assert "no.such" not in sys.modules


def test_the_help_names_commands_without_importing_them() -> None:
    result = CliRunner().invoke(group, ["--help"], prog_name="tool")
    assert result.exit_code == 0
    assert "late  Not imported by the help." in result.stdout
    assert "no.such" not in sys.modules


async def _raise(error: BaseException) -> None:
    raise error


@pytest.mark.parametrize("error", [LookupError("x"), KeyboardInterrupt()])
def test_run_async_unwraps_a_single_exception(error: BaseException) -> None:
    async def main() -> None:
        async with trio.open_nursery() as outer, trio.open_nursery() as inner:
            outer.start_soon(trio.sleep_forever)
            inner.start_soon(_raise, error)

    with pytest.raises(type(error)):
        run_async(main)


def test_a_signal_ends_what_runs_until_stopped_like_ctrl_c() -> None:
    ended: list[str] = []

    async def main() -> None:
        await trio.testing.wait_all_tasks_blocked()
        try:
            signal.raise_signal(signal.SIGTERM)
            await trio.sleep_forever()
        finally:
            ended.append("cleanly")

    with pytest.raises(KeyboardInterrupt):
        run_until_stopped(main)
    assert ended == ["cleanly"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [
        ("--help",),
        ("demo", "--first", "first", "--second", "first"),
        ("match", "--player1", "builtin:first", "--player2", "builtin:first", "-n", "2", "--no-timeout", "--out", "m"),
    ],
    ids=" ".join,
)
def test_a_command_whose_output_nobody_reads_ends_without_a_message(arguments: tuple[str, ...], tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "spielleiter", *arguments],
            stdout=writing,
            stderr=subprocess.PIPE,
            timeout=HANG_TIMEOUT,
            cwd=tmp_path,
            check=False,
        )
    finally:
        os.close(writing)
    assert done.returncode == 141
    assert b"pipe" not in done.stderr
    assert b"Traceback" not in done.stderr


def start(folder: Path, code: str, *arguments: str, module: str = "") -> subprocess.Popen[str]:
    """Start a command in `folder` that is interrupted as `code` says."""
    code = f"MODULE = {module!r}\n{code}\nfrom spielleiter.__main__ import main\n"
    code += f"sys.argv = {['spielleiter', *arguments]!r}\nmain()\n"
    return subprocess.Popen(
        [sys.executable, "-c", f"import sys\n{code}"],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def end_of(process: subprocess.Popen[str]) -> tuple[int, str]:
    """Return the exit code and the errors of a command."""
    _, errors = process.communicate(timeout=HANG_TIMEOUT)
    return process.returncode, errors


@pytest.mark.slow
@pytest.mark.parametrize("interrupt", [DIRECTLY, IN_A_CALLBACK], ids=["directly", "in a callback"])
def test_ctrl_c_while_a_module_is_loaded_ends_the_command_without_a_traceback(interrupt: str, tmp_path: Path) -> None:
    modules = ["spielleiter.cli.cli", "click", "spielleiter.cli.serve", "trio"]
    started = {
        module: start(tmp_path, interrupt + AT_IMPORT, "serve", "--port", "0", module=module) for module in modules
    }
    assert {module: end_of(process) for module, process in started.items()} == dict.fromkeys(modules, (130, ""))


def test_ctrl_c_while_a_command_exits_shows_no_traceback(tmp_path: Path) -> None:
    assert end_of(start(tmp_path, AT_EXIT, "--version")) == (130, "")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no shell that starts jobs like this")
def test_an_ignored_ctrl_c_stays_ignored(tmp_path: Path) -> None:
    ignoring = "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n"
    assert end_of(start(tmp_path, ignoring + AT_EXIT, "--version")) == (0, "")
