"""The parameters for starting a process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


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
    """The parameters for starting a process.

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
