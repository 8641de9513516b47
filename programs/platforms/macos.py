"""macOS, and other systems like Unix: a program is kept together by its session and by descent, as far as possible."""

from __future__ import annotations

import sys

assert sys.platform != "win32"  # before the imports, which other platforms lack

import os
from collections.abc import Iterable

import trio

from spielleiter.programs.platforms.platform import POSIX_VARIABLES, common_gaps
from spielleiter.programs.process import Process
from spielleiter.programs.process_spec import ProcessSpec
from spielleiter.programs.process_table import find_tagged, kill_by_ids, start_stamp
from spielleiter.programs.processes import ProcessInfo
from spielleiter.programs.unsupervised_process import UnsupervisedProcess


class MacPlatform:
    """See `Platform` (programs/platforms/platform.py)."""

    name = "macOS"
    gaps = (
        *common_gaps(name),
        "macOS does not keep a program together; what leaves its session and loses its parent may keep running.",
    )
    can_bind_cores = False
    can_limit_memory = False
    program_variables = POSIX_VARIABLES | {"DYLD_LIBRARY_PATH", "DYLD_FALLBACK_LIBRARY_PATH"}

    def home_variables(self, folder: str) -> dict[str, str]:
        return {"HOME": folder}

    def usable_cores(self) -> list[int]:
        return list(range(os.cpu_count() or 1))

    def start_stamp(self, pid: int) -> int | None:
        return start_stamp(pid)

    async def start(self, spec: ProcessSpec) -> Process:
        return await trio.to_thread.run_sync(UnsupervisedProcess, spec)

    def find_tagged(self, tag: str) -> tuple[ProcessInfo, ...]:
        return find_tagged(tag)

    def kill(self, processes: Iterable[ProcessInfo]) -> None:
        kill_by_ids(processes)
