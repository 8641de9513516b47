"""The processes of this machine that belong to a program, found by descent or by session, and what they use.

A process cannot forge its descent or escape from it, if the root is a supervisor (supervision.py). It can leave its
session but not enter another one.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Final

TAG_VARIABLE: Final = "MATCHED_PROGRAM"
"""The environment variable that holds the tag of a program.

A program can change and copy it: it helps to kill what an earlier run has left behind, and is never held against a
program.
"""

MOST_KEPT_FILES: Final = 160
"""The most files about the threads of a program that are kept open: those of about 32 threads."""

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
_SCHEDULED_TIME: Final = 2  # of the clocks of a process, that of its time on processors; <linux/posix-timers.h>


@dataclass(frozen=True, slots=True)
class ProcessInfo:
    """A running process: its id and the file name of the program that it runs."""

    pid: int
    name: str


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


def find_tagged(tag: str) -> tuple[ProcessInfo, ...]:
    """Return every running process whose tag begins with `tag`, ordered by id.

    It looks at the bytes, since psutil reads an environment up to an empty entry, behind which a program could hide.
    """
    wanted = f"{TAG_VARIABLE}={tag}".encode()
    pids = []
    for pid in map(int, filter(str.isdecimal, _entries(_PROC))):
        with contextlib.suppress(OSError):  # another user's process, or one that has just ended
            environment = _read(f"{_PROC}/{pid}/environ")
            if environment.startswith(wanted) or b"\0" + wanted in environment:
                pids.append(pid)
    return tuple(ProcessInfo(pid, _name(pid)) for pid in sorted(pids))


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
    return _fields(_read_once(f"{_PROC}/{pid}/stat"))


def _fields(stat: bytes) -> list[bytes]:
    """Return the fields of a file `stat` of a process or thread, from the state on."""
    return stat.rpartition(b")")[2].split()


@dataclass(frozen=True, slots=True)
class ThreadUsage:
    """What a thread has used so far, or between two looks, and what it does."""

    ran: float
    """The seconds for which it has run on a processor."""
    waited: float
    """The seconds for which it has been runnable, but waiting for a processor."""
    started: int = -1
    """When it was started, in the system's clock ticks."""
    cores: frozenset[int] | None = None
    """The processor cores that it may use; None: not known."""
    switches: int | None = None
    """How often it has begun to wait for anything other than a processor; None: not known."""
    runs: int | None = None
    """How often it has begun to run: after each such wait, and after each interruption; None: not known."""
    is_yielding: bool = False
    """Whether it has made way for others itself, by a lower priority than that of this process."""
    is_asleep: bool = False
    """Whether it sleeps until a time that it has chosen (`sleep`, `nanosleep`)."""
    is_listening: bool = False
    """Whether it waits for messages, so that a request can wake it without the help of another thread."""

    def since(self, before: ThreadUsage) -> ThreadUsage:
        """Return what it has used since `before`, with the fewer cores of both, and yielding if it was at either.

        Its switches are its runs if they are not known: it may have been interrupted, so they are not fewer.
        """
        cores = [each.cores for each in (self, before) if each.cores is not None]
        runs = None if self.runs is None or before.runs is None else self.runs - before.runs
        return replace(
            self,
            ran=self.ran - before.ran,
            waited=self.waited - before.waited,
            cores=min(cores, key=len, default=None),
            switches=runs if self.switches is None or before.switches is None else self.switches - before.switches,
            runs=runs,
            is_yielding=self.is_yielding or before.is_yielding,
        )


