from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Collection, Iterator
from typing import Any, BinaryIO

import pytest

from spielleiter.match.programs import keeper
from spielleiter.match.programs.keeper import descendants, end_processes
from spielleiter.match.programs.processes import children_of
from tests.patience import PATIENCE

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="there are keepers on Linux only")

TREE = "sleep 500 & (sleep 500 & sleep 500 & wait) & echo ready; wait"


@pytest.fixture
def tree() -> Iterator[subprocess.Popen[bytes]]:
    """A shell with three processes below it and below a shell of its own."""
    with subprocess.Popen(["sh", "-c", TREE], stdout=subprocess.PIPE, start_new_session=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        deadline = time.monotonic() + PATIENCE
        while len(descendants(process.pid)) < 4:
            assert time.monotonic() < deadline
        yield process
        os.killpg(process.pid, signal.SIGKILL)


def test_descendants_are_found_at_any_depth(tree: subprocess.Popen[bytes]) -> None:
    found = descendants(tree.pid)
    assert len(found) == 4
    assert tree.pid in descendants(os.getpid())
    assert set(found) <= set(descendants(os.getpid()))
    assert sorted(children_of(tree.pid) or ()) == sorted(found)


def test_branches_can_be_left_out(tree: subprocess.Popen[bytes]) -> None:
    found = descendants(tree.pid)
    inner = next(pid for pid in found if descendants(pid))
    assert set(descendants(tree.pid, [inner])) == set(found) - {inner, *descendants(inner)}
    assert {tree.pid, *found}.isdisjoint(descendants(os.getpid(), [tree.pid]))


def test_what_has_ended_is_not_found(tree: subprocess.Popen[bytes]) -> None:
    os.killpg(tree.pid, signal.SIGKILL)
    os.waitid(os.P_PID, tree.pid, os.WEXITED | os.WNOWAIT)
    assert tree.pid not in descendants(os.getpid())


def test_everything_is_ended(tree: subprocess.Popen[bytes]) -> None:
    found = {tree.pid, *descendants(tree.pid)}
    reaped: list[int] = []

    def reap() -> bool:
        reaped.append(1)
        return len(reaped) > 3  # only then there is nothing left

    assert end_processes(lambda: [pid for pid in descendants(os.getpid()) if pid in found], reap)
    assert tree.wait(PATIENCE) == -signal.SIGKILL
    assert len(reaped) > 3


def test_what_cannot_be_ended_is_not_waited_for_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeper, "KILLED", 0.0)
    monkeypatch.setattr(os, "kill", lambda _pid, _number: None)
    assert not end_processes(lambda: [os.getpid()], lambda: True)


class House:
    """The process that keepers come from, as match/programs/kept_process.py uses it."""

    def __init__(self) -> None:
        self.socket, theirs = socket.socketpair()
        with theirs:
            self.process = subprocess.Popen([sys.executable, "-I", "-S", keeper.__file__], stdin=theirs.fileno())
        assert self.socket.recv(1) == keeper.READY

    def start(self, *arguments: str, cores: tuple[int, ...] | None = None) -> Kept:
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
        socket.send_fds(self.socket, [keeper.HEAD.pack(len(data)) + data], descriptors)
        theirs.close()
        os.close(write_out)
        return Kept(control, open(out, "rb"))  # noqa: PTH123

    def close(self) -> None:
        self.socket.close()
        assert self.process.wait(PATIENCE) == 0


class Kept:
    """A program's socket and output; `facts` is all that its keeper has told so far."""

    def __init__(self, control: socket.socket, out: BinaryIO) -> None:
        self._control = control
        self._lines = control.makefile("rb")
        self._out = out
        self.facts: dict[str, Any] = {}
        self.until("pid", "failed")

    def until(self, *names: str) -> None:
        """Until one of these has been told."""
        while self.facts.keys().isdisjoint(names):
            self.facts.update(json.loads(self._lines.readline()))

    def close(self) -> str:
        """Wait for the end, and let the keeper be used again; returns what the program has written."""
        self.until("gone")
        self._control.sendall(keeper.REUSE)
        return self.abandon()

    def abandon(self) -> str:
        self._lines.close()
        self._control.close()
        with self._out:
            return self._out.read().decode()


@pytest.fixture
def keeper_host() -> Iterator[House]:
    keeper_host = House()
    yield keeper_host
    keeper_host.close()


def wait_for_end(pid: int) -> None:
    deadline = time.monotonic() + PATIENCE
    while os.path.exists(f"/proc/{pid}"):  # noqa: PTH110 - no path of ours
        assert time.monotonic() < deadline


