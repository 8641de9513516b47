"""The fork server and the supervisors: the processes that start programs on Linux and see to their end.

linux.py starts the fork server, which forks one supervisor for each program. A supervisor is the child subreaper of its
program, so everything that the program starts stays below it, in any session and with any environment. The fork server
is the subreaper of all supervisors: if one is killed, everything below it is killed at once.

The fork server is there before the first program, so no program can look into it or into a supervisor: both are hidden
from programs of the same user from their first instant on.

This file is also run as a script, and imports the standard library alone: so it starts quickly, and is cheap to fork.

The match sends requests to the fork server: a JSON object, preceded by its length, with file descriptors, which are the
supervisor's end of the socket for this program, the program's standard output and standard error, and its standard
input if it is to have one. On the socket for the program, the match receives one JSON object per line, in this order:

- ``supervisor``: the supervisor's process id; sent by the fork server;
- ``pid``: the program has been started; or ``failed`` and ``errno``: it could not be started;
- ``exit``, ``cpu``, ``peak``: the program has ended, with its processor time in seconds and its peak memory in bytes;
- ``left``: the ids and names of processes that outlived it;
- ``gone``: whether nothing of it is left, with the total processor time as ``cpu``.

The match sends single bytes on that socket: TERMINATE and KILL. Once it closes the socket, the program and everything
below the supervisor is killed.
"""

from __future__ import annotations

import sys

assert sys.platform == "linux"  # before the imports, which other platforms lack

import contextlib
import gc
import json
import os
import resource
import select
import signal
import socket
import struct
import subprocess
import time
from collections.abc import Callable, Iterable
from typing import Any, Final

HEAD: Final = struct.Struct("!I")
"""The length of a request."""
READY: Final = b"1"
"""Sent by the fork server once it accepts requests."""
TERMINATE: Final = b"T"
"""Ask the program and its process group to end."""
KILL: Final = b"K"
"""Kill the program and everything below the supervisor."""
KILL_TIMEOUT: Final = 5.0
"""Seconds after which killing processes is given up."""

READ_SIZE: Final = 4096
_MAX_DESCRIPTORS: Final = 4
_CHILD_EXIT_TIMEOUT: Final = 0.5  # seconds that children of a program have to end after it
_MAX_NAMED: Final = 20  # processes that are named when they outlive their program
_POLL_INTERVAL: Final = 0.005  # seconds between two searches for processes that were killed
_SET_DUMPABLE: Final = 4  # <linux/prctl.h>
_SET_CHILD_SUBREAPER: Final = 36
_PROC: Final = "/proc"
_THREAD_COUNT: Final = 17  # index of the number of threads in /proc/PID/stat, counted from the state


# -- process trees ---------------------------------------------------------------------------------------------


def find_descendants(root: int, excluded: Iterable[int] = ()) -> list[int]:
    """Return the ids of all processes below `root`, parents first.

    The processes in `excluded` and everything below them are left out, and those that have ended. A process cannot
    forge its descent, nor escape from it if `root` is a child subreaper. Reads one file for every process of this
    machine.
    """
    children: dict[int, list[int]] = {}
    for name in os.listdir(_PROC):  # noqa: PTH208 - pathlib is not needed here, and takes time to load
        if name.isdecimal():
            with contextlib.suppress(OSError, IndexError, ValueError):
                with open(f"{_PROC}/{name}/stat", "rb") as file:  # noqa: PTH123
                    fields = file.read().rpartition(b")")[2].split()
                # a process whose first thread has ended lives on if it has other threads
                if fields[0] not in {b"Z", b"X"} or int(fields[_THREAD_COUNT]) > 1:
                    children.setdefault(int(fields[1]), []).append(int(name))
    skipped, found = set(excluded), []
    pending = [root]
    while pending:
        for pid in children.get(pending.pop(), ()):
            if pid not in skipped:
                found.append(pid)
                pending.append(pid)
    return found


