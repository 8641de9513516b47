"""Processes on systems without supervisors."""

from __future__ import annotations

import sys

import pytest

if sys.platform == "win32":
    pytest.skip("Windows has no processes of this kind", allow_module_level=True)
assert sys.platform != "win32"  # for mypy

import os
import signal
from pathlib import Path

import trio

from spielleiter.programs import program as program_module
from spielleiter.programs.macos import MacPlatform, UnsupervisedProcess
from spielleiter.programs.process import ProcessSpec
from spielleiter.programs.processes import still_running
from tests.timeouts import HANG_TIMEOUT


class Unkillable(UnsupervisedProcess):
    """A process that no signal ends, as if it were stuck in the kernel."""

    kill_timeout = 0.02

    def signal_group(self, number: signal.Signals) -> None:
        """Do nothing."""


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


async def test_a_process_that_cannot_be_killed_is_given_up_and_named() -> None:
    process = Unkillable(ProcessSpec(["sleep", "500"], None, dict(os.environ)))
    try:
        with trio.fail_after(HANG_TIMEOUT):
            await process.end()
        assert process.pid in {survivor.pid for survivor in process.survivors}
        assert process.returncode == -signal.SIGKILL
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        os.waitpid(process.pid, 0)  # noqa: ASYNC222 - it was killed
        process.stdout.close()
        process.stderr.close()


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
