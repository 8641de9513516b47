"""The process that starts programs, each with a keeper: a child of this process that outlives all the program starts.

Linux only. match/programs/kept_process.py runs this file with a socket for standard input and speaks with it. It
imports nothing but the standard library, so that starting it costs little and forking it costs next to nothing.

Invariants: a keeper is the "child subreaper" of one program, so whatever the program starts stays below that keeper,
with any environment and in any session. A keeper has one program at a time. It is given another one if it is told to,
nothing of the program is left, and its own state (limits, priority) is what it was; otherwise it ends with its program.
Once the other end of its socket is closed, it ends the program and everything below it. If a keeper itself is killed,
what it kept is ended at once. Keepers are used again because most of what a new one costs is copying memory.

A request is a JSON object, preceded by its length, with descriptors: the keeper's own socket, the program's standard
output and standard error, and its standard input if it is to have one. On the keeper's socket comes a line of JSON for
each of: which keeper it is, the program's start, its end, what outlived it, and that nothing is left. It reads bytes:
T (ask the program to end), K (end everything), R (this keeper may be used again). When it can be given another program,
it tells the process that it comes from by a byte.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any, Final

HEAD: Final = struct.Struct("!I")
READY: Final = b"1"
TERMINATE: Final = b"T"
KILL: Final = b"K"
REUSE: Final = b"R"

FAREWELL: Final = 0.5
"""Seconds in which children may end that outlive their parent."""
KILLED: Final = 5.0
"""Seconds after which we no longer believe that a kill works."""

_SET_CHILD_SUBREAPER: Final = 36  # <linux/prctl.h>
_PROC: Final = "/proc"
_INHERITED: Final = ("/proc/self/limits", "/proc/self/oom_score_adj", "/proc/self/cgroup")
_THREADS: Final = 17  # where a process's stat says how many it has, counted from its state
_DESCRIPTORS: Final = 4  # at most
_MOST_NAMED: Final = 20
_READ: Final = 4096
_PAUSE: Final = 0.005  # seconds between two looks at processes that were killed


def become_subreaper() -> None:
    """Be the parent of every orphan among this process's descendants. Raises OSError."""
    if _libc().prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError("PR_SET_CHILD_SUBREAPER is not possible")


@cache
def _libc() -> Any:
    import ctypes  # by the process that keepers come from, and by nobody else

    return ctypes.CDLL(None)


def descendants(root: int, beside: Iterable[int] = ()) -> list[int]:
    """The ids of all processes below `root`, but not of `beside` and what is below those; parents come first.

    Reads a file of every process of this machine. What has ended and was not waited for is not among them.
    """
    children: dict[int, list[int]] = {}
    for name in os.listdir(_PROC):  # noqa: PTH208 - pathlib is not needed here, and takes time to load
        if name.isdecimal():
            with contextlib.suppress(OSError, IndexError, ValueError):
                with open(f"{_PROC}/{name}/stat", "rb") as file:  # noqa: PTH123
                    words = file.read().rpartition(b")")[2].split()
                # the first thread of a process may have ended before the others
                if words[0] not in {b"Z", b"X"} or int(words[_THREADS]) > 1:
                    children.setdefault(int(words[1]), []).append(int(name))
    left_out, found = set(beside), []
    waiting = [root]
    while waiting:
        for pid in children.get(waiting.pop(), ()):
            if pid not in left_out:
                found.append(pid)
                waiting.append(pid)
    return found


def end_processes(find: Callable[[], list[int]], reap: Callable[[], bool]) -> bool:
    """Kill what `find` finds until it finds nothing and `reap` says that nothing is left; False: something is.

    A process whose parent ends while it is looked for may be overlooked, so not to find any is not enough.
    All are stopped before any is killed, so that none can start another one meanwhile.
    """
    deadline = time.monotonic() + KILLED
    while True:
        stopped: list[int] = []
        while fresh := [pid for pid in find() if pid not in stopped]:
            _signal(fresh, signal.SIGSTOP)
            stopped += fresh
            if time.monotonic() > deadline:
                break
        _signal(stopped, signal.SIGKILL)
        if reap() and not stopped:
            return True
        if time.monotonic() > deadline:
            return False
        time.sleep(_PAUSE)


def _signal(pids: Iterable[int], number: signal.Signals) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def _name(pid: int) -> str:
    try:
        with open(f"{_PROC}/{pid}/cmdline", "rb") as file:  # noqa: PTH123
            return file.read().split(b"\0")[0].decode(errors="replace").rpartition("/")[2] or "?"
    except OSError:
        return "?"


