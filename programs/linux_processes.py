"""The processes of this machine that belong to a program, found by descent, by session or by tag.

A process cannot forge its descent or escape from it, if the root is a supervisor (supervision.py). It can leave its
session but not enter another one. The tag is an environment variable, which a program can change and copy: it helps to
kill what an earlier run has left behind, and is never held against a program. Searching for it reads a file of every
process and belongs in a thread.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

TAG_VARIABLE: Final = "MATCHED_PROGRAM"
"""The environment variable that holds the tag."""

_PROC: Final = Path("/proc")
# indices of fields in /proc/PID/stat, counted from the state
_CPU_TIMES: Final = slice(11, 15)  # user and system time of the process and of the children that it has waited for
_CPU_TIMES_OF_CHILDREN: Final = slice(13, 15)
_THREAD_COUNT: Final = 17
_NICE: Final = 16
_START_TIME: Final = 19
_POLICY: Final = 38
_LOW_POLICIES: Final = frozenset({3, 5})  # SCHED_BATCH and SCHED_IDLE
_TICKS: Final = 0.02  # seconds; the system counts the time of processors and processes in ticks
_SLEEP: Final = b"hrtimer_nanosleep"  # where the kernel keeps a thread that sleeps
# and one that waits for messages: (e)poll, select and a read from a socket
_LISTENING: Final = (b"ep_poll", b"do_epoll", b"do_poll", b"poll_schedule", b"do_select", b"wait_woken", b"sk_wait")
_SWITCHES: Final = b"\nvoluntary_ctxt_switches:"
_READ_SIZE: Final = 4096


@dataclass(frozen=True, slots=True)
class ProcessInfo:
    """A running process: its id and the file name of the program that it runs."""

    pid: int
    name: str


def find_processes(tag: str) -> tuple[ProcessInfo, ...]:
    """Return every running process whose tag begins with `tag`, ordered by id."""
    wanted = f"{TAG_VARIABLE}={tag}".encode()
    pids = []
    for name in filter(str.isdecimal, _entries(_PROC)):
        with contextlib.suppress(OSError):
            # empty once the process has ended, even if its parent has not waited for it yet
            environment = _read(f"{_PROC}/{name}/environ")
            if environment.startswith(wanted) or b"\0" + wanted in environment:
                pids.append(int(name))
    return tuple(ProcessInfo(pid, _name(pid)) for pid in sorted(pids))


def session_members(session: int) -> tuple[int, ...]:
    """Return the ids of all processes of a session, including those that have ended and were not waited for."""
    if sys.platform == "win32":
        raise NotImplementedError
    found = []
    for pid in map(int, filter(str.isdecimal, _entries(_PROC))):
        with contextlib.suppress(OSError):  # the process has ended in the meantime
            if os.getsid(pid) == session:
                found.append(pid)
    return tuple(found)


def descendants_of(root: int) -> tuple[int, ...] | None:
    """Return the ids of all processes below `root`, without `root`; None if the system does not report children.

    A process may be missed if others are started during the search.
    """
    found: list[int] = []
    pending = [root]
    while pending:
        folder = f"{_PROC}/{pending.pop()}/task"
        for thread in _entries(folder):
            try:
                children = [int(word) for word in _read(f"{folder}/{thread}/children").split()]
            except FileNotFoundError:
                if not found and not (_PROC / "self" / "task" / str(os.getpid()) / "children").exists():
                    return None
            except OSError:  # the process has ended in the meantime
                pass
            else:
                found += children
                pending += children
    return tuple(found)


def still_running(pids: Iterable[int]) -> tuple[ProcessInfo, ...]:
    """Return those of these processes that have not ended."""
    found = []
    for pid in pids:
        with contextlib.suppress(OSError, IndexError, ValueError):  # it has ended
            fields = _stat(pid)
            # a process whose first thread has ended lives on if it has other threads
            if fields[0] not in {b"Z", b"X"} or int(fields[_THREAD_COUNT]) > 1:
                found.append(ProcessInfo(pid, _name(pid)))
    return tuple(found)


def is_stopped(pid: int) -> bool:
    """Whether a signal or a tracer has stopped this process and it has not been resumed since."""
    try:
        return _stat(pid)[0] in {b"T", b"t"}
    except (OSError, IndexError):
        return False


def resume(pid: int) -> bool:
    """Resume this process if it is stopped; return whether it was. Another user's process is left alone."""
    if sys.platform == "win32":
        raise NotImplementedError
    if not is_stopped(pid):
        return False
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, signal.SIGCONT)
    return True


def start_ticks_of(pid: int) -> int | None:
    """Return when this process was started, in the system's clock ticks; None if there is no such process.

    This distinguishes a process from a later one with the same id.
    """
    try:
        return int(_stat(pid)[_START_TIME])
    except (OSError, IndexError, ValueError):
        return None


