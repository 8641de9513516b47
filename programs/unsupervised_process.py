"""A program that runs without a supervisor, on macOS and on a Linux that cannot have supervisors.

Invariants: the process and its process group are killed, and so is everything else that was found to belong to it: the
rest of its session, and its descendants in other sessions. What leaves the session and loses its parent between two
searches is not found.
"""

from __future__ import annotations

import sys

assert sys.platform != "win32"  # before the imports, which other platforms lack

import contextlib
import os
import signal
import subprocess
from collections.abc import Iterator, Sequence
from typing import IO, Final

import trio

from spielleiter.programs.pipes import open_pipe
from spielleiter.programs.process import KILL_TIMEOUT
from spielleiter.programs.process_spec import ProcessSpec
from spielleiter.programs.process_table import ProcessTree, infos_of
from spielleiter.programs.processes import ProcessInfo

_POLL_INTERVAL: Final = 0.02  # seconds between two checks of processes whose end is not reported
_CHILD_EXIT_TIMEOUT: Final = 0.5  # seconds that children have to end after their parent
_RSS_UNIT: Final = 1 if sys.platform == "darwin" else 1024  # bytes, of ru_maxrss


class UnsupervisedProcess:
    """A process and what it has started; it is a `Process` (programs/process.py).

    Starting it blocks for a moment. Raises OSError and ValueError.
    """

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
                start_new_session=True,
                bufsize=0,
            )
        self._tree = ProcessTree(self._popen.pid)
        self.returncode: int | None = None
        self.cpu_seconds = 0.0
        self.peak_memory = 0
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

    def open_outputs(self) -> tuple[trio.abc.ReceiveStream, trio.abc.ReceiveStream]:
        return open_pipe(self.stdout), open_pipe(self.stderr)

    @property
    def pids(self) -> tuple[int, ...]:
        return self._tree.find()

    def find_all(self) -> tuple[int, ...]:
        return self.pids

    @property
    def has_ended(self) -> bool:
        return self.returncode is not None or not infos_of([self._popen.pid])

    def terminate(self) -> None:
        self._signal_group(signal.SIGTERM)

    @property
    def cpu_seconds_so_far(self) -> float:
        return max(self.cpu_seconds, self._tree.measure())

    async def watch_supervisor(self) -> None:
        """There is no supervisor to watch."""

    def resume_supervisor(self) -> None:
        """There is no supervisor to resume."""

    async def kill_supervisor(self) -> None:
        """There is no supervisor to kill."""

    async def kill(self) -> None:
        if self.returncode is None:  # otherwise the id may be another group's by now
            self._signal_group(signal.SIGKILL)
        await trio.lowlevel.checkpoint()

    async def wait(self) -> None:
        """Wait until the process has ended, and take its processor time together with its status."""
        if self.returncode is not None:
            return
        while not (ended := os.wait4(self._popen.pid, os.WNOHANG))[0]:  # noqa: ASYNC110, ASYNC222 - only polling works
            await trio.sleep(_POLL_INTERVAL)
        _, status, usage = ended
        self.returncode = self._popen.returncode = os.waitstatus_to_exitcode(status)
        self.cpu_seconds = usage.ru_utime + usage.ru_stime
        self.peak_memory = usage.ru_maxrss * _RSS_UNIT

    async def wait_for_children(self) -> None:
        """Wait a moment for children that outlive the process, and remember those that are still there."""
        deadline = trio.current_time() + _CHILD_EXIT_TIMEOUT
        while (running := self._tree.others()) and trio.current_time() < deadline:  # noqa: ASYNC110 - as above
            await trio.sleep(_POLL_INTERVAL)
        self.leftovers = running

    async def end(self) -> None:
        """Kill the group and whatever else belongs to the process. Takes limited time: see `survivors`."""
        self._tree.find()  # afterwards, the children of killed processes have another parent
        await self.kill()
        deadline = trio.current_time() + KILL_TIMEOUT
        with trio.move_on_at(deadline):
            await self.wait()
        while (running := self._tree.others()) and trio.current_time() < deadline:
            self._tree.kill()
            await trio.sleep(_POLL_INTERVAL)
        self.survivors = running
        if self.returncode is None:  # it does not even react to SIGKILL
            self.survivors = (*(infos_of([self._popen.pid]) or (ProcessInfo(self._popen.pid, "?"),)), *running)
            self.returncode = self._popen.returncode = -signal.SIGKILL

    def _signal_group(self, number: signal.Signals) -> None:
        if self.returncode is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._popen.pid, number)


@contextlib.contextmanager
def _pinned_to(cores: Sequence[int] | None) -> Iterator[None]:
    """Bind the processes that this thread starts within the context to these cores, where that is possible."""
    if sys.platform != "linux" or cores is None:
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
