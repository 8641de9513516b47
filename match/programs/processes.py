"""The processes of this machine that belong to a program, found by their descent, their session or their mark.

Invariants: what has ended is not found. Descent cannot be forged or given up, and following it reads two files of each
process found; it needs a keeper (match/programs/kept_process.py) for a root. A session can be left but not entered; its
members cost one system call for each process of the machine. The mark is a variable of the environment, which a program
can change and copy: it helps to end what an earlier run left behind, and is no evidence against anybody. Looking for it
reads a file of every process and belongs in a thread. Where the system has no /proc, nothing is found.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

MARK: Final = "MATCHED_PROGRAM"
"""The environment variable that holds the mark."""

_PROC: Final = Path("/proc")
# where a process's stat says something, counted from its state
_SPENT: Final = slice(11, 15)  # by itself and by children that it has waited for, on behalf of both in the kernel, too
_SPENT_BY_CHILDREN: Final = slice(13, 15)
_THREADS: Final = 17
_STARTED: Final = 19
_CHUNK: Final = 4096


@dataclass(frozen=True, slots=True)
class ProcessInfo:
    """A process that lives: its id and the name of what it runs."""

    pid: int
    name: str


def find_processes(mark: str) -> tuple[ProcessInfo, ...]:
    """Every living process whose mark begins with `mark`, by id."""
    wanted = f"{MARK}={mark}".encode()
    pids = sorted(int(name) for name in _entries(_PROC) if name.isdecimal() and _has_variable(name, wanted))
    return tuple(ProcessInfo(pid, _name(pid)) for pid in pids)


def session_members(session: int) -> tuple[int, ...]:
    """The ids of all processes of a session, those included that have ended and were not waited for."""
    return tuple(int(name) for name in _entries(_PROC) if name.isdecimal() and _is_in(int(name), session))


def children_of(root: int) -> tuple[int, ...] | None:
    """The ids of all processes that descend from `root`, without itself; None where the system does not say.

    Processes that start others meanwhile may hide one for a moment.
    """
    found: list[int] = []
    waiting = [root]
    while waiting:
        folder = f"{_PROC}/{waiting.pop()}/task"
        for thread in _entries(folder):
            try:
                children = [int(word) for word in _read(f"{folder}/{thread}/children").split()]
            except FileNotFoundError:
                if not found and not (_PROC / "self" / "task" / str(os.getpid()) / "children").exists():
                    return None
            except OSError:  # it has ended meanwhile
                pass
            else:
                found += children
                waiting += children
    return tuple(found)


def _is_in(pid: int, session: int) -> bool:
    try:
        return os.getsid(pid) == session
    except OSError:  # it has ended meanwhile
        return False


def living(pids: Iterable[int]) -> tuple[ProcessInfo, ...]:
    """Those of these processes that have not ended."""
    return tuple(ProcessInfo(pid, _name(pid)) for pid in pids if not _has_ended(pid))


def is_stopped(pid: int) -> bool:
    """Whether a signal or a tracer has stopped this process, which has not gone on since."""
    try:
        return _stat(pid)[0] in {b"T", b"t"}
    except (OSError, IndexError):
        return False


def wake(pid: int) -> bool:
    """Let this process go on if it was stopped; whether it was. One that belongs to others is left alone."""
    if not is_stopped(pid):
        return False
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, signal.SIGCONT)
    return True


def birth_of(pid: int) -> int | None:
    """When this process was started, in the system's clock ticks; None if there is none. Tells apart equal ids."""
    try:
        return int(_stat(pid)[_STARTED])
    except (OSError, IndexError, ValueError):
        return None


def seconds_spent(pids: Iterable[int], parent: int | None = None) -> float:
    """Processor time of these processes so far: of all their threads, and of children that they have waited for.

    `parent` is a process of which only the children count that it has waited for. Accurate to a clock tick for each
    process; 0 where the system does not say.
    """
    ticks = sum(_ticks(pid, _SPENT) for pid in pids)
    if parent is not None:
        ticks += _ticks(parent, _SPENT_BY_CHILDREN)
    return ticks / os.sysconf("SC_CLK_TCK") if ticks else 0.0


def _ticks(pid: int, fields: slice) -> int:
    try:
        return sum(map(int, _stat(pid)[fields]))
    except (OSError, ValueError):  # it has ended meanwhile
        return 0


def _stat(pid: int) -> list[bytes]:
    """What the system says of a process, from its state on. Raises OSError."""
    return _read(f"{_PROC}/{pid}/stat").rpartition(b")")[2].split()


def _has_ended(pid: int) -> bool:
    try:
        words = _stat(pid)
        # the first thread of a process may have ended before the others
        return words[0] in {b"Z", b"X"} and int(words[_THREADS]) <= 1
    except (OSError, IndexError, ValueError):
        return True


def kill_processes(processes: Iterable[ProcessInfo]) -> None:
    """End them at once; those that are gone or belong to others are left alone."""
    for process in processes:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(process.pid, signal.SIGKILL)


@dataclass(frozen=True, slots=True)
class Usage:
    """Nanoseconds by thread: spent on a processor, and ready but waiting for one."""

    threads: Mapping[int, tuple[int, int]]

    @classmethod
    def of(cls, pids: Iterable[int]) -> Usage:
        """The usage of these processes so far; empty where the system does not say."""
        return cls({int(thread): usage for pid in pids for thread, usage in _threads(pid)})

    def seconds_lost(self, since: Usage, elapsed: float, cores: int) -> float:
        """How much longer than on a free machine the last `elapsed` seconds took, at most.

        As long as the thread that waited most had to wait; but a program that crowds its `cores` itself has lost
        nothing by that.
        """
        spent, waited = 0, [0]
        for thread, (processor, waiting) in self.threads.items():
            before = since.threads.get(thread, (0, 0))
            spent += processor - before[0]
            waited.append(waiting - before[1])
        return max(0.0, min(max(waited) * 1e-9, elapsed - spent * 1e-9 / cores))


def _threads(pid: int) -> Iterator[tuple[str, tuple[int, int]]]:
    folder = f"{_PROC}/{pid}/task"
    for thread in _entries(folder):
        with contextlib.suppress(OSError, ValueError, IndexError):
            processor, waiting, *_ = _read(f"{folder}/{thread}/schedstat").split()
            yield thread, (int(processor), int(waiting))


def _entries(folder: str | Path) -> list[str]:
    try:
        return os.listdir(folder)  # noqa: PTH208 - names are all that is wanted, many times a second
    except OSError:
        return []


def _has_variable(pid: str, wanted: bytes) -> bool:
    try:
        # empty once the process has ended, also while its parent has not asked for it
        environment = _read(f"{_PROC}/{pid}/environ")
    except OSError:
        return False
    return environment.startswith(wanted) or b"\0" + wanted in environment


def _read(path: str) -> bytes:
    """The whole file. Of all processes at the end of each game, it must not take longer than it has to."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        parts = [os.read(descriptor, _CHUNK)]
        while parts[-1]:
            parts.append(os.read(descriptor, _CHUNK))
    finally:
        os.close(descriptor)
    return b"".join(parts)


def _name(pid: int) -> str:
    try:
        words = (_PROC / str(pid) / "cmdline").read_bytes().split(b"\0")
        return Path(words[0].decode(errors="replace")).name or "?"
    except OSError:
        return "?"
