"""The process that starts a program inside a sandbox, and stays until the program has ended.

`match/sandbox/control.py` is its other side. The command line has a mode ("first" or "below"), the path of a Unix
socket, and the host and port that the server is to listen on inside the sandbox (empty and 0 for none). What is sent:

1. this process sends one byte together with descriptors: the listening socket, and the network counters of the kernel;
2. it receives a JSON object in one line: how to start the program, and its limits;
3. it sends JSON objects, one a line: ``started`` or ``failed`` and ``errno``; at the end ``exit``, ``cpu`` (seconds),
   ``peak`` (bytes), ``killed`` (whether the program exceeded its memory) and ``left`` (names of processes).

Invariants: this file imports the standard library alone, since nothing else is inside a sandbox. If the other end of
the socket is closed, everything ends. In the mode "first" this process is the first one of a process name space:
nothing inside can kill it, and everything inside ends with it. In the mode "below" the supervisor kills what is left.
"""

from __future__ import annotations

import sys

assert sys.platform == "linux"  # before the imports, which other platforms lack

import contextlib
import json
import os
import resource
import select
import signal
import socket
import subprocess
import time
from collections.abc import Iterable, Mapping
from typing import Any, Final

COUNTER_FILES: Final = ("/proc/net/snmp", "/proc/net/snmp6")
"""The network counters, in the order of their descriptors; a file that does not exist is left out."""

_FIRST: Final = "first"
_BACKLOG: Final = 16
_SAMPLE_INTERVAL: Final = 0.05  # seconds between two looks at the memory
_CHILD_EXIT_TIMEOUT: Final = 0.5  # seconds that children of the program have to end after it
_POLL_INTERVAL: Final = 0.01  # seconds
_MAX_NAMED: Final = 20  # processes that are named when they outlive the program
_READ_SIZE: Final = 65536
_KIBIBYTE: Final = 1024
_SET_CHILD_SUBREAPER: Final = 36  # <linux/prctl.h>
_OOM_FILES: Final = ("/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control")
_PROC: Final = "/proc"


def main() -> None:
    """Serve one program."""
    mode, path, host, port = sys.argv[1:5]
    control = connect(path)
    if mode != _FIRST:
        _become_subreaper()
    hand_out_descriptors(control, host, int(port))
    options = _receive_options(control)
    if options is not None:
        code = Program(control, options, is_first=mode == _FIRST).run()
        os._exit(code if code >= 0 else 128 - code)


def connect(path: str) -> socket.socket:
    """Return a connection to a Unix socket, whose path may be longer than the system's limit."""
    folder, _, name = path.rpartition("/")
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        sock = socket.socket(socket.AF_UNIX)
        sock.connect(f"{_PROC}/self/fd/{descriptor}/{name}")
    finally:
        os.close(descriptor)
    return sock


def hand_out_descriptors(control: socket.socket, host: str, port: int) -> None:
    """Send a listening socket of this network and its counters; only a byte if there is no `host`."""
    descriptors: list[int] = []
    if host:
        listener = socket.socket()
        listener.bind((host, port))
        listener.listen(_BACKLOG)
        descriptors.append(listener.detach())
        for name in COUNTER_FILES:
            with contextlib.suppress(OSError):
                descriptors.append(os.open(name, os.O_RDONLY))
    if descriptors:
        socket.send_fds(control, [b"1"], descriptors)
    else:
        control.sendall(b"1")
    for descriptor in descriptors:
        os.close(descriptor)


def _receive_options(control: socket.socket) -> dict[str, Any] | None:
    data = b""
    while not data.endswith(b"\n"):
        more = control.recv(_READ_SIZE)
        if not more:
            return None
        data += more
    options: dict[str, Any] = json.loads(data)
    return options


