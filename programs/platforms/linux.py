"""Linux: every program has a supervisor (programs/supervision/), which nothing that it starts can leave."""

from __future__ import annotations

import sys

assert sys.platform == "linux"  # before the imports, which other platforms lack

import os
from collections.abc import Iterable

import trio

from spielleiter.programs.fork_server_client import start_supervised_process
from spielleiter.programs.platforms.platform import POSIX_VARIABLES
from spielleiter.programs.process import Process
from spielleiter.programs.process_spec import ProcessSpec
from spielleiter.programs.processes import ProcessInfo, find_processes, kill_processes, start_ticks_of


class LinuxPlatform:
    """See `Platform` (programs/platforms/platform.py)."""

    name = "Linux"
    gaps: tuple[str, ...] = ()
    can_bind_cores = True
    can_limit_memory = True
    program_variables = POSIX_VARIABLES | {"LD_LIBRARY_PATH"}  # some installations of Python do not start without it

    def home_variables(self, folder: str) -> dict[str, str]:
        return {"HOME": folder}

    def usable_cores(self) -> list[int]:
        return sorted(os.sched_getaffinity(0))

    def start_stamp(self, pid: int) -> int | None:
        return start_ticks_of(pid)

    async def start(self, spec: ProcessSpec) -> Process:
        return await trio.to_thread.run_sync(_start, spec)

    def find_tagged(self, tag: str) -> tuple[ProcessInfo, ...]:
        return find_processes(tag)

    def kill(self, processes: Iterable[ProcessInfo]) -> None:
        kill_processes(processes)


def _start(spec: ProcessSpec) -> Process:
    supervised = start_supervised_process(spec)
    if supervised is not None:
        return supervised
    from spielleiter.programs.unsupervised_process import UnsupervisedProcess  # few kernels need it

    return UnsupervisedProcess(spec)