@dataclass(frozen=True, slots=True)
class Usage:
    """What the threads of some processes have used so far, by their ids."""

    threads: Mapping[int, ThreadUsage]
    machine_busy: float | None = None
    """Seconds for which the processors of this machine have been busy, all together; None: not known."""
    processor: float | None = None
    """Processor time in seconds, with that of ended threads and of children that were waited for; None: not known."""
    taken_at: int | None = None
    """When this was measured, in the system's clock ticks; None: at a time when none of the threads was there."""
    clocks: Mapping[int, float] = field(default_factory=dict)
    """The processor time in seconds of each process so far, without its children."""

    @classmethod
    def of(cls, pids: Iterable[int], processor: float | None = None) -> Usage:
        """Return the usage of these processes so far; empty if the system does not report it.

        `processor` is their processor time in seconds, if it is known with more ended processes than they waited for.
        """
        if sys.platform != "linux":
            return cls({})
        threads = {}
        own = _Priority.of_this_process(_read_if_shown(f"{_PROC}/self/autogroup"))
        found = tuple(pids)
        for pid in found:
            group = _group_nice(_read_if_shown(f"{_PROC}/{pid}/autogroup"))
            for name in _entries(f"{_PROC}/{pid}/task"):
                with contextlib.suppress(OSError, ValueError, IndexError):  # it has ended in the meantime
                    folder = f"{_PROC}/{pid}/task/{name}"
                    fields = _fields(_read_once(f"{folder}/stat"))
                    threads[int(name)] = _thread_usage(
                        _read_once(f"{folder}/schedstat"),
                        _read_if_shown(f"{folder}/wchan"),
                        _read_if_shown(f"{folder}/status"),
                        int(fields[_START_TIME]),
                        frozenset(os.sched_getaffinity(int(name))),
                        is_yielding=own.is_above(fields, group),
                    )
        if not threads:
            return cls({})
        used = cpu_seconds_of(found) if processor is None else processor
        return cls(threads, machine_busy(), used, _ticks_now(), _clocks_of(found))

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
        changes = self._changes(since).values()
        longest = 0.0
        for own_cores in {each.cores for each in changes}:
            kept = (each.waited for each in changes if each.cores == own_cores and not each.is_yielding)
            lost = max(kept, default=0.0)
            if own_cores is not None and len(own_cores) < cores:
                competing = sum(each.ran for each in changes if each.cores and each.cores <= own_cores)
                lost = min(lost, elapsed - competing / len(own_cores))
            longest = max(longest, lost)
        return longest

    def waiting_shares(self, since: Usage, elapsed: float, cores: int) -> dict[int, float]:
        """Return which part of the last `elapsed` seconds each thread waited.

        Only threads that were there all the time, and have kept their priority and at least `cores` cores.
        """
        if elapsed <= 0:
            return {}
        return {
            thread: min(1.0, each.waited / elapsed)
            for thread, each in self._changes(since).items()
            if thread in since.threads and not each.is_yielding and (each.cores is None or len(each.cores) >= cores)
        }

    def most_caused_by_others(self, since: Usage, elapsed: float, cores: int) -> float:
        """Return for how many seconds others can have delayed these processes, however long they waited."""
        running = sum(each.ran for each in self._changes(since).values())
        if self.processor is not None and since.processor is not None:
            running = max(running, self.processor - since.processor - _TICKS)
        most = elapsed - running / cores
        if self.machine_busy is not None and since.machine_busy is not None:
            most = min(most, self.machine_busy - since.machine_busy - running + _TICKS)
        return most

    def _changes(self, since: Usage) -> dict[int, ThreadUsage]:
        """Return what each thread has used since."""
        changes = {}
        for thread, now in self.threads.items():
            if before := since.threads.get(thread):
                changes[thread] = now.since(before)
            elif since.taken_at is None or now.started >= since.taken_at:
                changes[thread] = now
            # else it was there, but not found: how long it has waited since is not known
        return changes