def run_until_used_again(keeper_host: House, keepers: Collection[int]) -> None:
    """One of them; it becomes free a moment after its socket was closed."""
    deadline = time.monotonic() + PATIENCE
    while True:
        kept = keeper_host.start("true")
        kept.close()
        if kept.facts["keeper"] in keepers:
            return
        assert time.monotonic() < deadline


def test_a_keeper_is_used_again_once_its_program_is_gone_and_nobody_speaks_to_it(keeper_host: House) -> None:
    first, second = keeper_host.start("true"), keeper_host.start("true")
    first.until("gone")
    second.until("gone")
    third = keeper_host.start("true")
    keepers = {kept.facts["keeper"] for kept in (first, second, third)}
    assert len(keepers) == 3
    for kept in (first, second, third):
        kept.close()
    run_until_used_again(keeper_host, keepers)


def test_a_program_knows_nothing_of_the_one_before(keeper_host: House) -> None:
    everything = os.sched_getaffinity(0)
    show = (sys.executable, "-I", "-S", "-c", "import os; print(*sorted(os.sched_getaffinity(0)))")
    bound = keeper_host.start(*show, cores=(min(everything),))
    assert bound.close() == f"{min(everything)}\n"
    used: set[int] = set()
    deadline = time.monotonic() + PATIENCE
    while bound.facts["keeper"] not in used:
        assert time.monotonic() < deadline
        free = keeper_host.start(*show)
        assert free.close() == " ".join(map(str, sorted(everything))) + "\n"
        used.add(free.facts["keeper"])
        assert free.facts["cpu"] > 0
        assert free.facts["exit"] == 0


def test_a_keeper_that_is_not_released_ends_with_its_program(keeper_host: House) -> None:
    kept = keeper_host.start("true")
    kept.until("gone")
    kept.abandon()
    wait_for_end(kept.facts["keeper"])


def test_a_keeper_ends_with_a_program_that_cannot_start(keeper_host: House) -> None:
    failed = keeper_host.start("/nowhere/bot")
    assert "No such file" in failed.facts["failed"]
    failed.abandon()
    wait_for_end(failed.facts["keeper"])


@pytest.mark.parametrize(
    "change",
    [
        "os.setpriority(os.PRIO_PROCESS, os.getppid(), 19)",
        "resource.prlimit(os.getppid(), resource.RLIMIT_NOFILE, (100, 100))",
        "open(f'/proc/{os.getppid()}/oom_score_adj', 'w').write('1000')",
    ],
    ids=["priority", "limit", "oom score"],
)
def test_a_keeper_that_its_program_has_changed_is_not_used_again(keeper_host: House, change: str) -> None:
    kept = keeper_host.start(sys.executable, "-I", "-S", "-c", f"import os, resource; {change}")
    kept.until("gone")
    assert kept.facts["exit"] == 0
    kept.close()
    wait_for_end(kept.facts["keeper"])


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_a_keeper_without_a_program_may_be_killed_or_stopped(keeper_host: House, number: signal.Signals) -> None:
    kept = keeper_host.start("true")
    kept.close()
    os.kill(kept.facts["keeper"], number)
    for _ in range(3):
        assert keeper_host.start("echo", "played").close() == "played\n"


def test_a_stopped_keeper_without_a_program_is_ended_with_the_process_it_comes_from() -> None:
    keeper_host = House()
    kept = keeper_host.start("true")
    kept.close()
    run_until_used_again(keeper_host, {kept.facts["keeper"]})  # so it had no program
    os.kill(kept.facts["keeper"], signal.SIGSTOP)
    keeper_host.close()
    wait_for_end(kept.facts["keeper"])


def test_keepers_without_a_program_end_with_the_process_they_come_from(keeper_host: House) -> None:
    started = [keeper_host.start("true") for _ in range(3)]
    for kept in started:
        kept.close()
    keeper_host.process.kill()
    for kept in started:
        wait_for_end(kept.facts["keeper"])
    keeper_host.process.wait()
    keeper_host.process.returncode = 0  # as the fixture expects


def test_a_keeper_with_a_program_outlives_the_process_it_comes_from(keeper_host: House) -> None:
    kept = keeper_host.start("sleep", "500")
    keeper_host.close()
    os.kill(kept.facts["pid"], signal.SIGTERM)
    kept.close()
    assert kept.facts["exit"] == -signal.SIGTERM
    wait_for_end(kept.facts["keeper"])


def test_the_process_that_keepers_come_from_ends_with_whoever_asks_it() -> None:
    ours, theirs = socket.socketpair()
    process = subprocess.Popen([sys.executable, "-I", "-S", keeper.__file__], stdin=theirs.fileno())
    theirs.close()
    with ours:
        assert ours.recv(1) == keeper.READY
        ours.sendall(b"\0\0")  # half a request
    assert process.wait(PATIENCE) == 0
