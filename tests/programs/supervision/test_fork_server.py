"""The fork server: when supervisors are reused, and when they end."""

from __future__ import annotations

import sys

import pytest

if sys.platform != "linux":
    pytest.skip("only Linux has what is tested here", allow_module_level=True)
assert sys.platform == "linux"  # for mypy

import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Collection, Iterator
from typing import Any, BinaryIO

from spielleiter.programs.fork_server_client import FORK_SERVER_COMMAND
from spielleiter.programs.supervision.messages import HEAD, READY, REUSE
from tests.timeouts import HANG_TIMEOUT

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has supervisors")


class ForkServer:
    """The fork server, used as programs/fork_server_client.py does."""

    def __init__(self) -> None:
        self.socket, theirs = socket.socketpair()
        with theirs:
            self.process = subprocess.Popen(FORK_SERVER_COMMAND, stdin=theirs.fileno())
        assert self.socket.recv(1) == READY

    def start(self, *arguments: str, cores: tuple[int, ...] | None = None) -> RunningProgram:
        request: dict[str, Any] = {
            "arguments": arguments,
            "cwd": None,
            "environment": {},
            "cores": cores,
            "memory": None,
        }
        data = json.dumps(request).encode()
        (control, theirs), (out, write_out) = socket.socketpair(), os.pipe()
        descriptors = [theirs.fileno(), write_out, write_out]
        socket.send_fds(self.socket, [HEAD.pack(len(data)) + data], descriptors)
        theirs.close()
        os.close(write_out)
        return RunningProgram(control, open(out, "rb"))  # noqa: PTH123

    def close(self) -> None:
        self.socket.close()
        assert self.process.wait(HANG_TIMEOUT) == 0


class RunningProgram:
    """A program's socket and output; `reports` contains everything that its supervisor has reported so far."""

    def __init__(self, control: socket.socket, out: BinaryIO) -> None:
        self._control = control
        self._lines = control.makefile("rb")
        self._out = out
        self.reports: dict[str, Any] = {}
        self.wait_for_report("pid", "failed")

    def wait_for_report(self, *names: str) -> None:
        """Wait until one of these was reported."""
        while self.reports.keys().isdisjoint(names):
            self.reports.update(json.loads(self._lines.readline()))

    def close(self) -> str:
        """Wait for the end of the program and release the supervisor; return the program's output."""
        self.wait_for_report("gone")
        self._control.sendall(REUSE)
        return self.abandon()

    def abandon(self) -> str:
        """Close the socket without releasing the supervisor; return the program's output."""
        self._lines.close()
        self._control.close()
        with self._out:
            return self._out.read().decode()


@pytest.fixture
def fork_server() -> Iterator[ForkServer]:
    fork_server = ForkServer()
    yield fork_server
    fork_server.close()


def wait_for_end(pid: int) -> None:
    deadline = time.monotonic() + HANG_TIMEOUT
    while os.path.exists(f"/proc/{pid}"):  # noqa: PTH110 - no path of ours
        assert time.monotonic() < deadline


def wait_until_reused(fork_server: ForkServer, supervisors: Collection[int]) -> None:
    """Run programs until one of these supervisors is used; it is idle a moment after its socket was closed."""
    deadline = time.monotonic() + HANG_TIMEOUT
    while True:
        program = fork_server.start("true")
        program.close()
        if program.reports["supervisor"] in supervisors:
            return
        assert time.monotonic() < deadline


def test_it_ends_quietly_if_the_match_has_ended_before_it_was_ready() -> None:
    ours, theirs = socket.socketpair()
    ours.close()
    with theirs:
        done = subprocess.run(
            FORK_SERVER_COMMAND, stdin=theirs.fileno(), capture_output=True, timeout=HANG_TIMEOUT, check=False
        )
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_supervisor_is_reused_once_its_program_is_gone_and_its_socket_is_closed(fork_server: ForkServer) -> None:
    first, second = fork_server.start("true"), fork_server.start("true")
    first.wait_for_report("gone")
    second.wait_for_report("gone")
    third = fork_server.start("true")
    supervisors = {program.reports["supervisor"] for program in (first, second, third)}
    assert len(supervisors) == 3
    for program in (first, second, third):
        program.close()
    wait_until_reused(fork_server, supervisors)