def cpu_seconds_of(pids: Iterable[int], parent: int | None = None) -> float:
    """Return the processor time of these processes so far, with all their threads and the children they waited for.

    Of `parent`, only the children that it has waited for are counted. Accurate to a clock tick for each process; 0 if
    the system does not report it.
    """
    if sys.platform == "win32":
        raise NotImplementedError
    ticks = sum(_ticks(pid, _CPU_TIMES) for pid in pids)
    if parent is not None:
        ticks += _ticks(parent, _CPU_TIMES_OF_CHILDREN)
    return ticks / os.sysconf("SC_CLK_TCK") if ticks else 0.0


def _ticks(pid: int, fields: slice) -> int:
    try:
        return sum(map(int, _stat(pid)[fields]))
    except (OSError, ValueError):  # the process has ended in the meantime
        return 0


def _stat(pid: int) -> list[bytes]:
    """Return the fields of /proc/PID/stat, from the state on. Raises OSError."""
    return _read(f"{_PROC}/{pid}/stat").rpartition(b")")[2].split()


def kill_processes(processes: Iterable[ProcessInfo]) -> None:
    """Kill these processes; those that are gone or belong to another user are skipped."""
    if sys.platform == "win32":
        raise NotImplementedError
    for process in processes:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(process.pid, signal.SIGKILL)


@dataclass(frozen=True, slots=True)
class Usage:
    """Nanoseconds that each thread has run on a processor, and has been runnable but waiting for one."""

    threads: Mapping[int, tuple[int, int]]
    machine_busy: float | None = None
    """Seconds for which the processors of this machine have been busy, all together; None: not known."""
    yielding: frozenset[int] = frozenset()
    """The threads that have made way for others themselves, by a lower priority than that of this process."""
    processor: float | None = None
    """Processor time in seconds, with that of ended threads and of children that were waited for; None: not known."""
    started: Mapping[int, int] = field(default_factory=dict)
    """When each thread was started, in the system's clock ticks."""
    taken_at: int | None = None
    """When this was measured, in the same ticks; None: at a time when none of the threads was there."""
    cores: Mapping[int, frozenset[int]] = field(default_factory=dict)
    """The processor cores that each thread may use."""
    asleep: frozenset[int] = frozenset()
    """The threads that sleep until a time that they have chosen (`sleep`, `nanosleep`)."""
    listening: frozenset[int] = frozenset()
    """The threads that wait for messages, so that a request can wake them without the help of another thread."""
    switches: Mapping[int, int] = field(default_factory=dict)
    """How often each thread has begun to wait for anything other than a processor."""

    @classmethod
    def of(cls, pids: Iterable[int], processor: float | None = None) -> Usage:
        """Return the usage of these processes so far; empty if the system does not report it.

        `processor` is their processor time in seconds, if it is known with more ended processes than they waited for.
        """
        if sys.platform != "linux":
            return cls({})
        threads, started, cores, switches = {}, {}, {}, {}
        yielding, asleep, listening = set[int](), set[int](), set[int]()
        nice, policy, group = os.getpriority(os.PRIO_PROCESS, 0), os.sched_getscheduler(0), _group_nice(os.getpid())
        found = tuple(pids)
        for pid in found:
            is_lower = _group_nice(pid) > group
            for name in _entries(f"{_PROC}/{pid}/task"):
                with contextlib.suppress(OSError, ValueError, IndexError):  # it has ended in the meantime
                    thread = int(name)
                    run_time, wait_time, *_ = _read(f"{_PROC}/{pid}/task/{thread}/schedstat").split()
                    threads[thread] = int(run_time), int(wait_time)
                    fields = _read(f"{_PROC}/{pid}/task/{thread}/stat").rpartition(b")")[2].split()
                    started[thread] = int(fields[_START_TIME])
                    cores[thread] = frozenset(os.sched_getaffinity(thread))
                    if is_lower or int(fields[_NICE]) > nice or int(fields[_POLICY]) in _LOW_POLICIES - {policy}:
                        yielding.add(thread)
                    place = _read(f"{_PROC}/{pid}/task/{thread}/wchan")
                    if place == _SLEEP:
                        asleep.add(thread)
                    elif place.startswith(_LISTENING):
                        listening.add(thread)
                    status = _read(f"{_PROC}/{pid}/task/{thread}/status")
                    switches[thread] = int(status.partition(_SWITCHES)[2].split(maxsplit=1)[0])
        if not threads:
            return cls({})
        used = cpu_seconds_of(found) if processor is None else processor
        now = int(time.clock_gettime(time.CLOCK_BOOTTIME) * os.sysconf("SC_CLK_TCK"))
        return cls(
            threads,
            machine_busy(),
            frozenset(yielding),
            used,
            started,
            now,
            cores,
            frozenset(asleep),
            frozenset(listening),
            switches,
        )

    def seconds_lost(self, since: Usage, elapsed: float, cores: int) -> float:
        """Return an upper bound for how much longer the last `elapsed` seconds took than on an idle machine.

        The bound is the waiting time of the thread that waited most since the usage `since`. It does not include time
        for which the program's own threads competed for its `cores`, or for those to which they have restricted
        themselves, more time than other programs have used on this machine, or the waiting of a thread that has lowered
        its own priority: none of these is caused by others. Threads that have ended since are not seen.
        """
        most = self.most_caused_by_others(since, elapsed, cores)
        return max(0.0, min(self.longest_wait(since, elapsed, cores), most))

    def longest_wait(self, since: Usage, elapsed: float, cores: int) -> float:
        """Return the seconds that the thread waited that waited most, of those that have kept their priority."""
        ran, waited = self._of_threads(since)
        allowed = {thread: self._cores_of(thread, since) for thread in ran}
        longest = 0.0
        for own_cores in set(allowed.values()):
            lost = max((waited[thread] for thread in waited if allowed[thread] == own_cores), default=0.0)
            if own_cores is not None and len(own_cores) < cores:
                competing = sum(ran[thread] for thread, theirs in allowed.items() if theirs and theirs <= own_cores)
                lost = min(lost, elapsed - competing / len(own_cores))
            longest = max(longest, lost)
        return longest

    def waiting_shares(self, since: Usage, elapsed: float, cores: int) -> dict[int, float]:
        """Return which part of the last `elapsed` seconds each thread waited.

        Only threads that were there all the time, and have kept their priority and at least `cores` cores.
        """
        if elapsed <= 0:
            return {}
        waited = self._of_threads(since)[1]
        allowed = {thread: self._cores_of(thread, since) for thread in waited.keys() & since.threads.keys()}
        free = (thread for thread, own_cores in allowed.items() if own_cores is None or len(own_cores) >= cores)
        return {thread: min(1.0, waited[thread] / elapsed) for thread in free}

    def most_caused_by_others(self, since: Usage, elapsed: float, cores: int) -> float:
        """Return for how many seconds others can have delayed these processes, however long they waited."""
        running = sum(self._of_threads(since)[0].values())
        if self.processor is not None and since.processor is not None:
            running = max(running, self.processor - since.processor - _TICKS)
        most = elapsed - running / cores
        if self.machine_busy is not None and since.machine_busy is not None:
            most = min(most, self.machine_busy - since.machine_busy - running + _TICKS)
        return most

    def of_thread(self, thread: int, since: Usage) -> tuple[float, float, int | None]:
        """Return for how many seconds a thread has run since, and waited, and how often it began to wait otherwise.

        If the thread has ended, it is (0, 0, None); the last is None also if it is not known.
        """
        if thread not in self.threads or thread not in since.threads:
            return 0.0, 0.0, None
        (ran, waited), (ran_before, waited_before) = self.threads[thread], since.threads[thread]
        switches, before = self.switches.get(thread), since.switches.get(thread)
        times = (ran - ran_before) * 1e-9, (waited - waited_before) * 1e-9
        return *times, None if switches is None or before is None else switches - before

    def _of_threads(self, since: Usage) -> tuple[dict[int, float], dict[int, float]]:
        """Return for how many seconds each thread has run since, and waited, if it has kept its priority."""
        ran, waited = dict[int, float](), dict[int, float]()
        for thread, (run_time, wait_time) in self.threads.items():
            before = since.threads.get(thread)
            if before is None and since.taken_at is not None and self.started.get(thread, -1) < since.taken_at:
                continue  # it was there, but not found: how long it has waited since is not known
            run_before, wait_before = before or (0, 0)
            ran[thread] = (run_time - run_before) * 1e-9
            if thread not in self.yielding and thread not in since.yielding:
                waited[thread] = (wait_time - wait_before) * 1e-9
        return ran, waited

    def _cores_of(self, thread: int, since: Usage) -> frozenset[int] | None:
        """Return the cores that a thread was restricted to, now or at the usage `since`; None: not known."""
        now, before = self.cores.get(thread), since.cores.get(thread)
        return before if now is None or (before is not None and len(before) < len(now)) else now


