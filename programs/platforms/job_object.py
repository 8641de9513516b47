"""Job Objects of Windows: processes that the kernel counts, limits and kills together.

Invariants: all processes of a job end when its last handle is closed, which the system also does when this process
ends in any way. Structures have the layout of 64-bit Windows (winnt.h); their sizes are tested on every system.
"""

from __future__ import annotations

import ctypes
import sys
from typing import Any, ClassVar, Final

from spielleiter.programs.process_spec import JobLimits

_BASIC_ACCOUNTING: Final = 1  # the values of JOBOBJECTINFOCLASS
_PROCESS_ID_LIST: Final = 3
_EXTENDED_LIMITS: Final = 9
_LIMIT_JOB_TIME: Final = 0x00000004
_LIMIT_ACTIVE_PROCESS: Final = 0x00000008
_LIMIT_PROCESS_MEMORY: Final = 0x00000100
_LIMIT_JOB_MEMORY: Final = 0x00000200
_LIMIT_DIE_ON_UNHANDLED_EXCEPTION: Final = 0x00000400  # no dialog about a crash, which nobody could close
_LIMIT_KILL_ON_JOB_CLOSE: Final = 0x00002000
_PROCESS_TERMINATE: Final = 0x0001
_PROCESS_SET_QUOTA: Final = 0x0100
_TICKS_PER_SECOND: Final = 10_000_000  # of FILETIME and LARGE_INTEGER times
_ERROR_MORE_DATA: Final = 234
_MAX_PROCESSES: Final = 4096
_EXIT_CODE: Final = 1
"""The exit code of the processes that a job kills."""


class BasicLimits(ctypes.Structure):
    """JOBOBJECT_BASIC_LIMIT_INFORMATION."""

    _fields_: ClassVar[Any] = (
        ("PerProcessUserTimeLimit", ctypes.c_int64),
        ("PerJobUserTimeLimit", ctypes.c_int64),
        ("LimitFlags", ctypes.c_uint32),
        ("MinimumWorkingSetSize", ctypes.c_size_t),
        ("MaximumWorkingSetSize", ctypes.c_size_t),
        ("ActiveProcessLimit", ctypes.c_uint32),
        ("Affinity", ctypes.c_size_t),
        ("PriorityClass", ctypes.c_uint32),
        ("SchedulingClass", ctypes.c_uint32),
    )


class ExtendedLimits(ctypes.Structure):
    """JOBOBJECT_EXTENDED_LIMIT_INFORMATION."""

    _fields_: ClassVar[Any] = (
        ("BasicLimitInformation", BasicLimits),
        ("IoInfo", ctypes.c_uint64 * 6),  # IO_COUNTERS
        ("ProcessMemoryLimit", ctypes.c_size_t),
        ("JobMemoryLimit", ctypes.c_size_t),
        ("PeakProcessMemoryUsed", ctypes.c_size_t),
        ("PeakJobMemoryUsed", ctypes.c_size_t),
    )


class BasicAccounting(ctypes.Structure):
    """JOBOBJECT_BASIC_ACCOUNTING_INFORMATION."""

    _fields_: ClassVar[Any] = (
        ("TotalUserTime", ctypes.c_int64),
        ("TotalKernelTime", ctypes.c_int64),
        ("ThisPeriodTotalUserTime", ctypes.c_int64),
        ("ThisPeriodTotalKernelTime", ctypes.c_int64),
        ("TotalPageFaultCount", ctypes.c_uint32),
        ("TotalProcesses", ctypes.c_uint32),
        ("ActiveProcesses", ctypes.c_uint32),
        ("TotalTerminatedProcesses", ctypes.c_uint32),
    )


class ProcessIdList(ctypes.Structure):
    """JOBOBJECT_BASIC_PROCESS_ID_LIST, with room for many processes."""

    _fields_: ClassVar[Any] = (
        ("NumberOfAssignedProcesses", ctypes.c_uint32),
        ("NumberOfProcessIdsInList", ctypes.c_uint32),
        ("ProcessIdList", ctypes.c_size_t * _MAX_PROCESSES),
    )


