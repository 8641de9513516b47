"""The processes of a benchmark: the server, the bare wire, and those that play.

Every measurement starts a new process, which has ended when the `with` statement ends, in whatever way. The processes
are in a process group of their own: Ctrl-C interrupts the benchmark, and the benchmark ends them.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any, Final

from spielleiter.bench.scripted_games import START_PIECE, Load
from spielleiter.common.own_python import own_python

STOP_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)
START_TIMEOUT: Final = 30.0
END_TIMEOUT: Final = 30.0
LOG_NAME: Final = "log"
REPLAYS_NAME: Final = "replays"
START_POLL_INTERVAL: Final = 0.002  # seconds between two checks whether a server has started


class BenchError(Exception):
    """The benchmark failed. The text is one line."""


@contextmanager
def deferred_stop_signals() -> Iterator[None]:
    """Handle SIGINT and SIGTERM that arrive during the `with` statement at its end.

    Nothing is deferred in a thread other than the main thread, which signals do not interrupt.
    """
    if sys.platform == "win32":
        raise NotImplementedError
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    arrived: list[int] = []

    def note(number: int, _frame: FrameType | None) -> None:
        arrived.append(number)

    # While the handlers are exchanged the system keeps the signals back. It must not do so all the time, since a
    # process that is started meanwhile would inherit that.
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)
    before = {number: signal.signal(number, note) for number in STOP_SIGNALS}
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    try:
        yield
    finally:
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)
        for stop_signal, handler in before.items():
            signal.signal(stop_signal, handler)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        with contextlib.ExitStack() as stack:  # all handlers run, also if that of an earlier one raises an exception
            for number in reversed(arrived):
                stack.callback(signal.raise_signal, number)


def start_python(arguments: Sequence[str], **more: Any) -> subprocess.Popen[str]:
    """Start the same Python with `arguments`. The current folder is not on its import path.

    `more` are further arguments of `subprocess.Popen`.
    """
    return subprocess.Popen([*own_python(), "-P", *arguments], text=True, process_group=0, **more)


@contextmanager
def running_python(arguments: Sequence[str], **more: Any) -> Iterator[subprocess.Popen[str]]:
    """Run the same Python as `start_python` does, and end it with the `with` statement."""
    with contextlib.ExitStack() as stack:
        with deferred_stop_signals():  # a process must not be lost between its start and its registration
            process = start_python(arguments, **more)
            stack.callback(end, process)
        yield process


def running_piped(arguments: Sequence[str]) -> contextlib.AbstractContextManager[subprocess.Popen[str]]:
    """Run Python as `running_python` does, with pipes for its standard input, output and error."""
    pipe = subprocess.PIPE
    return running_python(arguments, stdin=pipe, stdout=pipe, stderr=pipe)


def end(process: subprocess.Popen[str]) -> None:
    """Close the pipes of a process and terminate it; kill it if it does not end in time."""
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            with contextlib.suppress(BrokenPipeError):
                pipe.close()
    process.terminate()
    try:
        process.wait(END_TIMEOUT)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def first_line(process: subprocess.Popen[str]) -> str:
    """Return the first line of a process's standard output; nothing if it ends, or is killed, before it writes one.

    It is killed if it writes nothing for START_TIMEOUT seconds.
    """
    assert process.stdout is not None
    with _killed_after(process, START_TIMEOUT):
        return process.stdout.readline()


def last_line(text: str) -> str:
    """Return the last line of `text`; nothing if it is empty."""
    return " ".join(text.splitlines()[-1:])


def describe_exit(process: subprocess.Popen[str]) -> str:
    """Wait for the end of a process, and describe it: ``exit code 1: OSError: no such thing``.

    The text after the exit code is the last line of its standard error, if that is a pipe. A process that does not end
    within END_TIMEOUT seconds is killed.
    """
    with _killed_after(process, END_TIMEOUT):
        errors = "" if process.stderr is None else process.stderr.read()
        return ": ".join(filter(None, [f"exit code {process.wait()}", last_line(errors)]))


@contextmanager
def _killed_after(process: subprocess.Popen[str], seconds: float) -> Iterator[None]:
    timer = threading.Timer(seconds, process.kill)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


@dataclass(frozen=True)
class Subject:
    """A process that listens on `port`."""

    pid: int
    port: int

    def kib(self, field: str) -> int:
        """Return the resident memory in KiB: now (``VmRSS``), or the largest so far (``VmHWM``)."""
        status = Path(f"/proc/{self.pid}/status").read_text(encoding="ascii", errors="replace")
        return next(int(line.split()[1]) for line in status.splitlines() if line.startswith(field))


@contextmanager
def running_server(folder: Path, *options: str) -> Iterator[Subject]:
    """Run the server with its default settings, except for `options`: with clocks, events, log and replays.

    It has no viewer unless `options` say so: the viewer is loaded some time after the start, and its memory and its
    processor time would then be measured by chance. All its files are in `folder`, which must be empty.
    """
    port_file = folder / "port"
    arguments = ["-m", "spielleiter", "serve", "--port", "0", "--port-file", str(port_file), "--viewer", "off"]
    arguments += ["--start-piece", START_PIECE, "--save-replay", str(folder / REPLAYS_NAME), *options]
    environment = {key: value for key, value in os.environ.items() if not key.startswith("SPIELLEITER_")}
    with (
        (folder / LOG_NAME).open("w", encoding="utf-8") as log,
        running_python(arguments, stdin=subprocess.DEVNULL, stderr=log, cwd=folder, env=environment) as process,
    ):
        deadline = time.perf_counter() + START_TIMEOUT
        while not (port := port_file.read_text(encoding="ascii").strip() if port_file.exists() else ""):
            if time.perf_counter() >= deadline or process.poll() is not None:
                reason = last_line((folder / LOG_NAME).read_text(encoding="utf-8", errors="replace"))
                raise BenchError(f"the server does not start (exit code {process.poll()}): {reason}")
            time.sleep(START_POLL_INTERVAL)
        yield Subject(process.pid, int(port))


@contextmanager
def running_floor(load: Load, observers: int) -> Iterator[Subject]:
    """Run the bare wire with the bytes of the games of `load`, and with `observers` of each game."""
    content = {
        "scripts": [([memento.decode() for memento in each.mementos], each.seats) for each in load.scripts],
        "request": load.request.decode(),
        "observers": observers,
    }
    with running_piped(["-m", "spielleiter.bench.floor"]) as process:
        assert process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # the process has ended; the missing port shows it
            process.stdin.write(json.dumps(content))
            process.stdin.close()
        port = first_line(process)
        if not port:
            raise BenchError(f"the bare wire does not start ({describe_exit(process)})")
        yield Subject(process.pid, int(port))