def machine_busy() -> float | None:
    """Return for how many seconds the processors have been busy, or taken away by a host; None if it is not known."""
    if sys.platform == "win32":
        return None
    try:
        # user, nice, system, idle, iowait, irq, softirq, steal
        ticks = list(map(int, _read(f"{_PROC}/stat").split(b"\n", 1)[0].split()[1:9]))
    except (OSError, ValueError):
        return None
    return (sum(ticks) - sum(ticks[3:5])) / os.sysconf("SC_CLK_TCK")


def _group_nice(pid: int) -> int:
    """Return the nice value of the automatic group of a process; 0 if the system has none."""
    try:
        return int(_read(f"{_PROC}/{pid}/autogroup").split()[-1])
    except (OSError, IndexError, ValueError):
        return 0


def _entries(folder: str | Path) -> list[str]:
    try:
        return os.listdir(folder)  # noqa: PTH208 - only names are needed, many times a second
    except OSError:
        return []


def _read(path: str) -> bytes:
    """Return the whole file. At the end of each game this is called for all processes, so it has to be fast."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        parts = [os.read(descriptor, _READ_SIZE)]
        while parts[-1]:
            parts.append(os.read(descriptor, _READ_SIZE))
    finally:
        os.close(descriptor)
    return b"".join(parts)


def _name(pid: int) -> str:
    try:
        words = (_PROC / str(pid) / "cmdline").read_bytes().split(b"\0")
        return Path(words[0].decode(errors="replace")).name or "?"
    except OSError:
        return "?"
