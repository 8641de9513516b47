"""macOS, and a Linux that cannot have supervisors: a program is kept together by its session and by descent.

The process and its process group are killed, and so are the rest of its session and its descendants in other sessions.
What leaves the session and loses its parent between two searches is not found.
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

from spielleiter.programs.platform_api import (
    POLL_INTERVAL,
    POSIX_VARIABLES,
    Process,
    ProcessSpec,
    common_gaps,
    open_pipe,
)
from spielleiter.programs.psutil_processes import TreePlatform, TreeProcess, infos_of

_RSS_UNIT: Final = 1 if sys.platform == "darwin" else 1024  # bytes, of ru_maxrss


class MacPlatform(TreePlatform):
    """Programs without supervisors; `process` is the class of a running one."""

    name = "macOS"
    gaps = (
        *common_gaps(name),
        "macOS does not keep a program together; what leaves its session and loses its parent may keep running.",
    )
    can_bind_cores = False
    can_limit_memory = False
    program_variables = POSIX_VARIABLES | {"DYLD_LIBRARY_PATH", "DYLD_FALLBACK_LIBRARY_PATH"}

    def __init__(self, process: type[UnsupervisedProcess] | None = None) -> None:
        self._process = process or UnsupervisedProcess

    def usable_cores(self) -> list[int]:
        return list(range(os.cpu_count() or 1))

    async def start(self, spec: ProcessSpec) -> Process:
        return await trio.to_thread.run_sync(self._process, spec)


class UnsupervisedProcess(TreeProcess):
    """A process and what it has started. Starting it blocks for a moment. Raises OSError and ValueError."""

    killed_code = -signal.SIGKILL

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
        super().__init__(self._popen.pid)

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
    def has_ended(self) -> bool:
        return self.returncode is not None or not infos_of([self.pid])

    @property
    def cpu_seconds_so_far(self) -> float:
        return max(self.cpu_seconds, self._tree.measure())

    def terminate(self) -> None:
        self.signal_group(signal.SIGTERM)

    async def kill(self) -> None:
        self.signal_group(signal.SIGKILL)
        await trio.lowlevel.checkpoint()

    async def wait(self) -> None:
        """Wait until the process has ended, and take its processor time together with its status."""
        if self.returncode is not None:
            return
        while not (ended := os.wait4(self.pid, os.WNOHANG))[0]:  # noqa: ASYNC110, ASYNC222 - only polling works
            await trio.sleep(POLL_INTERVAL)
        _, status, usage = ended
        self.returncode = self._popen.returncode = os.waitstatus_to_exitcode(status)
        self.cpu_seconds = usage.ru_utime + usage.ru_stime
        self.peak_memory = usage.ru_maxrss * _RSS_UNIT

    async def end(self) -> None:
        await super().end()
        self._popen.returncode = self.returncode  # or it would warn about a process that cannot be killed

    def signal_group(self, number: signal.Signals) -> None:
        """Send a signal to the process and its group."""
        if self.returncode is None:  # otherwise the id may be another group's by now
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, number)


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
