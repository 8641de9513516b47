"""Finding and killing the descendants of a process."""

from __future__ import annotations

import sys

import pytest

if sys.platform != "linux":
    pytest.skip("only Linux has what is tested here", allow_module_level=True)
assert sys.platform == "linux"  # for mypy

import os
import signal
import subprocess
import time
from collections.abc import Iterator

from spielleiter.programs.processes import descendants_of
from spielleiter.programs.supervision import process_tree
from spielleiter.programs.supervision.process_tree import find_descendants, kill_all
from tests.timeouts import HANG_TIMEOUT

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has supervisors")

TREE = "sleep 500 & (sleep 500 & sleep 500 & wait) & echo ready; wait"


@pytest.fixture
def tree() -> Iterator[subprocess.Popen[bytes]]:
    """A shell with one child process and with another shell that has two."""
    with subprocess.Popen(["sh", "-c", TREE], stdout=subprocess.PIPE, start_new_session=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        deadline = time.monotonic() + HANG_TIMEOUT
        while len(find_descendants(process.pid)) < 4:
            assert time.monotonic() < deadline
        yield process
        os.killpg(process.pid, signal.SIGKILL)


def test_descendants_are_found_at_any_depth(tree: subprocess.Popen[bytes]) -> None:
    found = find_descendants(tree.pid)
    assert len(found) == 4
    assert tree.pid in find_descendants(os.getpid())
    assert set(found) <= set(find_descendants(os.getpid()))
    assert sorted(descendants_of(tree.pid) or ()) == sorted(found)


def test_excluded_processes_are_left_out_with_their_descendants(tree: subprocess.Popen[bytes]) -> None:
    found = find_descendants(tree.pid)
    inner = next(pid for pid in found if find_descendants(pid))
    assert set(find_descendants(tree.pid, [inner])) == set(found) - {inner, *find_descendants(inner)}
    assert {tree.pid, *found}.isdisjoint(find_descendants(os.getpid(), [tree.pid]))


def test_ended_processes_are_not_found(tree: subprocess.Popen[bytes]) -> None:
    os.killpg(tree.pid, signal.SIGKILL)
    os.waitid(os.P_PID, tree.pid, os.WEXITED | os.WNOWAIT)
    assert tree.pid not in find_descendants(os.getpid())


def test_all_processes_are_killed_until_reap_confirms_it(tree: subprocess.Popen[bytes]) -> None:
    found = {tree.pid, *find_descendants(tree.pid)}
    reaped: list[int] = []

    def reap() -> bool:
        reaped.append(1)
        return len(reaped) > 3  # until then, something may be left

    assert kill_all(lambda: [pid for pid in find_descendants(os.getpid()) if pid in found], reap)
    assert tree.wait(HANG_TIMEOUT) == -signal.SIGKILL
    assert len(reaped) > 3


def test_killing_is_given_up_after_the_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process_tree, "KILL_TIMEOUT", 0.0)
    monkeypatch.setattr(os, "kill", lambda _pid, _number: None)
    assert not kill_all(lambda: [os.getpid()], lambda: True)
