"""Programs without a supervisor, and programs that cannot be killed."""

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

import spielleiter.programs.program
import spielleiter.programs.supervised_process
import spielleiter.programs.unsupervised_process
from spielleiter.programs.platforms.macos import MacPlatform
from spielleiter.programs.unsupervised_process import UnsupervisedProcess
from tests.match.shell_programs import Runner
from tests.timeouts import HANG_TIMEOUT


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    return Runner(tmp_path)


@pytest.fixture
def unkillable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs without a supervisor that signals do not end, as if they were stuck in the kernel."""
    monkeypatch.setattr(spielleiter.programs.program, "PLATFORM", MacPlatform())
    monkeypatch.setattr(UnsupervisedProcess, "_signal_group", lambda _process, _number: None)
    for module, name in (
        (spielleiter.programs.program, "_TERMINATE_TIMEOUT"),
        (spielleiter.programs.program, "REPORT_TIMEOUT"),
        (spielleiter.programs.program, "KILL_TIMEOUT"),
        (spielleiter.programs.unsupervised_process, "KILL_TIMEOUT"),
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
