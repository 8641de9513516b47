"""`spielleiter league` as a process, which tests can kill."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import psutil

COMMAND = [sys.executable, "-P", "-m", "spielleiter"]


class RunningLeague:
    """The command as a process."""

    def __init__(self, folder: Path, port: int = 0) -> None:
        arguments = ["league", str(folder), "--port", str(port), "--helpers-port", "0"]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen([*COMMAND, *arguments], stdout=pipe, stderr=pipe, text=True)
        self.url = self.line().partition(" ")[0]

    def line(self) -> str:
        """The next line that the command prints."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, self.process.communicate()[1]
        return line

    @property
    def port(self) -> int:
        return urlsplit(self.url).port or 0

    def kill(self) -> None:
        """End it as a power failure would, with all its processes."""
        below = psutil.Process(self.process.pid).children(recursive=True)
        self.process.kill()
        for process in below:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        psutil.wait_procs(below)
        self.process.communicate()

    def end(self) -> str:
        """End it with Ctrl-C and return what it wrote to standard error."""
        self.process.send_signal(signal.SIGINT)
        return self.process.communicate()[1]


@contextlib.contextmanager
def running(folder: Path, port: int = 0) -> Iterator[RunningLeague]:
    league = RunningLeague(folder, port)
    try:
        yield league
    finally:
        if league.process.poll() is None:
            league.kill()