def kill_all(find: Callable[[], list[int]], reap: Callable[[], bool], timeout: float = KILL_TIMEOUT) -> bool:
    """Kill the processes that `find` returns until there are none left.

    A search may overlook a process whose parent ends during the search, so an empty result alone proves nothing: `reap`
    must also confirm that nothing is left. All processes are stopped before the first one is killed, so that none of
    them can start another one in between.

    Returns whether everything is gone; False after `timeout` seconds.
    """
    deadline = time.monotonic() + timeout
    while True:
        stopped: list[int] = []
        while new := [pid for pid in find() if pid not in stopped]:
            send_signal(new, signal.SIGSTOP)
            stopped += new
            if time.monotonic() > deadline:
                break
        send_signal(stopped, signal.SIGKILL)
        if reap() and not stopped:
            return True
        if time.monotonic() > deadline:
            return False
        time.sleep(_POLL_INTERVAL)


def send_signal(pids: Iterable[int], number: signal.Signals) -> None:
    """Send a signal to each of these processes; skip those that are gone or belong to another user."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def _become_subreaper() -> None:
    """Make this process the parent of every orphan among its descendants. Raises OSError.

    From now on, programs of the same user can neither read its memory nor take its open files, nor those of the
    processes that it forks.
    """
    import ctypes  # the match imports this module without calling this function

    libc = ctypes.CDLL(None)
    libc.prctl(_SET_DUMPABLE, 0, 0, 0, 0)
    if libc.prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError("PR_SET_CHILD_SUBREAPER is not possible")


def _open_child_wakeup() -> socket.socket:
    """Return a non-blocking socket that becomes readable when a child of this process ends."""
    reading, writing = socket.socketpair()
    reading.setblocking(False)
    writing.setblocking(False)
    signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
    signal.set_wakeup_fd(writing.detach(), warn_on_full_buffer=False)
    return reading


def _drain(sock: socket.socket) -> None:
    """Discard everything that can be read from a non-blocking socket."""
    with contextlib.suppress(BlockingIOError):
        while sock.recv(READ_SIZE):
            pass


# -- a supervisor ----------------------------------------------------------------------------------------------


class _Supervisor:
    """The supervision of one program; `control` is the socket to the match."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._program = 0
        self._has_ended = False
        self._cpu_seconds = 0.0
        self._has_children = True
        _become_subreaper()
        self._wakeup = _open_child_wakeup()

    def run(self, options: dict[str, Any], stdout: int, stderr: int, stdin: int | None = None) -> bool:
        """Start a program and stay until its end; return whether nothing of it is left."""
        try:
            if options["cores"]:
                os.sched_setaffinity(0, options["cores"])
            memory = options["memory"]
            popen = subprocess.Popen(  # noqa: S603 - running the user's program is the purpose
                options["arguments"],
                stdin=subprocess.DEVNULL if stdin is None else stdin,
                stdout=stdout,
                stderr=stderr,
                cwd=options["cwd"],
                env=options["environment"],
                start_new_session=True,
                # this process has one thread
                preexec_fn=(lambda: resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))) if memory else None,  # noqa: PLW1509
            )
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
        is_empty = not self._has_children or kill_all(lambda: find_descendants(os.getpid()), self._reap)
        if not self._has_ended:  # the process survives even SIGKILL
            self._report(exit=-signal.SIGKILL, cpu=self._cpu_seconds, peak=0)
        self._report(gone=is_empty, cpu=self._cpu_seconds)
        return is_empty

    def wait_for_close(self) -> None:
        """Wait until the match closes the socket: until then it may look for the descendants of this process."""
        with contextlib.suppress(OSError):
            self._control.setblocking(True)
            while self._control.recv(READ_SIZE):
                pass

    def _watch(self) -> None:
        """Return once nothing is left of the program, or what is left has to be killed."""
        self._control.setblocking(False)
        poll = select.poll()
        poll.register(self._control, select.POLLIN)
        poll.register(self._wakeup, select.POLLIN)
        deadline: float | None = None
        while True:
            poll.poll(None if deadline is None else max(0.0, 1000 * (deadline - time.monotonic())))
            _drain(self._wakeup)
            self._reap()
            if self._has_ended and not self._has_children:
                return
            if deadline is None and self._has_ended:
                deadline = time.monotonic() + _CHILD_EXIT_TIMEOUT
            try:
                command = self._control.recv(1)
            except BlockingIOError:
                command = None
            except ConnectionResetError:
                command = b""
            if command == TERMINATE:
                if not self._has_ended:
                    with contextlib.suppress(ProcessLookupError, PermissionError):
                        os.killpg(self._program, signal.SIGTERM)
            elif command is not None:  # KILL, or the socket is closed
                return
            if deadline is not None and time.monotonic() >= deadline:
                left = find_descendants(os.getpid())[:_MAX_NAMED]
                self._report(left=[[pid, _process_name(pid)] for pid in left])
                return

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


