"""Linux: every program has a supervisor (supervision.py), which nothing that it starts can leave.

Every wait for the fork server or a supervisor has a time limit: a process that does not answer is resumed, in case
somebody has stopped it, and in the end killed, after everything below it.
"""

from __future__ import annotations

import sys

assert sys.platform == "linux"  # before the imports, which other platforms lack

import atexit
import contextlib
import json
import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import IO, Any, Final, TypeVar

import trio

from spielleiter.common.errors import SupervisorError
from spielleiter.common.own_python import own_python
from spielleiter.programs.linux_processes import (
    ProcessInfo,
    cpu_clock_of,
    cpu_seconds_of,
    descendants_of,
    find_tagged,
    resume,
    session_members,
    start_ticks_of,
    still_running,
)
from spielleiter.programs.platform_api import (
    POLL_INTERVAL,
    POSIX_VARIABLES,
    REPORT_TIMEOUT,
    Process,
    ProcessSpec,
    open_pipe,
)
from spielleiter.programs.psutil_processes import TreePlatform, kill_by_ids
from spielleiter.programs.supervision import (
    HEAD,
    KILL,
    KILL_TIMEOUT,
    READ_SIZE,
    READY,
    TERMINATE,
    find_descendants,
    kill_all,
)

_T = TypeVar("_T")

MAX_STOPS: Final = 1
"""How often a program may stop its supervisor; after that it is killed."""
FORK_SERVER_COMMAND: Final = (*own_python(), "-I", "-S", str(Path(__file__).absolute().with_name("supervision.py")))
"""The command line of the fork server; -I and -S keep the current directory and site-packages off the import path."""
_VARIABLES: Final = ("LD_LIBRARY_PATH", "LANG", "LC_ALL", "LC_CTYPE")
"""What this Python needs to start, and to encode names as here. A program can read what a supervisor has."""
_MAX_RESUMES: Final = 5
_CHECK_INTERVAL: Final = 0.5  # seconds between two checks whether the supervisor is stopped


class LinuxPlatform(TreePlatform):
    """Programs with supervisors, or without them on a kernel that does not have what they need."""

    name = "Linux"
    gaps: tuple[str, ...] = ()
    can_bind_cores = True
    can_limit_memory = True
    program_variables = POSIX_VARIABLES | {"LD_LIBRARY_PATH"}  # some installations of Python do not start without it

    def usable_cores(self) -> list[int]:
        return sorted(os.sched_getaffinity(0))

    def start_stamp(self, pid: int) -> int | None:
        return start_ticks_of(pid)  # what psutil calculates from it changes with the clock

    def cpu_clock_of(self, pid: int) -> float | None:
        return cpu_clock_of(pid)  # a single system call, and exact

    def pid_name_space(self) -> int:
        try:
            return Path("/proc/self/ns/pid").stat().st_ino
        except OSError:  # a kernel without name spaces
            return 0

    def find_tagged(self, tag: str) -> tuple[ProcessInfo, ...]:
        return find_tagged(tag)

    async def start(self, spec: ProcessSpec) -> Process:
        return await trio.to_thread.run_sync(_start, spec)


def _start(spec: ProcessSpec) -> Process:
    supervised = start_supervised_process(spec)
    if supervised is not None:
        return supervised
    from spielleiter.programs.macos import UnsupervisedProcess  # few kernels need it

    return UnsupervisedProcess(spec)


def start_supervised_process(spec: ProcessSpec) -> SupervisedProcess | None:
    """Start a program with a supervisor; None if this system has no supervisors. Blocks for a moment.

    The fork server is started with the first program and ends with this process. Raises OSError or ValueError if the
    program cannot be started, SupervisorError if the fork server does not answer.
    """
    return _FORK_SERVER.start(spec)


