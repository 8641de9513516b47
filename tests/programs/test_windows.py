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

import psutil
import pytest
import trio

from spielleiter.common.errors import NotStartedError
from spielleiter.programs import program as program_module
from spielleiter.programs import windows as job_object
from spielleiter.programs import windows as windows_process
from spielleiter.programs.platforms import PLATFORM
from spielleiter.programs.process import READ_SIZE, JobLimits, Platform, ProcessSpec, common_gaps
from spielleiter.programs.process_tree import ProcessTree
from spielleiter.programs.program import Program
from spielleiter.programs.windows import (
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

CHILD = "import subprocess, sys; subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(500)']); "
READY = "print('ready', flush=True); "
SLEEP = "import time; time.sleep(500)"


class FakeJob(JobObject):
    """A stand-in for a Job Object; everything that needs a real process raises OSError before `assign`."""

    def __init__(self, memory: int | None = None) -> None:
        self.memory = memory
        self.together: JobLimits | None = None
        self.is_refusing = self.is_broken = self.is_closed = False
        self._tree: ProcessTree | None = None

    @property
    def tree(self) -> ProcessTree:
        if self._tree is None or self.is_broken:
            raise OSError(6, "invalid handle")
        return self._tree

    def assign(self, pid: int) -> None:
        if self.is_refusing:
            raise OSError(5, "access denied")
        self._tree = ProcessTree(pid)

    def pids(self) -> tuple[int, ...]:
        return self.tree.find()

    def cpu_seconds(self) -> float:
        self.tree.find()
        return 1.5

    def peak_memory(self) -> int:
        self.tree.find()
        return 4096

    def terminate(self) -> None:
        self.tree.kill()

    def close(self) -> None:
        self.is_closed = True
        if self._tree is not None:
            self._tree.kill()


class Windows:
    """Windows with stand-ins for Job Objects, which are in `jobs`."""

    def __init__(self) -> None:
        self.jobs: list[FakeJob] = []
        self.job = FakeJob()
        self.refuses_jobs = False
        self.platform = WindowsPlatform(self._open)

    def _open(self, memory: int | None, together: JobLimits | None = None) -> FakeJob:
        if self.refuses_jobs:
            raise OSError(8, "not enough memory")
        self.job.memory, self.job.together = memory, together
        self.jobs.append(self.job)
        return self.job

    async def start(self, code: str, **more: object) -> WindowsProcess:
        spec = ProcessSpec([sys.executable, "-c", code], None, dict(os.environ), **more)  # type: ignore[arg-type]
        process = await self.platform.start(spec)
        assert isinstance(process, WindowsProcess)
        return process


@pytest.fixture
def windows() -> Windows:
    return Windows()


@pytest.fixture(params=["job", "no job", "refused", "broken"])
def any_windows(request: pytest.FixtureRequest, windows: Windows) -> Windows:
    """Windows with a job, and with each way in which there may be none."""
    windows.refuses_jobs = request.param == "no job"
    windows.job.is_refusing = request.param == "refused"
    windows.job.is_broken = request.param == "broken"
    return windows


async def read(stream: trio.abc.ReceiveStream) -> bytes:
    async with stream:
        return b"".join([bytes(chunk) async for chunk in stream])


async def wait_until_ready(process: WindowsProcess) -> None:
    out, _ = process.open_outputs()
    assert (await out.receive_some(READ_SIZE)).strip() == b"ready"


async def finish(process: WindowsProcess) -> None:
    with trio.fail_after(HANG_TIMEOUT):
        await process.end()
        for stream in process.open_outputs():
            await stream.aclose()


@pytest.mark.slow
async def test_a_program_runs_to_its_end(windows: Windows) -> None:
    process = await windows.start("import sys; print('to out'); print('to error', file=sys.stderr); sys.exit(6)")
    out, error = process.open_outputs()
    with trio.fail_after(HANG_TIMEOUT):
        assert (await read(out)).split() == [b"to", b"out"]
        assert (await read(error)).split() == [b"to", b"error"]
        await process.wait()
        await process.wait_for_children()
    assert process.has_ended
    assert (process.returncode, process.leftovers) == (6, ())
    assert (process.cpu_seconds, process.peak_memory) == (1.5, 4096)
    await finish(process)
    assert windows.job.is_closed
    assert process.survivors == ()


@pytest.mark.slow
async def test_everything_that_a_program_has_started_ends_with_it(any_windows: Windows) -> None:
    process = await any_windows.start(CHILD + READY + SLEEP)
    await wait_until_ready(process)
    pids = process.find_all()
    assert len(pids) == 2
    assert not process.has_ended
    await finish(process)
    assert process.returncode not in {0, None}
    assert [pid for pid in pids if psutil.pid_exists(pid) and psutil.Process(pid).status() != "zombie"] == []


@pytest.mark.slow
async def test_a_child_that_outlives_the_program_is_named_and_killed(windows: Windows, tmp_path: Path) -> None:
    wait = f"import os, time\nwhile not os.path.exists({str(tmp_path / 'go')!r}): time.sleep(0.001)\nsys.exit(3)"
    process = await windows.start(CHILD + READY + wait)
    process.child_exit_timeout = 0.0
    await wait_until_ready(process)
    assert len(process.pids) == 2
    (tmp_path / "go").touch()
    with trio.fail_after(HANG_TIMEOUT):
        await process.wait()
        await process.wait_for_children()
    assert process.returncode == 3
    assert [each.name for each in process.leftovers] == [Path(sys.executable).name]
    await finish(process)
    assert process.survivors == ()


@pytest.mark.slow
async def test_terminating_a_program_kills_it_at_once(any_windows: Windows) -> None:
    process = await any_windows.start(READY + SLEEP)
    await wait_until_ready(process)
    process.terminate()
    with trio.fail_after(HANG_TIMEOUT):
        await process.wait()
    assert process.returncode not in {0, None}
    assert process.cpu_seconds_so_far >= 0
    await finish(process)


@pytest.mark.slow
async def test_the_console_hosts_of_windows_are_no_leftovers(windows: Windows) -> None:
    process = await windows.start(CHILD + READY + SLEEP)
    process.console_hosts = frozenset({Path(sys.executable).name.lower()})
    await wait_until_ready(process)
    assert len(process.pids) == 2
    await process.wait_for_children()
    assert process.leftovers == ()
    await finish(process)


async def test_a_process_that_cannot_be_killed_is_given_up_and_named(
    windows: Windows, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = await windows.start(SLEEP)
    pid = process.pids[0]
    process.kill_timeout = 0.02
    monkeypatch.setattr(windows.job, "terminate", lambda: None)
    monkeypatch.setattr(windows.job, "close", lambda: None)
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
    assert windows.job.is_closed


async def test_a_program_that_cannot_be_resumed_is_killed(windows: Windows, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(process: psutil.Process) -> None:
        raise psutil.AccessDenied(process.pid)

    monkeypatch.setattr(psutil.Process, "resume", refuse)
    with pytest.raises(OSError, match="pid="):
        await windows.start(SLEEP)
    assert windows.job.is_closed


async def test_memory_is_limited_by_the_job_or_not_at_all(windows: Windows) -> None:
    process = await windows.start(SLEEP, memory=1 << 30)
    assert windows.job.memory == 1 << 30
    await finish(process)
    windows.refuses_jobs = True
    with pytest.raises(OSError, match="not enough memory"):
        await windows.start(SLEEP, memory=1 << 30)


async def test_a_program_does_not_run_in_a_job_that_refuses_it_if_its_memory_is_limited(windows: Windows) -> None:
    windows.job.is_refusing = True
    with pytest.raises(OSError, match="access denied"):
        await windows.start(SLEEP, memory=1 << 30)
    assert windows.job.is_closed


@pytest.mark.skipif(sys.platform == "darwin", reason="macOS binds nothing to cores")
async def test_a_program_is_bound_to_its_cores(windows: Windows) -> None:
    core = windows.platform.usable_cores()[-1]
    process = await windows.start(SLEEP, cores=(core,))
    assert sys.platform == "darwin" or psutil.Process(process.pids[0]).cpu_affinity() == [core]
    await finish(process)


async def test_there_is_no_supervisor(windows: Windows) -> None:
    process = await windows.start(SLEEP)
    await process.watch_supervisor()
    process.resume_supervisor()
    await process.kill_supervisor()
    assert (process.supervisor_stops, process.has_stopped_supervisor) == (0, False)
    await finish(process)


def test_a_process_is_created_suspended_and_apart_from_ctrl_c() -> None:
    assert windows_process.CREATION_FLAGS == 0x204
    if sys.platform == "win32":
        assert subprocess.CREATE_NEW_PROCESS_GROUP & windows_process.CREATION_FLAGS


@pytest.mark.slow
async def test_a_whole_program_is_run_on_windows(
    any_windows: Windows, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With its outputs in files, as in a match."""
    monkeypatch.setattr(program_module, "PLATFORM", any_windows.platform)
    out, error = tmp_path / "out", tmp_path / "error"
    program = Program([sys.executable, "-c", READY + SLEEP], "tag", out, error)
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
    missing = Program(["./no-such-program"], "tag", out, error)
    with pytest.raises(NotStartedError, match="there is no such program"):
        await missing.run()


async def test_limits_for_everything_are_those_of_the_job(windows: Windows) -> None:
    limits = JobLimits(1 << 30, 512, 3600)
    process = await windows.start("pass", job=limits)
    assert windows.job.together == limits
    await process.wait()
    await process.end()


async def test_without_a_job_nothing_is_started_that_needs_its_limits(windows: Windows) -> None:
    windows.refuses_jobs = True
    with pytest.raises(OSError, match="not enough memory"):
        await windows.start("pass", job=JobLimits(1 << 30, 512, 3600))
    windows.refuses_jobs, windows.job.is_refusing = False, True
    with pytest.raises(OSError, match="access denied"):
        await windows.start("pass", job=JobLimits(1 << 30, 512, 3600))


JOB, PROCESS = 40, 41
"""The handles that the stand-in gives out."""


class Kernel32:
    """A stand-in for the library. Calls whose names are in `failing` fail; `more_pids` makes the list incomplete."""

    def __init__(self, *failing: str) -> None:
        self.failing = failing
        self.calls: list[tuple[Any, ...]] = []
        self.limits = ExtendedLimits()
        self.last_error = 0
        self.has_more_pids = False

    def _result(self, name: str, *arguments: Any, result: int = 1) -> int:
        self.calls.append((name, *arguments))
        self.last_error = 5 if name in self.failing else 0
        return 0 if name in self.failing else result

    def CreateJobObjectW(self, security: None, name: None) -> int:  # noqa: N802
        return self._result("create", security, name, result=JOB)

    def SetInformationJobObject(self, handle: int, kind: int, data: Any, size: int) -> int:  # noqa: N802
        ctypes.memmove(ctypes.byref(self.limits), data, size)
        return self._result("set", handle, kind, size)

    def OpenProcess(self, access: int, inherits: int, pid: int) -> int:  # noqa: N802
        return self._result("open", access, inherits, pid, result=PROCESS)

    def AssignProcessToJobObject(self, job: int, process: int) -> int:  # noqa: N802
        return self._result("assign", job, process)

    def TerminateJobObject(self, job: int, code: int) -> int:  # noqa: N802
        return self._result("terminate", job, code)

    def CloseHandle(self, handle: int) -> int:  # noqa: N802
        return self._result("close", handle)

    def QueryInformationJobObject(self, handle: int, kind: int, data: Any, size: int, _length: None) -> int:  # noqa: N802
        if kind == 3:
            found = ctypes.cast(data, ctypes.POINTER(ProcessIdList)).contents
            found.NumberOfProcessIdsInList = 2
            found.ProcessIdList[0], found.ProcessIdList[1] = 7, 8
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


def make(kernel: Kernel32, memory: int | None = None) -> JobObject:
    return JobObject(memory, kernel, lambda: kernel.last_error)


@pytest.mark.skipif(ctypes.sizeof(ctypes.c_void_p) != 8, reason="these are the sizes on 64-bit systems")
@pytest.mark.parametrize(
    ("structure", "size"),
    [(BasicLimits, 64), (ExtendedLimits, 144), (BasicAccounting, 48)],
)
def test_structures_have_the_sizes_of_the_windows_headers(structure: type[ctypes.Structure], size: int) -> None:
    assert ctypes.sizeof(structure) == size


@pytest.mark.parametrize(
    ("structure", "field", "offset"),
    [
        (BasicLimits, "LimitFlags", 16),
        (ExtendedLimits, "ProcessMemoryLimit", 112),
        (ExtendedLimits, "PeakProcessMemoryUsed", 128),
        (BasicAccounting, "TotalKernelTime", 8),
        (ProcessIdList, "ProcessIdList", 8),
    ],
)
def test_fields_have_the_offsets_of_the_windows_headers(structure: type[Any], field: str, offset: int) -> None:
    assert getattr(structure, field).offset == offset


def test_a_job_ends_its_processes_with_its_last_handle() -> None:
    kernel = Kernel32()
    job = make(kernel)
    assert kernel.limits.BasicLimitInformation.LimitFlags == 0x2400
    job.close()
    job.close()
    assert kernel.calls == [("create", None, None), ("set", JOB, 9, 144), ("close", JOB)]


def test_a_job_can_limit_the_memory_of_each_process() -> None:
    kernel = Kernel32()
    make(kernel, 1 << 30).close()
    assert kernel.limits.BasicLimitInformation.LimitFlags == 0x2500
    assert kernel.limits.ProcessMemoryLimit == 1 << 30


def test_a_process_is_put_into_the_job_by_a_handle_that_is_closed_again() -> None:
    kernel = Kernel32()
    job = make(kernel)
    job.assign(7)
    assert kernel.calls[2:] == [("open", 0x101, 0, 7), ("assign", JOB, PROCESS), ("close", PROCESS)]


def test_the_handle_of_a_process_is_closed_if_the_system_refuses_the_job() -> None:
    kernel = Kernel32("assign")
    with pytest.raises(OSError, match="5"):
        make(kernel).assign(7)
    assert kernel.calls[-1] == ("close", PROCESS)


def test_a_job_that_cannot_be_limited_is_closed() -> None:
    kernel = Kernel32("set")
    with pytest.raises(OSError, match="5"):
        make(kernel)
    assert kernel.calls[-1] == ("close", JOB)


def test_a_job_counts_times_memory_and_processes() -> None:
    job = make(Kernel32())
    assert job.cpu_seconds() == 2.0
    assert job.peak_memory() == 123_456
    assert job.pids() == (7, 8)


def test_more_processes_than_fit_into_the_list_are_left_out() -> None:
    kernel = Kernel32()
    kernel.has_more_pids = True
    assert make(kernel).pids() == (7, 8)


def test_a_job_is_terminated_with_the_exit_code_of_a_killed_process() -> None:
    kernel = Kernel32()
    make(kernel).terminate()
    assert kernel.calls[-1] == ("terminate", JOB, 1)
    with pytest.raises(OSError, match="5"):
        make(Kernel32("terminate")).terminate()


def test_an_unexpected_error_of_a_query_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = Kernel32("query")
    with pytest.raises(OSError, match="5"):
        make(kernel).pids()


def test_every_function_that_is_called_has_declared_types() -> None:
    class Function:
        restype: Any = None
        argtypes: Any = ()

    class Library:
        def __getattr__(self, name: str) -> Function:
            function = Function()
            setattr(self, name, function)
            return function

    library = Library()
    declare_functions(library)
    called = {name for name in vars(Kernel32) if name[0].isupper()}
    assert {name for name, function in vars(library).items() if function.argtypes} == called
    assert vars(library)["OpenProcess"].restype is ctypes.c_void_p


def test_limits_for_all_processes_together() -> None:
    kernel = Kernel32()
    job = JobObject(None, kernel, lambda: 0, JobLimits(memory=1 << 30, processes=512, seconds=90.5))
    basic = kernel.limits.BasicLimitInformation
    assert basic.LimitFlags == 0x2000 | 0x400 | 0x200 | 0x8 | 0x4
    assert (kernel.limits.JobMemoryLimit, kernel.limits.ProcessMemoryLimit) == (1 << 30, 0)
    assert (basic.ActiveProcessLimit, basic.PerJobUserTimeLimit) == (512, 905_000_000)
    assert job.peak_memory() == 654_321


@pytest.mark.skipif(sys.platform != "win32", reason="only Windows has Job Objects")
def test_a_real_job_can_be_opened_and_closed() -> None:
    job = open_job(1 << 30)
    assert job.pids() == ()
    job.close()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has Job Objects")
def test_other_systems_have_no_jobs() -> None:
    with pytest.raises(NotImplementedError):
        job_object.open_job()


NAMES = {"linux": "Linux", "win32": "Windows", "darwin": "macOS"}


def test_the_platform_is_that_of_this_machine() -> None:
    assert PLATFORM.name == NAMES[sys.platform]
    assert PLATFORM.usable_cores()
    assert PLATFORM.start_stamp(os.getpid()) is not None


def test_every_platform_but_linux_says_what_it_cannot_do() -> None:
    platforms: list[Platform] = [PLATFORM, WindowsPlatform()]
    if sys.platform != "win32":
        from spielleiter.programs.macos import MacPlatform

        platforms.append(MacPlatform())
    for platform in platforms:
        assert (platform.gaps == ()) == (platform.name == "Linux")
        assert set(common_gaps(platform.name)) <= set(platform.gaps) or not platform.gaps
        assert all(gap.startswith(f"{platform.name} does not ") and gap.endswith(".") for gap in platform.gaps)


def test_a_process_that_does_not_exist_has_no_stamp() -> None:
    for platform in (PLATFORM, WindowsPlatform()):
        assert platform.start_stamp(2**22 + 1) is None  # more than any system gives out
