from __future__ import annotations

import os
import signal

import pytest
import trio

from spielleiter.match.programs.kept_process import Start
from spielleiter.match.programs.processes import living
from spielleiter.match.programs.unkept_process import UnkeptProcess
from tests.patience import PATIENCE

pytestmark = pytest.mark.skipif(not hasattr(os, "killpg"), reason="this system has no process groups")


def start(script: str) -> UnkeptProcess:
    return UnkeptProcess(Start(["sh", "-c", script], None, dict(os.environ)))


async def finish(process: UnkeptProcess) -> None:
    with trio.fail_after(PATIENCE):
        await process.end()
    process.stdout.close()
    process.stderr.close()


async def test_how_it_ended_is_known() -> None:
    process = start("exit 3")
    with trio.fail_after(PATIENCE):
        await process.wait()
        await process.see_off()
    assert (process.returncode, process.has_ended, process.leftovers) == (3, True, ())
    await finish(process)


async def test_it_can_be_asked_to_end() -> None:
    process = start("echo ready; sleep 500")
    assert process.stdout.readline() == b"ready\n"
    assert not process.has_ended
    process.terminate()
    with trio.fail_after(PATIENCE):
        await process.wait()
    assert process.returncode == -signal.SIGTERM
    await finish(process)


async def test_it_is_ended_with_its_group() -> None:
    process = start("sleep 500 & echo ready; wait")
    process.stdout.readline()
    pids = process.find_all()
    await finish(process)
    assert process.returncode == -signal.SIGKILL
    assert living(pids) == ()
