"""Windows: a program and what it starts are in a Job Object, which nothing can leave.

The process is created suspended and continues once it is in the job, so the kernel kills all of it together, also if
this process is killed. If the system refuses the job, the descendants are found and killed with psutil, which misses
what a program has started whose parent has ended in the meantime. Windows cannot ask a process to end: `terminate`
kills at once.

Structures have the layout of 64-bit Windows (winnt.h). The tests run on every system, with stand-ins for the job.
"""

from __future__ import annotations

import contextlib
import ctypes
import subprocess
import sys
from collections.abc import Callable
from typing import Any, ClassVar, Final

import psutil
import trio

from spielleiter.programs.linux_processes import ProcessInfo
from spielleiter.programs.platform_api import JobLimits, Process, ProcessSpec, common_gaps
from spielleiter.programs.psutil_processes import TreePlatform, TreeProcess, infos_of
from spielleiter.programs.windows_command import command_line

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
    """A Job Object, which the kernel ends with its last handle, so also with this process. Methods raise OSError.

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
        """Put a process into the job; what it starts from now on is in the job as well."""
        process = self._checked(self._kernel32.OpenProcess(_PROCESS_SET_QUOTA | _PROCESS_TERMINATE, 0, pid))
        try:
            self._checked(self._kernel32.AssignProcessToJobObject(self._handle, process))
        finally:
            self._kernel32.CloseHandle(process)

    def pids(self) -> tuple[int, ...]:
        """Return the ids of the processes of the job that are running."""
        found = ProcessIdList()
        try:
            self._query(_PROCESS_ID_LIST, found)
        except OSError as error:
            if getattr(error, "winerror", error.errno) != _ERROR_MORE_DATA:
                raise
        return tuple(found.ProcessIdList[: found.NumberOfProcessIdsInList])

    def cpu_seconds(self) -> float:
        """Return the processor time in seconds of all processes that have ever been in the job."""
        accounting = BasicAccounting()
        self._query(_BASIC_ACCOUNTING, accounting)
        return float(accounting.TotalUserTime + accounting.TotalKernelTime) / _TICKS_PER_SECOND

    def peak_memory(self) -> int:
        """Return the most bytes that one process of the job has allocated, or all together if the job limits that."""
        limits = ExtendedLimits()
        self._query(_EXTENDED_LIMITS, limits)
        return int(limits.PeakJobMemoryUsed if self._counts_together else limits.PeakProcessMemoryUsed)

    def terminate(self) -> None:
        """Kill all processes of the job."""
        self._checked(self._kernel32.TerminateJobObject(self._handle, _EXIT_CODE))

    def close(self) -> None:
        """Close the job, which kills what is left in it."""
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


_CREATE_SUSPENDED: Final = 0x00000004
_CREATE_NEW_PROCESS_GROUP: Final = 0x00000200  # Ctrl+C in the console is meant for the match
CREATION_FLAGS: Final = _CREATE_SUSPENDED | _CREATE_NEW_PROCESS_GROUP
_OPTIONS: Final[dict[str, Any]] = {"creationflags": CREATION_FLAGS} if sys.platform == "win32" else {}
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


class WindowsProcess(TreeProcess):
    """A process and what it has started; `WindowsPlatform.start` makes it."""

    killed_code = 1  # what Windows reports for a process that was killed
    console_hosts = frozenset({"conhost.exe", "openconsole.exe"})
    """Processes that Windows itself starts beside a program."""

    def __init__(self, process: trio.Process, job: JobObject | None) -> None:
        super().__init__(process.pid)
        self._process = process
        self._job = job

    def open_outputs(self) -> tuple[trio.abc.ReceiveStream, trio.abc.ReceiveStream]:
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        return self._process.stdout, self._process.stderr

    @property
    def pids(self) -> tuple[int, ...]:
        if self._job is not None:
            with contextlib.suppress(OSError):
                return self._job.pids()
        return self._tree.find()

    def others(self) -> tuple[ProcessInfo, ...]:
        found = infos_of(pid for pid in self.pids if pid != self.pid)
        return tuple(each for each in found if each.name.lower() not in self.console_hosts)

    @property
    def has_ended(self) -> bool:
        return self.returncode is not None or self._process.poll() is not None

    @property
    def cpu_seconds_so_far(self) -> float:
        if self._job is not None:
            with contextlib.suppress(OSError):
                return self._job.cpu_seconds()
        return self._tree.measure()

    def terminate(self) -> None:
        if self._job is not None:
            with contextlib.suppress(OSError):
                self._job.terminate()
                return
        self._tree.kill()

    async def kill(self) -> None:
        self.terminate()
        await trio.lowlevel.checkpoint()

    async def wait(self) -> None:
        """Wait until the process has ended, and take its processor time and its memory."""
        code = await self._process.wait()
        if self.returncode is None:
            self._measure()
            self.returncode = code

    def _measure(self) -> None:
        self.cpu_seconds = max(self.cpu_seconds, self.cpu_seconds_so_far)
        self.peak_memory = self._tree.peak_memory
        if self._job is not None:
            with contextlib.suppress(OSError):
                self.peak_memory = self._job.peak_memory()

    async def end(self) -> None:
        """Kill everything that is left and close the job. Takes limited time: see `survivors`."""
        await super().end()
        if self._job is not None:
            self._measure()
            self._job.close()
            self._job = None


async def _abandon(process: trio.Process) -> None:
    """End a process that was just started."""
    process.kill()
    with trio.CancelScope(shield=True):
        for stream in (process.stdout, process.stderr):
            assert stream is not None
            await stream.aclose()
        await process.wait()


class WindowsPlatform(TreePlatform):
    """Programs in Job Objects; `open_job` creates one with limits. `process` is the class of a running program."""

    name = "Windows"
    gaps = common_gaps(name)
    can_bind_cores = True
    can_limit_memory = True
    program_variables = _VARIABLES

    def __init__(
        self,
        open_job: Callable[[int | None, JobLimits | None], JobObject] = open_job,
        process: type[WindowsProcess] = WindowsProcess,
    ) -> None:
        self._open_job = open_job
        self._process = process

    def home_variables(self, folder: str) -> dict[str, str]:
        return dict.fromkeys(("USERPROFILE", "APPDATA", "LOCALAPPDATA"), folder)

    def usable_cores(self) -> list[int]:
        if sys.platform == "darwin":
            raise NotImplementedError
        return sorted(psutil.Process().cpu_affinity())

    async def start(self, spec: ProcessSpec) -> Process:
        is_limited = spec.memory is not None or spec.job is not None  # only a job can keep these limits
        job: JobObject | None = None
        async with contextlib.AsyncExitStack() as undo:
            try:
                job = self._open_job(spec.memory, spec.job)
                undo.callback(job.close)
            except OSError:
                if is_limited:
                    raise
            process = await trio.lowlevel.open_process(
                command_line(spec.arguments),
                stdin=subprocess.DEVNULL if spec.stdin is None else spec.stdin,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=spec.cwd,
                env=dict(spec.environment),
                **_OPTIONS,
            )
            undo.push_async_callback(_abandon, process)
            if job is not None:
                try:
                    job.assign(process.pid)
                except OSError:
                    if is_limited:
                        raise
                    job.close()
                    job = None
            try:
                suspended = psutil.Process(process.pid)
                if spec.cores is not None and sys.platform != "darwin":
                    suspended.cpu_affinity(list(spec.cores))
                suspended.resume()
            except psutil.Error as error:
                raise OSError(str(error)) from error
            undo.pop_all()
        return self._process(process, job)
