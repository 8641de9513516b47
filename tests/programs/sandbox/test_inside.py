"""The parts of the process inside a sandbox; as a whole it runs in tests/programs/sandbox/test_run.py."""

from __future__ import annotations

import sys

import pytest

if sys.platform != "linux":
    pytest.skip("only Linux has what is tested here", allow_module_level=True)
assert sys.platform == "linux"  # for mypy

import mmap
import os
import signal
import subprocess
from pathlib import Path

from spielleiter.programs.sandbox import inside
from tests.timeouts import HANG_TIMEOUT

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="inside.py runs on Linux only")


def test_it_imports_the_standard_library_alone() -> None:
    code = (
        "import runpy, sys; runpy.run_path(sys.argv[1], run_name='x'); print([n for n in sys.modules if 'spiel' in n])"
    )
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code, inside.__file__], capture_output=True, check=True)
    assert done.stdout == b"[]\n"


def test_memory_is_read() -> None:
    size = 32 * 1024 * 1024
    before = sum(inside._resident_sizes(os.getpid()))
    with mmap.mmap(-1, size) as data:  # pages of its own, which the allocator cannot have kept from something else
        data.write(bytes(size))
        assert sum(inside._resident_sizes(os.getpid())) - before > size // 2
        assert sum(inside._proportional_sizes(os.getpid())) > size // 2
    assert inside._resident_sizes(0) == inside._proportional_sizes(0) == (0, 0)


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
    command = [sys.executable, "-I", "-S", "-c", INTERRUPTED_START, inside.__file__]
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
def test_a_kill_by_the_kernel_is_read(
    content: str, expected: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "events").write_text(content)
    monkeypatch.setattr(inside, "_OOM_FILES", (str(tmp_path / "missing"), str(tmp_path / "events")))
    assert inside._has_oom_kill() == expected


def test_without_a_cgroup_there_was_no_kill(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inside, "_OOM_FILES", ())
    assert not inside._has_oom_kill()


def test_the_environment_is_that_of_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADDED_LATER", "1")
    assert "ADDED_LATER" not in inside.initial_environment()
    monkeypatch.setattr(inside, "_PROC", "/nowhere")
    assert "ADDED_LATER" in inside.initial_environment()


def test_a_process_is_named_by_its_program() -> None:
    assert inside._process_name(os.getpid()).startswith("python")
    assert inside._process_name(0) == "?"