def _wake_on_children() -> socket.socket:
    """A socket that can be read once a child has ended."""
    reading, writing = socket.socketpair()
    reading.setblocking(False)
    writing.setblocking(False)
    signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
    signal.set_wakeup_fd(writing.detach(), warn_on_full_buffer=False)
    return reading


def _drain(reading: socket.socket) -> None:
    with contextlib.suppress(BlockingIOError):
        while reading.recv(_READ):
            pass


class _Keeper:
    """Keeps one program; runs in a process of its own."""

    def __init__(self, control: socket.socket, wakeup: socket.socket) -> None:
        self._control = control
        self._wakeup = wakeup
        self._program = 0
        self._has_ended = False
        self._cpu_seconds = 0.0
        self._has_children = True

    def run(self, request: dict[str, Any], out: int, error: int, given: int | None = None) -> bool:
        """Stay with a program to its end; whether nothing of it is left."""
        try:
            if request["cores"]:
                os.sched_setaffinity(0, request["cores"])
            popen = self._start(request, out, error, given)
        except (OSError, ValueError) as problem:
            self._tell(failed=str(problem), errno=getattr(problem, "errno", None))
            return True
        except subprocess.SubprocessError:  # what is done between fork and exec has failed
            self._tell(failed="the memory limit cannot be set", errno=None)
            return True
        finally:
            for descriptor in (out, error) if given is None else (out, error, given):
                os.close(descriptor)
        popen.returncode = 0  # it is waited for here, and not by its object
        self._program = popen.pid
        self._tell(pid=popen.pid)
        self._stay()
        is_empty = not self._has_children or end_processes(self._find, self._reap)
        if not self._has_ended:  # not even a kill has ended it
            self._tell(exit=-signal.SIGKILL, cpu=self._cpu_seconds, peak=0)
        self._tell(gone=is_empty, cpu=self._cpu_seconds)
        return is_empty

    def see_off(self) -> bool:
        """Until nobody speaks to this keeper any more; whether it may be used again."""
        heard = b""
        with contextlib.suppress(OSError):
            self._control.setblocking(True)
            while data := self._control.recv(_READ):
                heard = data
        self._control.close()
        return heard.endswith(REUSE)

    def _start(self, request: dict[str, Any], out: int, error: int, given: int | None) -> subprocess.Popen[bytes]:
        memory = request["memory"]

        def limit_memory() -> None:
            import resource

            resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))

        return subprocess.Popen(  # noqa: S603 - to run it is what we are for
            request["arguments"],
            stdin=subprocess.DEVNULL if given is None else given,
            stdout=out,
            stderr=error,
            cwd=request["cwd"],
            env=request["environment"],
            start_new_session=True,
            preexec_fn=limit_memory if memory else None,  # noqa: PLW1509 - this process has one thread
        )

    def _stay(self) -> None:
        """Until nothing is left, or everything that is left is to be ended."""
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
                deadline = time.monotonic() + FAREWELL
            asked = self._asked()
            if asked == TERMINATE:
                self._terminate()
            elif asked is not None:
                return
            if deadline is not None and time.monotonic() >= deadline:
                self._tell(left=[[pid, _name(pid)] for pid in self._find()[:_MOST_NAMED]])
                return

    def _asked(self) -> bytes | None:
        """A byte that has come; empty bytes once the other end is closed."""
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

    def _find(self) -> list[int]:
        return descendants(os.getpid())

    def _reap(self) -> bool:
        """Take the status of every child that has ended; whether there is no other one."""
        try:
            while True:
                pid, status, usage = os.wait4(-1, os.WNOHANG)
                if not pid:
                    return False
                self._cpu_seconds += usage.ru_utime + usage.ru_stime
                if pid == self._program:
                    self._has_ended = True
                    code = os.waitstatus_to_exitcode(status)
                    self._tell(exit=code, cpu=self._cpu_seconds, peak=usage.ru_maxrss * 1024)
        except ChildProcessError:
            self._has_children = False
            return True

    def _tell(self, **facts: Any) -> None:
        with contextlib.suppress(OSError):  # nobody is there any more
            self._control.setblocking(True)
            self._control.sendall(json.dumps(facts).encode() + b"\n")
            self._control.setblocking(False)


