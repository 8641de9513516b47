"""A running program, and the operating system that runs it: the interfaces, with one implementation for each system.

| system | module | who kills what a program has started |
|---|---|---|
| Linux | linux.py | a supervisor above the program, which nothing can leave |
| macOS, Linux without supervisors | macos.py | this process, by process group, session and descent |
| Windows | windows.py | the kernel, by a Job Object, which nothing can leave |

this_platform.py chooses the one of this system.
"""

from __future__ import annotations

import abc
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import IO, Final

import trio

from spielleiter.programs.linux_processes import ProcessInfo

READ_SIZE: Final = 64 * 1024
"""The most bytes that are read from an output at once."""
REPORT_TIMEOUT: Final = 30.0
"""Seconds after which a supervisor that has not reported the end of its program is given up."""
KILL_TIMEOUT: Final = 5.0
"""Seconds after which killing a process is given up."""
CHILD_EXIT_TIMEOUT: Final = 0.5
"""Seconds that children of a process have to end after it."""
POLL_INTERVAL: Final = 0.02
"""Seconds between two checks of processes whose end is not reported."""

POSIX_VARIABLES: Final = frozenset(
    {"PATH", "TMPDIR", "TZ", "USER", "LOGNAME", "LANG", "LANGUAGE"}
    | {f"LC_{each}" for each in ("ALL", "COLLATE", "CTYPE", "MESSAGES", "MONETARY", "NUMERIC", "TIME")}
    | {f"LC_{each}" for each in ("ADDRESS", "IDENTIFICATION", "MEASUREMENT", "NAME", "PAPER", "TELEPHONE")}
)
"""The variables that programs get on every system like Unix."""


@dataclass(frozen=True, slots=True)
class JobLimits:
    """Limits for a process together with everything that it starts, which a Job Object of Windows keeps.

    `memory` is what they may allocate, in bytes; `processes` how many there may be at the same time; `seconds` the
    processor time that they may use outside of the kernel, after which they are killed.
    """

    memory: int
    processes: int
    seconds: float


@dataclass(frozen=True, slots=True)
class ProcessSpec:
    """How to start a process.

    `arguments` are the words of the command line, `environment` is the complete environment. `cwd` is the working
    directory; None for the current one. `cores` are the processor cores that it may use; None for any. `memory` limits
    its data, in bytes; None for no limit. `stdin` is a file descriptor for its standard input, which the caller still
    has to close; None for an empty input. `job` has further limits on Windows, and no effect on other systems.
    """

    arguments: Sequence[str]
    cwd: str | None
    environment: Mapping[str, str]
    cores: tuple[int, ...] | None = None
    memory: int | None = None
    stdin: int | None = None
    job: JobLimits | None = None


