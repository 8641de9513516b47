"""Finding and killing the descendants of a process.

Invariants: a process cannot forge its descent or escape from it as long as the root is a child subreaper, since an
orphan among the root's descendants becomes a child of the root. Processes that have ended and were not waited for are
not found.
"""

from __future__ import annotations

import sys

assert sys.platform == "linux"  # before the imports, which other platforms lack

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any, Final

KILL_TIMEOUT: Final = 5.0
"""Seconds after which killing processes is given up."""

_SET_CHILD_SUBREAPER: Final = 36  # <linux/prctl.h>
_SET_DUMPABLE: Final = 4
_PROC: Final = "/proc"
_THREAD_COUNT: Final = 17  # index of the number of threads in /proc/PID/stat, counted from the state
_POLL_INTERVAL: Final = 0.005  # seconds between two searches for processes that were killed


def become_subreaper() -> None:
    """Make this process the parent of every orphan among its descendants. Raises OSError.

    From now on, programs of the same user can neither read its memory nor take its open files, nor those of the
    processes that it forks.
    """
    _libc().prctl(_SET_DUMPABLE, 0, 0, 0, 0)
    if _libc().prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError("PR_SET_CHILD_SUBREAPER is not possible")


@cache
def _libc() -> Any:
    import ctypes  # only the fork server needs it; the match imports this module without calling this function

    return ctypes.CDLL(None)


def find_descendants(root: int, excluded: Iterable[int] = ()) -> list[int]:
    """Return the ids of all processes below `root`, parents first.

    The processes in `excluded` and everything below them are left out. Reads one file for every process of this
    machine.
    """
    children: dict[int, list[int]] = {}
    for name in os.listdir(_PROC):  # noqa: PTH208 - pathlib is not needed here, and takes time to load
        if name.isdecimal():
            with contextlib.suppress(OSError, IndexError, ValueError):
                with open(f"{_PROC}/{name}/stat", "rb") as file:  # noqa: PTH123
                    fields = file.read().rpartition(b")")[2].split()
                # a process whose first thread has ended lives on if it has other threads
                if fields[0] not in {b"Z", b"X"} or int(fields[_THREAD_COUNT]) > 1:
                    children.setdefault(int(fields[1]), []).append(int(name))
    skipped, found = set(excluded), []
    pending = [root]
    while pending:
        for pid in children.get(pending.pop(), ()):
            if pid not in skipped:
                found.append(pid)
                pending.append(pid)
    return found


def kill_all(find: Callable[[], list[int]], reap: Callable[[], bool]) -> bool:
    """Kill the processes that `find` returns until there are none left.

    A search may overlook a process whose parent ends during the search, so an empty result alone proves nothing: `reap`
    must also confirm that nothing is left. All processes are stopped before the first one is killed, so that none of
    them can start another one in between.

    Returns whether everything is gone; False after KILL_TIMEOUT.
    """
    deadline = time.monotonic() + KILL_TIMEOUT
    while True:
        stopped: list[int] = []
        while new := [pid for pid in find() if pid not in stopped]:
            send_signal(new, signal.SIGSTOP)
            stopped += new
            if time.monotonic() > deadline:
                break
        send_signal(stopped, signal.SIGKILL)
        if reap() and not stopped:
            return True
        if time.monotonic() > deadline:
            return False
        time.sleep(_POLL_INTERVAL)


def send_signal(pids: Iterable[int], number: signal.Signals) -> None:
    """Send a signal to each of these processes; skip those that are gone or belong to another user."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def process_name(pid: int) -> str:
    """Return the file name of the program that a process runs, ``?`` if it is unknown."""
    try:
        with open(f"{_PROC}/{pid}/cmdline", "rb") as file:  # noqa: PTH123
            return file.read().split(b"\0")[0].decode(errors="replace").rpartition("/")[2] or "?"
    except OSError:
        return "?"
