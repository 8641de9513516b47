"""Every platform starts, watches and ends programs alike: this one, and the others as far as they run here."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import psutil
import pytest
import trio

from spielleiter.programs.platform_api import READ_SIZE, Platform, Process, ProcessSpec
from spielleiter.programs.this_platform import PLATFORM
from tests.programs.test_windows import CHILD, READY, SLEEP, Windows
from tests.timeouts import HANG_TIMEOUT

JOBS = {
    "Windows": (),
    "Windows without a job": ("create",),
    "Windows with a job that refuses a program": ("assign",),
    "Windows with a job that does not work": ("query", "terminate"),
}


@pytest.fixture(params=["this platform", "macOS", *JOBS])
def platform(request: pytest.FixtureRequest) -> Platform:
    """Each platform, Windows also with each way in which there may be no job."""
    if request.param == "this platform":
        return PLATFORM
    if request.param == "macOS":
        if sys.platform == "win32":
            pytest.skip("Windows has no processes of this kind")
        else:
            from spielleiter.programs.macos import MacPlatform

            return MacPlatform()
    windows = Windows()
    windows.kernel.failing = set(JOBS[request.param])
    return windows.platform


async def start(platform: Platform, code: str) -> Process:
    return await platform.start(ProcessSpec([sys.executable, "-ISc", code], None, dict(os.environ)))


async def outputs_of(process: Process) -> list[list[bytes]]:
    """Return the words of standard output and standard error, after both have ended."""
    words = []
    for stream in process.open_outputs():
        async with stream:
            words.append(b"".join([bytes(chunk) async for chunk in stream]).split())
    return words


@pytest.mark.slow
async def test_a_program_runs_to_its_end(platform: Platform) -> None:
    process = await start(platform, "import sys; print('to out'); print('to error', file=sys.stderr); sys.exit(6)")
    with trio.fail_after(HANG_TIMEOUT):
        assert await outputs_of(process) == [[b"to", b"out"], [b"to", b"error"]]
        await process.wait()
        await process.wait_for_children()
        assert process.has_ended
        await process.end()
    assert (process.returncode, process.leftovers, process.survivors) == (6, (), ())


@pytest.mark.slow
async def test_everything_that_a_program_has_started_ends_with_it(platform: Platform) -> None:
    process = await start(platform, CHILD + READY + SLEEP)
    out, error = process.open_outputs()
    with trio.fail_after(HANG_TIMEOUT):
        async with out, error:
            assert (await out.receive_some(READ_SIZE)).strip() == b"ready"
            pids = process.find_all()
            assert len(pids) == 2
            assert not process.has_ended
            process.terminate()
            await process.wait()
            assert process.returncode not in {0, None}
            assert process.cpu_seconds_so_far >= 0
            await process.end()
    assert [pid for pid in pids if psutil.pid_exists(pid) and psutil.Process(pid).status() != "zombie"] == []


@pytest.mark.slow
async def test_a_child_that_outlives_the_program_is_named_and_killed(platform: Platform, tmp_path: Path) -> None:
    wait = f"import os, time\nwhile not os.path.exists({str(tmp_path / 'go')!r}): time.sleep(0.001)\nsys.exit(3)"
    process = await start(platform, CHILD + READY + wait)
    out, error = process.open_outputs()
    with trio.fail_after(HANG_TIMEOUT):
        async with out, error:
            assert (await out.receive_some(READ_SIZE)).strip() == b"ready"
            assert len(process.pids) == 2
            (tmp_path / "go").touch()
            await process.wait()
            await process.wait_for_children()
            assert process.returncode == 3
            assert [each.name for each in process.leftovers] == [Path(sys.executable).name]
            await process.end()
    assert process.survivors == ()


def test_every_platform_but_linux_says_what_it_cannot_do(platform: Platform) -> None:
    assert (platform.gaps == ()) == (platform.name == "Linux")
    assert all(gap.startswith(f"{platform.name} does not ") for gap in platform.gaps)
    assert platform.start_stamp(os.getpid()) == platform.start_stamp(os.getpid()) is not None
    assert platform.start_stamp(2**22 + 1) is None  # more than any system gives out
    assert (platform.cpu_clock_of(os.getpid()) or 0.0) <= time.process_time()
    assert platform.cpu_clock_of(2**22 + 1) is None
    assert {"linux": "Linux", "win32": "Windows", "darwin": "macOS"}[sys.platform] == PLATFORM.name
    assert PLATFORM.usable_cores()
