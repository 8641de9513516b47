"""A program that runs with a supervisor (programs/supervision/supervisor.py).

Invariants: only the task that runs a program reads what its supervisor reports. Every wait for a supervisor has a time
limit: a supervisor that does not report in time is killed, after everything below it. A supervisor that its program has
stopped is resumed; if it is stopped again, the program is killed.
"""

from __future__ import annotations

import sys

assert sys.platform == "linux"  # before the imports, which other platforms lack

import contextlib
import json
import os
import signal
import socket
from collections.abc import Callable
from typing import IO, Any, Final

import trio

from spielleiter.programs.pipes import open_pipe
from spielleiter.programs.process import REPORT_TIMEOUT
from spielleiter.programs.processes import (
    ProcessInfo,
    cpu_seconds_of,
    descendants_of,
    kill_processes,
    resume,
    session_members,
    start_ticks_of,
    still_running,
)
from spielleiter.programs.supervision.messages import KILL, READ_SIZE, REUSE, TERMINATE
from spielleiter.programs.supervision.process_tree import KILL_TIMEOUT, find_descendants, kill_all

MAX_STOPS: Final = 1
"""How often a program may stop its supervisor; after that it is killed."""

_CHECK_INTERVAL: Final = 0.5  # seconds between two checks whether the supervisor is stopped
_POLL_INTERVAL: Final = 0.02  # seconds between two checks of processes whose end is not reported


