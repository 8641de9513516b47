"""Programs on systems without POSIX, and programs that cannot be killed."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
import trio

import spielleiter.match.programs.program
import spielleiter.match.programs.supervised_process
import spielleiter.match.programs.unsupervised_process
from spielleiter.match.programs import processes
from spielleiter.match.programs.unsupervised_process import UnsupervisedProcess
from tests.match.shell_programs import Runner, has_written, lines, wait_until
from tests.timeouts import HANG_TIMEOUT


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    return Runner(tmp_path)


@pytest.fixture
def without_posix(monkeypatch: pytest.MonkeyPatch) -> None:
    """Simulate a system without what Windows does not have."""
    for name in ("wait4", "waitid", "killpg", "pidfd_open", "getsid", "sched_getaffinity", "sched_setaffinity"):
        monkeypatch.delattr(os, name, raising=False)
    monkeypatch.delattr(trio.lowlevel, "FdStream")
    monkeypatch.setattr(spielleiter.match.programs.program, "start_supervised_process", lambda _spec: None)
    monkeypatch.setattr(processes, "_PROC", Path("/no/such/folder"))


@pytest.mark.usefixtures("without_posix")
async def test_a_process_is_run_to_its_end_without_posix(runner: Runner) -> None:
    program = runner.program("echo to out; echo to error >&2; exit 6")
    async with trio.open_nursery() as nursery:
        await nursery.start(program.run)
        with trio.fail_after(HANG_TIMEOUT):
            await program.end(HANG_TIMEOUT)
    assert (program.returncode, program.was_ended) == (6, False)
    assert lines(runner.out) == ["to out"]
    assert lines(runner.error) == ["to error"]


@pytest.mark.slow  # it has some time to end after SIGTERM
@pytest.mark.usefixtures("without_posix")
async def test_a_process_that_does_not_end_is_killed_without_posix(runner: Runner) -> None:
    program = runner.command(["sleep", "500"])
    async with trio.open_nursery() as nursery:
        await nursery.start(program.run)
        with trio.fail_after(HANG_TIMEOUT):
            await program.end(0)
    assert (program.returncode, program.was_ended) == (-signal.SIGKILL, True)


@pytest.mark.usefixtures("without_posix")
async def test_a_cancelled_process_is_killed_with_its_children_without_posix(
    runner: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    taskkill = tmp_path / "bin" / "taskkill"  # replaces the command of Windows
    taskkill.parent.mkdir()
    taskkill.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/asked\npkill -KILL -P "$4"\n')
    taskkill.chmod(0o755)
    monkeypatch.setenv("PATH", str(taskkill.parent), prepend=os.pathsep)
    program = runner.program("sleep 500 & echo ready; wait; sleep 500")
    async with trio.open_nursery() as nursery:
        await nursery.start(program.run)
        await wait_until(lambda: has_written(runner.out, "ready"))
        nursery.cancel_scope.cancel()
    assert program.gone.is_set()
    assert (tmp_path / "asked").read_text().startswith("/T /F /PID ")


@pytest.fixture
def unkillable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs without a supervisor that signals do not end, as if they were stuck in the kernel."""
    monkeypatch.setattr(spielleiter.match.programs.program, "start_supervised_process", lambda _spec: None)
    monkeypatch.setattr(UnsupervisedProcess, "_signal_group", lambda _process, _number: None)
    for module, name in (
        (spielleiter.match.programs.program, "_TERMINATE_TIMEOUT"),
        (spielleiter.match.programs.program, "REPORT_TIMEOUT"),
        (spielleiter.match.programs.program, "KILL_TIMEOUT"),
        (spielleiter.match.programs.unsupervised_process, "KILL_TIMEOUT"),
    ):
        monkeypatch.setattr(module, name, 0.02)


@pytest.mark.usefixtures("unkillable")
@pytest.mark.parametrize("is_cancelled", [True, False])
async def test_a_program_that_cannot_be_killed_is_given_up_and_named(is_cancelled: bool, runner: Runner) -> None:
    program = runner.command(["sleep", "500"])
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
