"""Job Objects: the layout of the structures, the calls, and what is made of their results."""

from __future__ import annotations

import ctypes
import sys
from typing import Any

import pytest

from spielleiter.programs import windows as job_object
from spielleiter.programs.process import JobLimits
from spielleiter.programs.windows import (
    BasicAccounting,
    BasicLimits,
    ExtendedLimits,
    JobObject,
    ProcessIdList,
    declare_functions,
    open_job,
)

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
