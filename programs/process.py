"""The interface of a running program; each platform has its own implementation.

| platform | module | who kills what the program has started |
|---|---|---|
| Linux | supervised_process.py | a supervisor above the program, which nothing can leave |
| macOS, Linux without supervisors | unsupervised_process.py | this process, by process group, session and descent |
| Windows | windows_process.py | the kernel, by a Job Object, which nothing can leave |

Invariants: `end` takes limited time. Afterwards nothing of the program is running, except what is in `survivors`.
"""

from __future__ import annotations

from typing import Final, Protocol

import trio

from spielleiter.programs.processes import ProcessInfo

READ_SIZE: Final = 64 * 1024
"""The most bytes that are read from an output at once."""
REPORT_TIMEOUT: Final = 30.0
"""Seconds after which a supervisor that has not reported the end of its program is given up."""
KILL_TIMEOUT: Final = 5.0
"""Seconds after which killing a process is given up."""


class Process(Protocol):
    """A process and everything that it has started. Use it from one task, apart from `terminate` and `kill`."""

    @property
    def returncode(self) -> int | None:
        """As in subprocess, once the process has ended: negative for a signal, which Windows does not have."""
        ...

    @property
    def cpu_seconds(self) -> float:
        """Processor time in seconds of the process and of everything it has started, once it has ended."""
        ...

    @property
    def cpu_seconds_so_far(self) -> float:
        """Processor time in seconds of the process and of everything that it has started, up to now."""
        ...

    @property
    def peak_memory(self) -> int:
        """The most bytes that one of its processes had in memory, once it has ended; 0 if that is not known."""
        ...

    @property
    def leftovers(self) -> tuple[ProcessInfo, ...]:
        """The processes that outlived the process."""
        ...

    @property
    def survivors(self) -> tuple[ProcessInfo, ...]:
        """The processes that even `end` could not end."""
        ...

    @property
    def supervisor_stops(self) -> int:
        """How often its supervisor was found stopped; 0 without a supervisor."""
        ...

    @property
    def has_stopped_supervisor(self) -> bool:
        """Whether it was killed because it stopped its supervisor too often."""
        ...

    @property
    def pids(self) -> tuple[int, ...]:
        """The ids of the process and of what it has started, as far as they are found quickly."""
        ...

    def find_all(self) -> tuple[int, ...]:
        """Return the same ids as `pids`, but all that can be found; may read a file of every process."""
        ...

    @property
    def has_ended(self) -> bool:
        """Whether the process has ended by itself, even if that was not noticed yet."""
        ...

    def open_outputs(self) -> tuple[trio.abc.ReceiveStream, trio.abc.ReceiveStream]:
        """Return standard output and standard error, which the caller has to close. May be called once."""
        ...

    def terminate(self) -> None:
        """Ask the process to end, or kill it where it cannot be asked."""
        ...

    async def kill(self) -> None:
        """Kill everything."""
        ...

    async def wait(self) -> None:
        """Wait until the process has ended."""
        ...

    async def wait_for_children(self) -> None:
        """Wait until everything that it has started has ended as well, or is known to outlive it."""
        ...

    async def end(self) -> None:
        """End everything that is left. Takes limited time: see `survivors`."""
        ...

    async def watch_supervisor(self) -> None:
        """Resume its supervisor, if there is one, whenever the program has stopped it."""
        ...

    def resume_supervisor(self) -> None:
        """Resume its supervisor, if there is one and the program has stopped it."""
        ...

    async def kill_supervisor(self) -> None:
        """Kill its supervisor, if there is one, after everything below it."""
        ...