def test_a_program_inherits_nothing_from_the_previous_one(fork_server: ForkServer) -> None:
    everything = os.sched_getaffinity(0)
    show = (sys.executable, "-I", "-S", "-c", "import os; print(*sorted(os.sched_getaffinity(0)))")
    bound = fork_server.start(*show, cores=(min(everything),))
    assert bound.close() == f"{min(everything)}\n"
    used: set[int] = set()
    deadline = time.monotonic() + HANG_TIMEOUT
    while bound.reports["supervisor"] not in used:
        assert time.monotonic() < deadline
        free = fork_server.start(*show)
        assert free.close() == " ".join(map(str, sorted(everything))) + "\n"
        used.add(free.reports["supervisor"])
        assert free.reports["cpu"] > 0
        assert free.reports["exit"] == 0


def test_a_supervisor_that_is_not_released_ends_with_its_program(fork_server: ForkServer) -> None:
    program = fork_server.start("true")
    program.wait_for_report("gone")
    program.abandon()
    wait_for_end(program.reports["supervisor"])


def test_a_supervisor_ends_with_a_program_that_cannot_be_started(fork_server: ForkServer) -> None:
    failed = fork_server.start("/nowhere/bot")
    assert "No such file" in failed.reports["failed"]
    failed.abandon()
    wait_for_end(failed.reports["supervisor"])


@pytest.mark.parametrize(
    "change",
    [
        "os.setpriority(os.PRIO_PROCESS, os.getppid(), 19)",
        "resource.prlimit(os.getppid(), resource.RLIMIT_NOFILE, (100, 100))",
        pytest.param(
            "open(f'/proc/{os.getppid()}/oom_score_adj', 'w').write('1000')",
            marks=pytest.mark.skipif(os.geteuid() != 0, reason="only root can change it"),
        ),
    ],
    ids=["priority", "limit", "oom score"],
)
def test_a_supervisor_that_its_program_has_changed_is_not_reused(fork_server: ForkServer, change: str) -> None:
    program = fork_server.start(sys.executable, "-I", "-S", "-c", f"import os, resource; {change}")
    program.wait_for_report("gone")
    assert program.reports["exit"] == 0
    program.close()
    wait_for_end(program.reports["supervisor"])


@pytest.mark.skipif(os.geteuid() == 0, reason="root may look into every process")
@pytest.mark.parametrize("name", ["environ", "mem", "maps", "fd"])
def test_no_program_can_look_into_its_supervisor(fork_server: ForkServer, name: str) -> None:
    code = f"import os; os.listdir(p) if os.path.isdir(p := f'/proc/{{os.getppid()}}/{name}') else open(p)"
    program = fork_server.start(sys.executable, "-I", "-S", "-c", code)
    program.wait_for_report("gone")
    assert program.reports["exit"] == 1
    program.close()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_an_idle_supervisor_may_be_killed_or_stopped(fork_server: ForkServer, number: signal.Signals) -> None:
    program = fork_server.start("true")
    program.close()
    os.kill(program.reports["supervisor"], number)
    for _ in range(3):
        assert fork_server.start("echo", "played").close() == "played\n"


def test_a_stopped_idle_supervisor_ends_with_the_fork_server() -> None:
    fork_server = ForkServer()
    program = fork_server.start("true")
    program.close()
    wait_until_reused(fork_server, {program.reports["supervisor"]})  # it is idle
    os.kill(program.reports["supervisor"], signal.SIGSTOP)
    fork_server.close()
    wait_for_end(program.reports["supervisor"])


def test_idle_supervisors_end_with_the_fork_server(fork_server: ForkServer) -> None:
    started = [fork_server.start("true") for _ in range(3)]
    for program in started:
        program.close()
    fork_server.process.kill()
    for program in started:
        wait_for_end(program.reports["supervisor"])
    fork_server.process.wait()
    fork_server.process.returncode = 0  # which the fixture expects


def test_a_supervisor_with_a_program_outlives_the_fork_server(fork_server: ForkServer) -> None:
    program = fork_server.start("sleep", "500")
    fork_server.close()
    os.kill(program.reports["pid"], signal.SIGTERM)
    program.close()
    assert program.reports["exit"] == -signal.SIGTERM
    wait_for_end(program.reports["supervisor"])


def test_the_fork_server_ends_when_its_socket_is_closed() -> None:
    ours, theirs = socket.socketpair()
    process = subprocess.Popen(FORK_SERVER_COMMAND, stdin=theirs.fileno())
    theirs.close()
    with ours:
        assert ours.recv(1) == READY
        ours.sendall(b"\0\0")  # half a request
    assert process.wait(HANG_TIMEOUT) == 0
