"""A cgroup (version 2) for each run of a program, made in the cgroup of this process if that was delegated to us.

Nothing is made in a cgroup that belongs to another user or that systemd manages without `Delegate=yes`. The processes
that are in ours move once, into a child that is never removed, since a cgroup that passes controllers on may have no
processes of its own. A run has two folders, one in the other. The limits are those of the outer one, and its processes
are in the inner one, which is all that a program can mount, so no program can change its limits.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import sys
import time
from pathlib import Path
from typing import Final

from spielleiter.programs.contest_conditions import Condition
from spielleiter.programs.sandbox.sandbox import PROCESS_LIMIT, Resources, run_briefly
from spielleiter.programs.temporary_folders import is_stale, new_label

MEMORY_RESERVE: Final = 128 * 1024 * 1024
"""Bytes for what is in the cgroup besides the program, so that the process inside sees first what exceeds a limit."""
TASKS_RESERVE: Final = 64
"""Processes and threads, for the same reason."""

_NEEDED: Final = frozenset({"memory", "pids"})
_MOVED: Final = "spielleiter-processes"
"""The child for the processes that were in the delegated cgroup."""
_INNER: Final = "run"
_ENTER: Final = 'echo 0 >"$0/cgroup.procs"'
_UNIT: Final = re.compile(r"\.(scope|service|slice)$")
_DELEGATED: Final = ("user.delegate", "trusted.delegate")  # attributes that systemd sets
_ROUNDS: Final = 20  # of moving processes, which may start others meanwhile
_TIMEOUT: Final = 2.0  # seconds for killed processes to be gone
_POLL_INTERVAL: Final = 0.01  # seconds


def own_cgroup(proc: Path = Path("/proc/self")) -> Path | None:
    """Return the folder of this process's cgroup of version 2; None if there is none. `proc` is its folder in /proc."""
    with contextlib.suppress(OSError, ValueError):
        groups = (proc / "cgroup").read_text(encoding="utf-8", errors="surrogateescape").splitlines()
        path = next((each.removeprefix("0::") for each in groups if each.startswith("0::/")), None)
        mounts = (proc / "mountinfo").read_text(encoding="utf-8", errors="surrogateescape").splitlines()
        for fields in (line.split(" ") for line in mounts):
            if path is not None and fields[fields.index("-") + 1] == "cgroup2":
                root, point = (re.sub(r"\\([0-7]{3})", lambda code: chr(int(code[1], 8)), each) for each in fields[3:5])
                if Path(path).is_relative_to(root) and ".." not in path:
                    return Path(point) / Path(path).relative_to(root)
    return None


def delegated_cgroup(own: Path | None, memory: int) -> Path | None:
    """Return the cgroup in which those of runs can be made; None if this process may not limit a run in that way.

    `own` is the folder of this process's cgroup; its processes may be moved into a child of it. `memory` is the limit
    of a run in bytes. Blocks for a moment.
    """
    if sys.platform != "linux" or own is None:
        return None
    folder = own.parent if own.name == _MOVED else own
    try:
        if not _is_ours(folder) or not _NEEDED.issubset(_words(folder / "cgroup.controllers")):
            return None
        _pass_on(folder)
        for name in os.listdir(folder):  # noqa: PTH208 - names are all that is needed
            if is_stale(name):  # a match was killed, and may have left processes there
                _remove(folder / name, 0)
        trial = RunCgroup(folder / new_label(), memory)
        try:
            code, _ = run_briefly(["/bin/sh", "-c", _ENTER, str(trial.folder / _INNER)], _TIMEOUT)
        finally:
            trial.release()
    except (OSError, ValueError):
        return None
    return None if code else folder