class _KeeperHost:
    """The process that keepers come from."""

    def __init__(self, asking: socket.socket) -> None:
        self._asking = asking
        self._keepers: dict[int, socket.socket] = {}
        """All of them, with the socket that each is given its programs by."""
        self._idle: list[int] = []

    def run(self) -> None:
        wakeup = _wake_on_children()
        self._asking.sendall(READY)
        while True:
            poll = select.poll()
            for sock in (self._asking, wakeup, *self._keepers.values()):
                poll.register(sock, select.POLLIN)
            ready = {descriptor for descriptor, _ in poll.poll()}
            _drain(wakeup)
            for pid, sock in self._keepers.items():
                if sock.fileno() in ready and _has_byte(sock):
                    self._idle.append(pid)
            if self._reap():  # what it kept has come to us
                end_processes(lambda: descendants(os.getpid(), self._keepers), lambda: not self._reap())
            if self._asking.fileno() in ready:
                request = _receive(self._asking)
                if request is None:
                    self._end()
                    return
                self._hand_on(*request)
                for descriptor in request[1]:
                    os.close(descriptor)

    def _end(self) -> None:
        """End the keepers that have no program; the others stay with theirs."""
        signal.set_wakeup_fd(-1)
        _signal(self._idle, signal.SIGKILL)  # they keep nothing, and a program may have stopped them
        for sock in self._keepers.values():
            sock.close()
        _signal(self._keepers, signal.SIGCONT)
        for pid in self._idle:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, 0)

    def _hand_on(self, described: bytes, descriptors: list[int]) -> None:
        """Give a request to a keeper that has no program, or to a new one. Where none can be had, the asker sees its
        socket closed.
        """
        with contextlib.suppress(OSError):
            pid = self._idle.pop() if self._idle else self._new_keeper(descriptors)
            os.kill(pid, signal.SIGCONT)  # a program may have stopped it
            os.write(descriptors[0], json.dumps({"keeper": pid}).encode() + b"\n")  # so that it can be woken
            socket.send_fds(self._keepers[pid], [HEAD.pack(len(described)) + described], descriptors)

    def _new_keeper(self, foreign: Iterable[int]) -> int:
        ours, theirs = socket.socketpair()
        pid = os.fork()
        if not pid:
            for sock in (self._asking, ours, *self._keepers.values()):
                sock.close()  # or nobody would notice that the other end is closed
            for descriptor in foreign:
                os.close(descriptor)
            _keep(theirs)
        theirs.close()
        self._keepers[pid] = ours
        return pid

    def _reap(self) -> bool:
        """Take the status of what has ended; whether there was a keeper among it that did not end by itself."""
        was_killed = False
        with contextlib.suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                pid, status = ended
                sock = self._keepers.pop(pid, None)
                if sock is not None:
                    was_killed |= status != 0
                    sock.close()
                    if pid in self._idle:
                        self._idle.remove(pid)
        return was_killed


def _has_byte(sock: socket.socket) -> bool:
    with contextlib.suppress(OSError):
        return bool(sock.recv(1))
    return False


def _keep(asking: socket.socket) -> None:
    """Be a keeper, for one program after the other, until nobody asks any more. Never returns."""
    code = 1
    try:
        become_subreaper()
        cores, state = os.sched_getaffinity(0), _own_state()
        wakeup = _wake_on_children()
        while (request := _receive(asking)) is not None:
            described, (control, *others) = json.loads(request[0]), request[1]
            kept = _Keeper(socket.socket(fileno=control), wakeup)
            is_empty = kept.run(described, *others)
            may_go_on = kept.see_off()
            if not is_empty:
                return  # the process that it comes from ends what is left
            if described["cores"]:
                os.sched_setaffinity(0, cores)
            if not may_go_on or _own_state() != state:
                break
            asking.sendall(READY)
        code = 0
    finally:
        os._exit(code)


def _own_state() -> tuple[object, ...]:
    """What a program may change of the process that it comes from, and every program inherits."""
    return (os.getpriority(os.PRIO_PROCESS, 0), os.sched_getscheduler(0), *map(_content, _INHERITED))


def _content(path: str) -> bytes:
    try:
        with open(path, "rb") as file:  # noqa: PTH123
            return file.read()
    except OSError:  # a system without it
        return b""


def serve(asking: socket.socket) -> None:
    """Have a keeper for each request, until the other end is closed."""
    become_subreaper()
    gc.disable()
    gc.freeze()  # what nobody writes to is not copied for each keeper
    _KeeperHost(asking).run()


def _receive(asking: socket.socket) -> tuple[bytes, list[int]] | None:
    data, descriptors, _, _ = socket.recv_fds(asking, HEAD.size, _DESCRIPTORS)
    if not data:
        return None
    data += _exactly(asking, HEAD.size - len(data))
    return _exactly(asking, HEAD.unpack(data)[0]), descriptors


def _exactly(asking: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        more = asking.recv(size - len(data))
        if not more:
            sys.exit(0)
        data += more
    return data


if __name__ == "__main__":
    serve(socket.socket(fileno=0))