class KnownThreads:
    """The threads that a search has found, whose usage can be looked at again at a tenth of the cost of a search.

    `root` is the process below which all of a program's processes are; None if there is none. Files are kept open until
    `close`, MOST_KEPT_FILES at most.
    """

    def __init__(self, found: Usage, root: int | None = None) -> None:
        self._found = found
        self._root = root
        self._descriptors: list[int] = []
        self._read_machine = self._reader(f"{_PROC}/stat") if found.threads else bytes
        self._machine = b""
        """What /proc/stat said at the last look."""
        self._machine_at = -1
        self._readers = [
            (
                thread,
                self._reader(f"{folder}/schedstat"),
                self._reader(f"{folder}/wchan"),
                self._reader(f"{folder}/status"),
            )
            for thread in found.threads
            for folder in [f"{_PROC}/{thread}"]
        ]
        self._relations: _Relations | None = None
        """Opened with the first `confirm`: mostly, a program answers so quickly that there is none."""

    def confirm(self) -> Usage | None:
        """Return what a search would find now, at a quarter of its cost; it counts as the last search.

        None if there has to be a search, since a thread or process was started or has ended, or there is no `root`.
        """
        if self._root is None or not self._found.threads or sys.platform != "linux":
            return None
        try:
            if self._relations is None:
                self._relations = _Relations.below(self._root, self._found.clocks, self._reader)
            relations = self._relations
            processes = {pid: _fields(read()) for pid, read in relations.processes.items()}
            count = sum(int(fields[_THREAD_COUNT]) for fields in processes.values())
            children = [int(word) for read in relations.children for word in read().split()]
            if count != len(self._found.threads) or sorted(children) != sorted(processes):
                return None
            own, threads = _Priority.of_this_process(relations.own_group()), {}
            groups = {pid: _group_nice(read()) for pid, read in relations.groups.items()}
            for thread, schedule, place, status in self._readers:
                pid, read = relations.threads[thread]
                fields = processes[pid] if thread == pid else _fields(read())
                threads[thread] = _thread_usage(
                    schedule(),  # nothing if the thread has ended
                    place(),
                    status(),
                    int(fields[_START_TIME]),
                    frozenset(os.sched_getaffinity(thread)),
                    is_yielding=own.is_above(fields, groups[pid]),
                )
            ticks = sum(sum(map(int, fields[_CPU_TIMES])) for fields in processes.values())
            ticks += sum(map(int, _fields(relations.root())[_CPU_TIMES_OF_CHILDREN]))
        except (OSError, ValueError, IndexError, KeyError):  # one of them has ended
            return None
        self._machine, self._machine_at = self._read_machine(), _ticks_now()
        self._found = Usage(
            threads,
            _busy_seconds(self._machine),
            ticks / os.sysconf("SC_CLK_TCK"),
            self._machine_at,
            _clocks_of(processes),
        )
        return self._found

    def look(self, *, is_brief: bool = False) -> Callable[[], Usage] | None:
        """Read the files, and return a function that returns what they say: mostly, nobody needs to know.

        None if one of the threads has ended. A brief look takes a third of the time: it does not tell the switches of
        the threads, whose file is the longest, and takes the time of the machine from an earlier look in the same tick.

        Threads and processes that were started since the search are not found. The cores, the priority and the start of
        a thread are taken for unchanged.
        """
        files = [
            (thread, schedule(), place(), b"" if is_brief else status())
            for thread, schedule, place, status in self._readers
        ]
        if not all(schedule for _, schedule, _, _ in files):
            return None
        clocks, now = _clocks_of(self._found.clocks), _ticks_now()
        if not is_brief or now != self._machine_at:
            self._machine, self._machine_at = self._read_machine(), now
        machine = self._machine

        def usage() -> Usage:
            threads = {}
            for thread, schedule, place, status in files:
                before = self._found.threads[thread]
                threads[thread] = _thread_usage(
                    schedule, place, status, before.started, before.cores, is_yielding=before.is_yielding
                )
            processor = self._found.processor
            if processor is not None:
                processor += sum(seconds - self._found.clocks[pid] for pid, seconds in clocks.items())
            return Usage(threads, _busy_seconds(machine), processor, now, clocks)

        return usage

    def close(self) -> None:
        """Close the files; `look` must not be called any more."""
        for descriptor in self._descriptors:
            os.close(descriptor)
        self._descriptors.clear()

    def _reader(self, path: str) -> Callable[[], bytes]:
        """Return a function that returns what is in the file; nothing if it is not there, or may not be read."""
        if len(self._descriptors) >= MOST_KEPT_FILES or sys.platform == "win32":
            return partial(_read_if_shown, path)
        try:
            descriptor = os.open(path, os.O_RDONLY)
        except OSError:
            return bytes
        self._descriptors.append(descriptor)

        def read() -> bytes:
            try:
                return os.pread(descriptor, _READ_SIZE, 0)
            except OSError:
                return b""

        return read


@dataclass(frozen=True, slots=True)
class _Relations:
    """The files that tell which threads and processes some processes have, each as a function that reads it."""

    root: Callable[[], bytes]
    """The file `stat` of the process that all others are below."""
    processes: Mapping[int, Callable[[], bytes]]
    """The files `stat` of the processes."""
    groups: Mapping[int, Callable[[], bytes]]
    """Their files `autogroup`."""
    own_group: Callable[[], bytes]
    """That of this process."""
    threads: Mapping[int, tuple[int, Callable[[], bytes]]]
    """Their threads: the process of each, and its file `stat`."""
    children: Sequence[Callable[[], bytes]]
    """The files `children` of all threads, and of `root`."""

    @classmethod
    def below(cls, root: int, pids: Iterable[int], reader: Callable[[str], Callable[[], bytes]]) -> _Relations:
        """Return the files of the processes `pids` below `root`, made by `reader`."""
        stats = {pid: reader(f"{_PROC}/{pid}/stat") for pid in pids}
        threads: dict[int, tuple[int, Callable[[], bytes]]] = {}
        children = []
        for pid in (root, *stats):
            for name in _entries(f"{_PROC}/{pid}/task"):
                folder = f"{_PROC}/{pid}/task/{name}"
                children.append(reader(f"{folder}/children"))
                if pid != root:  # the file of a process is also that of its first thread
                    threads[int(name)] = pid, stats[pid] if int(name) == pid else reader(f"{folder}/stat")
        groups = {pid: reader(f"{_PROC}/{pid}/autogroup") for pid in stats}
        own_group = reader(f"{_PROC}/self/autogroup")
        return cls(reader(f"{_PROC}/{root}/stat"), stats, groups, own_group, threads, children)