def _process_name(pid: int) -> str:
    """Return the file name of the program that a process runs, ``?`` if it is unknown."""
    try:
        with open(f"{_PROC}/{pid}/cmdline", "rb") as file:  # noqa: PTH123
            return file.read().split(b"\0")[0].decode(errors="replace").rpartition("/")[2] or "?"
    except OSError:
        return "?"


# -- the fork server -------------------------------------------------------------------------------------------


def main() -> None:
    """Serve the requests that arrive on the socket that is standard input, until its other end is closed.

    Supervisors outlive this process.
    """
    _become_subreaper()
    gc.disable()
    gc.freeze()  # memory pages that are never written to are not copied for each supervisor
    requests = socket.socket(fileno=0)
    wakeup = _open_child_wakeup()
    supervisors: set[int] = set()

    def reap() -> bool:
        """Wait for children that have ended; return whether one of them was a supervisor that failed or was killed."""
        has_failed = False
        with contextlib.suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                pid, status = ended
                if pid in supervisors:
                    supervisors.remove(pid)
                    has_failed |= status != 0
        return has_failed

    try:
        requests.sendall(READY)
    except BrokenPipeError:  # the match has ended already
        return
    while True:
        poll = select.poll()
        poll.register(requests, select.POLLIN)
        poll.register(wakeup, select.POLLIN)
        readable = {descriptor for descriptor, _ in poll.poll()}
        _drain(wakeup)
        if reap():  # what was below the killed supervisor is now below this process
            kill_all(lambda: find_descendants(os.getpid(), supervisors), lambda: not reap())
        if requests.fileno() in readable:
            data, descriptors, _, _ = socket.recv_fds(requests, HEAD.size, _MAX_DESCRIPTORS)
            if not data:
                signal.set_wakeup_fd(-1)
                send_signal(supervisors, signal.SIGCONT)  # a program may have stopped them
                return
            data += _receive_exactly(requests, HEAD.size - len(data))
            options = _receive_exactly(requests, HEAD.unpack(data)[0])
            # without a process, or if the match is gone, the match notices that the program's socket is closed
            with contextlib.suppress(OSError):
                waiting, begin = os.pipe()
                pid = os.fork()
                if not pid:
                    os.close(begin)
                    requests.close()  # an inherited copy would keep the connection open after the fork server ends
                    if not os.read(waiting, 1):  # the match has given the program up
                        os._exit(0)
                    os.close(waiting)
                    _supervise(options, *descriptors)
                supervisors.add(pid)
                os.close(waiting)
                try:
                    # first of all, so that the match can resume it if a program stops it
                    os.write(descriptors[0], json.dumps({"supervisor": pid}).encode() + b"\n")
                    os.write(begin, b"1")
                finally:
                    os.close(begin)
            for descriptor in descriptors:
                os.close(descriptor)


def _supervise(options: bytes, control: int, *streams: int) -> None:
    """Supervise a program in a process that was just forked. Never returns.

    Exits with code 0, or with 1 if something of the program may be left; the fork server then kills that.
    """
    code = 1
    try:
        supervisor = _Supervisor(socket.socket(fileno=control))
        is_empty = supervisor.run(json.loads(options), *streams)
        supervisor.wait_for_close()
        code = 0 if is_empty else 1
    finally:
        os._exit(code)


def _receive_exactly(sock: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        more = sock.recv(size - len(data))
        if not more:
            sys.exit(0)
        data += more
    return data


if __name__ == "__main__":
    main()
