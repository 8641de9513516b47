"""The parameters for starting a process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ProcessSpec:
    """The parameters for starting a process.

    `arguments` are the words of the command line, `environment` is the complete environment. `cwd` is the working
    directory; None for the current one. `cores` are the processor cores that it may use; None for any. `memory` limits
    its data, in bytes; None for no limit. `stdin` is a file descriptor for its standard input, which the caller still
    has to close; None for an empty input.
    """

    arguments: Sequence[str]
    cwd: str | None
    environment: Mapping[str, str]
    cores: tuple[int, ...] | None = None
    memory: int | None = None
    stdin: int | None = None
