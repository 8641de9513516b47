"""A supervisor: the process that starts one program and stays until nothing of it is left.

Invariants:

- A supervisor is the child subreaper of its program, so everything that the program starts stays below the supervisor,
  in any session and with any environment.
- It supervises one program at a time. It takes another one only if the match allows that, nothing of the last program
  is left, and its own state (limits, priority) is the same as at the start. Otherwise it ends with its program.
  Supervisors are reused because most of the cost of a new one is copying memory.
- Once the other end of the program's socket is closed, it kills the program and everything below it.
"""

from __future__ import annotations

import sys

assert sys.platform == "linux"  # before the imports, which other platforms lack

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import time
from typing import Any, Final

from .messages import READ_SIZE, READY, REUSE, TERMINATE, receive_request
from .process_tree import become_subreaper, find_descendants, kill_all, process_name
from .wakeup import drain, open_child_wakeup

CHILD_EXIT_TIMEOUT: Final = 0.5
"""Seconds that children of a program have to end after it."""

_INHERITED_STATE: Final = ("/proc/self/limits", "/proc/self/oom_score_adj", "/proc/self/cgroup")
_MAX_NAMED: Final = 20  # processes that are named when they outlive their program


def run_supervisor(requests: socket.socket) -> None:
    """Supervise one program after the other until `requests` is closed. Never returns.

    Exits with code 0, or with 1 if something of a program may be left; the fork server then kills that.
    """
    code = 1
    try:
        become_subreaper()
        cores, state = os.sched_getaffinity(0), _own_state()
        wakeup = open_child_wakeup()
        while (request := receive_request(requests)) is not None:
            options, (control, *streams) = json.loads(request[0]), request[1]
            supervision = _Supervision(socket.socket(fileno=control), wakeup)
            is_empty = supervision.run(options, *streams)
            may_be_reused = supervision.wait_for_close()
            if not is_empty:
                return  # the fork server kills what is left
            if options["cores"]:
                os.sched_setaffinity(0, cores)
            if not may_be_reused or _own_state() != state:
                break
            requests.sendall(READY)
        code = 0
    finally:
        os._exit(code)


def _own_state() -> tuple[object, ...]:
    """Return the state of this process that a program could change and the next program would inherit."""
    return (os.getpriority(os.PRIO_PROCESS, 0), os.sched_getscheduler(0), *map(_content, _INHERITED_STATE))


def _content(path: str) -> bytes:
    try:
        with open(path, "rb") as file:  # noqa: PTH123
            return file.read()
    except OSError:  # a system without this file
        return b""


class _Supervision:
    """The supervision of one program; `control` is the socket to the match."""

    def __init__(self, control: socket.socket, wakeup: socket.socket) -> None:
        self._control = control
        self._wakeup = wakeup
        self._program = 0
        self._has_ended = False
        self._cpu_seconds = 0.0
        self._has_children = True

    def run(self, options: dict[str, Any], stdout: int, stderr: int, stdin: int | None = None) -> bool:
        """Start a program and stay until its end; return whether nothing of it is left."""
        try:
            if options["cores"]:
                os.sched_setaffinity(0, options["cores"])
            popen = self._start(options, stdout, stderr, stdin)
        except (OSError, ValueError) as error:
            self._report(failed=str(error), errno=getattr(error, "errno", None))
            return True
        except subprocess.SubprocessError:  # preexec_fn has failed
            self._report(failed="the memory limit cannot be set", errno=None)
            return True
        finally:
            for descriptor in (stdout, stderr) if stdin is None else (stdout, stderr, stdin):
                os.close(descriptor)
        popen.returncode = 0  # _reap waits for the process; the Popen object must not
        self._program = popen.pid
        self._report(pid=popen.pid)
        self._watch()
        is_empty = not self._has_children or kill_all(self._find_descendants, self._reap)
        if not self._has_ended:  # the process survives even SIGKILL
            self._report(exit=-signal.SIGKILL, cpu=self._cpu_seconds, peak=0)
        self._report(gone=is_empty, cpu=self._cpu_seconds)
        return is_empty

    def wait_for_close(self) -> bool:
        """Wait until the match closes the socket; return whether this supervisor may be reused."""
        last = b""
        with contextlib.suppress(OSError):
            self._control.setblocking(True)
            while data := self._control.recv(READ_SIZE):
                last = data
        self._control.close()
        return last.endswith(REUSE)

    def _start(self, options: dict[str, Any], stdout: int, stderr: int, stdin: int | None) -> subprocess.Popen[bytes]:
        memory = options["memory"]

        def limit_memory() -> None:
            import resource

            resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))

        return subprocess.Popen(  # noqa: S603 - running the user's program is the purpose
            options["arguments"],
            stdin=subprocess.DEVNULL if stdin is None else stdin,
            stdout=stdout,
            stderr=stderr,
            cwd=options["cwd"],
            env=options["environment"],
            start_new_session=True,
            preexec_fn=limit_memory if memory else None,  # noqa: PLW1509 - this process has one thread
        )

    def _watch(self) -> None:
        """Return once nothing is left of the program, or what is left has to be killed."""
        self._control.setblocking(False)
        poll = select.poll()
        poll.register(self._control, select.POLLIN)
        poll.register(self._wakeup, select.POLLIN)
        deadline: float | None = None
        while True:
            poll.poll(None if deadline is None else max(0.0, 1000 * (deadline - time.monotonic())))
            drain(self._wakeup)
            self._reap()
            if self._has_ended and not self._has_children:
                return
            if deadline is None and self._has_ended:
                deadline = time.monotonic() + CHILD_EXIT_TIMEOUT
            command = self._receive_command()
            if command == TERMINATE:
                self._terminate()
            elif command is not None:  # KILL, or the socket is closed
                return
            if deadline is not None and time.monotonic() >= deadline:
                self._report(left=[[pid, process_name(pid)] for pid in self._find_descendants()[:_MAX_NAMED]])
                return

    def _receive_command(self) -> bytes | None:
        """Return a byte that has arrived, None if there is none, empty bytes once the other end is closed."""
        try:
            return self._control.recv(1)
        except BlockingIOError:
            return None
        except ConnectionResetError:
            return b""

    def _terminate(self) -> None:
        if not self._has_ended:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._program, signal.SIGTERM)

    def _find_descendants(self) -> list[int]:
        return find_descendants(os.getpid())

    def _reap(self) -> bool:
        """Wait for every child that has ended; return whether no other child is left."""
        try:
            while True:
                pid, status, usage = os.wait4(-1, os.WNOHANG)
                if not pid:
                    return False
                self._cpu_seconds += usage.ru_utime + usage.ru_stime
                if pid == self._program:
                    self._has_ended = True
                    code = os.waitstatus_to_exitcode(status)
                    self._report(exit=code, cpu=self._cpu_seconds, peak=usage.ru_maxrss * 1024)
        except ChildProcessError:
            self._has_children = False
            return True

    def _report(self, **facts: Any) -> None:
        with contextlib.suppress(OSError):  # the other end is closed
            self._control.setblocking(True)
            self._control.sendall(json.dumps(facts).encode() + b"\n")
            self._control.setblocking(False)
