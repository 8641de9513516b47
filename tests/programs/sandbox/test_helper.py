"""The parts of the process inside a sandbox; as a whole it runs in tests/programs/sandbox/test_sandbox_run.py."""

from __future__ import annotations

import sys

import pytest

if sys.platform != "linux":
    pytest.skip("only Linux has what is tested here", allow_module_level=True)
assert sys.platform == "linux"  # for mypy

import signal
import subprocess
from pathlib import Path

from spielleiter.programs.sandbox import helper
from tests.timeouts import HANG_TIMEOUT

INTERRUPTED_START = """
import os, runpy, signal, socket, subprocess, sys

def start_and_interrupt(*arguments, **settings):
    popen = start(*arguments, **settings)
    os.kill(os.getpid(), signal.SIGTERM)
    return popen

start, subprocess.Popen = subprocess.Popen, start_and_interrupt
options = {"arguments": ["sleep", "500"], "cwd": "/", "core": None, "memory": None, "cgroup": False}
options |= {"processes": 500, "disk": 2**30, "files": 1000, "folders": [], "own_users": False}
ours, theirs = socket.socketpair()
program = runpy.run_path(sys.argv[1], run_name="inside")["ConfinedProgram"]
print(program(ours, {**options, "hidden": [], "environment": {}}, is_first=False).run())
"""


def test_a_request_to_end_that_arrives_during_the_start_is_passed_on() -> None:
    """The program may have begun already, but its id is not known yet."""
    command = [sys.executable, "-I", "-S", "-c", INTERRUPTED_START, helper.__file__]
    done = subprocess.run(command, capture_output=True, check=True, timeout=HANG_TIMEOUT)
    assert int(done.stdout) == -signal.SIGTERM


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("low 0\nhigh 0\nmax 9\noom 1\noom_kill 1\n", True),
        ("low 0\noom 1\noom_kill 0\n", False),
        ("oom_kill_disable 0\nunder_oom 0\noom_kill 2\n", True),
        ("", False),
    ],
)
def test_a_kill_by_the_kernel_is_read(content: str, expected: bool, tmp_path: Path) -> None:
    (tmp_path / "events").write_text(content)
    assert helper.has_oom_kill([str(tmp_path / "missing"), str(tmp_path / "events")]) == expected
    assert not helper.has_oom_kill([str(tmp_path / "missing")])
