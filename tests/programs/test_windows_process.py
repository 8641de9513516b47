"""Programs as Windows runs them: real processes, with a stand-in for the Job Object or without one.

Starting a suspended process and Job Objects are the system's; here a process is not suspended, and the stand-in finds
its processes with psutil.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
import trio

from spielleiter.common.errors import NotStartedError
from spielleiter.programs import program as program_module
from spielleiter.programs import windows as windows_process
from spielleiter.programs.process import READ_SIZE, JobLimits, ProcessSpec
from spielleiter.programs.process_tree import ProcessTree
from spielleiter.programs.program import Program
from spielleiter.programs.windows import JobObject, WindowsPlatform, WindowsProcess
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