class Program:
    """The program, from its start to its end; `options` is the object received on `control`."""

    def __init__(self, control: socket.socket, options: Mapping[str, Any], *, is_first: bool) -> None:
        self._control = control
        self._options = options
        self._is_first = is_first
        self._pid = 0
        self._code: int | None = None
        self._peak = 0
        self._was_killed = False
        self._is_terminated = False
        self._wakeup, writing = socket.socketpair()
        for sock in (self._wakeup, writing):
            sock.setblocking(False)
        signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
        signal.signal(signal.SIGTERM, self._terminate)
        signal.set_wakeup_fd(writing.detach(), warn_on_full_buffer=False)

    def run(self) -> int:
        """Start the program and stay until its end; return its exit code, negative for a signal."""
        try:
            self._start()
        except (OSError, ValueError) as error:
            self._send(failed=str(error), errno=getattr(error, "errno", None))
            return 127
        self._send(started=self._pid)
        poll = select.poll()
        poll.register(self._control, select.POLLIN)
        poll.register(self._wakeup, select.POLLIN)
        while self._code is None:
            for descriptor, _ in poll.poll(1000 * _SAMPLE_INTERVAL):
                if descriptor == self._control.fileno():  # nothing more is ever sent: the other end is closed
                    self._kill()
                    return -signal.SIGKILL
            with contextlib.suppress(BlockingIOError):
                self._wakeup.recv(_READ_SIZE)
            self._reap()
            self._check_memory()
        self._report()
        return self._code

    def _start(self) -> None:
        core, before = self._options["core"], os.sched_getaffinity(0)
        if core is not None:
            with contextlib.suppress(OSError):
                os.sched_setaffinity(0, {core})
        popen = subprocess.Popen(  # noqa: S603 - running the user's program is the purpose
            self._options["arguments"],
            cwd=self._options["cwd"],
            env=self._environment(),
            start_new_session=True,
        )
        os.sched_setaffinity(0, before)
        popen.returncode = 0  # _reap waits for the process; the Popen object must not
        self._pid = popen.pid
        if self._is_terminated:  # before its id was known
            self._terminate()

    def _environment(self) -> dict[str, str]:
        """Return the sandbox's variables without the hidden ones, and those for the program."""
        hidden = set(self._options["hidden"])
        visible = {name: value for name, value in _initial_environment().items() if name.upper() not in hidden}
        return {**visible, **self._options["environment"]}

    def _reap(self) -> None:
        with contextlib.suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                if ended[0] == self._pid:
                    self._code = os.waitstatus_to_exitcode(ended[1])

    def _terminate(self, *_: object) -> None:
        """Pass SIGTERM on to the program and its process group, as soon as it has been started."""
        self._is_terminated = True
        if self._pid and self._code is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._pid, signal.SIGTERM)

    def _kill(self) -> None:
        for pid in self._pids():
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)

    def _pids(self) -> list[int]:
        """The ids of the program and everything that it has started."""
        if self._is_first:
            return [pid for pid, _ in _processes() if pid != os.getpid()]
        children: dict[int, list[int]] = {}
        for pid, parent in _processes():
            children.setdefault(parent, []).append(pid)
        found, pending = [], [os.getpid()]
        while pending:
            below = children.get(pending.pop(), [])
            found += below
            pending += below
        return found

    # -- memory -----------------------------------------------------------------------------------------------------

    def _check_memory(self) -> None:
        """Note how much memory is in use; kill everything if it is more than the limit."""
        pids, limit = self._pids(), self._options["memory"]
        size = sum(map(_resident_size, pids))
        if limit is not None and size > limit:  # counts pages twice that several processes share
            size = sum(map(_proportional_size, pids))
            if size > limit and not self._was_killed:
                self._was_killed = True
                self._kill()
        self._peak = max(self._peak, size)

    # -- the end ----------------------------------------------------------------------------------------------------

    def _report(self) -> None:
        deadline = time.monotonic() + _CHILD_EXIT_TIMEOUT
        while (left := self._pids()) and time.monotonic() < deadline and not self._was_killed:
            time.sleep(_POLL_INTERVAL)
            self._reap()
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        self._send(
            exit=self._code,
            cpu=usage.ru_utime + usage.ru_stime,
            peak=max(self._peak, usage.ru_maxrss * _KIBIBYTE),
            killed=self._was_killed or (self._options["cgroup"] and _has_oom_kill()),
            left=[] if self._was_killed else [_process_name(pid) for pid in left[:_MAX_NAMED]],
        )

    def _send(self, **facts: Any) -> None:
        with contextlib.suppress(OSError):  # the other end is closed
            self._control.sendall(json.dumps(facts).encode() + b"\n")


def _processes() -> Iterable[tuple[int, int]]:
    """Yield the id and the parent's id of each process that has not ended."""
    for name in os.listdir(_PROC):  # noqa: PTH208 - pathlib takes time to load
        if name.isdecimal():
            with contextlib.suppress(OSError, IndexError, ValueError):
                with open(f"{_PROC}/{name}/stat", "rb") as file:  # noqa: PTH123
                    fields = file.read().rpartition(b")")[2].split()
                if fields[0] not in {b"Z", b"X"}:
                    yield int(name), int(fields[1])


def _resident_size(pid: int) -> int:
    """Return the bytes in memory that are not those of a file; 0 if the process is gone."""
    return _sum_of(f"{_PROC}/{pid}/status", (b"RssAnon:", b"RssShmem:"))


def _proportional_size(pid: int) -> int:
    """Return the same size, with pages that several processes share divided among them. This takes longer."""
    size = _sum_of(f"{_PROC}/{pid}/smaps_rollup", (b"Pss_Anon:", b"Pss_Shmem:"))
    return size or _resident_size(pid)


def _sum_of(path: str, names: tuple[bytes, ...]) -> int:
    with contextlib.suppress(OSError), open(path, "rb") as file:  # noqa: PTH123
        return sum(int(line.split()[1]) * _KIBIBYTE for line in file if line.startswith(names))
    return 0


def _has_oom_kill() -> bool:
    """Return whether the kernel has killed a process of this container because of its memory."""
    for path in _OOM_FILES:
        with contextlib.suppress(OSError), open(path, "rb") as file:  # noqa: PTH123
            return any(line.split()[0] == b"oom_kill" and int(line.split()[1]) > 0 for line in file)
    return False


def _process_name(pid: int) -> str:
    with contextlib.suppress(OSError), open(f"{_PROC}/{pid}/cmdline", "rb") as file:  # noqa: PTH123
        return file.read().split(b"\0")[0].decode(errors="replace").rpartition("/")[2] or "?"
    return "?"


def _initial_environment() -> dict[str, str]:
    """Return the environment that this process was started with; Python may have added a variable to it."""
    try:
        with open(f"{_PROC}/self/environ", "rb") as file:  # noqa: PTH123
            entries = file.read().split(b"\0")
    except OSError:
        return dict(os.environ)
    pairs = (os.fsdecode(entry).partition("=") for entry in entries if b"=" in entry)
    return {name: value for name, _, value in pairs}


def _become_subreaper() -> None:
    """Become the parent of every orphan among the descendants, so that their memory is counted."""
    with contextlib.suppress(ImportError, OSError):
        import ctypes

        ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


if __name__ == "__main__":
    main()
