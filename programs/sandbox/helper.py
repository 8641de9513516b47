"""The process that starts a program inside a sandbox, and stays until the program has ended.

`Control` (sandbox_run.py) is its other side. The command line has a mode ("first" or "below"), the path of a Unix
socket, and the host and port that the server is to listen on inside the sandbox (empty and 0 for none). What is sent:

1. this process sends one byte together with descriptors: the listening socket, and the network counters of the kernel;
2. it receives a JSON object in one line: how to start the program, and its limits;
3. it sends JSON objects, one a line: ``started`` or ``failed`` and ``errno``; at the end ``exit``, ``cpu`` (seconds),
   ``peak`` (bytes), ``killed`` (the limit that the program has exceeded: "memory", "processes" or "disk"; or empty),
   ``hidden`` (whether it has hidden open files or memory) and ``left`` (names of processes).

The limits are watched: twenty times a second memory and processes, and a little less often the disk. A program is
killed with everything that it has started as soon as it is seen to exceed one. Between two looks it may use more, so
the system limits the size of a file and, where it can, the number of processes (rlimits).

This file imports the standard library alone, since nothing else is inside a sandbox. If the other end of
the socket is closed, everything ends. In the mode "first" this process is the first one of a process name space:
nothing inside can kill it, and everything inside ends with it. In the mode "below" the supervisor kills what is left.
"""

from __future__ import annotations

import sys

assert sys.platform == "linux"  # before the imports, which other platforms lack

import contextlib
import errno
import json
import os
import resource
import select
import signal
import socket
import stat
import struct
import subprocess
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence

TYPE_CHECKING = False
if TYPE_CHECKING:  # it takes time to load
    from typing import Any, Final

COUNTER_FILES: Final = ("/proc/net/snmp", "/proc/net/snmp6")
"""The network counters, in the order of their descriptors; a file that does not exist is left out."""

_FIRST: Final = "first"
_BACKLOG: Final = 16
_SAMPLE_INTERVAL: Final = 0.05  # seconds between two looks at memory and processes
_FILES_INTERVAL: Final = 0.25  # seconds between two looks at the files
_UNSEEN_LOOKS: Final = 4  # looks at the files, one after the other, after which what is nowhere open is there to stay
_FILES_SHARE: Final = 0.005  # seconds for looking at files, in each interval between two looks at the memory
_FILES_AT_ONCE: Final = 50  # files that are looked at before the time is
_FILE_RESERVE: Final = 64 * 1024 * 1024  # bytes by which a file may exceed the limit, so that it is seen to do so
_PROCESS_RESERVE: Final = 32  # processes by which a program may exceed the limit, for the same reason
_BLOCK: Final = 512  # bytes of a block in `st_blocks`
_CHILD_EXIT_TIMEOUT: Final = 0.5  # seconds that children of the program have to end after it
_POLL_INTERVAL: Final = 0.01  # seconds
_MAX_NAMED: Final = 20  # processes that are named when they outlive the program
_READ_SIZE: Final = 65536
_KIBIBYTE: Final = 1024
_SET_DUMPABLE: Final = 4  # <linux/prctl.h>
_SET_CHILD_SUBREAPER: Final = 36
_OWN_PROCESS_COUNT: Final = (5, 14)  # the Linux from which on RLIMIT_NPROC counts for each user name space
OOM_FILES: Final = ("/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control")
_PROC: Final = "/proc"

# netlink, <linux/sock_diag.h>, <linux/inet_diag.h>, <linux/unix_diag.h>
_SOCK_DIAG: Final = 4
_HEAD: Final = struct.Struct("=IHHII")  # nlmsghdr
_DUMP_BY_FAMILY: Final = 20, 0x301  # SOCK_DIAG_BY_FAMILY; NLM_F_REQUEST and NLM_F_DUMP
_LAST_MESSAGES: Final = frozenset({2, 3})  # NLMSG_ERROR, NLMSG_DONE
_ALL_STATES: Final = 0xFFFFFFFF
_INET_REQUEST: Final = struct.Struct("=BBBBI48x")
_INET_MEMORY: Final = 1 << 6  # the extension INET_DIAG_SKMEMINFO
_INET_ANSWER: Final = 72, 7  # bytes before the attributes; INET_DIAG_SKMEMINFO
_UNIX_REQUEST: Final = struct.Struct("=BBHIII8x")
_UNIX_QUEUE: Final = 0x10  # UDIAG_SHOW_RQLEN
_UNIX_ANSWER: Final = 16, 4  # bytes before the attributes; UNIX_DIAG_RQLEN
_UNIX_BUFFER: Final = 256 * 1024  # bytes that a Unix socket with something to read may take, however little that is


