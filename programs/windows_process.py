"""A program on Windows, and what it has started.

Invariants: the process is created suspended and continues once it is in a Job Object (platforms/job_object.py). What it
starts is in the job as well and cannot leave it, so the kernel kills all of it together, also if this process is
killed. If the system refuses the job, the descendants are found and killed with psutil, which misses what a program has
started whose parent has ended in the meantime.

Windows cannot ask a process to end: `terminate` kills at once.

The class does not call Windows itself, so its tests run on every system.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
from typing import Any, Final, Protocol

import psutil
import trio

from spielleiter.programs.process import KILL_TIMEOUT
from spielleiter.programs.process_spec import ProcessSpec
from spielleiter.programs.process_table import ProcessTree, infos_of, kill_by_ids
from spielleiter.programs.processes import ProcessInfo
from spielleiter.programs.windows_command import command_line

_CREATE_SUSPENDED: Final = 0x00000004
_CREATE_NEW_PROCESS_GROUP: Final = 0x00000200  # Ctrl+C in the console is meant for the match
CREATION_FLAGS: Final = _CREATE_SUSPENDED | _CREATE_NEW_PROCESS_GROUP
_POLL_INTERVAL: Final = 0.02  # seconds between two checks of processes whose end is not reported
_CHILD_EXIT_TIMEOUT: Final = 0.5  # seconds that children have to end after their parent
_CONSOLE_HOSTS: Final = frozenset({"conhost.exe", "openconsole.exe"})
"""Processes that Windows itself starts beside a program."""


class Job(Protocol):
    """A Job Object, as platforms/job_object.py provides it. Its methods raise OSError."""

    def assign(self, pid: int) -> None:
        """Put a process into the job; what it starts from now on is in the job as well."""
        ...

    def pids(self) -> tuple[int, ...]:
        """Return the ids of the processes of the job that are running."""
        ...

    def cpu_seconds(self) -> float:
        """Return the processor time in seconds of all processes that have ever been in the job."""
        ...

    def peak_memory(self) -> int:
        """Return the most bytes that one process of the job has allocated, or all together if the job limits that."""
        ...

    def terminate(self) -> None:
        """Kill all processes of the job."""
        ...

    def close(self) -> None:
        """Close the job, which kills what is left in it."""
        ...


class WindowsProcess:
    """A process and what it has started; it is a `Process` (programs/process.py). `start_on_windows` makes it."""

    supervisor_stops = 0
    has_stopped_supervisor = False

    def __init__(self, process: trio.Process, job: Job | None) -> None:
        self.cpu_seconds = 0.0
        self.peak_memory = 0
        self.leftovers: tuple[ProcessInfo, ...] = ()
        self.survivors: tuple[ProcessInfo, ...] = ()
        self._process = process
        self._job = job
        self._tree = ProcessTree(process.pid)
        self._returncode: int | None = None

    @property
    def returncode(self) -> int | None:
        return self._returncode

    def open_outputs(self) -> tuple[trio.abc.ReceiveStream, trio.abc.ReceiveStream]:
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        return self._process.stdout, self._process.stderr

    @property
    def pids(self) -> tuple[int, ...]:
        if self._job is not None:
            with contextlib.suppress(OSError):
                return self._job.pids()
        return self._tree.find()

    def find_all(self) -> tuple[int, ...]:
        return self.pids

    @property
    def has_ended(self) -> bool:
        return self._returncode is not None or self._process.poll() is not None

    @property
    def cpu_seconds_so_far(self) -> float:
        if self._job is not None:
            with contextlib.suppress(OSError):
                return self._job.cpu_seconds()
        return self._tree.measure()

    def terminate(self) -> None:
        self._kill()

    async def kill(self) -> None:
        self._kill()
        await trio.lowlevel.checkpoint()

    def _kill(self) -> None:
        if self._job is not None:
            with contextlib.suppress(OSError):
                self._job.terminate()
                return
        self._tree.kill()

    async def wait(self) -> None:
        """Wait until the process has ended, and take its processor time and its memory."""
        if self._returncode is None:
            code = await self._process.wait()
            self._measure()
            self._returncode = code

    def _measure(self) -> None:
        self.cpu_seconds = max(self.cpu_seconds, self.cpu_seconds_so_far)
        self.peak_memory = self._tree.peak_memory
        if self._job is not None:
            with contextlib.suppress(OSError):
                self.peak_memory = self._job.peak_memory()

    async def wait_for_children(self) -> None:
        """Wait a moment for children that outlive the process, and remember those that are still there."""
        deadline = trio.current_time() + _CHILD_EXIT_TIMEOUT
        while (running := self._children()) and trio.current_time() < deadline:  # noqa: ASYNC110 - Windows does not tell
            await trio.sleep(_POLL_INTERVAL)
        self.leftovers = running

    async def end(self) -> None:
        """Kill everything that is left and close the job. Takes limited time: see `survivors`."""
        self._tree.find()  # afterwards, the parents of what is left are unknown
        self._kill()
        deadline = trio.current_time() + KILL_TIMEOUT
        with trio.move_on_at(deadline):
            await self.wait()
        while (running := self._children()) and trio.current_time() < deadline:
            kill_by_ids(running)
            await trio.sleep(_POLL_INTERVAL)
        self.survivors = running
        if self._returncode is None:
            self.survivors = (*(infos_of([self._process.pid]) or (ProcessInfo(self._process.pid, "?"),)), *running)
            self._returncode = 1  # what Windows reports for a process that was killed
        if self._job is not None:
            self._measure()
            self._job.close()
            self._job = None

    def _children(self) -> tuple[ProcessInfo, ...]:
        others = (pid for pid in self.pids if pid != self._process.pid)
        return tuple(each for each in infos_of(others) if each.name.lower() not in _CONSOLE_HOSTS)

    async def watch_supervisor(self) -> None:
        """There is no supervisor to watch."""

    def resume_supervisor(self) -> None:
        """There is no supervisor to resume."""

    async def kill_supervisor(self) -> None:
        """There is no supervisor to kill."""


async def start_on_windows(spec: ProcessSpec, job: Job | None) -> WindowsProcess:
    """Start a program in `job`, or without one; takes ownership of the job. Raises OSError and ValueError."""
    try:
        started = await trio.lowlevel.open_process(
            command_line(spec.arguments),
            stdin=subprocess.DEVNULL if spec.stdin is None else spec.stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=spec.cwd,
            env=dict(spec.environment),
            **_OPTIONS,
        )
    except BaseException:
        if job is not None:
            job.close()
        raise
    try:
        job = _assigned(job, started.pid, is_needed=spec.memory is not None or spec.job is not None)
        process = psutil.Process(started.pid)
        if spec.cores is not None and sys.platform != "darwin":
            process.cpu_affinity(list(spec.cores))
        process.resume()
    except BaseException as error:
        if job is not None:
            job.close()
        started.kill()
        with trio.CancelScope(shield=True):
            for stream in (started.stdout, started.stderr):
                assert stream is not None
                await stream.aclose()
            await started.wait()
        if isinstance(error, psutil.Error):
            raise OSError(str(error)) from error
        raise
    return WindowsProcess(started, job)


def _assigned(job: Job | None, pid: int, *, is_needed: bool) -> Job | None:
    """Put the process into the job; return None if the system refuses that. Raises OSError if the job is needed."""
    if job is not None:
        try:
            job.assign(pid)
        except OSError:
            if is_needed:  # nothing else would keep the limits
                raise
            job.close()
            return None
    return job


_OPTIONS: Final[dict[str, Any]] = {"creationflags": CREATION_FLAGS} if sys.platform == "win32" else {}
