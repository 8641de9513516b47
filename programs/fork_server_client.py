"""The match's side of the fork server (programs/supervision/fork_server.py), which starts supervised programs.

Invariants: the fork server is started with the first program, once for this process, and ends with this process. If it
is gone, a new one is started for the next program. Every wait for the fork server or a supervisor has a time limit: a
process that does not answer in time is killed, which works on stopped processes as well, and everything below a
supervisor is killed before the supervisor. `start_supervised_process` returns None on
a Linux that cannot have supervisors. Other systems do not import this file.
"""

from __future__ import annotations

import sys

assert sys.platform == "linux"  # before the imports, which other platforms lack

import atexit
import contextlib
import json
import os
import socket
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar

from spielleiter.common.errors import SupervisorError
from spielleiter.common.own_python import own_python
from spielleiter.programs.process_spec import ProcessSpec
from spielleiter.programs.processes import resume
from spielleiter.programs.supervised_process import SupervisedProcess, kill_with_descendants
from spielleiter.programs.supervision.messages import HEAD, READY
from spielleiter.programs.supervision.process_tree import KILL_TIMEOUT

_T = TypeVar("_T")

_LAUNCH: Final = "import sys; sys.path.append(sys.argv[1]); from supervision.fork_server import main; main()"
FORK_SERVER_COMMAND: Final = [*own_python(), "-I", "-S", "-c", _LAUNCH, str(Path(__file__).absolute().parent)]
"""The command line of the fork server.

-I and -S keep the current directory and site-packages off the import path. The folder with the package `supervision`
comes last on it, so that no module of that folder can be imported in place of the standard library's.
"""
_VARIABLES: Final = ("LD_LIBRARY_PATH", "LANG", "LC_ALL", "LC_CTYPE")
"""What this Python needs to start, and to encode names as here. A program can read what a supervisor has."""
_RESUME_AFTER: Final = 1.0  # seconds without an answer after which a process may have been stopped
_MAX_RESUMES: Final = 5
_ANSWER_TIMEOUT: Final = 60.0  # seconds without an answer after which a process is given up


def start_supervised_process(spec: ProcessSpec) -> SupervisedProcess | None:
    """Start a program with a supervisor; None if this system has no supervisors. Blocks for a moment.

    Raises OSError or ValueError if the program cannot be started, SupervisorError if the fork server does not answer.
    """
    return _FORK_SERVER.start(spec)


class ForkServer:
    """A handle on the fork server; may be used from any thread."""

    def __init__(self) -> None:
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
            self._close_if_current(process)  # somebody killed it; a new one is started
        raise SupervisorError("the process that starts programs was stopped or ended, and so was a new one")

    def _open(self) -> subprocess.Popen[bytes] | None:
        """Return the process, started now if necessary; None if this system cannot run it. Raises SupervisorError."""
        with self._lock:
            if self._socket is None and self._is_possible:
                ours, theirs = socket.socketpair()
                with theirs:
                    self._process = subprocess.Popen(  # noqa: S603 - our own code
                        FORK_SERVER_COMMAND,
                        stdin=theirs.fileno(),
                        stdout=subprocess.DEVNULL,
                        cwd="/",
                        env={name: os.environ[name] for name in _VARIABLES if name in os.environ},
                        start_new_session=True,  # Ctrl+C in the terminal is meant for the match
                    )
                self._socket = ours
                answer = _receive_patiently(ours, self._process.pid, lambda: ours.recv(1))
                if answer is None:
                    self._close()
                    raise SupervisorError("the process that starts programs does not answer")
                self._is_possible = answer == READY
                ours.settimeout(_ANSWER_TIMEOUT)
            if not self._is_possible:
                self._close()
            return self._process

    def resume(self) -> None:
        """Resume the process if it was stopped."""
        with self._lock:
            if self._process is not None:
                resume(self._process.pid)

    def close(self) -> None:
        """End the process; supervisors stay until their programs end."""
        with self._lock:
            self._close()

    def _close_if_current(self, process: subprocess.Popen[bytes]) -> None:
        """End this process, unless another thread has done so and there is a new one."""
        with self._lock:
            if self._process is process:
                self._close()

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
            answer = _receive_answer(ours, process.pid)
            if answer is None:
                return None
            if "failed" in answer:
                number = answer["errno"]
                raise ValueError(answer["failed"]) if number is None else OSError(number, os.strerror(number))
            # from here on, the streams belong to the SupervisedProcess
            return SupervisedProcess(
                socket.socket(fileno=ours.detach()),
                open(os.dup(out.fileno()), "rb", 0),  # noqa: PTH123
                open(os.dup(error.fileno()), "rb", 0),  # noqa: PTH123
                answer["pid"],
                answer["supervisor"],
                self.resume,
            )


def _receive_answer(control: socket.socket, fork_server: int) -> dict[str, Any] | None:
    """Return what is reported about a program's start, with its supervisor's id; None if nothing is.

    Raises ValueError if the program keeps its supervisor from answering.
    """
    forwarded = _receive_patiently(control, fork_server, lambda: _receive_line(control))
    if forwarded is None:
        return None
    pid = forwarded["supervisor"]
    started = _receive_patiently(control, pid, lambda: _receive_line(control) or {})
    if started is None:
        kill_with_descendants(pid)
        raise ValueError("it stopped the process that watches over it, and was ended")
    return {**forwarded, **started} if started else None


def _receive_patiently(sock: socket.socket, pid: int, receive: Callable[[], _T]) -> _T | None:
    """Return what `receive` reads from process `pid` on `sock`, or None if there is no answer in time.

    The process is resumed if somebody has stopped it.
    """
    deadline, resumes = time.monotonic() + _ANSWER_TIMEOUT, 0
    sock.settimeout(_RESUME_AFTER)
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


_FORK_SERVER: Final = ForkServer()
atexit.register(_FORK_SERVER.close)