class ForkServer:
    """A handle on the fork server; may be used from any thread.

    After `resume_after` seconds without an answer, a process may have been stopped and is resumed; after
    `answer_timeout` seconds it is given up.
    """

    def __init__(
        self,
        command: Iterable[str] = FORK_SERVER_COMMAND,
        *,
        resume_after: float = 1.0,
        answer_timeout: float = 60.0,
    ) -> None:
        self._command = tuple(command)
        self.resume_after = resume_after
        self.answer_timeout = answer_timeout
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._is_possible = True

    def start(self, spec: ProcessSpec) -> SupervisedProcess | None:
        """See `start_supervised_process`."""
        for _ in range(2):
            process = self._open()
            if process is None:
                return None
            supervised = self._try_start(spec, process)
            if supervised is not None:
                return supervised
            with self._lock:
                if self._process is process:  # another thread may have started a new one already
                    self._close()
        raise SupervisorError("the process that starts programs was stopped or ended, and so was a new one")

    @property
    def pid(self) -> int | None:
        """The id of the process; None if it is not running."""
        return None if self._process is None else self._process.pid

    def resume(self) -> None:
        """Resume the process if it was stopped."""
        with self._lock:
            if self._process is not None:
                resume(self._process.pid)

    def close(self) -> None:
        """End the process; supervisors stay until their programs end."""
        with self._lock:
            self._close()

    def _open(self) -> subprocess.Popen[bytes] | None:
        """Return the process, started now if necessary; None if this system cannot run it. Raises SupervisorError."""
        with self._lock:
            if self._socket is None and self._is_possible:
                ours, theirs = socket.socketpair()
                with theirs:
                    self._process = subprocess.Popen(  # noqa: S603 - our own code
                        self._command,
                        stdin=theirs.fileno(),
                        stdout=subprocess.DEVNULL,
                        cwd="/",
                        env={name: os.environ[name] for name in _VARIABLES if name in os.environ},
                        start_new_session=True,  # Ctrl+C in the terminal is meant for the match
                    )
                self._socket = ours
                answer = self._receive(ours, self._process.pid, lambda: ours.recv(1))
                if answer is None:
                    self._close()
                    raise SupervisorError("the process that starts programs does not answer")
                self._is_possible = answer == READY
                ours.settimeout(self.answer_timeout)
            if not self._is_possible:
                self._close()
            return self._process

    def _close(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None
        if self._process is not None:
            resume(self._process.pid)
            try:
                self._process.wait(KILL_TIMEOUT)
            except subprocess.TimeoutExpired:
                self._process.kill()
                with contextlib.suppress(subprocess.TimeoutExpired):  # it is stuck in the kernel
                    self._process.wait(KILL_TIMEOUT)
            self._process = None

    def _try_start(self, spec: ProcessSpec, process: subprocess.Popen[bytes]) -> SupervisedProcess | None:
        """Have the fork server `process` start a program; return None if there is no answer.

        Raises OSError or ValueError if the program cannot be started.
        """
        options = {
            "arguments": list(spec.arguments),
            "cwd": str(Path.cwd()) if spec.cwd is None else str(Path(spec.cwd).absolute()),
            "environment": dict(spec.environment),
            "cores": spec.cores,
            "memory": spec.memory,
        }
        data = json.dumps(options).encode()
        ours, theirs = socket.socketpair()
        read_out, write_out = os.pipe()
        read_error, write_error = os.pipe()
        with theirs, ours, open(read_out, "rb", 0) as out, open(read_error, "rb", 0) as error:  # noqa: PTH123
            try:
                with self._lock:
                    if self._socket is None or self._process is not process:
                        return None
                    descriptors = [theirs.fileno(), write_out, write_error]
                    if spec.stdin is not None:
                        descriptors.append(spec.stdin)
                    socket.send_fds(self._socket, [HEAD.pack(len(data))], descriptors)
                    self._socket.sendall(data)
            except OSError:
                return None
            finally:
                os.close(write_out)
                os.close(write_error)
            theirs.close()
            forwarded = self._receive(ours, process.pid, lambda: _receive_line(ours))
            if forwarded is None:
                return None
            supervisor = int(forwarded["supervisor"])
            started = self._receive(ours, supervisor, lambda: _receive_line(ours) or {})
            if started is None:
                kill_with_descendants(supervisor)
                raise ValueError("it stopped the process that watches over it, and was ended")
            if not started:
                return None
            if "failed" in started:
                number = started["errno"]
                raise ValueError(started["failed"]) if number is None else OSError(number, os.strerror(number))
            # from here on, the streams belong to the SupervisedProcess
            return SupervisedProcess(
                socket.socket(fileno=ours.detach()),
                open(os.dup(out.fileno()), "rb", 0),  # noqa: PTH123
                open(os.dup(error.fileno()), "rb", 0),  # noqa: PTH123
                started["pid"],
                supervisor,
                self.resume,
            )

    def _receive(self, sock: socket.socket, pid: int, receive: Callable[[], _T]) -> _T | None:
        """Return what `receive` reads from process `pid` on `sock`, or None if there is no answer in time.

        The process is resumed if somebody has stopped it.
        """
        deadline, resumes = time.monotonic() + self.answer_timeout, 0
        sock.settimeout(self.resume_after)
        try:
            while resumes < _MAX_RESUMES and time.monotonic() < deadline:
                try:
                    return receive()
                except TimeoutError:  # the process is stopped, or this machine is busy
                    resumes += resume(pid)
                except ConnectionResetError:
                    break
            return None
        finally:
            sock.settimeout(None)


def _receive_line(control: socket.socket) -> dict[str, Any] | None:
    """Return the next line; None once the other end is closed.

    Raises TimeoutError only before anything was read, since each line is sent in one piece.
    """
    data = b""
    while not data.endswith(b"\n"):
        more = control.recv(1)
        if not more:
            return None
        data += more
    answer: dict[str, Any] = json.loads(data)
    return answer


class SupervisedProcess(Process):
    """A program with its supervisor. Only the task that runs the program reads what the supervisor reports.

    `resume_fork_server` resumes the process that supervisors are children of, in case it was stopped; it is called in a
    thread.
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
        super().__init__(pid)
        self.stdout = stdout
        self.stderr = stderr
        self.is_gone = False
        self.supervisor = self.root = supervisor
        self._supervisor_start = start_ticks_of(supervisor)
        self._resume_fork_server = resume_fork_server
        control.setblocking(False)
        self._control = control
        self._buffer = b""

    def open_outputs(self) -> tuple[trio.abc.ReceiveStream, trio.abc.ReceiveStream]:
        return open_pipe(self.stdout), open_pipe(self.stderr)

    @property
    def pids(self) -> tuple[int, ...]:
        if self.is_gone:
            return ()
        found = descendants_of(self.supervisor)
        return session_members(self.pid) if found is None else found

    def find_all(self) -> tuple[int, ...]:
        return () if self.is_gone else tuple(find_descendants(self.supervisor))

    @property
    def cpu_seconds_so_far(self) -> float:
        return cpu_seconds_of(self.pids, self.supervisor)

    @property
    def has_ended(self) -> bool:
        return self.returncode is not None or not still_running([self.pid])

    def terminate(self) -> None:
        self._send(TERMINATE)

    async def kill(self) -> None:
        self._send(KILL)
        self.resume_supervisor()
        await trio.lowlevel.checkpoint()

    async def watch_supervisor(self) -> None:
        while not self.is_gone and not self.has_stopped_supervisor:
            await trio.sleep(_CHECK_INTERVAL)
            self.resume_supervisor()
        if not self.is_gone:
            await self.kill_supervisor()

    @property
    def has_stopped_supervisor(self) -> bool:
        return self.supervisor_stops > MAX_STOPS

    def resume_supervisor(self) -> None:
        if not self.is_gone and self._supervisor_exists() and resume(self.supervisor):
            self.supervisor_stops += 1

    def _supervisor_exists(self) -> bool:
        """Whether the process with the supervisor's id is still the supervisor."""
        return start_ticks_of(self.supervisor) == self._supervisor_start

    async def kill_supervisor(self) -> None:
        # everything that the program has started descends from the supervisor as long as the supervisor exists
        if not self.is_gone and self._supervisor_exists():
            await trio.to_thread.run_sync(kill_with_descendants, self.supervisor)

    def _send(self, command: bytes) -> None:
        with contextlib.suppress(OSError):  # the supervisor is gone
            self._control.send(command)

    async def wait(self) -> None:
        while self.returncode is None:
            await self._receive_report()

    async def wait_for_children(self) -> None:
        with trio.move_on_after(REPORT_TIMEOUT):
            while not self.is_gone and not self.leftovers:
                await self._receive_report()
            return
        await self.kill_supervisor()

    async def end(self) -> None:
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
                # The supervisor was killed. The fork server kills what was below it; the session is killed here.
                await trio.to_thread.run_sync(self._resume_fork_server)
                deadline = trio.current_time() + KILL_TIMEOUT
                while (running := still_running(session_members(self.pid))) and trio.current_time() < deadline:
                    kill_by_ids(running)
                    await trio.sleep(POLL_INTERVAL)
                if self.returncode is None:
                    self.returncode = -signal.SIGKILL
                self.survivors = running
                self.is_gone = True
                return
            self._buffer += data
        line, _, self._buffer = self._buffer.partition(b"\n")
        try:
            report = json.loads(line)
            self.cpu_seconds = float(report.get("cpu", self.cpu_seconds))
            self.peak_memory = int(report.get("peak", self.peak_memory))
            self.returncode = int(report["exit"]) if "exit" in report else self.returncode
            self.leftovers = tuple(ProcessInfo(int(pid), str(name)) for pid, name in report.get("left", ()))
            if report.get("gone") is False:  # the supervisor still exists, and so its descendants can be found
                self.survivors = still_running(self.find_all())
            self.is_gone = "gone" in report
        except (ValueError, TypeError, AttributeError, OverflowError, RecursionError):
            await self.kill_supervisor()  # its program has written to its socket


def kill_with_descendants(supervisor: int) -> None:
    """Kill a supervisor after everything below it, without its help. Blocks for a moment."""
    kill_all(lambda: find_descendants(supervisor), lambda: True)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(supervisor, signal.SIGKILL)


_FORK_SERVER: Final = ForkServer()
atexit.register(_FORK_SERVER.close)
