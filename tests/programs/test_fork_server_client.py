"""Starting programs through the fork server."""

from __future__ import annotations

import sys

import pytest

if sys.platform != "linux":
    pytest.skip("only Linux has what is tested here", allow_module_level=True)
assert sys.platform == "linux"  # for mypy

import os
import signal
import socket
from pathlib import Path

import trio

from spielleiter.programs import fork_server_client
from spielleiter.programs.fork_server_client import ForkServer, start_supervised_process
from spielleiter.programs.process_spec import ProcessSpec
from spielleiter.programs.processes import still_running
from tests.match.supervised import finish, parent_of, start
from tests.timeouts import HANG_TIMEOUT

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has supervisors")


async def test_a_killed_fork_server_is_replaced() -> None:
    first = start("sleep 500")
    parent = parent_of(parent_of(first.pid))
    os.kill(parent, signal.SIGKILL)
    second = start("exit 4")
    with trio.fail_after(HANG_TIMEOUT):
        await second.wait()
    assert second.returncode == 4
    assert still_running([first.pid])  # its supervisor is still there
    await finish(second)
    await finish(first)
    assert not still_running([first.pid])


async def test_a_stopped_fork_server_is_resumed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fork_server_client, "_RESUME_AFTER", 0.01)
    first = start("sleep 500")
    os.kill(parent_of(parent_of(first.pid)), signal.SIGSTOP)
    second = start("exit 4")
    with trio.fail_after(HANG_TIMEOUT):
        await second.wait()
    assert second.returncode == 4
    await finish(second)
    await finish(first)


async def test_waiting_for_an_answer_has_a_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fork_server_client, "_RESUME_AFTER", 0.001)
    monkeypatch.setattr(fork_server_client, "_ANSWER_TIMEOUT", 0.01)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        assert fork_server_client._receive_patiently(ours, os.getpid(), lambda: ours.recv(1)) is None


async def test_a_memory_limit_that_cannot_be_set_is_an_error() -> None:
    with pytest.raises(ValueError, match="the memory limit cannot be set"):
        start("exit 0", memory="much")


async def test_start_errors_are_those_of_the_system() -> None:
    with pytest.raises(FileNotFoundError):
        start_supervised_process(ProcessSpec(["./no-such-program"], None, {}))
    with pytest.raises(ValueError, match="null byte"):
        start_supervised_process(ProcessSpec(["a\0b"], None, {}))


async def test_a_program_has_the_given_environment_and_directory(tmp_path: Path) -> None:
    process = start_supervised_process(
        ProcessSpec(["sh", "-c", "pwd; echo $A-$B"], str(tmp_path), {"A": "ü\udcff", "PATH": os.environ["PATH"]})
    )
    assert process is not None
    with trio.fail_after(HANG_TIMEOUT):
        await process.wait()
    assert process.stdout.read() == f"{tmp_path}\nü".encode() + b"\xff-\n"
    await finish(process)


async def test_nothing_is_started_on_a_system_without_supervisors(monkeypatch: pytest.MonkeyPatch) -> None:
    fork_server = ForkServer()
    monkeypatch.setattr(fork_server_client, "FORK_SERVER_COMMAND", [sys.executable, "-c", ""])
    assert fork_server.start(ProcessSpec(["true"], None, {})) is None
    assert fork_server.start(ProcessSpec(["true"], None, {})) is None
