"""A program that runs without a supervisor, on systems that have none (match/programs/fork_server_client.py).

Invariants: the process and its process group are killed, and so is the rest of its session where the system has /proc.
Windows has neither process groups nor wait statuses of this kind. There, a thread waits for the process, `taskkill`
kills it with its descendants, children that outlive their parent are not found, and processor times are unknown.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Iterator, Sequence
from typing import IO, Final

import trio

from spielleiter.match.programs.process_spec import ProcessSpec
from spielleiter.match.programs.processes import (
    ProcessInfo,
    cpu_seconds_of,
    kill_processes,
    session_members,
    still_running,
)

KILL_TIMEOUT: Final = 5.0
"""Seconds after which killing a process is given up."""
_POLL_INTERVAL: Final = 0.02  # seconds between two checks of processes whose end is not reported
_CHILD_EXIT_TIMEOUT: Final = 0.5  # seconds that children have to end after their parent
_SIGKILL: Final = 9  # which Windows does not define


class UnsupervisedProcess:
    """A process and what it has started in its session; the attributes are those of `SupervisedProcess`.

    Starting it blocks for a moment. Raises OSError and ValueError.
    """

    peak_memory = 0
    supervisor_stops = 0
    has_stopped_supervisor = False

    def __init__(self, spec: ProcessSpec) -> None:
        with _pinned_to(spec.cores):
            self._popen = subprocess.Popen(  # noqa: S603 - running the user's program is the purpose
                spec.arguments,
                stdin=subprocess.DEVNULL if spec.stdin is None else spec.stdin,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=spec.cwd,
                env=spec.environment,
                start_new_session=True,  # ignored on Windows, where a process group of its own also keeps Ctrl+C away
                creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
                bufsize=0,
            )
        self.returncode: int | None = None
        self.cpu_seconds = 0.0
        self.leftovers: tuple[ProcessInfo, ...] = ()
        self.survivors: tuple[ProcessInfo, ...] = ()

    @property
    def stdout(self) -> IO[bytes]:
        assert self._popen.stdout is not None
        return self._popen.stdout

    @property
    def stderr(self) -> IO[bytes]:
        assert self._popen.stderr is not None
        return self._popen.stderr

    @property
    def pids(self) -> tuple[int, ...]:
        return session_members(self._popen.pid)

    def find_all(self) -> tuple[int, ...]:
        return self.pids

    @property
    def has_ended(self) -> bool:
        if self.returncode is not None:
            return True
        try:
            return os.waitid(os.P_PID, self._popen.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
        except (AttributeError, OSError):
            return False

    def terminate(self) -> None:
        self._signal_group(signal.SIGTERM)

    @property
    def cpu_seconds_so_far(self) -> float:
        return cpu_seconds_of(self.pids)

    async def watch_supervisor(self) -> None:
        """There is no supervisor to watch."""

    def resume_supervisor(self) -> None:
        """There is no supervisor to resume."""

    async def kill_supervisor(self) -> None:
        """There is no supervisor to kill."""

    async def kill(self) -> None:
        if self.returncode is not None:  # the id may be another group's by now
            return
        if hasattr(os, "killpg"):
            self._signal_group(signal.SIGKILL)
        else:
            await trio.to_thread.run_sync(_kill_tree, self._popen)

    async def wait(self) -> None:
        """Wait until the process has ended, and take its processor time together with its status."""
        if self.returncode is not None:
            return
        if not hasattr(os, "wait4"):  # Windows
            self.returncode = await trio.to_thread.run_sync(self._popen.wait, abandon_on_cancel=True)
            return
        while not (ended := os.wait4(self._popen.pid, os.WNOHANG))[0]:  # noqa: ASYNC110, ASYNC222 - only polling works
            await trio.sleep(_POLL_INTERVAL)
        _, status, usage = ended
        self.returncode = self._popen.returncode = os.waitstatus_to_exitcode(status)
        self.cpu_seconds = usage.ru_utime + usage.ru_stime

    async def wait_for_children(self) -> None:
        """Wait a moment for children that outlive the process, and remember those that are still there."""
        deadline = trio.current_time() + _CHILD_EXIT_TIMEOUT
        while (running := self._running_children()) and trio.current_time() < deadline:  # noqa: ASYNC110 - as above
            await trio.sleep(_POLL_INTERVAL)
        self.leftovers = running

    async def end(self) -> None:
        """Kill the group and whatever else is in the session. Takes limited time: see `survivors`."""
        await self.kill()
        deadline = trio.current_time() + KILL_TIMEOUT
        with trio.move_on_at(deadline):
            await self.wait()
        while (running := self._running_children()) and trio.current_time() < deadline:
            kill_processes(running)
            await trio.sleep(_POLL_INTERVAL)
        self.survivors = running
        if self.returncode is None:  # it does not even react to SIGKILL
            self.survivors = (*(still_running([self._popen.pid]) or (ProcessInfo(self._popen.pid, "?"),)), *running)
            self.returncode = self._popen.returncode = -_SIGKILL

    def _running_children(self) -> tuple[ProcessInfo, ...]:
        """The other processes of the session."""
        return still_running(pid for pid in self.pids if pid != self._popen.pid)

    def _signal_group(self, number: signal.Signals) -> None:
        if self.returncode is None and hasattr(os, "killpg"):  # Windows cannot ask a process to end
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._popen.pid, number)


def _kill_tree(popen: subprocess.Popen[bytes]) -> None:
    """Kill a process and everything it has started, where there are no process groups. Blocks for a moment."""
    command = ["taskkill", "/T", "/F", "/PID", str(popen.pid)]
    with contextlib.suppress(OSError, subprocess.TimeoutExpired):
        subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=KILL_TIMEOUT, check=False)  # noqa: S603
    popen.kill()


@contextlib.contextmanager
def _pinned_to(cores: Sequence[int] | None) -> Iterator[None]:
    """Bind the processes that this thread starts within the context to these cores."""
    if cores is None or not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