class RunCgroup(Resources):
    """The cgroup of one run, which this makes: `folder` must not exist.

    `memory` is the limit for the program in bytes. Blocks for a moment. Raises OSError if the run cannot be limited.
    """

    def __init__(self, folder: Path, memory: int) -> None:
        self.folder = folder
        folder.mkdir()
        try:
            (folder / _INNER).mkdir()
            for name, limit in (("memory.max", memory + MEMORY_RESERVE), ("pids.max", PROCESS_LIMIT + TASKS_RESERVE)):
                (folder / name).write_text(str(limit))
            # all processes at once are killed, and a program makes no cgroups of its own; older kernels lack a file
            for name, value in (("memory.swap.max", 0), ("memory.oom.group", 1), ("cgroup.max.descendants", 1)):
                with contextlib.suppress(OSError):
                    (folder / name).write_text(str(value))
        except BaseException:
            self.release()
            raise

    @property
    def words(self) -> list[str]:
        # outside if it may not enter
        return ["/bin/sh", "-c", f'{{ {_ENTER}; }} 2>/dev/null; exec "$@"', str(self.folder / _INNER)]

    def exceeded(self) -> str:
        memory, tasks = _numbers(self.folder / "memory.events"), _numbers(self.folder / "pids.events")
        if memory.get("oom") and memory.get("oom_kill"):  # without "oom" the memory of the whole machine was full
            return Condition.MEMORY.key
        with contextlib.suppress(OSError, ValueError):
            # before Linux 6.11 a limit further up counts as well, but then this one is not reached
            if tasks.get("max") and int((self.folder / "pids.peak").read_text()) >= PROCESS_LIMIT + TASKS_RESERVE:
                return Condition.PROCESSES.key
        return ""

    def release(self) -> None:
        with contextlib.suppress(OSError):  # before Linux 5.14; all ends with the first process of the sandbox
            (self.folder / "cgroup.kill").write_text("1")
        _remove(self.folder, _TIMEOUT)


def _is_ours(folder: Path) -> bool:
    """Return whether this user may make cgroups in `folder` and systemd does not mind."""
    if sys.platform != "linux":
        return False
    needed = (folder, folder / "cgroup.procs", folder / "cgroup.subtree_control")
    if any(os.stat(each).st_uid != os.geteuid() or not os.access(each, os.W_OK) for each in needed):  # noqa: PTH116
        return False
    if _UNIT.search(folder.name) is None:
        return True
    for name in _DELEGATED:
        with contextlib.suppress(OSError):
            if os.getxattr(folder, name) == b"1":
                return True
    return False


def _pass_on(folder: Path) -> None:
    """Let the children of a cgroup have the controllers; move its processes if that is needed. Raises OSError."""
    control, moved = folder / "cgroup.subtree_control", folder / _MOVED
    for remaining in reversed(range(_ROUNDS)):
        if _NEEDED.issubset(_words(control)):
            return
        try:
            control.write_text(" ".join(f"+{each}" for each in sorted(_NEEDED)))
        except OSError as error:
            if error.errno != errno.EBUSY or not remaining:
                raise
            moved.mkdir(exist_ok=True)
            for process in _words(folder / "cgroup.procs"):
                if process != "0":  # in another name space, and 0 would be this process
                    with contextlib.suppress(OSError):  # it has ended
                        (moved / "cgroup.procs").write_text(process)
        else:
            return


def _remove(folder: Path, seconds: float) -> None:
    """Remove a cgroup with those in it, unless there are still processes after that time."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            for path, _, _ in os.walk(folder, topdown=False):
                os.rmdir(path)  # noqa: PTH106
        except OSError as error:  # FileNotFoundError if another match has removed it
            if error.errno == errno.EBUSY and time.monotonic() < deadline:
                time.sleep(_POLL_INTERVAL)
                continue
        return


def _words(path: Path) -> list[str]:
    return path.read_text(encoding="ascii").split()


def _numbers(path: Path) -> dict[str, int]:
    with contextlib.suppress(OSError, ValueError):
        words = _words(path)
        return dict(zip(words[::2], map(int, words[1::2]), strict=True))
    return {}