@dataclass(frozen=True, slots=True)
class _Priority:
    """How this process shares processors with others."""

    nice: int
    policy: int
    group: int

    @classmethod
    def of_this_process(cls, autogroup: bytes) -> _Priority:
        if sys.platform != "linux":
            raise NotImplementedError
        return cls(os.getpriority(os.PRIO_PROCESS, 0), os.sched_getscheduler(0), _group_nice(autogroup))

    def is_above(self, stat: Sequence[bytes], group: int) -> bool:
        """Whether it comes before a thread with these fields of its file `stat`, in a group with this nice value."""
        is_lower = int(stat[_NICE]) > self.nice or int(stat[_POLICY]) in _LOW_POLICIES - {self.policy}
        return is_lower or group > self.group


def _thread_usage(
    schedule: bytes, place: bytes, status: bytes, started: int, cores: frozenset[int] | None, *, is_yielding: bool
) -> ThreadUsage:
    """Return the usage of a thread from its files `schedstat`, `wchan` and `status`. Raises ValueError."""
    ran, waited, runs = schedule.split()
    switches = status.partition(_SWITCHES)[2].split(maxsplit=1)
    return ThreadUsage(
        int(ran) * 1e-9,
        int(waited) * 1e-9,
        started,
        cores,
        int(switches[0]) if switches else None,
        int(runs),
        is_yielding,
        place == _SLEEP,
        place.startswith(_LISTENING),
    )


def cpu_clock_of(pid: int) -> float | None:
    """Return the processor time in seconds of a process so far, without its children; None if there is none."""
    if sys.platform == "win32":
        raise NotImplementedError
    try:
        return time.clock_gettime(~pid << 3 | _SCHEDULED_TIME)
    except OSError:
        return None


def _clocks_of(pids: Iterable[int]) -> dict[int, float]:
    """Return the processor time in seconds of each of these processes that still exists, without its children."""
    return {pid: seconds for pid in pids if (seconds := cpu_clock_of(pid)) is not None}


def _ticks_now() -> int:
    if sys.platform != "linux":
        raise NotImplementedError
    return int(time.clock_gettime(time.CLOCK_BOOTTIME) * os.sysconf("SC_CLK_TCK"))


def machine_busy() -> float | None:
    """Return for how many seconds the processors have been busy, or taken away by a host; None if it is not known."""
    return _busy_seconds(_read_if_shown(f"{_PROC}/stat"))


def _busy_seconds(stat: bytes) -> float | None:
    """Return the time that `machine_busy` returns, from the file /proc/stat."""
    # user, nice, system, idle, iowait, irq, softirq, steal
    words = stat.partition(b"\n")[0].split()[1:9]
    if sys.platform == "win32" or not words:
        return None
    ticks = list(map(int, words))
    return (sum(ticks) - sum(ticks[3:5])) / os.sysconf("SC_CLK_TCK")


def _group_nice(autogroup: bytes) -> int:
    """Return the nice value of the automatic group of a process from its file; 0 if the system has none."""
    try:
        return int(autogroup.split()[-1])
    except (IndexError, ValueError):
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


def _read_once(path: str) -> bytes:
    """Return a small file that the kernel writes at once, or the beginning of a larger one. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        return os.read(descriptor, _READ_SIZE)
    finally:
        os.close(descriptor)


def _read_if_shown(path: str) -> bytes:
    """Return a small file; nothing if it is not there, or if this process may not read it."""
    try:
        return _read_once(path)
    except OSError:
        return b""


def _name(pid: int) -> str:
    try:
        words = (_PROC / str(pid) / "cmdline").read_bytes().split(b"\0")
        return Path(words[0].decode(errors="replace")).name or "?"
    except OSError:
        return "?"
