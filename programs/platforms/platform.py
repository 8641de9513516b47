"""What a match needs from the operating system, with one implementation for each.

Invariants: what a platform cannot do is either in `gaps`, one sentence each, which the reports of a match name once, or
asking for it is refused before the first game (`can_bind_cores`, `can_limit_memory`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Protocol

from spielleiter.programs.process import Process
from spielleiter.programs.process_spec import ProcessSpec
from spielleiter.programs.processes import ProcessInfo

POSIX_VARIABLES: Final = frozenset(
    {"PATH", "TMPDIR", "TZ", "USER", "LOGNAME", "LANG", "LANGUAGE"}
    | {f"LC_{each}" for each in ("ALL", "COLLATE", "CTYPE", "MESSAGES", "MONETARY", "NUMERIC", "TIME")}
    | {f"LC_{each}" for each in ("ADDRESS", "IDENTIFICATION", "MEASUREMENT", "NAME", "PAPER", "TELEPHONE")}
)
"""The variables that programs get on every system like Unix."""


class Platform(Protocol):
    """An operating system."""

    @property
    def name(self) -> str:
        """Its name for people."""
        ...

    @property
    def gaps(self) -> tuple[str, ...]:
        """What a match cannot do here that it can do on Linux, in sentences for people."""
        ...

    @property
    def can_bind_cores(self) -> bool:
        """Whether a program can be bound to processor cores."""
        ...

    @property
    def can_limit_memory(self) -> bool:
        """Whether the memory of a program can be limited without a sandbox."""
        ...

    @property
    def program_variables(self) -> frozenset[str]:
        """The environment variables of this process that every program gets."""
        ...

    def home_variables(self, folder: str) -> dict[str, str]:
        """Return the environment variables that make `folder` the home folder of a program."""
        ...

    def usable_cores(self) -> list[int]:
        """Return the processor cores that this process may use, sorted by number."""
        ...

    def start_stamp(self, pid: int) -> int | None:
        """Return a number that tells this process from a later one with the same id; None if there is no process."""
        ...

    async def start(self, spec: ProcessSpec) -> Process:
        """Start a program. Raises OSError or ValueError if that is impossible, SupervisorError on Linux."""
        ...

    def find_tagged(self, tag: str) -> tuple[ProcessInfo, ...]:
        """Return every running process whose tag begins with `tag`. Looks at every process of this machine."""
        ...

    def kill(self, processes: Iterable[ProcessInfo]) -> None:
        """Kill these processes; those that are gone or belong to another user are skipped."""
        ...


def common_gaps(name: str) -> tuple[str, ...]:
    """Return what no platform but Linux can do; `name` is that of the platform."""
    return (
        f"{name} does not report when a move arrived; a think time ends when the server reads the move.",
        f"{name} does not report how long a program waited for a processor; a move that is late for it is too slow.",
        f"{name} does not report who has opened a connection if that is a program of another user.",
    )
