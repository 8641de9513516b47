"""Windows: a program and what it starts are in a Job Object, which nothing can leave.

The tests of this file run on every system, with stand-ins for the job.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import Final

import psutil

from spielleiter.programs.platforms.job_object import open_job
from spielleiter.programs.platforms.platform import common_gaps
from spielleiter.programs.process import Process
from spielleiter.programs.process_spec import JobLimits, ProcessSpec
from spielleiter.programs.process_table import find_tagged, kill_by_ids, start_stamp
from spielleiter.programs.processes import ProcessInfo
from spielleiter.programs.windows_process import Job, start_on_windows

_VARIABLES: Final = frozenset(
    # what processes, the shell and the libraries of the system need to start and to find each other
    {"SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATH", "PATHEXT", "TEMP", "TMP", "OS"}
    | {"PROGRAMDATA", "ALLUSERSPROFILE", "PUBLIC", "COMPUTERNAME", "USERNAME"}
    | {"PROGRAMFILES", "PROGRAMFILES(X86)", "PROGRAMW6432"}
    | {"COMMONPROGRAMFILES", "COMMONPROGRAMFILES(X86)", "COMMONPROGRAMW6432"}
    | {"NUMBER_OF_PROCESSORS", "PROCESSOR_ARCHITECTURE", "PROCESSOR_IDENTIFIER"}
    | {"PROCESSOR_LEVEL", "PROCESSOR_REVISION"}
    | {"VIRTUAL_ENV"}  # the launcher of Python obeys it
)


class WindowsPlatform:
    """See `Platform` (programs/platforms/platform.py). `open_job` creates a Job Object with limits."""

    name = "Windows"
    gaps = common_gaps(name)
    can_bind_cores = True
    can_limit_memory = True
    program_variables = _VARIABLES

    def __init__(self, open_job: Callable[[int | None, JobLimits | None], Job] = open_job) -> None:
        self._open_job = open_job

    def home_variables(self, folder: str) -> dict[str, str]:
        return dict.fromkeys(("USERPROFILE", "APPDATA", "LOCALAPPDATA"), folder)

    def usable_cores(self) -> list[int]:
        if sys.platform == "darwin":
            raise NotImplementedError
        return sorted(psutil.Process().cpu_affinity())

    def start_stamp(self, pid: int) -> int | None:
        return start_stamp(pid)

    async def start(self, spec: ProcessSpec) -> Process:
        job: Job | None = None
        try:
            job = self._open_job(spec.memory, spec.job)
        except OSError:
            if spec.memory is not None or spec.job is not None:  # only a job can keep these limits
                raise
        return await start_on_windows(spec, job)

    def find_tagged(self, tag: str) -> tuple[ProcessInfo, ...]:
        return find_tagged(tag)

    def kill(self, processes: Iterable[ProcessInfo]) -> None:
        kill_by_ids(processes)