def main() -> None:
    """Serve one program."""
    mode, path, host, port = sys.argv[1:5]
    control = connect(path)
    if mode == _FIRST:
        _prctl(_SET_DUMPABLE, 0)  # the program is the same user, and must not change what watches it
    else:
        _prctl(_SET_CHILD_SUBREAPER, 1)  # so that orphans among the descendants are found
    hand_out_descriptors(control, host, int(port))
    data = b""
    while not data.endswith(b"\n"):
        more = control.recv(_READ_SIZE)
        if not more:
            return
        data += more
    code = ConfinedProgram(control, json.loads(data), is_first=mode == _FIRST).run()
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


class ConfinedProgram:
    """The program, from its start to its end; `options` is the object received on `control`."""

    def __init__(self, control: socket.socket, options: Mapping[str, Any], *, is_first: bool) -> None:
        self._control = control
        self._options = options
        self._is_first = is_first
        self._pid = 0
        self._code: int | None = None
        self._peak = 0
        self._exceeded = ""
        self._files = Files(options["folders"], options["disk"], options["files"])
        self._unlinked = Unlinked()
        self._in_sockets = self._unseen_looks = 0
        self._is_hidden = False
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
            self._exceeded = self._exceeded or self._exceeded_limit(self._tasks())
            if self._exceeded:  # again, as long as there is something: one may have been missed without a name space
                self._kill()
        self._report()
        return self._code

    def _start(self) -> None:
        core, before = self._options["core"], os.sched_getaffinity(0)
        if core is not None:
            with contextlib.suppress(OSError):
                os.sched_setaffinity(0, {core})
        hidden = set(self._options["hidden"])
        visible = {name: value for name, value in initial_environment().items() if name.upper() not in hidden}
        popen = subprocess.Popen(  # noqa: S603 - running the user's program is the purpose
            self._options["arguments"],
            cwd=self._options["cwd"],
            env={**visible, **self._options["environment"]},
            start_new_session=True,
            preexec_fn=self._set_limits,  # noqa: PLW1509 - there is only one thread
        )
        os.sched_setaffinity(0, before)
        popen.returncode = 0  # _reap waits for the process; the Popen object must not
        self._pid = popen.pid
        if self._is_terminated:  # before its id was known
            self._terminate()

    def _set_limits(self) -> None:
        """Let the system limit what it can; called in the new process."""
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        _lower_limit(resource.RLIMIT_FSIZE, self._options["disk"] + _FILE_RESERVE)
        if self._options["cgroup"]:  # if the memory is full, the kernel kills the program, and not what watches it
            _prctl(_SET_DUMPABLE, 1)
            with contextlib.suppress(OSError), open(f"{_PROC}/self/oom_score_adj", "w") as file:  # noqa: PTH123
                file.write("1000")
        numbers = os.uname().release.split("-")[0].split(".")[:2]
        version = tuple(int(each) for each in numbers if each.isdecimal())
        if self._options["own_users"] and version >= _OWN_PROCESS_COUNT:
            _lower_limit(resource.RLIMIT_NPROC, self._options["processes"] + _PROCESS_RESERVE)

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
        if self._is_first:  # all at once, so that none of them can start another one meanwhile
            with contextlib.suppress(ProcessLookupError):
                os.kill(-1, signal.SIGKILL)
            return
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for pid in self._tasks():
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, number)

    def _tasks(self) -> dict[int, int]:
        """The number of threads of the program and of everything that it has started, by process id."""
        threads: dict[int, int] = {}
        children: dict[int, list[int]] = {}
        for name in os.listdir(_PROC):  # noqa: PTH208 - pathlib takes time to load
            if name.isdecimal():
                with contextlib.suppress(OSError, IndexError, ValueError):
                    with open(f"{_PROC}/{name}/stat", "rb") as file:  # noqa: PTH123
                        fields = file.read().rpartition(b")")[2].split()
                    if fields[0] not in {b"Z", b"X"}:  # it has not ended
                        parent, count = int(fields[1]), int(fields[17])
                        threads[int(name)] = count
                        children.setdefault(parent, []).append(int(name))
        if self._is_first:
            threads.pop(os.getpid(), None)
            return threads
        found: dict[int, int] = {}
        pending = [os.getpid()]
        while pending:
            below = children.get(pending.pop(), [])
            found |= {pid: threads[pid] for pid in below}
            pending += below
        return found

    # -- limits -----------------------------------------------------------------------------------------------------

    def _exceeded_limit(self, tasks: Mapping[int, int]) -> str:
        """Return the name of the limit that is exceeded; empty if none is."""
        if sum(tasks.values()) > self._options["processes"]:
            return "processes"
        if self._files.look():
            self._unlinked = Unlinked()
            self._unlinked.look(tasks, self._files.devices)
            self._unseen_looks = self._unseen_looks + 1 if self._unlinked.has_unseen else 0
            self._is_hidden |= self._unlinked.is_hidden or self._unseen_looks >= _UNSEEN_LOOKS
            self._in_sockets = sockets_size() if self._is_first else 0
        if self._files.is_exceeded or self._files.size + self._unlinked.disk_size > self._options["disk"]:
            return "disk"
        limit = self._options["memory"]
        shared = self._unlinked.memory_size + (_segments_size() if self._is_first else 0)
        size = _memory_size(map(resident_sizes, tasks), shared) + self._in_sockets
        if limit is not None and size > limit:  # counts pages twice that several processes share
            size = _memory_size(map(proportional_sizes, tasks), shared) + self._in_sockets
        self._peak = max(self._peak, size)
        return "memory" if limit is not None and size > limit else ""

    # -- the end ----------------------------------------------------------------------------------------------------

    def _report(self) -> None:
        if not self._exceeded and self._files.has_exceeded():  # the system may have refused to write more
            self._exceeded = "disk"
        if self._exceeded:
            self._kill()
        deadline = time.monotonic() + _CHILD_EXIT_TIMEOUT
        while (left := list(self._tasks())) and time.monotonic() < deadline and not self._exceeded:
            time.sleep(_POLL_INTERVAL)
            self._reap()
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        self._send(
            exit=self._code,
            cpu=usage.ru_utime + usage.ru_stime,
            peak=max(self._peak, usage.ru_maxrss * _KIBIBYTE),
            killed=self._exceeded or ("memory" if self._options["cgroup"] and has_oom_kill(OOM_FILES) else ""),
            hidden=self._is_hidden,
            left=[] if self._exceeded else [_process_name(pid) for pid in left[:_MAX_NAMED]],
        )

    def _send(self, **facts: Any) -> None:
        with contextlib.suppress(OSError):  # the other end is closed
            self._control.sendall(json.dumps(facts).encode() + b"\n")


