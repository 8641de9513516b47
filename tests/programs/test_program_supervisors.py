"""Programs that stop their supervisors."""

from __future__ import annotations

import sys

import pytest

if sys.platform != "linux":
    pytest.skip("only Linux has what is tested here", allow_module_level=True)
assert sys.platform == "linux"  # for mypy

import os
import signal
from contextlib import suppress
from pathlib import Path

import trio

import spielleiter.programs.fork_server_client
import spielleiter.programs.program
import spielleiter.programs.supervised_process
from tests.match.shell_programs import Runner, wait_until
from tests.timeouts import HANG_TIMEOUT


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    return Runner(tmp_path)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has supervisors")
async def test_a_program_that_stops_its_supervisor_does_not_delay_the_match(
    runner: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spielleiter.programs.fork_server_client, "_RESUME_AFTER", 0.1)
    program = runner.program("kill -STOP $PPID; exit 3")
    with trio.fail_after(HANG_TIMEOUT):
        async with trio.open_nursery() as nursery:
            await nursery.start(program.run)
            await program.end(0.1)
    assert program.returncode == 3
    assert runner.running == []


STOPPING = "(read x < {folder}/pipe; while :; do kill -STOP $PPID; done) & "
"""Stops the supervisor again and again, once something is written to the pipe."""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has supervisors")
@pytest.mark.parametrize("rest", ["exit 3", "sleep 500"])
async def test_a_program_that_keeps_stopping_its_supervisor_is_killed(
    rest: str, runner: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spielleiter.programs.supervised_process, "_CHECK_INTERVAL", 0.05)
    for name in ("pipe", "second"):
        os.mkfifo(tmp_path / name)
    program = runner.program(STOPPING.format(folder=tmp_path) + f"read x < {tmp_path}/second; {rest}")
    with trio.fail_after(HANG_TIMEOUT):
        async with trio.open_nursery() as nursery:
            await nursery.start(program.run)
            await trio.Path(tmp_path / "pipe").write_text("go\n")
            await wait_until(lambda: program.supervisor_stops > 0)
            with suppress(OSError):  # the program was killed and does not read any more
                os.write(os.open(tmp_path / "second", os.O_WRONLY | os.O_NONBLOCK), b"go\n")
    assert program.gone.is_set()
    assert program.supervisor_stops >= 1
    assert runner.running == []
    if rest != "exit 3":  # the supervisor may report this exit between two stops
        assert (program.has_stopped_supervisor, program.returncode) == (True, -signal.SIGKILL)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has supervisors")
@pytest.mark.parametrize("is_cancelled", [True, False])
async def test_a_program_that_keeps_stopping_its_supervisor_can_be_ended(
    is_cancelled: bool, runner: Runner, tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "pipe")
    program = runner.program(f"{STOPPING.format(folder=tmp_path)} sleep 500")
    with trio.fail_after(HANG_TIMEOUT):
        async with trio.open_nursery() as nursery:
            await nursery.start(program.run)
            await trio.Path(tmp_path / "pipe").write_text("go\n")
            if is_cancelled:
                nursery.cancel_scope.cancel()
            else:
                await program.end(0)
    assert program.gone.is_set()
    assert runner.running == []