class Process(abc.ABC):
    """A process and everything that it has started. Use it from one task, apart from `terminate` and `kill`."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None
        """As in subprocess, once the process has ended: negative for a signal, which Windows does not have."""
        self.cpu_seconds = 0.0
        """Processor time in seconds of the process and of everything it has started, once it has ended."""
        self.peak_memory = 0
        """The most bytes that one of its processes had in memory, once it has ended; 0 if that is not known."""
        self.leftovers: tuple[ProcessInfo, ...] = ()
        """The processes that outlived the process."""
        self.survivors: tuple[ProcessInfo, ...] = ()
        """The processes that even `end` could not end, because they do not react to SIGKILL."""
        self.supervisor_stops = 0
        """How often its supervisor was found stopped, and was resumed; 0 without a supervisor."""
        self.root: int | None = None
        """The id of the process that it and everything it has started are below; None if there is none."""

    @property
    def has_stopped_supervisor(self) -> bool:
        """Whether it is to be killed because it stopped its supervisor again after that was resumed."""
        return False

    @property
    @abc.abstractmethod
    def cpu_seconds_so_far(self) -> float:
        """Processor time in seconds of the process and of everything that it has started, up to now."""

    @property
    @abc.abstractmethod
    def pids(self) -> tuple[int, ...]:
        """The ids of the process and of what it has started, as far as they are found quickly."""

    def find_all(self) -> tuple[int, ...]:
        """Return the same ids as `pids`, but all that can be found; may read a file of every process."""
        return self.pids

    @property
    @abc.abstractmethod
    def has_ended(self) -> bool:
        """Whether the process has ended by itself, even if that was not noticed yet."""

    @abc.abstractmethod
    def open_outputs(self) -> tuple[trio.abc.ReceiveStream, trio.abc.ReceiveStream]:
        """Return standard output and standard error, which the caller has to close. May be called once."""

    @abc.abstractmethod
    def terminate(self) -> None:
        """Ask the process to end, or kill it where it cannot be asked."""

    @abc.abstractmethod
    async def kill(self) -> None:
        """Kill everything."""

    @abc.abstractmethod
    async def wait(self) -> None:
        """Wait until the process has ended."""

    @abc.abstractmethod
    async def wait_for_children(self) -> None:
        """Wait until everything that it has started has ended as well, or is known to outlive it."""

    @abc.abstractmethod
    async def end(self) -> None:
        """End everything that is left. Takes limited time: see `survivors`."""

    async def watch_supervisor(self) -> None:  # noqa: B027 - most systems have none
        """Resume its supervisor, if there is one, whenever the program has stopped it."""

    def resume_supervisor(self) -> None:  # noqa: B027 - as above
        """Resume its supervisor, if there is one and the program has stopped it."""

    async def kill_supervisor(self) -> None:  # noqa: B027 - as above
        """Kill its supervisor, if there is one, after everything below it."""


class Platform(abc.ABC):
    """What a match needs from the operating system.

    What it cannot do is either in `gaps`, or asking for it is refused before the first game (`can_bind_cores`,
    `can_limit_memory`).
    """

    name: str
    """Its name for people."""
    gaps: tuple[str, ...]
    """What a match cannot do here that it can do on Linux, in sentences for people."""
    can_bind_cores: bool
    """Whether a program can be bound to processor cores."""
    can_limit_memory: bool
    """Whether the memory of a program can be limited without a sandbox."""
    program_variables: frozenset[str]
    """The environment variables of this process that every program gets."""

    def home_variables(self, folder: str) -> dict[str, str]:
        """Return the environment variables that make `folder` the home folder of a program."""
        return {"HOME": folder}

    @abc.abstractmethod
    def usable_cores(self) -> list[int]:
        """Return the processor cores that this process may use, sorted by number."""

    @abc.abstractmethod
    def start_stamp(self, pid: int) -> int | None:
        """Return a number that tells this process from a later one with the same id; None if there is no process."""

    @abc.abstractmethod
    def cpu_clock_of(self, pid: int) -> float | None:
        """Return the processor time in seconds of a process so far, without its children; None if it has ended."""

    def pid_name_space(self) -> int:
        """Return a number for the name space of this process's id; 0 where a machine has only one."""
        return 0

    @abc.abstractmethod
    async def start(self, spec: ProcessSpec) -> Process:
        """Start a program. Raises OSError or ValueError if that is impossible, SupervisorError on Linux."""

    @abc.abstractmethod
    def find_tagged(self, tag: str) -> tuple[ProcessInfo, ...]:
        """Return every running process whose tag begins with `tag`; none if that is empty.

        Looks at every process of this machine.
        """

    @abc.abstractmethod
    def kill(self, processes: Iterable[ProcessInfo]) -> None:
        """Kill these processes; those that are gone or belong to another user are skipped."""


def common_gaps(name: str) -> tuple[str, ...]:
    """Return what no platform but Linux can do; `name` is that of the platform."""
    return (
        f"{name} does not report when a move arrived; a think time ends when the server reads the move.",
        f"{name} does not report how long a program waited for a processor; a move that is late for it is too slow.",
        f"{name} does not report who has opened a connection if that is a program of another user.",
    )


def open_pipe(stream: IO[bytes]) -> trio.abc.ReceiveStream:
    """Make an output of a process readable in an event loop, on systems like Unix; takes ownership of `stream`."""
    if sys.platform == "win32":
        raise NotImplementedError
    with stream:
        return trio.lowlevel.FdStream(os.dup(stream.fileno()))
