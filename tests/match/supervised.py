"""Supervised processes for tests."""

from __future__ import annotations

import sys

assert sys.platform == "linux"

import os
import time
from collections.abc import Callable
from pathlib import Path

import trio

from spielleiter.programs.linux import SupervisedProcess, start_supervised_process
from spielleiter.programs.platform_api import ProcessSpec
from tests.timeouts import HANG_TIMEOUT


def start(script: str, **options: object) -> SupervisedProcess:
    """Start a shell script; `options` are those of `ProcessSpec`."""
    process = start_supervised_process(ProcessSpec(["sh", "-c", script], None, dict(os.environ), **options))  # type: ignore[arg-type]
    assert process is not None
    return process


def wait_until(condition: Callable[[], bool]) -> None:
    """Wait until another process makes `condition` true."""
    deadline = time.monotonic() + HANG_TIMEOUT
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.001)


def parent_of(pid: int) -> int:
    """Return the parent of a process."""
    return int(Path("/proc", str(pid), "stat").read_text().rpartition(")")[2].split()[1])


async def finish(process: SupervisedProcess) -> None:
    """End a process and close its outputs."""
    with trio.fail_after(HANG_TIMEOUT):
        await process.end()
    process.stdout.close()
    process.stderr.close()
