"""Processes on systems without supervisors."""

from __future__ import annotations

import sys

import pytest

if sys.platform == "win32":
    pytest.skip("Windows has no processes of this kind", allow_module_level=True)
assert sys.platform != "win32"  # for mypy

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psutil
import trio

from spielleiter.programs import program as program_module
from spielleiter.programs.linux_processes import TAG_VARIABLE, ProcessInfo
from spielleiter.programs.macos import MacPlatform, UnsupervisedProcess
from spielleiter.programs.psutil_processes import ProcessTree, infos_of, kill_by_ids
from tests.interpreter import PYTHON
from tests.timeouts import HANG_TIMEOUT


class Unkillable(UnsupervisedProcess):
    """A process that no signal ends, as if it were stuck in the kernel."""

    kill_timeout = 0.02

    def signal_group(self, number: signal.Signals) -> None:
        """Do nothing."""


@pytest.mark.parametrize("is_cancelled", [True, False])
async def test_a_program_that_cannot_be_killed_is_given_up_and_named(
    is_cancelled: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (("PLATFORM", MacPlatform(Unkillable)), ("REPORT_TIMEOUT", 0.02), ("KILL_TIMEOUT", 0.02)):
        monkeypatch.setattr(program_module, name, value)
    program = program_module.Program(["sleep", "500"], "tag", tmp_path / "out", tmp_path / "error")
    with trio.fail_after(HANG_TIMEOUT):
        async with trio.open_nursery() as nursery:
            await nursery.start(program.run)
            if is_cancelled:
                nursery.cancel_scope.cancel()
            else:
                await program.end(0)
    assert program.gone.is_set()
    (survivor,) = program.survivors
    os.kill(survivor.pid, signal.SIGKILL)
    os.waitpid(survivor.pid, 0)  # noqa: ASYNC222 - it was killed


# ``yes`` is its own name as soon as it has written: a shell that says "ready" may still be about to start something.
PLATFORM = MacPlatform()
CHILD = "yes ready"


class Started:
    """A shell script in a session of its own, of which a process has written ``ready``."""

    def __init__(self, script: str, tag: str = "") -> None:
        self.popen = subprocess.Popen(
            ["sh", "-c", script],
            stdout=subprocess.PIPE,
            start_new_session=True,
            env={**os.environ, TAG_VARIABLE: tag},
        )
        assert self.popen.stdout is not None
        assert self.popen.stdout.readline() == b"ready\n"

    def close(self) -> None:
        assert self.popen.stdout is not None
        self.popen.stdout.close()
        self.popen.kill()
        self.popen.wait(HANG_TIMEOUT)


@pytest.fixture
def family() -> Iterator[Started]:
    """A program with a child in the same session."""
    started = Started(f"{CHILD} & wait")
    yield started
    ProcessTree(started.popen.pid).kill()
    started.close()


def names(processes: tuple[ProcessInfo, ...]) -> list[str]:
    return [process.name for process in processes]


def test_a_child_that_has_lost_its_parent_is_found_in_the_session_and_killed(family: Started) -> None:
    tree = ProcessTree(family.popen.pid)
    before = tree.measure()
    assert tree.peak_memory > 0
    assert (len(tree.find()), names(tree.others())) == (2, ["yes"])
    later = ProcessTree(family.popen.pid)  # which has not looked at anything yet
    family.popen.kill()
    family.popen.wait(HANG_TIMEOUT)
    assert names(later.others()) == ["yes"]
    tree.kill()
    while tree.find():  # the child's end is reported to another process
        tree.kill()
    assert tree.measure() >= before  # ended processes still count


def test_a_child_that_was_found_once_is_remembered_in_its_own_session() -> None:
    code = "import os, time; os.setsid(); print('ready', flush=True); time.sleep(500)"
    started = Started(f'{PYTHON} -c "{code}" & wait')
    tree = ProcessTree(started.popen.pid)
    try:
        (child,) = tree.others()
        started.close()
        assert tree.others() == (child,)
    finally:
        while tree.find():
            tree.kill()


def test_a_process_that_was_not_waited_for_has_ended() -> None:
    started = Started("echo ready")
    tree = ProcessTree(started.popen.pid)
    if sys.platform == "linux":
        os.waitid(os.P_PID, started.popen.pid, os.WEXITED | os.WNOWAIT)
    else:
        started.close()
    assert tree.find() == ()
    assert infos_of([started.popen.pid]) == ()
    started.close()


def test_processes_are_found_by_the_beginning_of_their_tag(tmp_path: Path) -> None:
    first, second = (Started(f"exec {CHILD}", f"{tmp_path}/{name}") for name in ("a/1", "b/1"))
    try:
        assert PLATFORM.find_tagged(f"{tmp_path}/a/") == (ProcessInfo(first.popen.pid, "yes"),)
        assert PLATFORM.find_tagged("") == ()  # not every process of the machine
        kill_by_ids(PLATFORM.find_tagged(f"{tmp_path}/"))
        assert (first.popen.wait(HANG_TIMEOUT), second.popen.wait(HANG_TIMEOUT)) == (-9, -9)
        assert PLATFORM.find_tagged(f"{tmp_path}/") == ()
        kill_by_ids([ProcessInfo(first.popen.pid, "yes")])
    finally:
        first.close()
        second.close()


def test_what_a_program_is_called_may_be_unknown(family: Started, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_process: object) -> list[str]:
        raise psutil.AccessDenied

    monkeypatch.setattr(psutil.Process, "cmdline", refuse)
    assert names(infos_of([family.popen.pid])) == ["?"]