class SupervisedProcess:
    """A process and everything that it has started; it is a `Process` (programs/process.py).

    Use it from one task, apart from `terminate` and `kill`. `resume_fork_server` resumes the process that supervisors
    are children of, in case it was stopped; it is called in a thread.
    """

    def __init__(
        self,
        control: socket.socket,
        stdout: IO[bytes],
        stderr: IO[bytes],
        pid: int,
        supervisor: int,
        resume_fork_server: Callable[[], None],
    ) -> None:
        self.pid = pid
        self.stdout = stdout
        self.stderr = stderr
        self.returncode: int | None = None
        """As in subprocess, once the process has ended."""
        self.cpu_seconds = 0.0
        """Processor time in seconds of the process and of everything it has started, as far as they have ended."""
        self.peak_memory = 0
        """The most bytes that the process, or a child that it waited for, had in memory."""
        self.leftovers: tuple[ProcessInfo, ...] = ()
        """The processes that outlived the process."""
        self.survivors: tuple[ProcessInfo, ...] = ()
        """The processes that even `end` could not end, because they do not react to SIGKILL."""
        self.is_gone = False
        self.supervisor_stops = 0
        """How often the supervisor was found stopped, and was resumed."""
        self._supervisor = supervisor
        self._supervisor_start = start_ticks_of(supervisor)
        self._is_reusable = True
        """Whether the supervisor may be given another program."""
        self._cpu_seconds_before = cpu_seconds_of((), supervisor)
        """Processor time in seconds of the programs that the supervisor ran before this one."""
        self._resume_fork_server = resume_fork_server
        control.setblocking(False)
        self._control = control
        self._buffer = b""

    def open_outputs(self) -> tuple[trio.abc.ReceiveStream, trio.abc.ReceiveStream]:
        """Return standard output and standard error, which the caller has to close."""
        return open_pipe(self.stdout), open_pipe(self.stderr)

    @property
    def pids(self) -> tuple[int, ...]:
        """The ids of the process and of everything that it has started, in any session."""
        if self.is_gone:
            return ()
        found = descendants_of(self._supervisor)
        return session_members(self.pid) if found is None else found

    def find_all(self) -> tuple[int, ...]:
        """Return the same ids as `pids`, but certainly all of them; reads a file of every process of this machine."""
        return () if self.is_gone else tuple(find_descendants(self._supervisor))

    @property
    def cpu_seconds_so_far(self) -> float:
        """Processor time in seconds of the process and of everything that it has started, up to now."""
        return max(0.0, cpu_seconds_of(self.pids, self._supervisor) - self._cpu_seconds_before)

    @property
    def has_ended(self) -> bool:
        """Whether the process has ended by itself, reported or not."""
        return self.returncode is not None or not still_running([self.pid])

    def terminate(self) -> None:
        """Ask the process and its group to end."""
        self._send(TERMINATE)

    async def kill(self) -> None:
        """Have the supervisor kill everything."""
        self._send(KILL)
        self.resume_supervisor()
        await trio.lowlevel.checkpoint()

    async def watch_supervisor(self) -> None:
        """Resume the supervisor whenever it was stopped; kill everything if that happens too often."""
        while not self.is_gone and not self.has_stopped_supervisor:
            await trio.sleep(_CHECK_INTERVAL)
            self.resume_supervisor()
        if not self.is_gone:
            await self.kill_supervisor()

    @property
    def has_stopped_supervisor(self) -> bool:
        """Whether the program has stopped its supervisor again after it was resumed."""
        return self.supervisor_stops > MAX_STOPS

    def resume_supervisor(self) -> None:
        """Resume the supervisor if the program has stopped it, and count that."""
        if not self.is_gone and self._supervisor_exists() and resume(self._supervisor):
            self._is_reusable = False
            self.supervisor_stops += 1

    def _supervisor_exists(self) -> bool:
        """Whether the process with the supervisor's id is still the supervisor."""
        return start_ticks_of(self._supervisor) == self._supervisor_start

    async def kill_supervisor(self) -> None:
        """Kill everything below the supervisor, and the supervisor itself, without its help."""
        self._is_reusable = False
        if not self.is_gone:
            await trio.to_thread.run_sync(self._kill_supervisor_sync)

    def _kill_supervisor_sync(self) -> None:
        # everything that the program has started descends from the supervisor as long as the supervisor exists
        if self._supervisor_exists():
            kill_with_descendants(self._supervisor)

    def _send(self, command: bytes) -> None:
        with contextlib.suppress(OSError):  # the supervisor is gone
            self._control.send(command)

    async def wait(self) -> None:
        """Wait until the process has ended."""
        while self.returncode is None:
            await self._receive_report()

    async def wait_for_children(self) -> None:
        """Wait until everything that the process has started has ended as well, or is known to outlive it."""
        with trio.move_on_after(REPORT_TIMEOUT):
            while not self.is_gone and not self.leftovers:
                await self._receive_report()
            return
        await self.kill_supervisor()

    async def end(self) -> None:
        """End everything that is left, and release or end the supervisor. Takes limited time: see `survivors`."""
        await self.kill()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self.watch_supervisor)
            await self._wait_until_gone(2 * KILL_TIMEOUT)
            nursery.cancel_scope.cancel()
        if not self.is_gone:
            await self.kill_supervisor()
            await self._wait_until_gone(KILL_TIMEOUT)
        if not self.is_gone:
            self.survivors = still_running(self.find_all()) or still_running([self.pid])
            self.is_gone = True  # nothing more can be done
        if self.returncode is None:
            self.returncode = -signal.SIGKILL
        if self._is_reusable:
            self._send(REUSE)
        self._control.close()

    async def _wait_until_gone(self, seconds: float) -> None:
        with trio.move_on_after(seconds):
            while not self.is_gone:
                await self._receive_report()

    async def _receive_report(self) -> None:
        while b"\n" not in self._buffer:
            await trio.lowlevel.wait_readable(self._control)
            try:
                data = self._control.recv(READ_SIZE)
            except BlockingIOError:
                continue
            except ConnectionResetError:
                data = b""
            if not data:
                await self._end_without_supervisor()
                return
            self._buffer += data
        line, _, self._buffer = self._buffer.partition(b"\n")
        try:
            self._update(json.loads(line))
        except (ValueError, TypeError, AttributeError, OverflowError, RecursionError):
            await self.kill_supervisor()  # its program has written to its socket

    def _update(self, report: dict[str, Any]) -> None:
        """Take a report of the supervisor. Raises an exception if it is none."""
        self.cpu_seconds = float(report.get("cpu", self.cpu_seconds))
        self.peak_memory = int(report.get("peak", self.peak_memory))
        self.returncode = int(report["exit"]) if "exit" in report else self.returncode
        self.leftovers = tuple(ProcessInfo(int(pid), str(name)) for pid, name in report.get("left", ()))
        if report.get("gone") is False:  # the supervisor still exists, and so its descendants can be found
            self.survivors = still_running(self.find_all())
        self.is_gone = "gone" in report

    async def _end_without_supervisor(self) -> None:
        """The supervisor was killed. The fork server kills everything that was below it; the session is killed here."""
        await trio.to_thread.run_sync(self._resume_fork_server)
        deadline = trio.current_time() + KILL_TIMEOUT
        while (running := still_running(session_members(self.pid))) and trio.current_time() < deadline:
            kill_processes(running)
            await trio.sleep(_POLL_INTERVAL)
        if self.returncode is None:
            self.returncode = -signal.SIGKILL
        self.survivors = running
        self.is_gone = True


def kill_with_descendants(supervisor: int) -> None:
    """Kill a supervisor after everything below it, without its help. Blocks for a moment."""
    kill_all(lambda: find_descendants(supervisor), lambda: True)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(supervisor, signal.SIGKILL)