class Files:
    """What is in some folders, more than when this object was made, in small steps.

    `size` is that of all files in bytes. `is_exceeded` is set if there are more than `max_size` bytes or `max_count`
    files and folders, or if the program has made a folder that cannot be looked into. Links are not followed.
    """

    def __init__(self, folders: Sequence[str], max_size: int, max_count: int) -> None:
        self._folders = folders
        self._max_size, self._max_count = max_size, max_count
        self.devices = {os.stat(each).st_dev for each in folders}  # noqa: PTH116 - pathlib takes time to load
        self.size = 0
        self._size = self._count = self._size_before = self._count_before = 0
        for _ in self._steps():
            pass
        self._size_before, self._count_before = self._size, self._count
        self.size, self.is_exceeded = 0, False
        self._walk: Iterator[None] | None = None
        self._next_at = time.monotonic()

    def look(self) -> bool:
        """Go on looking for a moment; return whether a new look at all files has begun."""
        now = time.monotonic()
        is_new = self._walk is None and now >= self._next_at
        if is_new:
            self._walk = self._steps()
        for _ in self._walk or ():
            if self.is_exceeded or time.monotonic() > now + _FILES_SHARE:
                return is_new
        if self._walk is not None:
            self._walk, self._next_at = None, now + _FILES_INTERVAL
        return is_new

    def has_exceeded(self) -> bool:
        """Look at all files, and return whether they exceed a limit."""
        for _ in self._steps():
            if self.is_exceeded:
                break
        return self.is_exceeded

    def _steps(self) -> Iterator[None]:
        """Look at all files, and yield after some of them."""
        self._size = self._count = 0
        self.is_exceeded = False
        linked: set[int] = set()
        pending = list(self._folders)
        while pending:
            try:
                with os.scandir(pending.pop()) as entries:
                    for entry in entries:
                        self._count += 1
                        if self._count % _FILES_AT_ONCE == 0:
                            self._compare()
                            yield
                        with contextlib.suppress(OSError):  # it is gone
                            if entry.is_dir(follow_symlinks=False):
                                pending.append(entry.path)
                                continue
                            status = entry.stat(follow_symlinks=False)
                            if status.st_nlink == 1 or status.st_ino not in linked:
                                self._size += status.st_blocks * _BLOCK
                            if status.st_nlink > 1:
                                linked.add(status.st_ino)
            except OSError as error:
                self.is_exceeded |= error.errno in {errno.EACCES, errno.ENAMETOOLONG}
        self._compare()
        self.size = max(0, self._size - self._size_before)

    def _compare(self) -> None:
        is_larger = self._size - self._size_before > self._max_size
        self.is_exceeded |= is_larger or self._count - self._count_before > self._max_count


