"""What a supervisor finds, names and kills."""

from __future__ import annotations

import sys

import pytest

if sys.platform != "linux":
    pytest.skip("only Linux has what is tested here", allow_module_level=True)
assert sys.platform == "linux"  # for mypy

import os
import signal

import trio

from spielleiter.programs.fork_server_client import start_supervised_process
from spielleiter.programs.process_spec import ProcessSpec
from spielleiter.programs.processes import still_running
from spielleiter.programs.supervised_process import SupervisedProcess
from tests.match.supervised import finish, parent_of, start, wait_until
from tests.timeouts import HANG_TIMEOUT

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has supervisors")

STRAY = "(env -i setsid sleep 500 &) & "
"""A process without a tag, in a session of its own, whose parents have ended."""


def has_stray(process: SupervisedProcess) -> bool:
    """Return whether the stray process has left the session and lost its parents."""
    pids = process.pids
    try:
        return len(pids) == 3 and any(os.getsid(pid) == pid != process.pid for pid in pids)
    except ProcessLookupError:  # one of its parents has just ended
        return False


async def test_a_process_without_parent_session_or_environment_is_found_and_killed() -> None:
    process = start(f"{STRAY} echo ready; sleep 500")
    assert process.stdout.readline() == b"ready\n"
    wait_until(lambda: has_stray(process))
    pids = process.pids
    assert set(process.find_all()) == set(pids)
    await finish(process)
    assert still_running(pids) == ()
    assert (process.returncode, process.pids) == (-signal.SIGKILL, ())


async def test_each_program_has_a_supervisor_of_its_own() -> None:
    first, second = start("sleep 500"), start("sleep 500")
    assert parent_of(first.pid) != parent_of(second.pid)
    assert os.getpid() not in {parent_of(first.pid), parent_of(second.pid)}
    await finish(first)
    assert still_running([second.pid])
    await finish(second)


@pytest.mark.slow  # children have some time to end by themselves
async def test_processes_that_outlive_a_program_are_named() -> None:
    process = start(f"{STRAY} exit 3")
    with trio.fail_after(HANG_TIMEOUT):
        await process.wait()
        await process.wait_for_children()
    assert (process.returncode, [each.name for each in process.leftovers]) == (3, ["sleep"])
    await finish(process)


async def test_a_supervisor_kills_everything_when_its_socket_is_closed() -> None:
    process = start(f"{STRAY} echo ready; sleep 500")
    process.stdout.readline()
    wait_until(lambda: has_stray(process))
    pids = process.pids
    process._control.close()
    wait_until(lambda: not still_running(pids))
    process.stdout.close()
    process.stderr.close()


async def test_everything_below_a_killed_supervisor_is_killed() -> None:
    process = start(f"{STRAY} echo ready; sleep 500")
    process.stdout.readline()
    wait_until(lambda: has_stray(process))
    pids = process.pids
    os.kill(parent_of(process.pid), signal.SIGKILL)
    with trio.fail_after(HANG_TIMEOUT):
        await process.wait()
    assert process.returncode == -signal.SIGKILL
    wait_until(lambda: not still_running(pids))
    await finish(process)


async def test_a_supervisor_is_killed_without_its_help() -> None:
    process = start(f"{STRAY} echo ready; sleep 500")
    process.stdout.readline()
    wait_until(lambda: has_stray(process))
    pids, own = process.pids, parent_of(process.pid)
    os.kill(own, signal.SIGSTOP)
    os.kill(parent_of(own), signal.SIGSTOP)  # so that it cannot do it instead
    with trio.fail_after(HANG_TIMEOUT):
        await process.kill_supervisor()
    assert still_running(pids) == ()
    wait_until(lambda: not still_running([own]))
    os.kill(parent_of(own), signal.SIGCONT)
    await finish(process)


async def test_a_program_that_keeps_starting_others_is_killed() -> None:
    process = start("while :; do (setsid sleep 500 &); done & sleep 500")
    wait_until(lambda: len(process.pids) > 5)
    await finish(process)
    assert process.find_all() == ()


async def test_memory_is_limited() -> None:
    code = "import sys; b = bytearray(100_000_000); print(len(b))"
    arguments = [sys.executable, "-I", "-S", "-c", code]
    for memory, expected in ((None, 0), (50_000_000, 1)):
        process = start_supervised_process(ProcessSpec(arguments, None, dict(os.environ), memory=memory))
        assert process is not None
        with trio.fail_after(HANG_TIMEOUT):
            await process.wait()
        assert process.returncode == expected
        assert (process.peak_memory > 100_000_000) is (memory is None)
        assert (b"MemoryError" in process.stderr.read()) is (memory is not None)
        await finish(process)
