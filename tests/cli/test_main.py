"""Ctrl-C while a command is being loaded, or while it exits, shows no traceback and is never lost."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from spielleiter.cli.cli import COMMANDS
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
def test_ctrl_c_while_a_command_is_loaded_ends_it_without_a_traceback(tmp_path: Path) -> None:
    modules = {name: where.partition(":")[0] for name, (where, _) in COMMANDS.items()}
    started = {
        name: start(tmp_path, IN_A_CALLBACK + AT_IMPORT, name, "--help", module=module)
        for name, module in modules.items()
    }
    assert {name: end_of(process) for name, process in started.items()} == dict.fromkeys(modules, (130, ""))


@pytest.mark.slow
@pytest.mark.parametrize("interrupt", [DIRECTLY, IN_A_CALLBACK], ids=["directly", "in a callback"])
def test_ctrl_c_while_a_module_is_loaded_ends_the_command_without_a_traceback(interrupt: str, tmp_path: Path) -> None:
    modules = ["spielleiter.cli.cli", "click", "spielleiter.server.config", "trio"]
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