class Unlinked:
    """The open files of processes that are in no folder, such as memfd: how many bytes of them are on which device."""

    def __init__(self) -> None:
        self.disk_size = self.memory_size = 0
        self.is_hidden = False
        """Whether a process does not show its open files."""
        self.has_unseen = False
        """Whether there are files that are in no folder and open in no process, but on their way to one, or mapped."""

    def look(self, pids: Iterable[int], devices: set[int]) -> None:
        """Look at the open files of `pids`; `devices` are those of the disk."""
        seen: set[tuple[int, int]] = set()
        mapped: set[int] = set()
        for pid in pids:
            mapped |= _mapped_deleted(pid)
            folder = f"{_PROC}/{pid}/fd"
            try:
                names = os.listdir(folder)  # noqa: PTH208 - as above
            except OSError as error:
                self.is_hidden |= error.errno == errno.EACCES and _has_memory(pid)
                continue
            for name in names:
                try:
                    status = os.stat(f"{folder}/{name}")  # noqa: PTH116
                except OSError as error:  # often because it is closed
                    self.is_hidden |= error.errno == errno.EACCES and _has_memory(pid)
                    continue
                if stat.S_ISSOCK(status.st_mode) and _has_files_in_flight(f"{_PROC}/{pid}/fdinfo/{name}"):
                    self.has_unseen = True
                key = status.st_dev, status.st_ino
                if status.st_nlink == 0 and stat.S_ISREG(status.st_mode) and key not in seen:
                    seen.add(key)
                    if status.st_dev in devices:
                        self.disk_size += status.st_blocks * _BLOCK
                    else:
                        self.memory_size += status.st_blocks * _BLOCK
        self.has_unseen |= bool(mapped - {inode for _, inode in seen})


def _has_memory(pid: int) -> bool:
    """Whether a process is not about to end: one that has given back its memory shows its files to nobody but root."""
    with contextlib.suppress(OSError), open(f"{_PROC}/{pid}/statm", "rb") as file:  # noqa: PTH123
        return not file.read().startswith(b"0 ")
    return False


def _mapped_deleted(pid: int) -> set[int]:
    """Return the inodes of the shared files in no folder that a process has mapped, but not those of System V."""
    found = set()
    with contextlib.suppress(OSError, ValueError, IndexError), open(f"{_PROC}/{pid}/maps", "rb") as file:  # noqa: PTH123
        for line in file:
            if line.endswith(b" (deleted)\n"):
                fields = line.split(maxsplit=5)
                if fields[1].endswith(b"s") and not fields[5].startswith(b"/SYSV"):
                    found.add(int(fields[4]))
    return found


def _has_files_in_flight(path: str) -> bool:
    with contextlib.suppress(OSError), open(path, "rb") as file:  # noqa: PTH123
        return any(line.startswith(b"scm_fds:") and line.split()[1] != b"0" for line in file)
    return False


def _memory_size(sizes: Iterable[tuple[int, int]], shared: int) -> int:
    """Return the bytes in memory of processes with these `sizes`.

    `shared` bytes are in files of the memory that may be mapped, and so be in `sizes`, or not.
    """
    all_sizes = list(sizes)
    return sum(own for own, _ in all_sizes) + max(shared, sum(mapped for _, mapped in all_sizes))


def resident_sizes(pid: int) -> tuple[int, int]:
    """Return the bytes in memory that are a process's own, and those that it may share with others.

    Those of files on the disk are left out. Both are 0 if the process is gone.
    """
    return _sizes_in(f"{_PROC}/{pid}/status", b"RssAnon", b"RssShmem")


def proportional_sizes(pid: int) -> tuple[int, int]:
    """Return the same sizes, with pages that several processes share divided among them. This takes longer."""
    sizes = _sizes_in(f"{_PROC}/{pid}/smaps_rollup", b"Pss_Anon", b"Pss_Shmem")
    return sizes if any(sizes) else resident_sizes(pid)


