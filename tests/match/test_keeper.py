from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from match import keeper
from match.keeper import descendants, end_processes
from match.processes import children_of
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


def test_the_process_that_keepers_come_from_ends_with_whoever_asks_it() -> None:
    ours, theirs = socket.socketpair()
    process = subprocess.Popen([sys.executable, "-I", "-S", keeper.__file__], stdin=theirs.fileno())
    theirs.close()
    with ours:
        assert ours.recv(1) == keeper.READY
        ours.sendall(b"\0\0")  # half a request
    assert process.wait(PATIENCE) == 0
