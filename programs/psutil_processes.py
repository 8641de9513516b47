"""The processes of this machine, found with psutil: by tag, and where no supervisor keeps a program together.

Processes that have ended are not found, nor is a later process with the same id.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterable
from pathlib import PurePath

import psutil
import trio

from spielleiter.programs.linux_processes import TAG_VARIABLE, ProcessInfo
from spielleiter.programs.platform_api import CHILD_EXIT_TIMEOUT, KILL_TIMEOUT, POLL_INTERVAL, Platform, Process


class ProcessTree:
    """A process and what it has started: its descendants and, except on Windows, the members of its session.

    A process that was found once is remembered until it ends, even if its parent has ended in the meantime.
    """

    def __init__(self, root: int) -> None:
        """`root` is the id of a process that is running, and the first of its session if there are sessions."""
        self._root = root
        self._known: dict[int, psutil.Process] = {}
        with contextlib.suppress(psutil.Error):
            self._known[root] = psutil.Process(root)
        self._cpu_seconds: dict[psutil.Process, float] = {}
        self.peak_memory = 0
        """The most bytes that one of the processes was found to have in memory."""

    def find(self) -> tuple[int, ...]:
        """Return the ids of all processes of the tree that are running. Looks at every process of this machine."""
        processes = [*self._known.values()]
        if sys.platform != "win32":
            for pid in psutil.pids():
                with contextlib.suppress(psutil.Error, OSError):
                    if pid not in self._known and os.getsid(pid) == self._root:
                        processes.append(psutil.Process(pid))
        for process in processes:
            with contextlib.suppress(psutil.Error):
                for each in (process, *process.children(recursive=True)):
                    self._known.setdefault(each.pid, each)
        self._known = {pid: process for pid, process in self._known.items() if _is_running(process)}
        return tuple(self._known)

    def others(self) -> tuple[ProcessInfo, ...]:
        """Return the processes that the first one has started and that are running."""
        self.find()
        return tuple(_info(process) for pid, process in self._known.items() if pid != self._root)

    def kill(self) -> None:
        """Kill every process of the tree that is found, the first one included."""
        self.find()
        for process in self._known.values():
            with contextlib.suppress(psutil.Error):
                process.kill()

    def measure(self) -> float:
        """Return the processor time in seconds of all processes found so far, and note their memory."""
        self.find()
        for process in self._known.values():
            with contextlib.suppress(psutil.Error), process.oneshot():
                times, memory = process.cpu_times(), process.memory_info()
                self._cpu_seconds[process] = times.user + times.system
                self.peak_memory = max(self.peak_memory, getattr(memory, "peak_wset", memory.rss))
        return sum(self._cpu_seconds.values())


class TreeProcess(Process):
    """A process whose tree is searched again and again, since nothing reports the end of what it has started."""

    kill_timeout = KILL_TIMEOUT
    child_exit_timeout = CHILD_EXIT_TIMEOUT
    killed_code: int
    """The code of a process that was killed."""

    def __init__(self, pid: int) -> None:
        super().__init__(pid)
        self._tree = ProcessTree(pid)

    @property
    def pids(self) -> tuple[int, ...]:
        return self._tree.find()

    def others(self) -> tuple[ProcessInfo, ...]:
        """Return the processes that this one has started and that are running."""
        return self._tree.others()

    async def wait_for_children(self) -> None:
        """Wait a moment for children that outlive the process, and remember those that are still there."""
        deadline = trio.current_time() + self.child_exit_timeout
        while (running := self.others()) and trio.current_time() < deadline:  # noqa: ASYNC110 - nothing tells
            await trio.sleep(POLL_INTERVAL)
        self.leftovers = running

    async def end(self) -> None:
        self._tree.find()  # afterwards, the parents of what is left are unknown
        await self.kill()
        deadline = trio.current_time() + self.kill_timeout
        with trio.move_on_at(deadline):
            await self.wait()
        while (running := self.others()) and trio.current_time() < deadline:
            kill_by_ids(running)
            await trio.sleep(POLL_INTERVAL)
        self.survivors = running
        if self.returncode is None:  # not even killing has ended it
            self.survivors = (*(infos_of([self.pid]) or (ProcessInfo(self.pid, "?"),)), *running)
            self.returncode = self.killed_code


class TreePlatform(Platform):
    """An operating system whose processes can be found with psutil."""

    def start_stamp(self, pid: int) -> int | None:
        try:
            return round(1000 * psutil.Process(pid).create_time())
        except psutil.Error:
            return None

    def cpu_clock_of(self, pid: int) -> float | None:
        try:
            times = psutil.Process(pid).cpu_times()
        except psutil.Error:
            return None
        return times.user + times.system

    def find_tagged(self, tag: str) -> tuple[ProcessInfo, ...]:
        found = []
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error, OSError):  # another user's process, or one that has just ended
                if process.environ().get(TAG_VARIABLE, "").startswith(tag or "\0") and _is_running(process):
                    found.append(_info(process))
        return tuple(found)

    def kill(self, processes: Iterable[ProcessInfo]) -> None:
        kill_by_ids(processes)


def infos_of(pids: Iterable[int]) -> tuple[ProcessInfo, ...]:
    """Return those of these processes that are running, with their names."""
    found = []
    for pid in pids:
        with contextlib.suppress(psutil.Error):
            process = psutil.Process(pid)
            if _is_running(process):
                found.append(_info(process))
    return tuple(found)


def kill_by_ids(processes: Iterable[ProcessInfo]) -> None:
    """Kill these processes; those that are gone or belong to another user are skipped."""
    for each in processes:
        with contextlib.suppress(psutil.Error):
            psutil.Process(each.pid).kill()


def _is_running(process: psutil.Process) -> bool:
    """Whether it is running; a process that has ended and was not waited for is not."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def _info(process: psutil.Process) -> ProcessInfo:
    try:
        command = process.cmdline()
        return ProcessInfo(process.pid, PurePath(command[0]).name if command else process.name())
    except (psutil.Error, OSError):
        return ProcessInfo(process.pid, "?")