def _sizes_in(path: str, own: bytes, shared: bytes) -> tuple[int, int]:
    sizes = {own: 0, shared: 0}
    with contextlib.suppress(OSError), open(path, "rb") as file:  # noqa: PTH123
        for line in file:
            name, _, value = line.partition(b":")
            if name in sizes:
                sizes[name] = int(value.split()[0]) * _KIBIBYTE
    return sizes[own], sizes[shared]


def _segments_size() -> int:
    """Return the bytes in memory of the shared memory segments of System V in this name space."""
    with contextlib.suppress(OSError), open(f"{_PROC}/sysvipc/shm", "rb") as file:  # noqa: PTH123
        head = file.readline().split()
        columns = [head.index(name) for name in (b"rss", b"swap")]
        return sum(int(fields[column]) for fields in map(bytes.split, file) for column in columns)
    return 0


def sockets_size() -> int:
    """Return about how many bytes the sockets of this name space have queued, whether a process has them open or not.

    That memory belongs to no process. 0 if the kernel cannot be asked.
    """
    total = 0
    for family in (socket.AF_INET, socket.AF_INET6):
        for protocol in (socket.IPPROTO_TCP, socket.IPPROTO_UDP):
            request = _INET_REQUEST.pack(family, protocol, _INET_MEMORY, 0, _ALL_STATES)
            for memory in _ask_for_sockets(request, *_INET_ANSWER):
                total += memory[0] + memory[5]  # received and not read, sent and not received
    for unread, sent in _ask_for_sockets(
        _UNIX_REQUEST.pack(socket.AF_UNIX, 0, 0, _ALL_STATES, 0, _UNIX_QUEUE), *_UNIX_ANSWER
    ):
        total += max(sent, unread, _UNIX_BUFFER if unread else 0)
    return total


def _ask_for_sockets(request: bytes, start: int, wanted: int) -> Iterator[tuple[int, ...]]:
    """Yield the numbers in the attribute `wanted` of each socket; attributes begin `start` bytes after the head."""
    with (
        contextlib.suppress(OSError, struct.error),
        socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, _SOCK_DIAG) as kernel,
    ):
        kernel.settimeout(1.0)  # it answers at once
        kernel.sendto(_HEAD.pack(_HEAD.size + len(request), *_DUMP_BY_FAMILY, 0, 0) + request, (0, 0))
        while True:
            data = kernel.recv(_READ_SIZE)
            while data:
                length, kind, *_ = _HEAD.unpack_from(data)
                if kind in _LAST_MESSAGES or length < _HEAD.size:
                    return
                attributes, data = data[_HEAD.size + start : length], data[(length + 3) & ~3 :]
                while attributes:
                    size, name = struct.unpack_from("=HH", attributes)
                    if name == wanted:
                        yield struct.unpack(f"={(size - 4) // 4}I", attributes[4:size])
                    attributes = attributes[(size + 3) & ~3 :] if size >= 4 else b""


def _lower_limit(kind: int, value: int) -> None:
    """Set a limit of this process for good, unless it is lower already."""
    _, before = resource.getrlimit(kind)
    lower = value if before == resource.RLIM_INFINITY else min(value, before)
    resource.setrlimit(kind, (lower, lower))


def has_oom_kill(paths: Sequence[str]) -> bool:
    """Return whether the kernel has killed a process of this container because of its memory.

    `paths` are the files of its memory cgroup that may count it, of which the first one that exists is read.
    """
    for path in paths:
        with contextlib.suppress(OSError), open(path, "rb") as file:  # noqa: PTH123
            return any(line.split()[0] == b"oom_kill" and int(line.split()[1]) > 0 for line in file)
    return False


def _process_name(pid: int) -> str:
    with contextlib.suppress(OSError), open(f"{_PROC}/{pid}/cmdline", "rb") as file:  # noqa: PTH123
        return file.read().split(b"\0")[0].decode(errors="replace").rpartition("/")[2] or "?"
    return "?"


def initial_environment() -> dict[str, str]:
    """Return the environment that this process was started with; Python may have added a variable to it."""
    try:
        with open(f"{_PROC}/self/environ", "rb") as file:  # noqa: PTH123
            entries = file.read().split(b"\0")
    except OSError:
        return dict(os.environ)
    pairs = (os.fsdecode(entry).partition("=") for entry in entries if b"=" in entry)
    return {name: value for name, _, value in pairs}


def _prctl(option: int, value: int) -> None:
    with contextlib.suppress(ImportError, OSError):
        import ctypes

        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


if __name__ == "__main__":
    main()
