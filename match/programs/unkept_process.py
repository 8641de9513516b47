"""Programs that are started without a keeper, where there are none (match/programs/kept_process.py says where).

Invariants: the process and its group are ended, and the rest of its session where the system has /proc. Windows has no
process groups and no wait status of this kind: there, a thread waits, `taskkill` ends a process with its descendants,
children that outlive their parent are not found, and processor times are not known.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Iterator, Sequence
from typing import IO, Final

import trio

from spielleiter.match.programs.kept_process import Start
from spielleiter.match.programs.processes import ProcessInfo, kill_processes, living, seconds_spent, session_members

_POLL: Final = 0.02  # seconds between looks at processes that nobody tells us about
_FAREWELL: Final = 0.5  # seconds in which children may end that outlive their parent
_KILLED: Final = 5.0  # seconds after which we no longer believe that a kill works


class UnkeptProcess:
    """A process and what it has started in its session; the attributes are those of `KeptProcess`.

    Takes a moment to make. Raises OSError and ValueError.
    """

    peak_memory = 0
    keeper_stops = 0
    has_stopped_keeper = False

    def __init__(self, start: Start) -> None:
        with _on_cores(start.cores):
            self._popen = subprocess.Popen(  # noqa: S603 - to run it is what we are for
                start.arguments,
                stdin=subprocess.DEVNULL if start.stdin is None else start.stdin,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=start.cwd,
                env=start.environment,
                start_new_session=True,  # ignored on Windows, where a group of its own keeps Ctrl-C away, too
                creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
                bufsize=0,
            )
        self.returncode: int | None = None
        self.cpu_seconds = 0.0
        self.leftovers: tuple[ProcessInfo, ...] = ()

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
    def seconds_so_far(self) -> float:
        return seconds_spent(self.pids)

    async def watch_keeper(self) -> None:
        """There is none."""

    def wake_keeper(self) -> None:
        """There is none."""

    async def end_keeper(self) -> None:
        """There is none."""

    async def kill(self) -> None:
        if self.returncode is not None:  # its number may mean another group by now
            return
        if hasattr(os, "killpg"):
            self._signal_group(signal.SIGKILL)
        else:
            await trio.to_thread.run_sync(_end_tree, self._popen)

    async def wait(self) -> None:
        """Wait for the process and take its processor time with its status."""
        if self.returncode is not None:
            return
        if not hasattr(os, "wait4"):  # Windows
            self.returncode = await trio.to_thread.run_sync(self._popen.wait, abandon_on_cancel=True)
            return
        while not (ended := os.wait4(self._popen.pid, os.WNOHANG))[0]:  # noqa: ASYNC110, ASYNC222 - nobody tells us
            await trio.sleep(_POLL)
        _, status, usage = ended
        self.returncode = self._popen.returncode = os.waitstatus_to_exitcode(status)
        self.cpu_seconds = usage.ru_utime + usage.ru_stime

    async def see_off(self) -> None:
        """Give children that outlive the process a moment, and remember those that stay."""
        deadline = trio.current_time() + _FAREWELL
        while (alive := self._alive()) and trio.current_time() < deadline:  # noqa: ASYNC110 - as above
            await trio.sleep(_POLL)
        self.leftovers = tuple(alive)

    async def end(self) -> None:
        """End the group and whatever else is in the session, until nothing is left."""
        await self.kill()
        await self.wait()
        deadline = trio.current_time() + _KILLED
        while (alive := self._alive()) and trio.current_time() < deadline:
            kill_processes(alive)
            await trio.sleep(_POLL)

    def _alive(self) -> Sequence[ProcessInfo]:
        """What is left in the session once the process has ended."""
        return living(pid for pid in self.pids if pid != self._popen.pid)

    def _signal_group(self, number: signal.Signals) -> None:
        if self.returncode is None and hasattr(os, "killpg"):  # Windows can ask no process to end
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._popen.pid, number)


def _end_tree(popen: subprocess.Popen[bytes]) -> None:
    """End a process and all it has started, where there are no process groups. Takes a moment."""
    command = ["taskkill", "/T", "/F", "/PID", str(popen.pid)]
    with contextlib.suppress(OSError, subprocess.TimeoutExpired):
        subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=_KILLED, check=False)  # noqa: S603
    popen.kill()


@contextlib.contextmanager
def _on_cores(cores: Sequence[int] | None) -> Iterator[None]:
    """What this thread starts meanwhile runs on these cores alone."""
    if cores is None or not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
