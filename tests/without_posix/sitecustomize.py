"""Takes away from a Python process what Windows does not have, as far as that is possible on another system.

Python imports this file at its start if its folder is on PYTHONPATH, and so do the processes that it starts. The
standard library and the dependencies are loaded first and keep what they need of this system. The project is loaded
afterwards: it finds `sys.platform` to be "win32", and no module, function, signal or constant that is listed here. So
does structlog, which behaves differently on Windows.

A terminal is a console that cannot act on escape sequences, as before Windows 10; with the environment variable
SIMULATED_CONSOLE=new, it is one that can. With SIMULATED_JOBS there are Job Objects; see `_load_library`.

What stays as it is: paths have slashes, `os.name` is "posix", and a process that is killed ends by a signal. Names that
the standard library itself uses whenever it runs on this system stay, too (`os.posix_spawn`, `os.O_NONBLOCK`).
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import os
import platform
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time
import types
from pathlib import Path
from typing import Any

LOADED_BEFORE = (
    "alembic", "argon2", "asyncio", "click", "click._compat", "concurrent.futures.thread", "ctypes.util",
    "email.message", "h11", "http.client", "javaproperties", "logging.handlers", "lxml.etree", "msgspec",
    "multiprocessing", "multiprocessing.connection", "PIL.Image", "PIL.ImageDraw", "PIL.ImageFont",
    "prometheus_client", "psutil", "socketserver", "sqlalchemy", "starlette.applications", "starlette.responses",
    "starlette.routing", "tarfile", "tempfile", "trio", "trio.testing", "urllib.request", "uuid", "webbrowser",
    "xml.parsers.expat", "zipfile",
)  # fmt: skip

MODULES = ("crypt", "fcntl", "grp", "pty", "pwd", "readline", "resource", "spwd", "syslog", "termios", "tty")

NAMES: dict[Any, tuple[str, ...]] = {
    os: (
        "O_ASYNC", "O_CLOEXEC", "O_DIRECTORY", "O_DSYNC", "O_NOCTTY", "O_NOFOLLOW", "O_PATH", "O_SYNC",
        "P_PGID", "P_PID", "P_PIDFD", "PRIO_PROCESS", "WEXITED", "WNOHANG", "WNOWAIT", "WSTOPPED", "WUNTRACED",
        "chown", "chroot", "ctermid", "eventfd", "fchdir", "fchmod", "fchown", "fdatasync", "fork", "forkpty",
        "getegid", "geteuid", "getgid", "getgroups", "getloadavg", "getpgid", "getpgrp", "getpriority", "getresuid",
        "getsid", "getuid", "initgroups", "killpg", "lchown", "lockf", "memfd_create", "mkfifo", "mknod", "nice",
        "openpty", "pidfd_open", "pipe2", "pread", "preadv", "pwrite", "sched_getaffinity",
        "sched_getscheduler", "sched_setaffinity", "sched_yield", "setgid", "setpgid",
        "setpriority", "setsid", "setuid", "splice", "statvfs", "sync", "sysconf", "tcgetpgrp", "tcsetpgrp", "ttyname",
        "uname", "wait", "wait3", "wait4", "waitid",
    ),
    signal: (
        "SIGALRM", "SIGBUS", "SIGCHLD", "SIGCONT", "SIGHUP", "SIGIO", "SIGKILL", "SIGPIPE", "SIGPROF", "SIGQUIT",
        "SIGSTOP", "SIGTSTP", "SIGTTIN", "SIGTTOU", "SIGURG", "SIGUSR1", "SIGUSR2", "SIGWINCH", "alarm", "pause",
        "pthread_kill", "pthread_sigmask", "setitimer", "siginterrupt", "sigpending", "sigtimedwait", "sigwait",
    ),
    socket: (
        "AF_NETLINK", "AF_PACKET", "AF_UNIX", "CMSG_LEN", "CMSG_SPACE", "MSG_DONTWAIT", "MSG_NOSIGNAL", "SCM_RIGHTS",
        "SO_PEERCRED", "SO_REUSEPORT", "TCP_CORK", "TCP_DEFER_ACCEPT", "TCP_QUICKACK", "TCP_USER_TIMEOUT", "recv_fds",
        "send_fds",
    ),
    time: ("clock_gettime", "clock_settime", "tzset"),
}  # fmt: skip

_KILL = 9
_kill, _start = os.kill, subprocess.Popen.__init__
_pair: Any = socket.socketpair
_unix: Any = getattr(socket, "AF_UNIX", None)


def _popen(self: subprocess.Popen[Any], *arguments: Any, creationflags: int = 0, **options: Any) -> None:
    """Start a process as on Windows, where there are flags instead of sessions."""
    assert not {"preexec_fn", "pass_fds", "process_group", "start_new_session"} & options.keys(), options
    _start(self, *arguments, **options, start_new_session=bool(creationflags & 0x200))


def _kill_process(process: Any) -> None:
    try:
        _kill(process.pid, _KILL)
    except ProcessLookupError:  # it has ended meanwhile
        raise sys.modules["psutil"].NoSuchProcess(process.pid) from None


def _find(name: str, mode: int = os.F_OK | os.X_OK, path: str | None = None) -> str | None:
    """Find a program as `shutil.which` does; prefers NAME.exe.

    The function of this system asks for `sys.platform`, which must stay as it is for the other threads.
    """
    has_folder = os.path.dirname(name)  # noqa: PTH120
    folders = [""] if has_folder else (path or os.environ.get("PATH", os.defpath)).split(os.pathsep)
    for folder in folders:
        for candidate in (os.path.join(folder, f"{name}.exe"), os.path.join(folder, name)):  # noqa: PTH118 - "./x" stays
            if os.path.isfile(candidate) and os.access(candidate, mode):  # noqa: PTH113
                return candidate
    return None


def _load_library(name: str, *_arguments: Any, **_options: Any) -> types.SimpleNamespace:
    """Return kernel32 with the functions for consoles, and for Job Objects if SIMULATED_JOBS names a file.

    Each line of that file is what one job limits: flags, memory, processes, and processor time in seconds. What happens
    at a limit is not simulated. A job holds a process and its descendants.
    """
    if name != "kernel32":
        raise OSError("there is no such library here")
    psutil = sys.modules["psutil"]
    jobs: dict[int, list[Any]] = {}
    log = os.environ.get("SIMULATED_JOBS")

    def create(_security: Any, _name: Any) -> int:
        if log is None:
            return 0
        jobs[len(jobs) + 1] = []
        return len(jobs)

    def limit(_handle: Any, _kind: int, data: Any, size: int) -> int:
        raw = ctypes.string_at(data, size)
        seconds, flags, processes = struct.unpack_from("<8xqI20xI", raw)
        (memory,) = struct.unpack_from("<Q", raw, 120)
        assert log is not None
        with Path(log).open("a", encoding="ascii") as file:
            file.write(f"{flags:#x} {memory} {processes} {seconds / 10_000_000:g}\n")
        return 1

    def members(handle: Any) -> list[Any]:
        found: list[Any] = []
        for process in jobs[handle]:
            with contextlib.suppress(psutil.Error):
                found += [process, *process.children(recursive=True)]
        return found

    def assign(handle: Any, pid: int) -> int:
        jobs[handle].append(psutil.Process(pid))
        return 1

    def query(handle: Any, kind: int, data: Any, size: int, _length: Any) -> int:
        running = [each.pid for each in members(handle) if each.is_running() and each.status() != "zombie"]
        raw = struct.pack(f"<II{len(running)}Q", len(running), len(running), *running) if kind == 3 else bytes(size)
        ctypes.memmove(data, raw, min(size, len(raw)))
        return 1

    def terminate(handle: Any, _code: int) -> int:
        for process in reversed(members(handle)):
            with contextlib.suppress(psutil.Error):
                process.kill()
        return 1

    def close(handle: Any) -> int:
        return terminate(handle, 1) if handle in jobs else 1

    is_new = os.environ.get("SIMULATED_CONSOLE") == "new"
    return types.SimpleNamespace(
        GetConsoleMode=lambda _handle, _mode: int(is_new),
        SetConsoleMode=lambda _handle, _mode: int(is_new),
        CreateJobObjectW=create,
        SetInformationJobObject=limit,
        QueryInformationJobObject=query,
        AssignProcessToJobObject=assign,
        TerminateJobObject=terminate,
        OpenProcess=lambda _access, _inherits, pid: pid,
        CloseHandle=close,
    )


def become_windows() -> None:
    """Take everything away."""
    for name in LOADED_BEFORE:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    platform.uname()  # is remembered
    psutil_process = sys.modules["psutil"].Process
    for owner, name, value in (
        (psutil_process, "kill", _kill_process),
        (psutil_process, "resume", lambda _process: None),
        (subprocess.Popen, "kill", lambda process: process.send_signal(_KILL)),
        (subprocess.Popen, "__init__", _popen),
        (subprocess, "CREATE_NEW_PROCESS_GROUP", 0x200),
        (signal, "SIGBREAK", signal.SIGTERM),
        (socket, "SO_EXCLUSIVEADDRUSE", socket.SO_KEEPALIVE),
        (socket, "socketpair", lambda: _pair(_unix)),
        (shutil, "which", _find),
        (ctypes, "WinDLL", _load_library),
        (ctypes, "get_last_error", lambda: 5),
        (ctypes, "WinError", lambda number: OSError(number, f"error {number} of Windows")),
    ):
        setattr(owner, name, value)
    msvcrt = types.ModuleType("msvcrt")
    msvcrt.__dict__.update(
        LK_NBLCK=2, get_osfhandle=lambda descriptor: descriptor, locking=lambda _descriptor, _mode, _size: None
    )
    sys.modules["msvcrt"] = msvcrt
    modules: dict[str, Any] = sys.modules
    for module in MODULES:
        modules[module] = None
    for owner, names in NAMES.items():
        for name in names:
            if hasattr(owner, name):
                delattr(owner, name)
    sys.platform = "win32"


become_windows()
