"""Processes on systems without supervisors."""

from __future__ import annotations

import sys

import pytest

if sys.platform == "win32":
    pytest.skip("Windows has no processes of this kind", allow_module_level=True)
assert sys.platform != "win32"  # for mypy

import os
import signal

import trio

from spielleiter.programs import unsupervised_process
from spielleiter.programs.process_spec import ProcessSpec
from spielleiter.programs.processes import still_running
from spielleiter.programs.unsupervised_process import UnsupervisedProcess
from tests.timeouts import HANG_TIMEOUT

pytestmark = pytest.mark.skipif(not hasattr(os, "killpg"), reason="this system has no process groups")


def start(script: str) -> UnsupervisedProcess:
    return UnsupervisedProcess(ProcessSpec(["sh", "-c", script], None, dict(os.environ)))


async def finish(process: UnsupervisedProcess) -> None:
    with trio.fail_after(HANG_TIMEOUT):
        await process.end()
    process.stdout.close()
    process.stderr.close()


async def test_the_return_code_of_an_unsupervised_process_is_recorded() -> None:
    process = start("exit 3")
    with trio.fail_after(HANG_TIMEOUT):
        await process.wait()
        await process.wait_for_children()
    assert (process.returncode, process.has_ended, process.leftovers) == (3, True, ())
    await finish(process)


async def test_an_unsupervised_process_can_be_terminated() -> None:
    process = start("echo ready; sleep 500")
    assert process.stdout.readline() == b"ready\n"
    assert not process.has_ended
    process.terminate()
    with trio.fail_after(HANG_TIMEOUT):
        await process.wait()
    assert process.returncode == -signal.SIGTERM
    await finish(process)


async def test_an_unsupervised_process_is_killed_with_its_group() -> None:
    process = start("sleep 500 & echo ready; wait")
    process.stdout.readline()
    pids = process.find_all()
    await finish(process)
    assert process.returncode == -signal.SIGKILL
    assert still_running(pids) == ()


async def test_a_process_that_cannot_be_killed_is_given_up_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unsupervised_process, "KILL_TIMEOUT", 0.05)
    monkeypatch.setattr(UnsupervisedProcess, "_signal_group", lambda _process, _number: None)  # as if it had no effect
    process = start("sleep 500")
    pid = process._popen.pid
    try:
        with trio.fail_after(HANG_TIMEOUT):
            await process.end()
        assert pid in {survivor.pid for survivor in process.survivors}
        assert process.returncode == -signal.SIGKILL
    finally:
        os.killpg(pid, signal.SIGKILL)
        os.waitpid(pid, 0)  # noqa: ASYNC222 - it was killed
        process.stdout.close()
        process.stderr.close()
