"""A sandbox of name spaces of the kernel, made by `bwrap` (bubblewrap), which needs neither root nor an image.

Inside are the system's programs and libraries (/usr, /etc, /opt), read-only, and the folders of the run. The home
folders of this machine are not inside, so a program cannot depend on what only its author has installed there; only an
installation of Python is, if the program is run by it (pythons.py). The network has no device but the loopback.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import platform
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from spielleiter.programs.contest_conditions import Condition
from spielleiter.programs.platform_api import ProcessSpec
from spielleiter.programs.sandbox.cgroup import MEMORY_RESERVE, TASKS_RESERVE, RunCgroup, delegated_cgroup, own_cgroup
from spielleiter.programs.sandbox.pythons import (
    TOOLS,
    PythonInside,
    find_python,
    python_inside,
    write_commands,
)
from spielleiter.programs.sandbox.sandbox import (
    BUBBLEWRAP,
    GAMESERVER,
    MEMORY_LIMIT,
    NOT_STARTED,
    PROCESS_LIMIT,
    PROGRAM_ADDRESS,
    PROGRAM_HOST,
    SERVER_ADDRESS,
    SLOWER,
    X86_64,
    Layout,
    Resources,
    Sandbox,
    mounted_folders,
    run_briefly,
)
from spielleiter.programs.sandbox.sandbox_run import UNREACHABLE_DNS

_PROGRAM: Final = "bwrap"
_SYSTEM_FOLDERS: Final = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/etc", "/nix/store")
_PATH: Final = "/usr/local/bin:/usr/bin:/bin"
_COMMANDS: Final = f"{TOOLS}/commands"
"""The folder with the commands of the Python that was chosen, which leads the PATH."""
_CHECK_TIMEOUT: Final = 20.0
_SHARED_MEMORY: Final = "/dev/shm"  # noqa: S108 - inside the sandbox it belongs to the run
_SHARED_MEMORY_SIZE: Final = 64 * 1024 * 1024
"""Bytes, as in a container of Docker."""
_SYSTEMD_RUN: Final = "systemd-run"
_OF_SYSTEMD: Final = ("XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS")
_PRINT_LIMITS: Final = 'cd "/sys/fs/cgroup$(sed -n s/^0:://p /proc/self/cgroup)" && cat memory.max pids.max'

HOSTS: Final = (
    f"127.0.0.1 localhost\n::1 localhost\n{PROGRAM_ADDRESS} {PROGRAM_HOST}\n{SERVER_ADDRESS[0]} {GAMESERVER}\n"
)
"""The content of /etc/hosts in a sandbox."""

_NAME_SPACES: Final = (
    *("--unshare-user", "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"),
    *("--as-pid-1", "--cap-drop", "ALL", "--hostname", PROGRAM_HOST),
)


class BubblewrapSandbox(Sandbox):
    """Programs run in name spaces of their own. Raises OSError if this Python cannot be moved there.

    `python_version` is the version of Python that programs are built for. `cgroup` is the folder of this process's
    cgroup; None to find it.
    """

    name = BUBBLEWRAP
    has_own_users = True

    def __init__(self, memory: int = MEMORY_LIMIT, python_version: str = "", cgroup: Path | None = None) -> None:
        super().__init__(memory)
        self._helper_python: PythonInside = python_inside()
        self._program_python = found = find_python(_PATH, python_version)
        self.python_description = "no Python" if found is None else f"Python {found.version}"
        self._cgroup = delegated_cgroup(own_cgroup() if cgroup is None else cgroup, memory)
        self._limited = [] if self._cgroup is not None else _limited_scope(memory)
        self._has_size = _has_size_option()
        self.other_writable_folders = () if self._has_size else (_SHARED_MEMORY,)
        self.gaps = {
            Condition.SPEED: SLOWER,
            Condition.IMAGE: f"The program finds what is installed on this machine ({self.python_description}), not "
            "what is in an image.",
        }
        if platform.machine() not in X86_64:
            self.gaps[Condition.PLATFORM] = f"This machine is not x86-64 but {platform.machine()}."

    def folders(self, layout: Layout) -> Layout:
        return mounted_folders(layout)

    def open_resources(self, layout: Layout) -> Resources:
        if self._cgroup is not None:
            with contextlib.suppress(OSError):  # then the process inside watches alone
                return RunCgroup(self._cgroup / layout.label, self.memory)
        return Resources()

    def process_spec(
        self,
        spec: ProcessSpec,
        words: Sequence[str],
        variables: Mapping[str, str],  # noqa: ARG002 - there is always a helper
        layout: Layout,
    ) -> ProcessSpec:
        inside = self.folders(layout)
        files = layout.root / "hosts", layout.root / "resolv.conf"
        for path, content in zip(files, (HOSTS, UNREACHABLE_DNS), strict=True):
            path.write_text(content, encoding="ascii")
        arguments = [*self._limited, _PROGRAM, *_NAME_SPACES, *_system_mounts(), "--proc", "/proc", "--dev", "/dev"]
        if self._has_size:
            arguments += ["--size", str(_SHARED_MEMORY_SIZE), "--tmpfs", _SHARED_MEMORY]
        else:  # on the disk, where it is watched
            shared = layout.root / "shm"
            shared.mkdir()
            arguments += ["--bind", str(shared), _SHARED_MEMORY]
        arguments += ["--remount-ro", "/dev"]  # bubblewrap's own is writable and in memory
        for source, target in zip(files, ("/etc/hosts", "/etc/resolv.conf"), strict=True):
            # a symbolic link there may lead to a folder that is not inside
            arguments += ["--ro-bind", str(source), os.path.realpath(target)]
        for name in ("program", "home", "temporary"):
            arguments += ["--bind", str(getattr(layout, name)), str(getattr(inside, name))]
        arguments += ["--ro-bind", str(layout.control), str(inside.control)]
        for path_inside, path_outside in self._helper_python.mounts.items():
            arguments += ["--ro-bind", path_outside, path_inside]
        search_path = _PATH
        if self._program_python is not None and not self._program_python.is_default:
            commands = layout.root / "commands"
            commands.mkdir()
            write_commands(self._program_python, commands)
            arguments += ["--ro-bind", str(commands), _COMMANDS]
            executable = Path(self._program_python.executable)
            if not any(executable.is_relative_to(each) for each in ("/usr", *_SYSTEM_FOLDERS)):
                arguments += ["--ro-bind", self._program_python.prefix, self._program_python.prefix]
            search_path = f"{_COMMANDS}:{_PATH}"
        arguments += ["--remount-ro", "/", "--chdir", "/", "--clearenv", "--setenv", "PATH", search_path]
        command = [*arguments, "--", *self._helper_python.command, *words]
        # systemd-run needs its variables; bwrap clears them
        environment = {**spec.environment, **{name: os.environ[name] for name in _OF_SYSTEMD if name in os.environ}}
        return dataclasses.replace(spec, arguments=command, cwd=None, environment=environment)


def _limited_scope(memory: int) -> list[str]:
    """Return the words before a command with which systemd runs it in a cgroup that the kernel limits.

    `memory` is the limit in bytes. Empty if there is no systemd, or if it may not limit memory and processes here; then
    the process inside watches them, as it does in any case. Blocks for a moment.
    """
    if sys.platform != "linux" or shutil.which(_SYSTEMD_RUN) is None:
        return []
    limits = memory + MEMORY_RESERVE, PROCESS_LIMIT + TASKS_RESERVE
    options = [f"--property=MemoryMax={limits[0]}", "--property=MemorySwapMax=0", f"--property=TasksMax={limits[1]}"]
    mode = [] if os.geteuid() == 0 else ["--user"]
    words = [_SYSTEMD_RUN, *mode, "--scope", "--quiet", "--collect", *options, "--"]
    _, output = run_briefly([*words, "/bin/sh", "-c", _PRINT_LIMITS], _CHECK_TIMEOUT)
    return words if output.split() == [str(each) for each in limits] else []


def _has_size_option() -> bool:
    """Return whether bubblewrap can limit the size of a tmpfs; versions before 0.7 cannot. Blocks for a moment."""
    return "--size " in run_briefly([_PROGRAM, "--help"], _CHECK_TIMEOUT)[1]


def bubblewrap_problem() -> str:
    """Return in one sentence why bubblewrap cannot be used here; empty if it can. Blocks for a moment."""
    if sys.platform != "linux":
        return "bubblewrap exists on Linux only."
    if shutil.which(_PROGRAM) is None:
        return "bubblewrap is not installed (Debian, Ubuntu: `sudo apt install bubblewrap`)."
    mounts = [*_system_mounts(), "--proc", "/proc", "--dev", "/dev"]
    code, output = run_briefly([_PROGRAM, *_NAME_SPACES, *mounts, "--", "/usr/bin/env", "true"], _CHECK_TIMEOUT)
    if code == NOT_STARTED:
        return f"bubblewrap cannot be started: {output}."
    reason = output.split("\n")[0].removeprefix("bwrap: ").strip()
    return f"bubblewrap may not make name spaces here: {reason}." if code else ""


def _system_mounts() -> list[str]:
    """Return the options that mount the system's folders, with the symbolic links among them as links."""
    arguments = ["--ro-bind", "/usr", "/usr"]
    for name in _SYSTEM_FOLDERS:
        path = Path(name)
        if path.is_symlink():
            arguments += ["--symlink", str(path.readlink()), name]
        elif path.is_dir():
            arguments += ["--ro-bind", name, name]
    return arguments
