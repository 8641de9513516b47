"""Programs as Windows runs them: real processes, with a stand-in for the Job Object or without one.

Starting a suspended process and Job Objects are the system's; here a process is not suspended, and the stand-in finds
its processes with psutil.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import psutil
import pytest
import trio

from spielleiter.common.errors import NotStartedError
from spielleiter.programs import program as program_module
from spielleiter.programs.platform_api import READ_SIZE, JobLimits, ProcessSpec
from spielleiter.programs.program import Program
from spielleiter.programs.psutil_processes import ProcessTree
from spielleiter.programs.windows import (
    CREATION_FLAGS,
    BasicAccounting,
    BasicLimits,
    ExtendedLimits,
    JobObject,
    ProcessIdList,
    WindowsPlatform,
    WindowsProcess,
    declare_functions,
    open_job,
)
from tests.timeouts import HANG_TIMEOUT

CHILD = "import subprocess, sys; subprocess.Popen([sys.executable, '-ISc', 'import time; time.sleep(500)']); "
READY = "print('ready', flush=True); "
SLEEP = "import time; time.sleep(500)"


JOB, PROCESS = 40, 41
"""The handles that the stand-in gives out."""
REFUSED = "error 5 of Windows" if sys.platform != "win32" else "WinError 5"


class Kernel32:
    """A stand-in for the library, with one job, whose processes are found with psutil.

    Calls whose names are in `failing` fail. `pids` are in the job instead if they are set; `has_more_pids` makes their
    list incomplete. With `is_powerless`, nothing can be killed.
    """

    def __init__(self, *failing: str) -> None:
        self.failing = set(failing)
        self.calls: list[tuple[Any, ...]] = []
        self.limits = ExtendedLimits()
        self.last_error = 0
        self.pids: tuple[int, ...] = ()
        self.has_more_pids = self.is_powerless = False
        self._tree: ProcessTree | None = None
        self._opened = 0

    def job(self, memory: int | None = None, together: JobLimits | None = None) -> JobObject:
        return JobObject(memory, self, lambda: self.last_error, together)

    @property
    def is_closed(self) -> bool:
        return ("close", JOB) in self.calls

    def _result(self, name: str, *arguments: Any, result: int = 1) -> int:
        self.calls.append((name, *arguments))
        self.last_error = 5 if name in self.failing else 0
        return 0 if name in self.failing else result

    def _kill(self) -> None:
        if self._tree is not None and not self.is_powerless:
            self._tree.kill()

    def CreateJobObjectW(self, security: None, name: None) -> int:  # noqa: N802
        return self._result("create", security, name, result=JOB)

    def SetInformationJobObject(self, handle: int, kind: int, data: Any, size: int) -> int:  # noqa: N802
        ctypes.memmove(ctypes.byref(self.limits), data, size)
        return self._result("set", handle, kind, size)

    def OpenProcess(self, access: int, inherits: int, pid: int) -> int:  # noqa: N802
        self._opened = pid
        return self._result("open", access, inherits, pid, result=PROCESS)

    def AssignProcessToJobObject(self, job: int, process: int) -> int:  # noqa: N802
        if "assign" not in self.failing:
            self._tree = ProcessTree(self._opened)
        return self._result("assign", job, process)

    def TerminateJobObject(self, job: int, code: int) -> int:  # noqa: N802
        if "terminate" not in self.failing:
            self._kill()
        return self._result("terminate", job, code)

    def CloseHandle(self, handle: int) -> int:  # noqa: N802
        if handle == JOB:
            self._kill()
        return self._result("close", handle)

    def QueryInformationJobObject(self, handle: int, kind: int, data: Any, size: int, _length: None) -> int:  # noqa: N802
        if kind == 3:
            assert self._tree is not None
            found = ctypes.cast(data, ctypes.POINTER(ProcessIdList)).contents
            pids = self.pids or self._tree.find()
            found.NumberOfProcessIdsInList = len(pids)
            found.ProcessIdList[: len(pids)] = pids
            if self.has_more_pids:
                self.last_error = 234
                return 0
        elif kind == 1:
            accounting = ctypes.cast(data, ctypes.POINTER(BasicAccounting)).contents
            accounting.TotalUserTime, accounting.TotalKernelTime = 15_000_000, 5_000_000
        else:
            limits = ctypes.cast(data, ctypes.POINTER(ExtendedLimits)).contents
            limits.PeakProcessMemoryUsed, limits.PeakJobMemoryUsed = 123_456, 654_321
        return self._result("query", handle, kind, size)


class Windows:
    """Windows with a stand-in for the library."""

    def __init__(self) -> None:
        self.kernel = Kernel32()
        self.platform = WindowsPlatform(self.kernel.job)

    async def start(self, code: str, **more: object) -> WindowsProcess:
        spec = ProcessSpec([sys.executable, "-ISc", code], None, dict(os.environ), **more)  # type: ignore[arg-type]
        process = await self.platform.start(spec)
        assert isinstance(process, WindowsProcess)
        return process


@pytest.fixture
def windows() -> Windows:
    return Windows()


async def wait_until_ready(process: WindowsProcess) -> None:
    out, _ = process.open_outputs()
    assert (await out.receive_some(READ_SIZE)).strip() == b"ready"


async def finish(process: WindowsProcess) -> None:
    with trio.fail_after(HANG_TIMEOUT):
        await process.end()
        for stream in process.open_outputs():
            await stream.aclose()


@pytest.mark.slow
async def test_the_console_hosts_of_windows_are_no_leftovers(windows: Windows) -> None:
    process = await windows.start(CHILD + READY + SLEEP)
    process.console_hosts = frozenset({Path(sys.executable).name.lower()})
    await wait_until_ready(process)
    assert len(process.pids) == 2
    await process.wait_for_children()
    assert process.leftovers == ()
    await finish(process)


async def test_a_process_that_cannot_be_killed_is_given_up_and_named(windows: Windows) -> None:
    process = await windows.start(SLEEP)
    pid = process.pids[0]
    process.kill_timeout = 0.02
    windows.kernel.is_powerless = True
    with trio.fail_after(HANG_TIMEOUT):
        await process.end()
    assert process.returncode == 1
    assert [each.pid for each in process.survivors] == [pid]
    psutil.Process(pid).kill()
    await process.wait()
    await finish(process)


async def test_a_program_that_does_not_exist_leaves_no_job(windows: Windows) -> None:
    with pytest.raises(FileNotFoundError):
        await windows.platform.start(ProcessSpec(["./no-such-program"], None, {}))
    assert windows.kernel.is_closed


async def test_a_program_that_cannot_be_resumed_is_killed(windows: Windows, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(process: psutil.Process) -> None:
        raise psutil.AccessDenied(process.pid)

    monkeypatch.setattr(psutil.Process, "resume", refuse)
    with pytest.raises(OSError, match="pid="):
        await windows.start(SLEEP)
    assert windows.kernel.is_closed


LIMITS = JobLimits(1 << 30, 512, 3600)


async def test_limits_are_those_of_the_job_and_without_it_nothing_is_started(windows: Windows) -> None:
    process = await windows.start("pass", memory=1 << 20, job=LIMITS)
    limits = windows.kernel.limits
    assert (limits.ProcessMemoryLimit, limits.JobMemoryLimit) == (1 << 20, LIMITS.memory)
    await finish(process)
    for options in ({"memory": 1 << 20}, {"job": LIMITS}):
        for failing in ("create", "assign"):
            windows.kernel.failing = {failing}
            windows.kernel.calls.clear()
            with pytest.raises(OSError, match=REFUSED):
                await windows.start("pass", **options)
            assert windows.kernel.is_closed == (failing == "assign")


@pytest.mark.skipif(sys.platform == "darwin", reason="macOS binds nothing to cores")
async def test_a_program_is_bound_to_its_cores_and_has_no_supervisor(windows: Windows) -> None:
    core = windows.platform.usable_cores()[-1]
    process = await windows.start(SLEEP, cores=(core,))
    assert sys.platform == "darwin" or psutil.Process(process.pids[0]).cpu_affinity() == [core]
    await process.watch_supervisor()
    process.resume_supervisor()
    await process.kill_supervisor()
    assert (process.supervisor_stops, process.has_stopped_supervisor) == (0, False)
    await finish(process)


def test_a_process_is_created_suspended_and_apart_from_ctrl_c() -> None:
    assert CREATION_FLAGS == 0x204
    if sys.platform == "win32":
        assert subprocess.CREATE_NEW_PROCESS_GROUP & CREATION_FLAGS


@pytest.mark.slow
async def test_a_whole_program_is_run_on_windows(
    windows: Windows, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With its outputs in files, as in a match."""
    monkeypatch.setattr(program_module, "PLATFORM", windows.platform)
    out, error = tmp_path / "out", tmp_path / "error"
    program = Program([sys.executable, "-ISc", READY + SLEEP], "tag", out, error)
    async with trio.open_nursery() as nursery:
        await nursery.start(program.run)
        with trio.fail_after(HANG_TIMEOUT):
            while not (out.exists() and b"ready" in out.read_bytes()):  # noqa: ASYNC110 - another process writes it
                await trio.sleep(0.001)
            await program.end(0)
            await program.gone.wait()
    assert program.was_ended
    assert program.returncode not in {0, None}
    assert program.survivors == ()
    assert (program.cpu_seconds, program.peak_memory) == (2.0, 123_456)
    assert windows.kernel.is_closed
    missing = Program(["./no-such-program"], "tag", out, error)
    with pytest.raises(NotStartedError, match="there is no such program"):
        await missing.run()