class JobObject:
    """A Job Object; it is a `Job` (programs/windows_process.py).

    `memory` limits what each of its processes may allocate, in bytes; None for no limit. `kernel32` is the
    library of that name, and `last_error` returns the number of the last error that it has reported. `together` limits
    all processes of the job; None for no such limits.
    """

    def __init__(self, memory: int | None, kernel32: Any, last_error: Any, together: JobLimits | None = None) -> None:
        self._counts_together = together is not None
        self._kernel32 = kernel32
        self._last_error = last_error
        self._handle: Any = self._checked(kernel32.CreateJobObjectW(None, None))
        limits = ExtendedLimits()
        limits.BasicLimitInformation.LimitFlags = _LIMIT_KILL_ON_JOB_CLOSE | _LIMIT_DIE_ON_UNHANDLED_EXCEPTION
        if memory is not None:
            limits.BasicLimitInformation.LimitFlags |= _LIMIT_PROCESS_MEMORY
            limits.ProcessMemoryLimit = memory
        if together is not None:
            basic = limits.BasicLimitInformation
            basic.LimitFlags |= _LIMIT_JOB_MEMORY | _LIMIT_ACTIVE_PROCESS | _LIMIT_JOB_TIME
            limits.JobMemoryLimit = together.memory
            basic.ActiveProcessLimit = together.processes
            basic.PerJobUserTimeLimit = round(together.seconds * _TICKS_PER_SECOND)
        try:
            self._checked(
                kernel32.SetInformationJobObject(
                    self._handle, _EXTENDED_LIMITS, ctypes.byref(limits), ctypes.sizeof(limits)
                )
            )
        except OSError:
            self.close()
            raise

    def assign(self, pid: int) -> None:
        process = self._checked(self._kernel32.OpenProcess(_PROCESS_SET_QUOTA | _PROCESS_TERMINATE, 0, pid))
        try:
            self._checked(self._kernel32.AssignProcessToJobObject(self._handle, process))
        finally:
            self._kernel32.CloseHandle(process)

    def pids(self) -> tuple[int, ...]:
        found = ProcessIdList()
        try:
            self._query(_PROCESS_ID_LIST, found)
        except OSError as error:
            if getattr(error, "winerror", error.errno) != _ERROR_MORE_DATA:
                raise
        return tuple(found.ProcessIdList[: found.NumberOfProcessIdsInList])

    def cpu_seconds(self) -> float:
        accounting = BasicAccounting()
        self._query(_BASIC_ACCOUNTING, accounting)
        return float(accounting.TotalUserTime + accounting.TotalKernelTime) / _TICKS_PER_SECOND

    def peak_memory(self) -> int:
        limits = ExtendedLimits()
        self._query(_EXTENDED_LIMITS, limits)
        return int(limits.PeakJobMemoryUsed if self._counts_together else limits.PeakProcessMemoryUsed)

    def terminate(self) -> None:
        self._checked(self._kernel32.TerminateJobObject(self._handle, _EXIT_CODE))

    def close(self) -> None:
        if self._handle is not None:
            self._kernel32.CloseHandle(self._handle)
            self._handle = None

    def _query(self, kind: int, structure: ctypes.Structure) -> None:
        size = ctypes.sizeof(structure)
        self._checked(self._kernel32.QueryInformationJobObject(self._handle, kind, ctypes.byref(structure), size, None))

    def _checked(self, result: Any) -> Any:
        """Return the result of a call; raise OSError if it is zero."""
        if not result:
            raise windows_error(self._last_error())
        return result


def windows_error(number: int) -> OSError:
    """Return the exception for an error number of Windows."""
    if sys.platform == "win32":
        return ctypes.WinError(number)
    return OSError(number, f"error {number} of Windows")


def open_job(memory: int | None = None, together: JobLimits | None = None) -> JobObject:
    """Create a Job Object on Windows with these limits; see `JobObject`. Raises OSError."""
    if sys.platform == "win32":
        kernel32 = ctypes.WinDLL("kernel32", use_last_error=True)
        declare_functions(kernel32)
        return JobObject(memory, kernel32, ctypes.get_last_error, together)
    raise NotImplementedError


def declare_functions(kernel32: Any) -> None:
    """Declare the types of the functions that `JobObject` calls: a handle is longer than an int."""
    handle, dword, pointer = ctypes.c_void_p, ctypes.c_uint32, ctypes.c_void_p
    for name, result, arguments in (
        ("CreateJobObjectW", handle, (pointer, ctypes.c_wchar_p)),
        ("SetInformationJobObject", ctypes.c_int, (handle, ctypes.c_int, pointer, dword)),
        ("QueryInformationJobObject", ctypes.c_int, (handle, ctypes.c_int, pointer, dword, pointer)),
        ("AssignProcessToJobObject", ctypes.c_int, (handle, handle)),
        ("TerminateJobObject", ctypes.c_int, (handle, ctypes.c_uint)),
        ("OpenProcess", handle, (dword, ctypes.c_int, dword)),
        ("CloseHandle", ctypes.c_int, (handle,)),
    ):
        function = getattr(kernel32, name)
        function.restype, function.argtypes = result, arguments
