"""Dask clusters on this machine whose workers differ, as two machines would."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from spielleiter.cluster.worker import SCRATCH_PREFIX
from tests.match.conftest import late_book, players, replay
from tests.timeouts import HANG_TIMEOUT

__all__ = ["late_book", "players", "replay"]  # fixtures of these tests, too

FAST, SLOW = "fast", "slow"
PERIOD = 0.1
"""Seconds from one stop of a slowed worker to the next; short, so that its event loop seems to run steadily."""


class Machines:
    """A scheduler and workers: `FAST`, and `SLOW`, which is said to be ten times as slow and has other programs.

    `folder` has their scratch folders, and the folders ``bin-fast`` and ``bin-slow`` that are on their PATHs.
    """

    def __init__(self, folder: Path, *names: str) -> None:
        from distributed import Nanny, Scheduler, SpecCluster

        self.folder = folder
        workers = {}
        for name in names:
            programs = folder / f"bin-{name}"
            programs.mkdir()
            variables = {
                "TMPDIR": str(folder),
                "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
                "SPIELLEITER_SPEED": "2" if name == FAST else "0.2",
                "MACHINE": name,
            }
            options = {"nthreads": 1, "host": "127.0.0.1", "env": variables, "local_directory": str(folder / "dask")}
            workers[name] = {"cls": Nanny, "options": {**options, "memory_limit": 0, "dashboard": False}}
        scheduler = {"cls": Scheduler, "options": {"host": "127.0.0.1", "port": 0, "dashboard": False}}
        self.cluster = SpecCluster(workers, scheduler, silence_logs=False)
        self.address = str(self.cluster.scheduler_address)

    def close(self) -> None:
        self.cluster.close()

    def pid_of(self, name: str) -> int:
        """The process of a worker; it changes when the worker is restarted."""
        pid = self.cluster.workers[name].pid
        assert isinstance(pid, int)
        return pid

    @property
    def processes(self) -> list[psutil.Process]:
        """The site processes of all workers, and everything else that names a scratch folder."""
        mark = str(self.folder / SCRATCH_PREFIX)
        return [each for each in psutil.process_iter() if any(mark in word for word in _command_line(each))]

    @property
    def scratch_folders(self) -> list[Path]:
        return list(self.folder.glob(f"{SCRATCH_PREFIX}*"))

    @contextmanager
    def slowed(self, name: str) -> Iterator[None]:
        """Let a worker and everything that it has started run for a tenth of the time only."""
        is_over = threading.Event()

        def slow_down() -> None:
            worker = psutil.Process(self.pid_of(name))
            while not is_over.wait(PERIOD / 10):
                stopped = [each for each in (worker, *worker.children(recursive=True)) if _signal(each.suspend)]
                time.sleep(PERIOD * 9 / 10)
                for each in stopped:
                    _signal(each.resume)

        thread = threading.Thread(target=slow_down)
        thread.start()
        try:
            yield
        finally:
            is_over.set()
            thread.join()

    def wait_until_clean(self) -> None:
        """Wait until no site is left."""
        deadline = time.monotonic() + HANG_TIMEOUT
        while self.processes or self.scratch_folders:
            assert time.monotonic() < deadline, (self.processes, self.scratch_folders)
            time.sleep(0.05)


def _signal(send: Callable[[], None]) -> bool:
    """Send a signal; False if the process has ended."""
    try:
        send()
    except psutil.NoSuchProcess:
        return False
    return True


def _command_line(process: psutil.Process) -> list[str]:
    try:
        return list(process.cmdline())
    except psutil.Error:
        return []


def started(folder: Path, *names: str) -> Iterator[Machines]:
    """Start machines, and close them at the end. The workers ignore Ctrl+C, since tests send it to commands."""
    if sys.platform == "win32":
        pytest.skip("signals and scratch folders are those of POSIX")
    machines = Machines(folder, *names)
    yield machines
    machines.close()


@pytest.fixture(scope="module")
def machines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machines]:
    yield from started(tmp_path_factory.mktemp("cluster"), FAST, SLOW)


@pytest.fixture
def one_machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machines]:
    yield from started(tmp_path_factory.mktemp("cluster"), FAST)


def kill(pid: int) -> None:
    psutil.Process(pid).kill()