@pytest.mark.skipif(ctypes.sizeof(ctypes.c_void_p) != 8, reason="these are the sizes on 64-bit systems")
def test_structures_are_those_of_the_windows_headers() -> None:
    assert [ctypes.sizeof(each) for each in (BasicLimits, ExtendedLimits, BasicAccounting)] == [64, 144, 48]
    assert BasicLimits.LimitFlags.offset == 16
    assert (ExtendedLimits.ProcessMemoryLimit.offset, ExtendedLimits.PeakProcessMemoryUsed.offset) == (112, 128)
    assert (BasicAccounting.TotalKernelTime.offset, ProcessIdList.ProcessIdList.offset) == (8, 8)


@pytest.mark.parametrize(
    ("memory", "together", "flags", "peak"),
    [(None, None, 0x2400, 123_456), (1 << 30, None, 0x2500, 123_456), (None, LIMITS, 0x260C, 654_321)],
)
def test_a_job_keeps_the_limits_and_ends_its_processes_with_its_last_handle(
    memory: int | None, together: JobLimits | None, flags: int, peak: int
) -> None:
    kernel = Kernel32()
    kernel.pids = (7, 8)
    job = kernel.job(memory, together)
    basic = kernel.limits.BasicLimitInformation
    assert (basic.LimitFlags, kernel.limits.ProcessMemoryLimit) == (flags, memory or 0)
    if together is not None:
        assert (kernel.limits.JobMemoryLimit, basic.ActiveProcessLimit) == (1 << 30, 512)
        assert basic.PerJobUserTimeLimit == 36_000_000_000
    job.assign(1 << 30)  # nothing has this id
    assert (job.cpu_seconds(), job.peak_memory(), job.pids()) == (2.0, peak, (7, 8))
    kernel.has_more_pids = True
    assert job.pids() == (7, 8)  # more than fit into the list are left out
    job.terminate()
    job.close()
    job.close()
    assert [call for call in kernel.calls if call[0] != "query"] == [
        ("create", None, None),
        ("set", JOB, 9, 144),
        ("open", 0x101, 0, 1 << 30),
        ("assign", JOB, PROCESS),
        ("close", PROCESS),
        ("terminate", JOB, 1),  # the exit code of a killed process
        ("close", JOB),
    ]


def test_handles_are_closed_if_the_system_refuses() -> None:
    kernel = Kernel32("set")
    with pytest.raises(OSError, match=REFUSED):
        kernel.job()
    assert kernel.calls[-1] == ("close", JOB)
    kernel = Kernel32("assign", "terminate", "query")
    job = kernel.job()
    with pytest.raises(OSError, match=REFUSED):
        job.assign(1 << 30)
    assert kernel.calls[-1] == ("close", PROCESS)
    for method in (job.terminate, job.cpu_seconds):
        with pytest.raises(OSError, match=REFUSED):
            method()


def test_every_function_that_is_called_has_declared_types() -> None:
    library = MagicMock()
    declare_functions(library)
    for name in vars(Kernel32):
        if name[0].isupper():
            assert isinstance(getattr(library, name).argtypes, tuple)
    assert library.OpenProcess.restype is ctypes.c_void_p


@pytest.mark.skipif(sys.platform != "win32", reason="only Windows has Job Objects")
def test_a_real_job_can_be_opened_and_closed() -> None:
    job = open_job(1 << 30)
    assert job.pids() == ()
    job.close()
